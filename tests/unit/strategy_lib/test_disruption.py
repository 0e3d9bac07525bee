"""The guard before nodes are taken away: critical groups that would fall below their criteria."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.groups.rolling import shortfalls
from strategy_lib.node import Node
from strategy_lib.strategy import Group, Selector, Strategy, SuccessCriteria

ALL = ("n1", "n2", "n3", "n4")
NODES = tuple(Node(name) for name in ALL)


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
        ({}, list(ALL), []),
    ],
)
def test_criteria_are_judged_over_what_would_be_left(
    criteria: dict[str, int], taken: list[str], unmet: list[tuple[str, int, int | str]]
) -> None:
    found = shortfalls(strategy(criteria), NODES, ALL, taken)
    assert [(r.criterion, r.needed, r.actual) for each in found for r in each.unmet] == unmet
    assert all(each.group == "control" and each.taken == tuple(taken) for each in found)


def test_only_critical_groups_are_guarded() -> None:
    assert shortfalls(strategy({"minimum_successful_nodes": 4}, critical=False), NODES, ALL, ["n1"]) == ()


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
    assert [short.group for short in shortfalls(both, NODES, ALL, ["n2"])] == ["pair", "everyone"]


@given(st.sets(st.sampled_from(ALL)), st.sets(st.sampled_from(ALL)), st.integers(0, 5))
def test_taking_more_away_never_makes_it_better(deployed: set[str], taken: set[str], minimum: int) -> None:
    guarded = strategy({"minimum_successful_nodes": minimum})
    if shortfalls(guarded, NODES, deployed, taken):
        assert shortfalls(guarded, NODES, deployed, set(ALL))
    assert shortfalls(guarded, NODES, deployed, set(ALL) - deployed) == ()
