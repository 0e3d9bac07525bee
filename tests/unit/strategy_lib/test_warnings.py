"""Rule 4: what is warned about in a strategy that is valid."""

from __future__ import annotations

import pytest

from design_rendering.reading.documents import load_documents
from strategy_lib.node import Node
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.warnings import strategy_warnings

NODES = (
    Node("n1", frozenset({"control"}), {"ucp": "enabled", "url": "a:b"}, "r1"),
    Node("n2", frozenset({"control", "ntp"}), {"ucp": "disabled"}, "r1"),
    Node("n3", frozenset({"compute"}), {"ucp": "enabled"}, "r2"),
    Node("n4", frozenset(), {}, None),
)


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
    warnings = strategy_warnings(strategy, NODES, document)
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
    found = strategy_warnings(parse_strategy(data), ALIKE)
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
    group = {"name": "a", "critical": False, "depends_on": [], "selectors": [{"node_names": ["covered"]}]}
    nodes = [Node("covered"), *(Node(f"n{i:02}") for i in range(25))]
    (warning,) = strategy_warnings(parse_strategy({"groups": [group]}), nodes)
    assert warning.message.endswith("n08, n09 and 15 more")


def test_rule_04_nothing_to_warn_about() -> None:
    group = {
        "name": "a",
        "critical": True,
        "depends_on": [],
        "selectors": [],
        "success_criteria": {"minimum_successful_nodes": 4},
    }
    assert strategy_warnings(parse_strategy({"groups": [group]}), NODES) == []
