"""The order of groups (rule 8) and of nodes: what may be submitted, waits or is held, and removal (39, 40, 44)."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import StrategyError
from strategy_lib.groups.waves import (
    Submittable,
    check_order,
    find_node_cycles,
    order_between_groups,
    order_through,
    removal_waves,
    submittable,
    used_edges,
    waves,
)
from strategy_lib.ordering import find_cycles, order_groups
from strategy_lib.strategy import Group, Strategy

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


def order(**depends_on: str) -> list[str]:
    groups = (Group(name, critical=True, depends_on=tuple(others.split())) for name, others in depends_on.items())
    return order_groups(Strategy(tuple(groups)))


@pytest.mark.parametrize(
    ("depends_on", "expected"),
    [
        ({}, ""),
        ({"c": "", "a": "", "b": ""}, "c a b"),
        ({"a": "b", "b": ""}, "b a"),
        # b becomes ready by a, and stands before d in the document
        ({"b": "a", "a": "", "d": ""}, "a b d"),
        ({"bottom": "left right", "right": "top", "left": "top", "top": ""}, "top right left bottom"),
        ({"d": "c", "c": "b", "b": "a", "a": "", "z": ""}, "a b c d z"),
    ],
    ids=["none", "document order", "dependency first", "first ready in the document", "diamond", "chain before later"],
)
def test_rule_08_first_ready_group_in_document_order(depends_on: dict[str, str], expected: str) -> None:
    assert order(**depends_on) == expected.split()


def test_rule_08_groups_that_wait_for_each_other_are_refused_and_not_left_out() -> None:
    groups = Strategy(tuple(Group(name, critical=True) for name in ("first", "a", "b")))
    with pytest.raises(StrategyError, match="groups that wait for each other: a -> b -> a"):
        order_groups(groups, {"a": ["b"], "b": ["a"]})


def test_rule_08_a_chain_of_20000_groups_needs_no_recursion() -> None:
    names = [f"g{i}" for i in range(20_000)]
    groups = [Group(name, critical=False, depends_on=(names[i - 1],) if i else ()) for i, name in enumerate(names)]
    assert order_groups(Strategy(tuple(reversed(groups)))) == names


def test_rule_03_cycles_start_with_the_first_group_and_follow_the_dependencies() -> None:
    found = find_cycles({"x": ["z"], "y": ["x"], "z": ["y"], "w": ["x", "unknown", "w"]})
    assert found.paths == (("x", "z", "y", "x"),)
    assert not found.cut


def test_rule_03_cycles_are_bounded() -> None:
    knot = {str(i): [str(j) for j in range(9) if j != i] for i in range(9)}
    found = find_cycles(knot, most=7)
    assert len(found.paths) == 7
    assert found.cut
    assert not find_cycles({"a": ["b"], "b": ["a"]}, most=1).cut


@pytest.mark.parametrize(
    ("depends_on", "doing", "expected"),
    [
        pytest.param({"a": ("b",), "b": ("c",)}, "ac", {"a": ("b", "c"), "b": ("c",)}, id="through one"),
        pytest.param(
            {"a": ("b",), "b": ("x",), "x": ("c",), "c": ("d",)},
            "acd",
            {"a": ("b", "c"), "b": ("x",), "x": ("c",), "c": ("d",)},
            id="through two, and no further than the next that does something",
        ),
        pytest.param({"a": ("b",), "b": ("c",)}, "ab", {"a": ("b",), "b": ("c",)}, id="nothing is behind"),
        pytest.param({"a": ("b",), "b": ("a",)}, "a", {"a": ("b",), "b": ("a",)}, id="no node waits for itself"),
        pytest.param({"a": ("b",), "b": ("b",)}, "a", {"a": ("b",), "b": ("b",)}, id="a cycle passes nothing on"),
        pytest.param({}, "ab", {}, id="no order"),
    ],
)
def test_rule_39_an_order_leads_through_nodes_with_nothing_to_do(
    depends_on: dict[str, tuple[str, ...]], doing: str, expected: dict[str, tuple[str, ...]]
) -> None:
    assert order_through(depends_on, doing) == expected


@pytest.mark.parametrize("seed", range(20))
def test_what_goes_when_all_it_waits_for_is_done_goes_in_the_waves_of_a_plan(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"n{number}" for number in range(14)]
    depends_on = {name: tuple(dice.sample(names[:place], min(place, 2))) for place, name in enumerate(names)}
    doing = frozenset(dice.sample(names, 6))
    through = order_through(depends_on, doing)
    left, sent = set(doing), []
    while left:
        sent.append(sorted(name for name in left if left.isdisjoint(through[name])))
        left -= set(sent[-1])
    assert sent == waves(names, doing, depends_on)


def test_edges_are_used_where_something_to_do_is_at_both_ends() -> None:
    depends_on = {"a": ("b",), "b": ("c",), "x": ("c",), "c": ("d",)}
    assert used_edges(depends_on, "ac") == [("a", "b"), ("b", "c")]
    assert used_edges(depends_on, "ad") == [("a", "b"), ("b", "c"), ("c", "d")]
    assert used_edges(depends_on, "ax") == []


def test_a_cycle_of_groups_through_a_node_in_none_is_refused() -> None:
    members = {"g1": ["a", "b"], "g2": ["c"]}
    check_order({}, members, {"a": ("idle",), "idle": ("c",)}, ["idle"])
    with pytest.raises(StrategyError, match="g1 -> g2 -> g1"):
        check_order({}, members, {"a": ("idle",), "idle": ("c",), "c": ("b",)}, ["idle"])
