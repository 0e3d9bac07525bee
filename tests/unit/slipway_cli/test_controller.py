"""The parts of a controller's process: whatever ends one of them, the leases of all are given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

from slipway_cli.controller import _work


class Waiting:
    """Stands for the signal that ends the process."""

    def __init__(self) -> None:
        self._told = threading.Event()

    def pause(self, seconds: float) -> bool:
        return self._told.wait(seconds)

    def wake(self) -> None:
        self._told.set()


def test_a_part_that_fails_ends_the_others_and_all_leases_are_given_back() -> None:
    given_back: list[str] = []
    defect = RuntimeError("a defect")
    over: list[bool] = []

    def fails(pause: Callable[[float], bool]) -> None:
        raise defect

    parts = {
        "sites": (fails, lambda: given_back.append("sites")),
        "jobs": (lambda pause: over.append(pause(60)), lambda: given_back.append("jobs")),
    }
    assert _work(cast(Any, Waiting()), parts) is defect
    assert (given_back, over) == (["sites", "jobs"], [True])


def test_one_that_is_told_to_end_gives_back_first_whatever_it_waits_for() -> None:
    signal, answer = Waiting(), threading.Event()

    def hangs(pause: Callable[[float], bool]) -> None:
        signal.wake()
        answer.wait(60)

    assert _work(cast(Any, signal), {"jobs": (hangs, answer.set)}) is None
