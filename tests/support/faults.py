"""What goes wrong in a cluster: processes are killed and frozen, hosts cut off and slowed, clocks set wrong.

Each fault is chosen by a seed, and undone after its time; what was killed is started again by `Init`, as systemd does.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from slipway_cli.embedded.processes import members
from tests.support.cluster import CONTROL, DATA, EDGE, WORKERS, Cluster
from tests.support.processes import wait_until
from tests.support.units import Service

POSTGRESQL: Final = f"{DATA}/postgresql"
_ALONE: Final = (POSTGRESQL, f"{DATA}/redis", f"{EDGE}/haproxy", f"{CONTROL[0]}/dag-processor")
"""Those of which there is one."""
_FROZEN: Final = (15.0, 45.0)
_CUT: Final = (10.0, 40.0)
_SLOW: Final = (20.0, 40.0)
_WRONG_CLOCK: Final = 60.0
_KILLED: Final = (2.0, 6.0)
CLOCK: Final = "clock"
_OFF: Final = {"worker": (-300, 300), "controller": (-300, 300), "triggerer": (-8, 8)}
"""Seconds that a clock may be wrong by."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes
    ----------
    name : for people.
    hurts : hosts and services that it is about.
    seconds : how long it lasts.
    """

    name: str
    hurts: frozenset[str]
    seconds: float
    _begin: Callable[[], Callable[[], None]] = field(repr=False)

    @contextmanager
    def inflicted(self) -> Iterator[None]:
        """Have it for the time of the context."""
        undo = self._begin()
        try:
            yield
        finally:
            undo()


def faketime() -> Path | None:
    """Return the library of Debian's `faketime`, for programs with threads."""
    return next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


class Faults:
    """Chooses faults of a cluster, by a seed."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._chance = cluster, random.Random(seed)
        apart = bool(cluster.hosts[EDGE].namespace)
        # Kills are what happens most.
        self._kinds = [self._kill] * 4 + [self._freeze] * 2
        self._kinds += [self._cut, self._slow] if apart else []
        self._kinds += [self._clock] if faketime() else []

    def next(self) -> list[Fault]:
        """Return one fault, or now and then two that come at once."""
        number = 2 if self._chance.random() < 0.2 else 1
        found: list[Fault] = []
        while len(found) < number:
            fault = self._chance.choice(self._kinds)()
            if not any(fault.hurts & other.hurts for other in found):
                found.append(fault)
        return found

    def pause(self) -> float:
        """Return the seconds until the next one."""
        return self._chance.uniform(1.0, 5.0)

    def _service(self, *kinds: str) -> tuple[str, Service]:
        found = [name for name in sorted(self._cluster.services) if not kinds or name.partition("/")[2] in kinds]
        name = self._chance.choice(found)
        return name, self._cluster.services[name]

    def _kill(self) -> Fault:
        name, service = self._service()
        # A server of PostgreSQL's that finds its postmaster gone ends as in a crash: that is what it is told here.
        number = signal.SIGQUIT if name == POSTGRESQL else signal.SIGKILL

        def begin() -> Callable[[], None]:
            _signal([_process(service)], number)
            return lambda: None

        return Fault(f"kill {name}", _hurt(name), self._chance.uniform(*_KILLED), begin)

    def _freeze(self) -> Fault:
        name, service = self._service(
            "api-server", "scheduler", "triggerer", "worker", "controller", "redis", "haproxy"
        )

        def begin() -> Callable[[], None]:
            frozen = members([_process(service)])
            _signal(frozen, signal.SIGSTOP)
            return lambda: _signal(frozen, signal.SIGCONT)

        return Fault(f"freeze {name}", _hurt(name), self._chance.uniform(*_FROZEN), begin)

    def _cut(self) -> Fault:
        host = self._cluster.hosts[self._chance.choice([DATA, *CONTROL, *WORKERS])]

        def begin() -> Callable[[], None]:
            host.cut()
            return host.join

        return Fault(f"cut off {host.name}", _hurt(host.name), self._chance.uniform(*_CUT), begin)

    def _slow(self) -> Fault:
        host = self._cluster.hosts[self._chance.choice([*CONTROL, *WORKERS])]

        def begin() -> Callable[[], None]:
            host.slow()
            return host.quicken

        return Fault(f"slow {host.name}", _hurt(host.name), self._chance.uniform(*_SLOW), begin)

    def _clock(self) -> Fault:
        name, service = self._service(*_OFF)
        seconds = self._chance.choice(_OFF[name.partition("/")[2]])
        wrong = {"LD_PRELOAD": str(faketime()), "FAKETIME": f"{seconds:+d}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

        def start_with(more: dict[str, str]) -> None:
            service.more = more
            _signal([_process(service)], signal.SIGKILL)

        def begin() -> Callable[[], None]:
            start_with(wrong)
            return lambda: start_with({})

        return Fault(f"{CLOCK} of {name} {seconds:+d} s", _hurt(name), _WRONG_CLOCK, begin)


def _hurt(name: str) -> frozenset[str]:
    """Return what two faults at once do not share: a host, and what there is one of alone."""
    only = ["alone"] if name in _ALONE or name == DATA else []
    return frozenset([name.partition("/")[0], *only])


def _process(service: Service) -> int:
    """Return a service's process, once it has one."""
    wait_until(lambda: service.pid is not None, f"{service} runs")
    process = service.pid
    assert process is not None
    return process


def _signal(processes: list[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
