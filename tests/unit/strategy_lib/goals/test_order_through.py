"""An order that leads through nodes with nothing to do, and which of its edges are used."""

from __future__ import annotations

import random

import pytest

from strategy_lib.errors import StrategyError
from strategy_lib.groups.waves import check_order, order_through, used_edges, waves


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
