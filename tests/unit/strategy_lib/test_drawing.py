"""The layout of the group graph: geometry that holds for any graph."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy_lib.drawing import Bend, Layout, layered_layout, spread

GAP, LANE = 20.0, 10.0


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    names = [f"g{number}" for number in range(draw(st.integers(0, 12)))]
    pairs = [(parent, child) for place, child in enumerate(names) for parent in names[:place]]
    return names, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@settings(max_examples=60, deadline=None)
@given(_graphs())
def test_layout_has_no_overlap_and_only_forward_edges(graph: tuple[list[str], list[tuple[str, str]]]) -> None:
    names, edges = graph
    heights = {name: 30.0 + 5 * place for place, name in enumerate(names)}
    layout = layered_layout(names, edges, heights, GAP, LANE)
    column_of = layout.column_of()
    assert sorted(item for item in column_of if not isinstance(item, Bend)) == sorted(names)
    assert all(column_of[parent] < column_of[child] for parent, child in edges)
    for route in layout.routes.values():
        assert [column_of[item] for item in route] == list(range(column_of[route[0]], column_of[route[-1]] + 1))
    assert set(layout.routes) == set(edges)
    for column in layout.columns:
        for upper, lower in pairwise(column):
            halves = [LANE / 2 if isinstance(x, Bend) else (heights[x] + GAP) / 2 for x in (upper, lower)]
            assert layout.centre[lower] - layout.centre[upper] >= sum(halves) - 1e-6
    assert all(layout.centre[name] - heights[name] / 2 >= -1e-6 for name in names)


def _crossings(layout: Layout) -> int:
    column_of = layout.column_of()
    steps = [step for route in layout.routes.values() for step in pairwise(route)]
    return sum(
        (layout.centre[a] - layout.centre[c]) * (layout.centre[b] - layout.centre[d]) < 0
        for place, (a, b) in enumerate(steps)
        for c, d in steps[place + 1 :]
        if column_of[a] == column_of[c]
    )


def test_layout_untangles_what_can_be_untangled() -> None:
    names = ["a", "b", "c", "x", "y", "z"]
    edges = [("a", "z"), ("b", "y"), ("c", "x")]
    assert _crossings(layered_layout(names, edges, dict.fromkeys(names, 40.0), GAP, LANE)) == 0


def test_layout_puts_a_parent_in_the_middle_of_its_children() -> None:
    layout = layered_layout(["p", "a", "b"], [("p", "a"), ("p", "b")], dict.fromkeys("pab", 40.0), GAP, LANE)
    assert layout.centre["p"] == pytest.approx((layout.centre["a"] + layout.centre["b"]) / 2)


@given(st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0.1, 10), st.floats(0, 100)), max_size=8))
def test_spread_keeps_order_and_distances(items: list[tuple[float, float, float]]) -> None:
    distances = [distance for _, _, distance in items[1:]]
    found = spread([wish for wish, _, _ in items], [weight for _, weight, _ in items], distances)
    assert len(found) == len(items)
    for (upper, lower), distance in zip(pairwise(found), distances, strict=True):
        assert lower - upper >= distance - 1e-6


def test_spread_shares_the_burden_by_weight() -> None:
    assert spread([0, 0], [1, 1], [10]) == [-5, 5]
    assert spread([0, 0], [3, 1], [8]) == [-2, 6]
    assert spread([0, 100], [1, 1], [10]) == [0, 100]
