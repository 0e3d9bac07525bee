"""Rules 39, 40 and 44: what may be submitted, what waits, what is held for another's failure, and removal."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import StrategyError
from strategy_lib.groups.waves import (
    Submittable,
    check_order,
    find_node_cycles,
    order_between_groups,
    removal_waves,
    submittable,
    waves,
)

CHAIN = {"c": ["b"], "b": ["a"]}


def test_rule_39_a_node_waits_for_its_own_dependencies_only() -> None:
    found = submittable({"a", "b", "c", "sibling"}, CHAIN, done=(), failed={})
    assert found == Submittable(("a", "sibling"), {"b": "a", "c": "b"}, {})
    assert submittable({"b", "c"}, CHAIN, done={"a"}, failed={}).ready == ("b",)


def test_rule_39_only_dependants_of_a_failed_node_are_held() -> None:
    found = submittable({"b", "c", "sibling"}, CHAIN, done=(), failed={"a": "IPMI"})
    reason = "waits for a, which failed: IPMI"
    assert found == Submittable(("sibling",), {}, {"b": reason, "c": reason})


def test_rule_39_a_dependency_outside_the_action_is_met_if_it_is_done() -> None:
    assert submittable({"b"}, CHAIN, done={"a"}, failed={}).ready == ("b",)
    held = submittable({"b"}, CHAIN, done=(), failed={}).held
    assert held == {"b": "waits for a, which is not done as wanted, and not in this action"}


def test_rule_39_an_edge_between_nodes_orders_their_groups() -> None:
    members = {"web": ["w1", "both"], "core": ["gw", "both"], "lonely": ["x"]}
    assert order_between_groups(members, {"w1": ["gw"]}) == {"web": frozenset({"core"})}
    assert order_between_groups(members, {"w1": ["both"]}) == {}
    assert order_between_groups(members, {"both": ["w1"]}) == {"core": frozenset({"web"})}
    assert order_between_groups(members, {"x": ["stranger"], "stranger": ["gw"]}) == {}


def test_rule_39_a_cycle_through_groups_and_nodes_together_is_refused_with_its_path() -> None:
    members = {"web": ["w1"], "core": ["gw", "both"], "top": ["t1", "both"]}
    check_order({"web": ["core"], "top": []}, members, {"w1": ["gw"], "t1": ["w1"], "gw": ["stranger"]})
    with pytest.raises(StrategyError) as refused:
        check_order({"web": ["core"]}, members, {"gw": ["w1"]})
    (problem,) = refused.value.problems
    assert problem.message == (
        "groups that wait for each other: web -> core -> web (core comes after web, as gw depends on w1)"
    )


def test_rule_40_removal_goes_in_the_reverse_order() -> None:
    assert waves("abc", "abc", CHAIN) == [["a"], ["b"], ["c"]]
    assert removal_waves("abc", "abc", CHAIN) == [["c"], ["b"], ["a"]]
    assert removal_waves("abc", "ac", CHAIN) == [["c"], ["a"]]


def test_cycles_are_found_each_with_its_path() -> None:
    depends_on = {"a": ["b"], "b": ["a"], "x": ["y"], "y": ["z"], "z": ["x"], "behind": ["a"], "self": ["self"]}
    names = sorted(depends_on)
    assert find_node_cycles(names, depends_on) == [("a", "b", "a"), ("self", "self"), ("x", "y", "z", "x")]
    assert find_node_cycles(["a", "behind"], depends_on) == []
    with pytest.raises(StrategyError) as refused:
        waves(names, (), depends_on)
    assert len(refused.value.problems) == 3


graphs = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3))


@given(graphs)
def test_a_cycle_is_found_exactly_where_there_is_one(depends_on: dict[str, list[str]]) -> None:
    def returns(name: str) -> bool:
        seen, todo = set(), list(depends_on.get(name, []))
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo += depends_on.get(other, [])
        return name in seen

    cycles = find_node_cycles("abcdef", depends_on)
    assert bool(cycles) is any(returns(name) for name in "abcdef")
    for cycle in cycles:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert all(other in depends_on[name] for name, other in itertools.pairwise(cycle))


@given(
    st.permutations("abcdef").flatmap(
        lambda order: st.fixed_dictionaries(
            {name: st.lists(st.sampled_from(order[:i] or "-"), max_size=2) for i, name in enumerate(order)}
        )
    ),
    st.frozensets(st.sampled_from("abcdef")),
)
def test_going_on_with_what_is_ready_ends_with_every_node_done_or_held(
    depends_on: dict[str, list[str]], broken: frozenset[str]
) -> None:
    """Held are exactly the nodes that have a broken one, or one that is nowhere, somewhere below them."""
    done: set[str] = set()
    failed: dict[str, str] = {}
    left = set("abcdef")
    while ready := submittable(left, depends_on, done, failed).ready:
        left.difference_update(ready)
        failed.update({name: "IPMI" for name in ready if name in broken})
        done.update(name for name in ready if name not in broken)
    found = submittable(left, depends_on, done, failed)
    assert (found.waiting, set(found.held)) == ({}, left)

    def blocked(name: str) -> bool:
        return any(other in broken or other == "-" or blocked(other) for other in depends_on.get(name, []))

    assert left == {name for name in "abcdef" if blocked(name)}


def test_a_long_chain_and_a_wide_fan_need_no_recursion() -> None:
    names = [f"n{i:05}" for i in range(20_000)]
    chain = {name: [before] for before, name in itertools.pairwise(names)}
    assert len(waves(names, names, chain)) == len(names)
    assert waves(names, names, dict.fromkeys(names[1:], names[:1])) == [names[:1], names[1:]]
