"""Rules 4-7: which nodes a group has, and what is warned about."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.documents import load_documents
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex, resolve
from strategy_lib.strategy import parse_strategy
from strategy_lib.warnings import strategy_warnings

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


def test_rule_06_an_empty_criterion_is_ignored() -> None:
    assert select({"node_names": [], "node_tags": ["ntp"], "rack_names": []}) == {"n2"}


def test_rule_06_all_of_no_nodes_is_none() -> None:
    assert NodeIndex(()).select(()) == frozenset()


def test_rule_07_a_node_may_be_in_several_groups() -> None:
    index = NodeIndex(NODES)
    strategy = parse_strategy(
        {
            "groups": [
                {"name": "a", "critical": True, "depends_on": [], "selectors": [{"node_tags": ["control"]}]},
                {"name": "b", "critical": True, "depends_on": [], "selectors": [{"rack_names": ["r1"]}]},
            ]
        }
    )
    assert [index.select(group.selectors) for group in strategy.groups] == [{"n1", "n2"}, {"n1", "n2"}]


def test_rule_04_every_kind_of_warning_and_no_refusal() -> None:
    text = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: s}
data:
  groups:
  - name: nobody
    critical: false
    depends_on: []
    selectors: [{node_names: [nope]}]
  - name: too-few
    critical: true
    depends_on: []
    selectors: [{node_names: [n1]}]
    success_criteria:
      minimum_successful_nodes: 2
  - name: cannot-fail
    critical: true
    depends_on: []
    selectors: [{node_names: [n2]}]
  - name: cannot-fail-either
    critical: true
    depends_on: []
    selectors: [{node_names: [n2]}]
    success_criteria: {}
"""
    (document,) = load_documents(text, "s.yaml")
    strategy = parse_strategy(document.data, document)
    index = NodeIndex(NODES)
    members = {group.name: index.select(group.selectors) for group in strategy.groups}
    warnings = strategy_warnings(strategy, members, index.names, document)
    assert {warning.level for warning in warnings} == {"warning"}
    assert [(warning.line, warning.path, warning.message) for warning in warnings] == [
        (8, "$.data.groups[0].selectors", "group 'nobody' matches no node"),
        (
            14,
            "$.data.groups[1].success_criteria.minimum_successful_nodes",
            "group 'too-few' can never succeed: it needs 2 and has 1 node",
        ),
        (
            15,
            "$.data.groups[2]",
            "critical group 'cannot-fail' has no success criteria: its own nodes can never make it fail",
        ),
        (
            19,
            "$.data.groups[3]",
            "critical group 'cannot-fail-either' has no success criteria: its own nodes can never make it fail",
        ),
        (4, "$.data.groups", "in no group, so never deployed: n3, n4"),
    ]


def test_rule_04_many_uncovered_nodes_are_counted() -> None:
    strategy = parse_strategy({"groups": []})
    (warning,) = strategy_warnings(strategy, {}, [f"n{i:02}" for i in range(25)])
    assert warning.message.endswith("n08, n09 and 15 more")


def test_rule_04_nothing_to_warn_about() -> None:
    group = {
        "name": "a",
        "critical": True,
        "depends_on": [],
        "selectors": [],
        "success_criteria": {"minimum_successful_nodes": 4},
    }
    assert strategy_warnings(parse_strategy({"groups": [group]}), {"a": ALL}, ALL) == []
