"""Each call to a provisioner is told of, with its result and how long it took."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    AuthenticationFailed,
    DesignUnreadable,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
    TaskNotFound,
)
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import CallResult, RedactingProvisioner, nothing_is_secret
from site_engine.errors import TaskStopped
from strategy_lib.phase import Phase

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "check": (),
    "validate_design": (DesignSource("d"),),
    "select_nodes": (DesignSource("d"), ()),
    "submit": (Phase.PREPARE, DesignSource("d"), ("n1",), "r"),
    "find": ("r",),
    "newest_reference": ("s",),
    "task": ("t",),
    "task_tree": ("t", "n1"),
    "evidence": ("t", ("n1",)),
    "is_dead": ("t",),
    "nodes": (),
    "observe": (None, {}),
    "power_on": (("n1",),),
}
NO_CALLS = {"settle", "check_names", "close"}


class Seen:
    """What an observer was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, CallResult, float]] = []
        self.closings = 0

    def called(self, call: str, result: CallResult, seconds: float) -> None:
        self.calls.append((call, result, seconds))

    def shown(self, newest: Mapping[str, int]) -> None:
        raise AssertionError("the backend was given none")

    def closed(self) -> None:
        self.closings += 1


def observed(seen: Seen, method: Callable[..., Any]) -> RedactingProvisioner:
    """Return an observed provisioner, every method of which is this one; each call takes 2 s."""
    moments = iter(range(0, 1000, 2))
    everything = dict.fromkeys((*ARGUMENTS, *NO_CALLS), method)
    real = cast(Provisioner, SimpleNamespace(**everything))
    return RedactingProvisioner(real, nothing_is_secret, observer=seen, monotonic=lambda: float(next(moments)))


def test_the_table_names_every_method_of_a_provisioner() -> None:
    methods = {name for name, _ in inspect.getmembers(Provisioner) if not name.startswith("_")}
    assert methods == set(ARGUMENTS) | NO_CALLS


@pytest.mark.parametrize("call", ARGUMENTS)
def test_every_call_is_told_of(call: str) -> None:
    seen = Seen()

    def fail(*_: object, **__: object) -> None:
        raise TaskNotFound("gone")

    with pytest.raises(TaskNotFound):
        getattr(observed(seen, fail), call)(*ARGUMENTS[call])
    assert seen.calls == [(call, CallResult.REFUSED, 2.0)]


def test_an_answer_is_told_of() -> None:
    seen = Seen()
    assert observed(seen, lambda *_: "1.0").check() == "1.0"
    assert seen.calls == [("check", CallResult.OK, 2.0)]


@pytest.mark.parametrize(
    ("error", "result", "lives"),
    [
        (ProvisionerUnavailable("no route", reached=False), CallResult.UNAVAILABLE, False),
        (SubmissionUncertain("no answer"), CallResult.UNAVAILABLE, False),
        (DesignUnreadable("?"), CallResult.UNAVAILABLE, False),
        (AuthenticationFailed("wrong password"), CallResult.REFUSED, True),
        (SubmissionRefused("no"), CallResult.REFUSED, True),
        (TaskNotFound("gone"), CallResult.REFUSED, True),
        (ProvisionerProtocolError("a proxy"), CallResult.MALFORMED, False),
    ],
)
def test_a_failure_is_told_of_and_raised(error: ProvisionerError, result: CallResult, lives: bool) -> None:
    seen = Seen()

    def fail(*_: object, **__: object) -> None:
        raise error

    with pytest.raises(type(error)):
        observed(seen, fail).nodes()
    assert seen.calls == [("nodes", result, 2.0)]
    assert result.is_answer is lives


def test_what_is_not_the_provisioners_is_not_told_of() -> None:
    seen = Seen()

    def stopped(*_: object, **__: object) -> str:
        raise TaskStopped("told to stop")

    with pytest.raises(TaskStopped):
        observed(seen, stopped).submit(*ARGUMENTS["submit"])
    assert seen.calls == []


def test_the_end_is_told_of() -> None:
    seen = Seen()
    observed(seen, lambda: None).close()
    assert (seen.calls, seen.closings) == ([], 1)
