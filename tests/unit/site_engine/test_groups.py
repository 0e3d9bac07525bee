"""Groups: whose turn it is (rule 8), whether a verdict stays, and attempts that were overtaken (rule 23)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.groups import GroupRequest, GroupSubject, Turn, is_final, whose_turn
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import ONE_LOOK
from site_store import AttemptNotOpen, GroupRecord, GroupStanding
from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Group

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


@dataclass
class Record:
    """What the store has of a group."""

    attempt: int
    name: str = "all"
    action_id: str = "01J"
    is_judged: bool = True


def test_rule_23_who_was_overtaken_by_another_attempt_sends_nothing_and_gives_no_verdict() -> None:
    records = [Record(1), Record(1), Record(2)]
    groups = SimpleNamespace(get=lambda *_: records.pop(0))
    operations = SimpleNamespace(store=SimpleNamespace(groups=groups), log=logging.getLogger("test"))
    request = GroupRequest("01J", "alpha", "all", "7", "http://design", dict.fromkeys(Phase, ONE_LOOK), ONE_LOOK)
    subject = GroupSubject(cast(OperationRun, operations), request)
    assert cast(Any, subject.next()) == Record(1)
    with pytest.raises(AttemptNotOpen, match="attempt 1 is over, attempt 2 has begun; nothing is sent"):
        subject.next()


@pytest.mark.parametrize(
    ("state", "key", "final"),
    [
        pytest.param(GroupState.SUCCESS, "6", True, id="a success, tried again by Airflow"),
        pytest.param(GroupState.SUCCESS, "8", True, id="a success, cleared by a person"),
        pytest.param(GroupState.FAILURE, "6", True, id="a failure, tried again by Airflow"),
        pytest.param(GroupState.FAILURE, "8", False, id="a failure, cleared by a person"),
        pytest.param(GroupState.RUNNING, "6", False, id="it is at work"),
        pytest.param(GroupState.PENDING, "6", False, id="it has not begun"),
    ],
)
def test_rule_23_a_verdict_stays_unless_a_person_clears_a_failure(state: GroupState, key: str, final: bool) -> None:
    record = GroupRecord("01J", "all", 0, True, Group("all", True), ("a",), state, attempt=1, attempt_key="6")
    assert is_final(record, key) is final
