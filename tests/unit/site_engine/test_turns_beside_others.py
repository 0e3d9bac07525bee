"""Whose turn it is where groups run side by side (rule 8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_engine.groups.turns import (
    Turn,
    look_again_beside_others,
    place_taker,
    turn_beside_others,
    turn_by_store,
)
from site_store import GroupTurn
from strategy_lib.phase import GroupState

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
    return turn_beside_others(group, order, lambda index: "success" if index in judged else "running", places)


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
    assert turn_beside_others("g1", order, going_on, 2).wait_for == "g0", "it is about to be tried again"
    assert turn_beside_others("g2", order, going_on, 2) == Turn(None), "its place, and one that is free"
    assert turn_beside_others("g0", order, going_on, 2) == Turn(None)


@pytest.mark.parametrize("state", [PENDING, RUNNING])
def test_one_whose_task_is_over_without_a_verdict_was_interrupted(state: GroupState) -> None:
    order = turns(state, RUNNING, PENDING, after={2: {0}})
    tasks = {0: "failed", 1: "deferred", 2: "running"}
    assert turn_beside_others("g2", order, tasks.get, 2) == Turn(None, ("g0",))
    assert turn_beside_others("g1", order, {**tasks, 1: "running"}.get, 2) == Turn(None, ("g0",)), "it goes on itself"


def test_a_later_group_that_was_interrupted_has_no_place() -> None:
    tasks = {0: "running", 1: "failed", 2: "failed"}
    assert turn_beside_others("g0", turns(PENDING, RUNNING, PENDING), tasks.get, 1) == Turn(None, ("g1",))


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
        return look_again_beside_others(Turn("g0", (), ahead), places, 16)

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
