"""Which try of an action a node is at, in words (rule 44)."""

from __future__ import annotations

import pytest

from site_engine.trees.waiting import which_try
from strategy_lib.status.words import Status


@pytest.mark.parametrize(
    ("tries", "cause", "status", "said"),
    [
        (1, None, Status.ERROR, ""),
        (2, "no PXE", Status.PROCESSING, "try 2; the one before failed: no PXE"),
        (2, None, Status.PENDING, "try 2"),
        (3, None, Status.ERROR, "this was try 3"),
        (2, "no PXE", Status.SUCCESS, ""),
    ],
)
def test_rule_44_the_number_of_a_try_and_its_cause_are_said(
    tries: int, cause: str | None, status: Status, said: str
) -> None:
    assert which_try(tries, cause, status) == said
