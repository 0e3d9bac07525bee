"""Whose turn it is (rule 8), and what a paused action holds back (rule 26)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from site_engine.groups.turns import (
    LOOK_AGAIN_BEHIND_OTHERS,
    LOOK_AGAIN_PAUSED,
    Turn,
    hold_back,
    hold_group_back,
    whose_turn,
)
from site_store import GroupStanding
from strategy_lib.phase import GroupState
from tests.unit.site_engine.records import AT, record

PENDING, RUNNING, SUCCESS, FAILURE = GroupState


def standings(*states: GroupState) -> list[GroupStanding]:
    """Return groups ``g0``, ``g1``, … in these states."""
    return [GroupStanding(f"g{position}", position, state, None, position) for position, state in enumerate(states)]


GOING_ON = [None, "scheduled", "queued", "running", "deferred", "up_for_retry", "up_for_reschedule", "restarting"]
OVER = ["failed", "success", "skipped", "upstream_failed", "removed"]


@pytest.mark.parametrize("task", GOING_ON)
@pytest.mark.parametrize("state", [PENDING, RUNNING, FAILURE])
def test_rule_08_an_earlier_group_that_will_go_on_goes_first(state: GroupState, task: str | None) -> None:
    # FAILURE: its old verdict; a person has cleared it, and it is about to be tried again.
    assert whose_turn("g1", standings(state, PENDING), lambda _: task) == Turn("g0")


@pytest.mark.parametrize("task", OVER)
def test_an_earlier_group_whose_task_is_over_without_a_verdict_was_interrupted(task: str) -> None:
    assert whose_turn("g1", standings(RUNNING, PENDING), lambda _: task) == Turn(None, ("g0",))


def test_an_earlier_group_that_has_failed_for_good_is_not_waited_for() -> None:
    assert whose_turn("g2", standings(SUCCESS, FAILURE, PENDING), lambda _: "failed") == Turn(None)


def test_the_first_of_several_is_named() -> None:
    tasks = {0: "failed", 1: "up_for_retry", 2: "scheduled"}
    assert whose_turn("g3", standings(RUNNING, PENDING, PENDING, PENDING), tasks.get) == Turn("g1")


def test_rule_08_a_later_group_that_has_begun_goes_first() -> None:
    states = standings(FAILURE, PENDING, RUNNING)
    assert whose_turn("g0", states, lambda _: "up_for_retry") == Turn("g2")
    assert whose_turn("g2", states, lambda _: "queued") == Turn(None), "they do not wait for each other"


def test_a_group_that_was_judged_with_the_plan_has_no_task_that_could_go_on() -> None:
    first, *rest = standings(FAILURE, PENDING, PENDING)
    idle = replace(first, map_index=None)
    later = [replace(standing, map_index=standing.position - 1) for standing in rest]
    assert whose_turn("g1", [idle, *later], lambda _: "queued") == Turn(None)
    assert whose_turn("g2", [idle, *later], {0: "running", 1: "queued"}.get) == Turn("g1"), "by its own index"


def test_a_later_group_that_has_not_begun_is_not_waited_for() -> None:
    assert whose_turn("g0", standings(FAILURE, PENDING), lambda _: "scheduled") == Turn(None)


@pytest.mark.parametrize(
    ("first", "state", "key", "held"),
    [
        pytest.param(SUCCESS, PENDING, "6", LOOK_AGAIN_PAUSED, id="it is next"),
        pytest.param(FAILURE, PENDING, "6", LOOK_AGAIN_PAUSED, id="the one before it has its verdict"),
        pytest.param(PENDING, PENDING, "6", LOOK_AGAIN_BEHIND_OTHERS, id="another is next"),
        pytest.param(RUNNING, PENDING, "6", LOOK_AGAIN_BEHIND_OTHERS, id="another is at work"),
        pytest.param(SUCCESS, RUNNING, "6", None, id="it has begun: it goes on"),
        pytest.param(SUCCESS, SUCCESS, "6", None, id="it has its verdict"),
        pytest.param(SUCCESS, FAILURE, "6", None, id="it has failed, and Airflow tries again"),
        pytest.param(SUCCESS, FAILURE, "8", LOOK_AGAIN_PAUSED, id="it has failed, and a person cleared it"),
    ],
)
def test_rule_26_what_has_not_begun_is_held_back(
    first: GroupState, state: GroupState, key: str, held: timedelta | None
) -> None:
    groups = [GroupStanding("first", 0, first, "6"), GroupStanding("ours", 1, state, "6")]
    assert hold_group_back(record(paused=AT), groups, "ours", key, lambda: True) == held
    free = hold_group_back(record(), groups, "ours", key, lambda: False)
    assert free is None, "nothing is held back without a pause"


def test_rule_26_a_group_that_was_approved_during_a_pause_is_held_back_too() -> None:
    groups = [GroupStanding("ours", 0, RUNNING, "6")]
    assert hold_group_back(record(paused=AT), groups, "ours", "6", lambda: False) == LOOK_AGAIN_PAUSED


def test_rule_26_a_step_on_nodes_is_held_back() -> None:
    assert hold_back(record(paused=AT)) == LOOK_AGAIN_PAUSED
    assert hold_back(record()) is None
