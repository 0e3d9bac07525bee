"""The rolling redeploy of a group: how many at once, smaller batches after failures, when it stops or is refused.

And the guard before nodes are taken away: critical groups that would fall below their criteria.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.groups.group_plan import GroupBounds
from strategy_lib.groups.rolling import (
    first_of,
    kept_by_others,
    refuse_many_redeploys,
    room_in_criteria,
    room_left,
    shortfalls,
)
from strategy_lib.node import Node
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group, Selector, Share, Strategy, SuccessCriteria
from strategy_lib.verdict import evaluate

RACK = frozenset(f"n{i:02}" for i in range(20))


def names(*numbers: int) -> frozenset[str]:
    return frozenset(f"n{i:02}" for i in numbers)


@pytest.mark.parametrize(
    ("setting", "total", "expected"),
    [(1, 20, 1), (4.0, 20, 4), (40, 20, 40), ("25%", 20, 5), ("25 %", 19, 4), ("1%", 20, 1), ("100%", 20, 20)],
)
def test_a_share_is_a_number_or_a_percentage(setting: float | str, total: int, expected: int) -> None:
    share = Share.parse(setting)
    assert share.of(total) == expected
    assert Share.parse(share.to_data()) == share


@pytest.mark.parametrize("setting", [0, -1, "0%", "101%", "%", ""])
def test_what_is_no_share_is_refused(setting: int | str) -> None:
    with pytest.raises(ValueError, match="a number from 1, or a percentage"):
        Share.parse(setting)


percents = st.none() | st.integers(0, 100)
numbers = st.none() | st.integers(0, 12)


@given(st.builds(SuccessCriteria, percents, numbers, numbers), st.integers(0, 10), st.integers(0, 10))
def test_room_is_the_most_that_criteria_bear(criteria: SuccessCriteria, total: int, away: int) -> None:
    serving = max(total - away, 0)
    met = [
        all(result.met for result in evaluate(criteria, Phase.DEPLOY, total, serving - taken))
        for taken in range(serving + 1)
    ]
    assert room_in_criteria(criteria, total, serving) == max(
        (taken for taken, is_met in enumerate(met) if is_met), default=0
    )


HALF = SuccessCriteria(percent_successful_nodes=50)
ALL = SuccessCriteria(percent_successful_nodes=100)


LIMITED = GroupBounds("rack", RACK, 20, 20, max_unavailable=Share(4))
TWO_MAY_FAIL = SuccessCriteria(maximum_failed_nodes=2)
STRICT = GroupBounds("rack", RACK, 20, 20, ALL)


def other(limit: int | None, **facts: Any) -> GroupBounds:
    """Return another group of the same nodes, or with these facts."""
    bounds = GroupBounds("other", RACK, 20, 20, max_unavailable=None if limit is None else Share(limit))
    return replace(bounds, **facts)


def test_another_group_without_room_keeps_its_nodes() -> None:
    full = other(1, nodes=names(1, 2), failed=names(30))
    strict = other(None, nodes=names(2, 3), criteria=ALL, critical=True)
    kept = kept_by_others([full, strict, other(1)])
    assert kept["n01"] == "group other: as many nodes are away as may be: 1 failed (n30)"
    assert kept["n02"] == kept["n01"]
    assert kept["n03"].startswith("group other: its criteria leave no room: 20 of 20 nodes serve")
    assert kept.keys() == names(1, 2, 3)


@pytest.mark.parametrize(
    ("group", "room"),
    [
        pytest.param(LIMITED, 4, id="the first batch"),
        pytest.param(replace(LIMITED, failed=names(3)), 3, id="one has failed: the next batch is smaller by it"),
        pytest.param(
            replace(LIMITED, failed=names(0, 1, 2, 3)),
            "as many nodes are away as may be: 4 failed (n00, n01, n02, n03)",
            id="a bad image: stops after the first batch",
        ),
        pytest.param(GroupBounds("rack", RACK, 20, 20, TWO_MAY_FAIL), 2, id="as criteria allow"),
        pytest.param(
            GroupBounds("rack", RACK, 20, 20, TWO_MAY_FAIL, failed=names(1), lost=names(1)),
            1,
            id="as criteria allow, less the failed one",
        ),
        pytest.param(
            replace(LIMITED, criteria=SuccessCriteria(maximum_failed_nodes=0), failed=names(0)),
            "its criteria cannot be met any more: 1 failed (n00)",
            id="criteria cannot be kept",
        ),
        pytest.param(STRICT, 1, id="no room, not critical: one at a time"),
        pytest.param(
            replace(STRICT, critical=True),
            "its criteria leave no room: 20 of 20 nodes serve, and none can be taken away without the override "
            "below_criteria",
            id="no room, critical: refused",
        ),
        pytest.param(replace(STRICT, critical=True, max_unavailable=Share(3)), 3, id="an explicit number decides"),
        pytest.param(
            GroupBounds("rack", RACK, 20, 19, SuccessCriteria(90), failed=names(19)),
            1,
            id="a new node that failed does not serve in the room that is left either way",
        ),
        pytest.param(
            GroupBounds("rack", RACK, 20, 19, SuccessCriteria(90), failed=names(0, 19), lost=names(0)),
            "as many nodes are away as may be: 1 failed (n00)",
            id="one that served has failed beside it: nothing is left",
        ),
        pytest.param(
            replace(LIMITED, serving=19, failed=names(19)), 3, id="against an explicit number each failed node counts"
        ),
        pytest.param(
            replace(LIMITED, theirs=names(1, 2, 3), failed=names(4)),
            "as many nodes are away as may be: 1 failed (n04), somebody else has 3 (n01, n02, n03)",
            id="what somebody else has counts against an explicit number",
        ),
    ],
)
def test_how_many_nodes_may_be_taken_away(group: GroupBounds, room: int | str) -> None:
    assert room_left(group, begun=bool(group.failed)) == room


def test_criteria_are_overridden_and_max_unavailable_is_not() -> None:
    assert room_left(replace(LIMITED, criteria=ALL, failed=names(0)), begun=True, below_criteria=True) == 3
    assert room_left(replace(STRICT, critical=True), begun=False, below_criteria=True) == 1


@pytest.mark.parametrize(
    ("others", "batch"),
    [
        ([], "n00 n01 n02 n03"),
        ([other(2, failed=names(30)), other(3)], "n00"),
        ([other(1, nodes=names(2, 3))], "n00 n01 n02"),
    ],
)
def test_the_narrowest_of_several_groups_decides_for_its_own_nodes(others: list[GroupBounds], batch: str) -> None:
    assert " ".join(first_of(sorted(RACK), 4, others)) == batch


@given(
    st.integers(1, 12),
    st.frozensets(st.integers(0, 11)),
    st.none() | st.sampled_from([Share(1), Share(5), Share(10, is_percent=True), Share(50, is_percent=True)]),
    st.none() | st.sampled_from([HALF, ALL, TWO_MAY_FAIL]),
    st.booleans(),
)
def test_never_more_away_than_allowed_and_always_to_an_end(
    size: int, broken: frozenset[int], limit: Share | None, criteria: SuccessCriteria | None, critical: bool
) -> None:
    nodes = frozenset(f"n{i}" for i in range(size))
    bad = {f"n{i}" for i in broken}
    group = GroupBounds("g", nodes, size, size, criteria, critical, limit)
    most = limit.of(size) if limit is not None else max(1, room_in_criteria(criteria, size, size))
    left = nodes
    while left and not isinstance(room := room_left(group, begun=left != nodes), str):
        batch = set(first_of(sorted(left), room, ()))
        assert 0 < len(batch) <= room
        assert len(group.failed) + len(batch) <= most
        left -= batch
        failed = group.failed | batch & bad
        group = replace(group, failed=failed, lost=failed)
    if left:
        assert group.failed if left != nodes else critical


def test_many_redeploys_are_refused_with_their_names() -> None:
    deployed = [f"n{i}" for i in range(30)]
    assert refuse_many_redeploys(deployed[:6], deployed) is None, "exactly 20 %"
    assert refuse_many_redeploys(deployed[:5], deployed[:6]) is None, "5 nodes, however small the site"
    assert refuse_many_redeploys(deployed[:7], deployed[:35], percent=23) is not None
    assert refuse_many_redeploys(sorted(deployed)[:7], deployed) == (
        "it would redeploy 7 of 30 deployed nodes, more than 20 %: n0, n1, n10, n11, n12, n13, n14"
    )


EVERY = ("n1", "n2", "n3", "n4")
NODES = tuple(Node(name) for name in EVERY)


def strategy(criteria: dict[str, int], *, critical: bool = True) -> Strategy:
    """Return a strategy of one group with all nodes."""
    return Strategy((Group("control", critical, criteria=SuccessCriteria(**criteria) if criteria else None),))


@pytest.mark.parametrize(
    ("criteria", "taken", "unmet"),
    [
        ({"minimum_successful_nodes": 3}, ["n1"], []),
        ({"minimum_successful_nodes": 3}, ["n1", "n2"], [("minimum_successful_nodes", 3, 2)]),
        ({"maximum_failed_nodes": 0}, ["n4"], [("maximum_failed_nodes", 0, 1)]),
        ({"percent_successful_nodes": 75}, ["n1"], []),
        ({"percent_successful_nodes": 76}, ["n1"], [("percent_successful_nodes", 76, "3/4")]),
        (
            {"percent_successful_nodes": 90, "minimum_successful_nodes": 4, "maximum_failed_nodes": 1},
            ["n1"],
            [("percent_successful_nodes", 90, "3/4"), ("minimum_successful_nodes", 4, 3)],
        ),
        ({}, list(EVERY), []),
    ],
)
def test_criteria_are_judged_over_what_would_be_left(
    criteria: dict[str, int], taken: list[str], unmet: list[tuple[str, int, int | str]]
) -> None:
    found = shortfalls(strategy(criteria), NODES, EVERY, taken)
    assert [(r.criterion, r.needed, r.actual) for each in found for r in each.unmet] == unmet
    assert all(each.group == "control" and each.taken == tuple(taken) for each in found)


def test_only_critical_groups_are_guarded() -> None:
    assert shortfalls(strategy({"minimum_successful_nodes": 4}, critical=False), NODES, EVERY, ["n1"]) == ()


def test_a_broken_node_may_be_worked_on_though_its_group_is_short_already() -> None:
    guarded = strategy({"minimum_successful_nodes": 4})
    assert shortfalls(guarded, NODES, ["n1", "n2"], ["n3"]) == ()
    (short,) = shortfalls(guarded, NODES, ["n1", "n2"], ["n2", "n3"])
    assert short.taken == ("n2",)
    assert str(short) == "critical group control would fall short: minimum_successful_nodes needs 4, 1 would be"


def test_every_group_that_a_node_is_in_is_judged() -> None:
    both = Strategy(
        (
            Group(
                "pair",
                critical=True,
                selectors=(Selector(node_names=("n1", "n2")),),
                criteria=SuccessCriteria(minimum_successful_nodes=2),
            ),
            Group("other", critical=True, selectors=(Selector(node_names=("n3",)),), criteria=SuccessCriteria(100)),
            Group("everyone", critical=True, criteria=SuccessCriteria(maximum_failed_nodes=0)),
        )
    )
    assert [short.group for short in shortfalls(both, NODES, EVERY, ["n2"])] == ["pair", "everyone"]


@given(st.sets(st.sampled_from(EVERY)), st.sets(st.sampled_from(EVERY)), st.integers(0, 5))
def test_taking_more_away_never_makes_it_better(deployed: set[str], taken: set[str], minimum: int) -> None:
    guarded = strategy({"minimum_successful_nodes": minimum})
    if shortfalls(guarded, NODES, deployed, taken):
        assert shortfalls(guarded, NODES, deployed, set(EVERY))
    assert shortfalls(guarded, NODES, deployed, set(EVERY) - deployed) == ()
