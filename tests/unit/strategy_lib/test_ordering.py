"""Rule 8: one order, and the same in every run."""

from __future__ import annotations

import pytest

from strategy_lib.ordering import find_cycles, order_groups
from strategy_lib.strategy import Group, Strategy


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
