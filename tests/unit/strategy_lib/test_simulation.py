"""The stable entry point `simulate`, and the blueprint's examples as printed there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from design_rendering.reading.documents import load_documents
from strategy_lib import InventoryError, StrategyError, simulate
from strategy_lib.errors import StrategyLibError
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState
from strategy_lib.reports.report import ReportedGroup
from strategy_lib.verdict import counts_of, verdict_on

# The example document of the blueprint, "Deployment Grouping for Baremetal Nodes", with its indentation.
EXAMPLE = """\
---
schema: shipyard/DeploymentStrategy/v1
metadata:
  schema: metadata/Document/v1
  name: deployment-strategy
  layeringDefinition:
    abstract: false
    layer: global
  storagePolicy: cleartext
data:
  groups:
    - name: control-nodes
      critical: true
      depends_on:
        - ntp-node
      selectors:
        - node_names: []
          node_labels: []
          node_tags:
            - control
          rack_names:
            - rack03
      success_criteria:
        percent_successful_nodes: 90
        minimum_successful_nodes: 3
        maximum_failed_nodes: 1
    - name: compute-nodes-1
      critical: false
      depends_on:
        - control-nodes
      selectors:
        - node_names: []
          node_labels: []
          rack_names:
            - rack01
          node_tags:
            - compute
      success_criteria:
        percent_successful_nodes: 50
    - name: compute-nodes-2
      critical: false
      depends_on:
        - control-nodes
      selectors:
        - node_names: []
          node_labels: []
          rack_names:
            - rack02
          node_tags:
            - compute
      success_criteria:
        percent_successful_nodes: 50
    - name: monitoring-nodes
      critical: false
      depends_on: []
      selectors:
        - node_names: []
          node_labels: []
          node_tags:
            - monitoring
          rack_names:
            - rack03
            - rack02
            - rack01
    - name: ntp-node
      critical: true
      depends_on: []
      selectors:
        - node_names:
            - ntp01
          node_labels: []
          node_tags: []
          rack_names: []
      success_criteria:
        minimum_successful_nodes: 1
"""

SELECTORS_FRAGMENT = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: fragment}
data:
  groups:
  - name: example
    critical: true
    depends_on: []
    selectors:
      - node_names:
          - node01
          - node02
        rack_names:
          - rack01
        node_tags:
          - control
      - node_names:
          - node04
        node_labels:
          - ucp_control_plane: enabled
"""

PRINTED_ORDER = ("ntp-node", "control-nodes", "monitoring-nodes", "compute-nodes-2", "compute-nodes-1")


def node(name: str, rack: str, *tags: str, **labels: str) -> dict[str, Any]:
    return {"name": name, "tags": list(tags), "labels": labels, "rack": rack}


SITE = [
    node("ntp01", "rack03"),
    *(node(f"control0{i}", "rack03", "control") for i in (1, 2, 3)),
    *(node(f"compute1{i}", "rack01", "compute") for i in (1, 2)),
    *(node(f"compute2{i}", "rack02", "compute") for i in (1, 2)),
    *(node(f"mon0{i}", f"rack0{i}", "monitoring") for i in (1, 2, 3)),
]


def example() -> dict[str, Any]:
    (document,) = load_documents(EXAMPLE)
    data: dict[str, Any] = document.data
    return data


def as_printed(outcomes: dict[str, Any] | None) -> tuple[list[str], str]:
    """Return the lines of the blueprint's "Example Processing", in its order of groups, and how it finishes."""
    data = example()
    data["groups"].sort(key=lambda group: PRINTED_ORDER.index(group["name"]))
    result = simulate(data, SITE, outcomes)
    assert tuple(result["order"]) == PRINTED_ORDER
    lines = []
    for name in result["order"]:
        group = result["groups"][name]
        failed_in = group["failed_criteria"][0]["phase"] if group["failed_criteria"] else None
        if group["reason"] == "dependency":
            marks = ("<FAILED, due to dependency>", "<FAILED, due to dependency>")
        elif group["reason"] == "prepare_criteria":
            assert failed_in == "prepare"
            marks = ("<FAILED>", "<FAILED, due to prepare failure>")
        elif group["reason"] == "deploy_criteria":
            assert failed_in == "deploy"
            marks = ("<SUCCESS>", "<FAILED>")
        else:
            marks = ("<SUCCESS>", "<SUCCESS>")
        lines += [f"prepare {name} {marks[0]}", f"deploy {name} {marks[1]}"]
    failed = [group for group in result["groups"].values() if group["state"] == "failure"]
    if result["verdict"] == "failure":
        finish = "failed due to critical group failed"
    else:
        finish = "success with some nodes/groups failed" if failed else "success"
    return lines, finish


def test_blueprint_processing_2_failure_in_preparing_the_ntp_node() -> None:
    lines, finish = as_printed({"prepare": {"ntp01": "failure"}})
    assert lines == [
        "prepare ntp-node <FAILED>",
        "deploy ntp-node <FAILED, due to prepare failure>",
        "prepare control-nodes <FAILED, due to dependency>",
        "deploy control-nodes <FAILED, due to dependency>",
        "prepare monitoring-nodes <SUCCESS>",
        "deploy monitoring-nodes <SUCCESS>",
        "prepare compute-nodes-2 <FAILED, due to dependency>",
        "deploy compute-nodes-2 <FAILED, due to dependency>",
        "prepare compute-nodes-1 <FAILED, due to dependency>",
        "deploy compute-nodes-1 <FAILED, due to dependency>",
    ]
    assert finish == "failed due to critical group failed"


def test_blueprint_processing_3_failure_during_the_deploy_of_compute_nodes_2() -> None:
    lines, finish = as_printed({"deploy": {"compute21": "failure", "compute22": "failure"}})
    assert lines == [
        "prepare ntp-node <SUCCESS>",
        "deploy ntp-node <SUCCESS>",
        "prepare control-nodes <SUCCESS>",
        "deploy control-nodes <SUCCESS>",
        "prepare monitoring-nodes <SUCCESS>",
        "deploy monitoring-nodes <SUCCESS>",
        "prepare compute-nodes-2 <SUCCESS>",
        "deploy compute-nodes-2 <FAILED>",
        "prepare compute-nodes-1 <SUCCESS>",
        "deploy compute-nodes-1 <SUCCESS>",
    ]
    assert finish == "success with some nodes/groups failed"


def test_blueprint_example_document_as_it_stands() -> None:
    result = simulate(example(), SITE, {"deploy": {"control03": "failure"}})
    assert result["order"] == ["monitoring-nodes", "ntp-node", "control-nodes", "compute-nodes-1", "compute-nodes-2"]
    assert result["groups"]["control-nodes"] == {
        "state": "failure",
        "reason": "deploy_criteria",
        "critical": True,
        "nodes": ["control01", "control02", "control03"],
        "failed_criteria": [
            {"phase": "deploy", "criterion": "percent_successful_nodes", "needed": 90, "actual": "2/3"},
            {"phase": "deploy", "criterion": "minimum_successful_nodes", "needed": 3, "actual": 2},
        ],
    }
    assert result["groups"]["compute-nodes-1"]["reason"] == "dependency"
    assert result["verdict"] == "failure"
    assert result["nodes"]["compute11"] == "not_started"


def test_blueprint_selectors_fragment_with_a_mapping_as_label() -> None:
    (document,) = load_documents(SELECTORS_FRAGMENT)
    site = [
        node("node01", "rack01", "control"),
        node("node02", "rack02", "control"),
        node("node03", "rack01", "control"),
        node("node04", "rack09", ucp_control_plane="enabled"),
    ]
    assert simulate(document.data, site)["groups"]["example"]["nodes"] == ["node01", "node04"]
    site[3]["labels"] = {"ucp_control_plane": "disabled"}
    assert simulate(document.data, site)["groups"]["example"]["nodes"] == ["node01"]


def group(name: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "critical": True, "depends_on": list(depends_on), "selectors": [], **more}


def test_the_result_has_exactly_this_form_and_is_plain_data() -> None:
    strategy = {
        "groups": [
            group("b", "a", critical=False),
            group("a", selectors=[{"node_names": ["n2", "n1"]}], success_criteria={"percent_successful_nodes": 58}),
        ]
    }
    nodes: list[dict[str, Any]] = [{"name": "n1"}, {"name": "n2"}, {"name": "n3"}]
    result = simulate(strategy, nodes, {"prepare": {"n3": "unknown"}, "deploy": {"n2": "failure"}})
    expected = {
        "verdict": "failure",
        "order": ["a", "b"],
        "groups": {
            "a": {
                "state": "failure",
                "reason": "deploy_criteria",
                "critical": True,
                "nodes": ["n1", "n2"],
                "failed_criteria": [
                    {"phase": "deploy", "criterion": "percent_successful_nodes", "needed": 58, "actual": "1/2"}
                ],
            },
            "b": {
                "state": "failure",
                "reason": "dependency",
                "critical": False,
                "nodes": ["n1", "n2", "n3"],
                "failed_criteria": [],
            },
        },
        "nodes": {"n1": "success", "n2": "failure", "n3": "not_started"},
        "submissions": [
            {"group": "a", "phase": "prepare", "nodes": ["n1", "n2"]},
            {"group": "a", "phase": "deploy", "nodes": ["n1", "n2"]},
        ],
        "waves": [["a"]],
    }
    assert result == expected
    # Plain texts, not enumerations, also to those who look closer.
    assert repr(result) == repr(json.loads(json.dumps(result)))


def test_arguments_are_left_as_they_were() -> None:
    strategy, nodes, outcomes = example(), [dict(entry) for entry in SITE], {"deploy": {"mon01": "failure"}}
    before = json.dumps([strategy, nodes, outcomes])
    simulate(strategy, nodes, outcomes)
    assert json.dumps([strategy, nodes, outcomes]) == before


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        pytest.param([], "failure", id="no group"),
        pytest.param([group("a", selectors=[{"node_tags": ["nowhere"]}])], "failure", id="one empty group"),
        pytest.param(
            [group(name, selectors=[{"node_tags": ["nowhere"]}], critical=False) for name in "ab"],
            "failure",
            id="empty groups only, none critical",
        ),
        pytest.param(
            [group("a", selectors=[{"node_tags": ["nowhere"]}]), group("b")], "success", id="an empty one beside others"
        ),
    ],
)
def test_rule_19_the_rehearsal_and_the_report_agree_where_there_is_nothing_to_deploy(
    groups: list[dict[str, Any]], verdict: str
) -> None:
    result = simulate({"groups": groups}, [{"name": "n1"}])
    counts = {name: counts_of([NodeState.SUCCESS] * len(each["nodes"])) for name, each in result["groups"].items()}
    reported = [
        ReportedGroup(name, each["critical"], GroupState(each["state"]), None, counts=counts[name])
        for name, each in result["groups"].items()
    ]
    assert (result["verdict"], verdict_on(reported).verdict) == (verdict, verdict)


def test_rule_03_an_invalid_strategy_raises_with_every_problem() -> None:
    with pytest.raises(StrategyError) as caught:
        simulate({"groups": [group("a", "b"), group("b", "a"), group("c", "d", critical=1)]}, [])
    assert [(problem.path, problem.line) for problem in caught.value.problems] == [
        ("$.data.groups[2].critical", None),
        ("$.data.groups[2].depends_on[0]", None),
        ("$.data.groups[0].depends_on[0]", None),
    ]
    assert all(problem.message for problem in caught.value.problems)


def test_wrong_nodes_and_outcomes_are_refused_by_name() -> None:
    with pytest.raises(InventoryError):
        simulate({"groups": []}, [{"name": "n"}, {"name": "n"}])
    for outcomes in (
        {"perpare": {"n": "failure"}},
        {"prepare": {"n": "failed"}},
        {"prepare": ["n"]},
        {"deploy": {"n": None}},
        {"deploy": {"n": ["failure"]}},
        ["prepare"],
    ):
        with pytest.raises(StrategyLibError):
            simulate({"groups": []}, [{"name": "n"}], outcomes)  # type: ignore[arg-type]
