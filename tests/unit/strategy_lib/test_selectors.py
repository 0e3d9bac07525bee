"""Rules 5-7: which nodes a group has."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.node import Node
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.selectors import NodeIndex, resolve

NODES = (
    Node("n1", frozenset({"control"}), {"ucp": "enabled", "url": "a:b"}, "r1"),
    Node("n2", frozenset({"control", "ntp"}), {"ucp": "disabled"}, "r1"),
    Node("n3", frozenset({"compute"}), {"ucp": "enabled"}, "r2"),
    Node("n4", frozenset(), {}, None),
)
ALL = {"n1", "n2", "n3", "n4"}


def select(*selectors: dict[str, Any]) -> set[str]:
    group = {"name": "g", "critical": False, "depends_on": [], "selectors": list(selectors)}
    return set(NodeIndex(NODES).select(parse_strategy({"groups": [group]}).groups[0].selectors))


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ([{"node_names": ["n1", "n4", "nope"]}], {"n1", "n4"}),
        ([{"node_tags": ["ntp", "compute"]}], {"n2", "n3"}),
        ([{"rack_names": ["r1", "r2"]}], {"n1", "n2", "n3"}),
        ([{"node_labels": ["ucp: enabled", "ucp: disabled"]}], {"n1", "n2", "n3"}),
        ([{"node_labels": ["url:a:b"]}], {"n1"}),
        ([{"node_labels": [{"ucp": "enabled"}]}], {"n1", "n3"}),
        ([{"node_labels": ["ucp: unheard-of"]}], set()),
        ([{"node_tags": ["control"], "node_labels": ["ucp: enabled"]}], {"n1"}),
        ([{"node_tags": ["control"], "rack_names": ["r2"]}], set()),
        ([{"node_names": ["n1", "n3"], "node_labels": ["ucp: enabled"], "rack_names": ["r2"]}], {"n3"}),
        ([{"node_tags": ["ntp"]}, {"node_names": ["n4"]}], {"n2", "n4"}),
        ([{"node_tags": ["nope"]}, {"rack_names": ["nope"]}], set()),
    ],
)
def test_rule_05_or_inside_and_between_union_of_all(selectors: list[dict[str, Any]], expected: set[str]) -> None:
    assert select(*selectors) == expected


def test_rule_07_every_group_is_resolved_by_itself_in_document_order() -> None:
    def group(name: str, *selectors: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "critical": False, "depends_on": [], "selectors": list(selectors)}

    groups = [group("z", {"node_tags": ["control"]}), group("a"), group("none", {"rack_names": ["r9"]})]
    members = resolve(parse_strategy({"groups": groups}), NODES)
    assert members == {"z": {"n1", "n2"}, "a": ALL, "none": set()}
    assert list(members) == ["z", "a", "none"]
    assert resolve(parse_strategy({"groups": groups}), ()) == {"z": set(), "a": set(), "none": set()}


@pytest.mark.parametrize(
    "selectors",
    [
        [],
        [{}],
        [{"node_names": []}],
        [{"node_names": [], "node_tags": [], "node_labels": [], "rack_names": []}],
        [{"node_names": ["n1"]}, {}],
        [{"node_names": []}, {"node_names": ["nope"]}],
    ],
)
def test_rule_06_nothing_asked_for_means_all_nodes_also_beside_others(selectors: list[dict[str, Any]]) -> None:
    assert select(*selectors) == ALL
