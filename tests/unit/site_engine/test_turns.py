"""Whose turn it is (rule 8), what a paused action holds back (26), whether a verdict stays, who is overtaken (23)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_engine.groups.attempt import GroupRequest, GroupSubject, is_final
from site_engine.groups.turns import (
    LOOK_AGAIN_BEHIND_OTHERS,
    LOOK_AGAIN_PAUSED,
    Turn,
    hold_back,
    hold_group_back,
    look_again,
    place_taker,
    turn_by_store,
    turn_of,
)
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import ONE_LOOK
from site_store import GroupRecord, GroupStanding, GroupTurn, StoreError
from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Group
from tests.unit.site_engine.records import AT, record

PENDING, RUNNING, SUCCESS, FAILURE = GroupState


def turns(*states: GroupState, after: dict[int, set[int]] | None = None) -> list[GroupTurn]:
    """Return groups ``g0``, ``g1``, … in these states; `after` has the places of those that one depends on."""
    found = []
    for place, state in enumerate(states):
        names = frozenset(f"g{other}" for other in (after or {}).get(place, ()))
        found.append(GroupTurn(f"g{place}", place, state, None, place, names, names))
    return found


def going_on(map_index: int) -> str | None:
    return "running"


def turn(group: str, order: list[GroupTurn], places: int = 2) -> Turn:
    judged = {one.map_index for one in order if one.is_judged}
    return turn_of(group, order, lambda index: "success" if index in judged else "running", places)


def test_rule_08_the_first_begin_and_the_others_wait_for_a_place() -> None:
    assert [turn(f"g{n}", turns(*[PENDING] * 4)).wait_for for n in range(4)] == [None, None, "g0", "g0"]
    assert turn("g2", turns(RUNNING, RUNNING, PENDING)) == Turn("g0", (), 0)
    assert turn("g2", turns(RUNNING, SUCCESS, PENDING)) == Turn(None)
    assert turn("g3", turns(RUNNING, SUCCESS, PENDING, PENDING)).wait_for == "g0", "the free place is the one before's"
    assert turn("g0", turns(PENDING, RUNNING, RUNNING)).wait_for == "g1", "later ones that have begun have the places"


def test_rule_08_one_that_is_not_ready_is_waited_for_by_nobody() -> None:
    order = turns(RUNNING, PENDING, PENDING, after={1: {0}})
    assert turn("g1", order).wait_for == "g0"
    assert turn("g2", order) == Turn(None)


def test_rule_09_a_group_below_a_failed_one_is_judged_at_once() -> None:
    order = turns(FAILURE, RUNNING, RUNNING, PENDING, after={3: {0}})
    assert turn("g3", order) == Turn(None)
    order = turns(FAILURE, RUNNING, PENDING, PENDING, after={2: {0}})
    assert turn("g3", order) == Turn(None), "it takes no place"


def test_rule_39_a_group_follows_one_of_nodes_that_its_nodes_wait_for_however_that_ended() -> None:
    order = [*turns(FAILURE, PENDING)]
    order[1] = replace(order[1], after=frozenset(["g0"]))
    assert turn("g1", order) == Turn(None)
    order[0] = replace(order[0], state=RUNNING)
    assert turn("g1", order).wait_for == "g0"


def test_a_failed_group_that_was_cleared_is_waited_for() -> None:
    order = turns(FAILURE, PENDING, PENDING, after={1: {0}})
    assert turn_of("g1", order, going_on, 2).wait_for == "g0", "it is about to be tried again"
    assert turn_of("g2", order, going_on, 2) == Turn(None), "its place, and one that is free"
    assert turn_of("g0", order, going_on, 2) == Turn(None)


@pytest.mark.parametrize("state", [PENDING, RUNNING])
def test_one_whose_task_is_over_without_a_verdict_was_interrupted(state: GroupState) -> None:
    order = turns(state, RUNNING, PENDING, after={2: {0}})
    tasks = {0: "failed", 1: "deferred", 2: "running"}
    assert turn_of("g2", order, tasks.get, 2) == Turn(None, ("g0",))
    assert turn_of("g1", order, {**tasks, 1: "running"}.get, 2) == Turn(None, ("g0",)), "it goes on itself"


def test_a_later_group_that_was_interrupted_has_no_place() -> None:
    tasks = {0: "running", 1: "failed", 2: "failed"}
    assert turn_of("g0", turns(PENDING, RUNNING, PENDING), tasks.get, 1) == Turn(None, ("g1",))


def test_groups_that_take_nodes_down_do_not_run_side_by_side() -> None:
    first, second, third = turns(RUNNING, PENDING, PENDING)
    order = [replace(first, redeploys=True), replace(second, redeploys=True), third]
    assert turn("g1", order, 3).wait_for == "g0"
    assert turn("g2", order, 2) == Turn(None), "the place is not kept for one that may not begin"


def test_one_that_has_begun_since_airflow_was_asked_has_a_place() -> None:
    before = turns(PENDING, PENDING, PENDING)
    may_begin = place_taker("g2", before, {0: "failed", 1: "success", 2: "running"}.get, 2)
    assert may_begin(turns(SUCCESS, SUCCESS, PENDING))
    assert not may_begin(turns(RUNNING, RUNNING, PENDING)), "its old word on them is about an earlier attempt"


def test_who_waits_without_a_worker_goes_by_the_store() -> None:
    order = turns(FAILURE, RUNNING, PENDING, PENDING, after={3: {0}})
    assert [turn_by_store(f"g{n}", order, 2).wait_for for n in (2, 3)] == [None, "g0"], "its task is not over"
    order[0] = replace(order[0], is_over=True)
    assert [turn_by_store(f"g{n}", order, 2).wait_for for n in (2, 3)] == [None, None]
    assert turn_by_store("g2", turns(RUNNING, RUNNING, PENDING), 2).wait_for == "g0"


def test_rule_08_a_failed_group_waits_for_a_place_from_when_its_task_has_started_again() -> None:
    order = turns(FAILURE, RUNNING, PENDING, PENDING, after={3: {0}})
    order[0] = replace(order[0], again=True)
    assert [turn_by_store(f"g{n}", order, 2).wait_for for n in (0, 2, 3)] == [None, "g1", "g0"]
    order[2] = replace(order[2], state=RUNNING)
    assert [turn_by_store(f"g{n}", order, 2).wait_for for n in (0, 1, 3)] == ["g1", None, "g0"]


def test_those_that_come_next_wait_and_others_are_started_again_after_30_seconds_or_more() -> None:
    def later(ahead: int, places: int) -> timedelta | None:
        return look_again(Turn("g0", (), ahead), places, 16)

    assert [later(ahead, 8) for ahead in (0, 7)] == [None, None]
    assert [later(ahead, 8) for ahead in (8, 20, 500)] == [timedelta(seconds=s) for s in (60, 90, 300)]
    assert later(0, 16) == timedelta(seconds=30), "all of Airflow's places may be needed by those at work"


@st.composite
def orders(draw: st.DrawFn) -> list[GroupTurn]:
    number = draw(st.integers(1, 7))
    after = {place: draw(st.sets(st.integers(0, place - 1), max_size=2)) if place else set() for place in range(number)}
    order = turns(*[PENDING] * number, after=after)
    return [replace(one, redeploys=draw(st.booleans())) for one in order]


@given(orders(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_rule_08_in_any_order_of_looks_nobody_waits_for_ever_and_the_places_are_kept(
    order: list[GroupTurn], places: int, random: object
) -> None:
    draw = getattr(random, "choice")  # noqa: B009
    standing = {one.name: one for one in order}
    began: list[str] = []
    while any(not one.is_judged for one in standing.values()):
        now = list(standing.values())
        may = [
            one.name for one in now if one.state is PENDING and turn_by_store(one.name, now, places).wait_for is None
        ]
        running = [one.name for one in now if one.state is RUNNING]
        assert may or running, "nobody can go on"
        name = draw(may + running)
        one = standing[name]
        if one.state is RUNNING:
            standing[name] = replace(one, state=draw([SUCCESS, FAILURE]), is_over=True)
            continue
        assert all(standing[other].is_judged for other in one.after)
        if any(standing[other].state is FAILURE for other in one.depends_on):
            standing[name] = replace(one, state=FAILURE, is_over=True)
            continue
        began.append(name)
        standing[name] = replace(one, state=RUNNING)
        at_work = [other for other in standing.values() if other.state is RUNNING]
        assert len(at_work) <= places
        assert sum(other.redeploys for other in at_work) <= 1
        ready = [
            other.name
            for other in now
            if other.state is PENDING
            and other.position < one.position
            and all(standing[each].state is SUCCESS for each in other.after)
            and not other.redeploys
        ]
        # Those before it that are ready have places of their own.
        assert len(running) + len(ready) < places


def alone(group: str, order: list[GroupTurn], task_state: Callable[[int], str | None]) -> Turn:
    """Return whose turn it is where groups run one at a time."""
    return replace(turn_of(group, order, task_state, 1), ahead=0)


GOING_ON = [None, "scheduled", "queued", "running", "deferred", "up_for_retry", "up_for_reschedule", "restarting"]
OVER = ["failed", "success", "skipped", "upstream_failed", "removed"]


@pytest.mark.parametrize("task", GOING_ON)
@pytest.mark.parametrize("state", [PENDING, RUNNING, FAILURE])
def test_rule_08_an_earlier_group_that_will_go_on_goes_first(state: GroupState, task: str | None) -> None:
    # FAILURE: its old verdict; a person has cleared it, and it is about to be tried again.
    assert alone("g1", turns(state, PENDING), lambda _: task) == Turn("g0")


@pytest.mark.parametrize("task", OVER)
def test_an_earlier_group_whose_task_is_over_without_a_verdict_was_interrupted(task: str) -> None:
    assert alone("g1", turns(RUNNING, PENDING), lambda _: task) == Turn(None, ("g0",))


def test_an_earlier_group_that_has_failed_for_good_is_not_waited_for() -> None:
    assert alone("g2", turns(SUCCESS, FAILURE, PENDING), lambda _: "failed") == Turn(None)


def test_the_first_of_several_is_named() -> None:
    tasks = {0: "failed", 1: "up_for_retry", 2: "scheduled"}
    assert alone("g3", turns(RUNNING, PENDING, PENDING, PENDING), tasks.get) == Turn("g1", ("g0",))


def test_rule_08_a_later_group_that_has_begun_goes_first() -> None:
    states = turns(FAILURE, PENDING, RUNNING)
    assert alone("g0", states, lambda _: "up_for_retry") == Turn("g2")
    assert alone("g2", states, lambda _: "queued") == Turn(None), "they do not wait for each other"


def test_a_group_that_was_judged_with_the_plan_has_no_task_that_could_go_on() -> None:
    first, *rest = turns(FAILURE, PENDING, PENDING)
    idle = replace(first, map_index=None)
    later = [replace(each, map_index=each.position - 1) for each in rest]
    assert alone("g1", [idle, *later], lambda _: "queued") == Turn(None)
    assert alone("g2", [idle, *later], {0: "running", 1: "queued"}.get) == Turn("g1"), "by its own index"


def test_a_later_group_that_has_not_begun_is_not_waited_for() -> None:
    assert alone("g0", turns(FAILURE, PENDING), lambda _: "scheduled") == Turn(None)


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
    with pytest.raises(StoreError, match="attempt 1 is over, attempt 2 has begun; nothing is sent"):
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
