"""Rules 4-7: which nodes a group has, and what is warned about."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.documents import load_documents
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex, resolve
from strategy_lib.strategy import parse_strategy
from strategy_lib.warnings import draft_warnings, strategy_warnings

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


def _value_warnings(selectors: object, **criteria: int) -> list[tuple[str, str]]:
    """Return path and message of what is warned about in the one group of a strategy for ALIKE."""
    data = {"groups": [{"name": "g", "critical": False, "depends_on": [], "selectors": selectors}]}
    found = draft_warnings(parse_strategy(data), ALIKE)
    assert {warning.level for warning in found} <= {"warning"}
    return [
        (found_one.path.removeprefix("$.data.groups[0]."), found_one.message)
        for found_one in found
        if "in no group" not in found_one.message
    ]


ALIKE = [
    Node("rack1-node01", frozenset({"compute", "gpu"}), {"role": "enabled", "flag": " x"}, "rack01"),
    Node("rack1-node02", frozenset({"control"}), {"role": "disabled"}, "rack02"),
]


@pytest.mark.parametrize(
    ("criterion", "there", "written", "message"),
    [
        (
            "node_names",
            "rack1-node01",
            "rack1-node3",
            "no node has the name 'rack1-node3'; did you mean 'rack1-node02'?",
        ),
        ("node_tags", "gpu", "contrl", "no node has the tag 'contrl'; did you mean 'control'?"),
        ("node_tags", "gpu", "Compute", "no node has the tag 'Compute'; did you mean 'compute'?"),
        ("node_tags", "gpu", "storage", "no node has the tag 'storage'"),
        ("rack_names", "rack01", "rack-2", "no node is in a rack 'rack-2'; did you mean 'rack02'?"),
        (
            "node_labels",
            "role: enabled",
            "roles: disabled",
            "no node has the label 'roles: disabled'; did you mean 'role: disabled'?",
        ),
        ("node_labels", "role: enabled", {"flag": "x"}, "no node has the label 'flag: x'; did you mean 'flag:  x'?"),
    ],
)
def test_rule_04_a_value_that_matches_nothing_beside_others_is_warned_about_with_the_nearest(
    criterion: str, there: str, written: object, message: str
) -> None:
    assert _value_warnings([{criterion: [there, written]}]) == [(f"selectors[0].{criterion}[1]", message)]
    # In another selector of the group just the same.
    assert _value_warnings([{criterion: [there]}, {criterion: [written]}]) == [
        (f"selectors[1].{criterion}[0]", message)
    ]


def test_rule_04_a_group_without_nodes_is_told_once_with_the_nearest_value() -> None:
    assert _value_warnings([{"node_tags": ["contrl"]}]) == [
        ("selectors", "group 'g' matches no node: no node has the tag 'contrl'; did you mean 'control'?")
    ]
    assert _value_warnings([{"node_tags": ["storage"]}]) == [("selectors", "group 'g' matches no node")]
    assert _value_warnings([{"node_tags": ["gpu"], "rack_names": ["rack02"]}]) == [
        ("selectors", "group 'g' matches no node")
    ]


def test_rule_04_values_that_match_nothing_are_many_warnings_but_not_thousands() -> None:
    names = ["rack1-node01", *(f"gone{number}" for number in range(3000))]
    found = _value_warnings([{"node_names": names}])
    assert len(found) == 10
    assert found[-1][1] == "no node has the name 'gone9', and 2990 more names here match nothing"


def test_rule_04_values_that_select_all_nodes_anyhow_are_warned_about_too() -> None:
    assert _value_warnings([{"node_tags": ["contrl"]}, {}]) == [
        ("selectors[0].node_tags[0]", "no node has the tag 'contrl'; did you mean 'control'?")
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
