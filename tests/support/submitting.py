"""A program: tasks that have the store open and are about to submit, in whatever version of Slipway its path has.

`python -P submitting.py STORE SIMULATOR OP…` starts one task for each operation, and one that is about to begin another
one in `group` of the action of the first. It says `held` for each that stands right before its request, and lets all
go on at a line of its input. Then it says of each what became of it, as a line of JSON.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.submission import SubmissionPolicy
from site_engine.operations import run
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes
from site_engine.process import SharedClock
from site_store import Claim, SiteStore, StoreError
from strategy_lib.actors import Actor
from strategy_lib.phase import Phase

run.LEASE_SECONDS = 3.0  # Those who follow need not wait for longer.


class _Gate:
    """Lets tasks through once a line was read."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._lock = threading.Lock()

    def say(self, *words: object) -> None:
        with self._lock:
            print(*words, flush=True)

    def stand(self) -> None:
        """Say that this task stands here, unless it may pass by now, and wait."""
        if not self._opened.is_set():
            self.say("held")
        self._opened.wait()

    def open(self) -> None:
        self._opened.set()


class _Held(DrydockProvisioner):
    """Stands right before each request that submits, until it may pass; then the store is asked, as always."""

    gate: _Gate

    def submit(self, *given: Any, guard: Callable[[], None] | None = None, **more: Any) -> str:
        def held() -> None:
            self.gate.stand()
            if guard is not None:
                guard()

        return super().submit(*given, guard=held, **more)


def _submit(store: SiteStore, simulator: str, gate: _Gate, op: int) -> str:
    provisioner = _Held(simulator, submission=SubmissionPolicy(look_delay=0.1, settle=0.5))
    provisioner.gate = gate
    work = OperationRun(store, provisioner, SharedClock(store), 60.0, logging.getLogger("task"))
    ended = work.run(store.operations.get(op), PhaseTimes(0.05, 60.0, 60.0))
    return str(ended)


def _begin(store: SiteStore, simulator: str, gate: _Gate, of: int, group: str) -> str:
    like = store.operations.get(of)
    record = store.groups.get(like.action_id, group)
    found = dict.fromkeys(record.nodes, "ready")
    asked = Claim(like.action_id, like.site, group, record.attempt, Phase.PREPARE, record.nodes, like.design_ref, found)
    gate.stand()
    return _submit(store, simulator, gate, store.operations.begin(asked).op)


def _told(gate: _Gate, what: str, work: Callable[[], str]) -> None:
    try:
        said = work()
    except StoreError as error:
        said = f"{type(error).__name__}: {error}"
    gate.say(json.dumps([what, said]))


def main(url: str, simulator: str, group: str, *ops: str) -> None:
    """Start the tasks, and let them go on when it is said."""
    gate = _Gate()
    with SiteStore.open(url, actor=Actor.STEP) as store:
        works: dict[str, Callable[[], str]] = {op: lambda op=op: _submit(store, simulator, gate, int(op)) for op in ops}  # type: ignore[misc]
        works[group] = lambda: _begin(store, simulator, gate, int(ops[0]), group)
        tasks = [threading.Thread(target=_told, args=(gate, what, work)) for what, work in works.items()]
        for task in tasks:
            task.start()
        sys.stdin.readline()
        gate.open()
        for task in tasks:
            task.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
