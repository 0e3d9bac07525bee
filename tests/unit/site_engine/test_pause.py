"""What a paused action holds back (rule 26)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from site_engine.groups.pause import LOOK_AGAIN, LOOK_AGAIN_BEHIND_OTHERS, hold_back, hold_group_back
from site_store import GroupStanding
from strategy_lib.phase import GroupState
from tests.unit.site_engine.records import AT, record

PENDING, RUNNING, SUCCESS, FAILURE = GroupState


@pytest.mark.parametrize(
    ("first", "state", "key", "held"),
    [
        pytest.param(SUCCESS, PENDING, "6", LOOK_AGAIN, id="it is next"),
        pytest.param(FAILURE, PENDING, "6", LOOK_AGAIN, id="the one before it has its verdict"),
        pytest.param(PENDING, PENDING, "6", LOOK_AGAIN_BEHIND_OTHERS, id="another is next"),
        pytest.param(RUNNING, PENDING, "6", LOOK_AGAIN_BEHIND_OTHERS, id="another is at work"),
        pytest.param(SUCCESS, RUNNING, "6", None, id="it has begun: it goes on"),
        pytest.param(SUCCESS, SUCCESS, "6", None, id="it has its verdict"),
        pytest.param(SUCCESS, FAILURE, "6", None, id="it has failed, and Airflow tries again"),
        pytest.param(SUCCESS, FAILURE, "8", LOOK_AGAIN, id="it has failed, and a person cleared it"),
    ],
)
def test_rule_26_what_has_not_begun_is_held_back(
    first: GroupState, state: GroupState, key: str, held: timedelta | None
) -> None:
    standings = [GroupStanding("first", 0, first, "6"), GroupStanding("ours", 1, state, "6")]
    assert hold_group_back(record(paused=AT), standings, "ours", key, lambda: True) == held
    free = hold_group_back(record(), standings, "ours", key, lambda: False)
    assert free is None, "nothing is held back without a pause"


def test_rule_26_a_group_that_was_approved_during_a_pause_is_held_back_too() -> None:
    standings = [GroupStanding("ours", 0, RUNNING, "6")]
    assert hold_group_back(record(paused=AT), standings, "ours", "6", lambda: False) == LOOK_AGAIN


def test_rule_26_a_step_on_nodes_is_held_back() -> None:
    assert hold_back(record(paused=AT)) == LOOK_AGAIN
    assert hold_back(record()) is None
