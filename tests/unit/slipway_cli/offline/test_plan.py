"""`slipway plan`: order, nodes, overlaps, nodes in no group, and drawings."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result

from tests.unit.slipway_cli.conftest import Slipway, Write

STRATEGY = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: %s}
data:
  groups:
  - {name: second, critical: false, depends_on: [first], selectors: [{rack_names: [r1]}]}
  - name: first
    critical: true
    depends_on: []
    selectors: [{node_tags: [control]}]
    success_criteria: {percent_successful_nodes: 90, minimum_successful_nodes: 1, maximum_failed_nodes: 0}
"""
NODES = """\
[{"name": "n1", "tags": ["control"], "rack": "r1"}, {"name": "n2", "rack": "r1"}, {"name": "n3", "rack": "r2"}]
"""
CONFIGURATION = """\
---
schema: shipyard/DeploymentConfiguration/v1
metadata: {name: deployment-configuration}
data: {physical_provisioner: {deployment_strategy: %s}}
"""
NODE = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"


def _plan(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert isinstance(data, dict)
    return data


def test_a_group_that_asks_a_person_is_announced(slipway: Slipway, write: Write) -> None:
    asking = (
        STRATEGY.replace("critical: true\n", "critical: true\n    approval: before\n    approvers: [ann]\n") % "mine"
    )
    lines = slipway("plan", write("strategy.yaml", asking)).stdout.splitlines()
    assert "Group first asks for approval by ann before it begins; while it waits no other group starts." in lines


def test_plan_as_data(slipway: Slipway, write: Write) -> None:
    strategy, nodes = write("strategy.yaml", STRATEGY % "mine"), write("nodes.json", NODES)
    data = _plan(slipway("plan", strategy, "--site", nodes, "-o", "json"))
    assert data == {
        "strategy": "mine",
        "order": ["first", "second"],
        "groups": [
            {
                "position": 1,
                "name": "first",
                "critical": True,
                "depends_on": [],
                "selectors": [{"node_names": [], "node_tags": ["control"], "node_labels": [], "rack_names": []}],
                "success_criteria": {
                    "percent_successful_nodes": 90,
                    "minimum_successful_nodes": 1,
                    "maximum_failed_nodes": 0,
                },
                "nodes": ["n1"],
            },
            {
                "position": 2,
                "name": "second",
                "critical": False,
                "depends_on": ["first"],
                "selectors": [{"node_names": [], "node_tags": [], "node_labels": [], "rack_names": ["r1"]}],
                "nodes": ["n1", "n2"],
            },
        ],
        "overlaps": [{"groups": ["first", "second"], "nodes": ["n1"]}],
        "unassigned": ["n3"],
        "warnings": [
            {
                "level": "warning",
                "source": str(strategy),
                "line": 4,
                "document": f"{strategy}: shipyard/DeploymentStrategy/v1 mine",
                "path": "$.data.groups",
                "message": "in no group, so never deployed: n3",
            }
        ],
    }


def test_rule_08_the_example_site_in_order_with_its_nodes(slipway: Slipway, example: Path) -> None:
    data = _plan(slipway("plan", example, "-o", "json"))
    groups = data["groups"]
    assert isinstance(groups, list)
    assert {group["name"]: len(group["nodes"]) for group in groups} == {
        "monitoring-nodes": 3,
        "ntp-node": 1,
        "control-nodes": 10,
        "compute-nodes-1": 12,
        "compute-nodes-2": 15,
    }
    assert data["order"] == [group["name"] for group in groups]
    assert data["overlaps"] == [{"groups": ["monitoring-nodes", "control-nodes"], "nodes": ["r3-control-10"]}]
    assert (data["unassigned"], data["warnings"]) == ([], [])


def test_without_nodes_there_is_an_order_only(slipway: Slipway, write: Write) -> None:
    strategy = write("strategy.yaml", STRATEGY % "mine")
    data = _plan(slipway("plan", strategy, "-o", "json"))
    groups = data["groups"]
    assert isinstance(groups, list)
    assert [(group["name"], group["nodes"]) for group in groups] == [("first", None), ("second", None)]
    assert data["warnings"] == []
    assert "give the site design with --site" in slipway("plan", strategy).stdout


def test_the_table_shows_what_matters(slipway: Slipway, write: Write) -> None:
    result = slipway("plan", write("s.yaml", STRATEGY % "mine"), "--site", write("nodes.json", NODES))
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["Strategy", "mine:", "2", "groups,", "3", "nodes"] in lines
    assert ["1", "first", "yes", "1", "≥", "90", "%,", "≥", "1", "node,", "≤", "0", "failed"] in lines
    assert ["2", "second", "no", "2", "first"] in lines
    assert ["n1", "first,", "second"] in lines
    assert "in no group, so never deployed: n3" in result.stdout


def test_a_new_strategy_on_an_existing_site_takes_only_its_nodes(slipway: Slipway, write: Write, example: Path) -> None:
    strategy = write("new.yaml", STRATEGY % "deployment-strategy")
    data = _plan(slipway("plan", strategy, "--site", example, "-o", "json"))
    assert data["order"] == ["first", "second"]


def test_a_key_that_stands_twice_in_a_plain_list_is_refused(slipway: Slipway, write: Write) -> None:
    strategy, nodes = write("s.yaml", STRATEGY % "mine"), write("n.yaml", "- name: n1\n  rack: r1\n  rack: r2\n")
    result = slipway("plan", strategy, "--site", nodes)
    assert (result.exit_code, f"{nodes}:3: $[0].rack: the key 'rack' is already there on line 2" in result.output) == (
        1,
        True,
    )


class TestWhichStrategy:
    """The configuration decides; drafts without one are read with good sense; --strategy overrules."""

    def test_the_configuration_decides(self, slipway: Slipway, write: Write) -> None:
        text = "---\n".join([STRATEGY % "one", STRATEGY % "two"]) + CONFIGURATION % "two"
        assert _plan(slipway("plan", write("s.yaml", text), "-o", "json"))["strategy"] == "two"

    def test_the_usual_name_wins_in_a_draft(self, slipway: Slipway, write: Write) -> None:
        text = "---\n".join([STRATEGY % "one", STRATEGY % "deployment-strategy"])
        assert _plan(slipway("plan", write("s.yaml", text), "-o", "json"))["strategy"] == "deployment-strategy"

    def test_several_drafts_need_a_choice(self, slipway: Slipway, write: Write) -> None:
        path = write("s.yaml", "---\n".join([STRATEGY % "one", STRATEGY % "two"]))
        result = slipway("plan", path)
        assert (result.exit_code, "choose one with --strategy: one, two" in result.stderr) == (2, True)
        assert _plan(slipway("plan", path, "--strategy", "two", "-o", "json"))["strategy"] == "two"

    def test_a_choice_that_does_not_exist(self, slipway: Slipway, example: Path) -> None:
        result = slipway("plan", example, "--strategy", "three")
        assert (result.exit_code, "there are deployment-strategy" in result.stderr) == (2, True)

    def test_rule_22_a_warning_when_a_deployment_would_not_use_it(self, slipway: Slipway, write: Write) -> None:
        path = write("s.yaml", "---\n".join([STRATEGY % "mine", NODE]))
        data = _plan(slipway("plan", path, "-o", "json"))
        warnings = data["warnings"]
        assert isinstance(warnings, list)
        assert data["strategy"] == "mine"
        assert (warnings[0]["line"], warnings[0]["message"]) == (
            1,
            "a deployment would not use this strategy, but deploy all nodes as one critical group; "
            "add a shipyard/DeploymentConfiguration/v1 with `physical_provisioner: {deployment_strategy: mine}`, "
            "or name the strategy 'deployment-strategy'",
        )
        assert "would not use this strategy" in slipway("plan", path).stdout
        assert "would not use this strategy" in slipway("plan", path, "--graph", "dot").stderr
        assert "would not use this strategy" in slipway("simulate", path, "-o", "json").stderr

    def test_a_draft_tried_on_a_site_needs_no_configuration(
        self, slipway: Slipway, write: Write, example: Path
    ) -> None:
        result = slipway("plan", write("s.yaml", STRATEGY % "mine"), "--site", example)
        assert (result.exit_code, "would not use" in result.output) == (0, False)

    def test_no_strategy_and_no_nodes_is_wrong_use(self, slipway: Slipway, write: Write) -> None:
        path = write("s.yaml", "schema: drydock/Region/v1\nmetadata: {name: r}\ndata: {}\n")
        result = slipway("plan", path)
        assert (result.exit_code, "There is no shipyard/DeploymentStrategy/v1" in result.stderr) == (2, True)


def test_an_invalid_strategy_fails_with_all_problems(slipway: Slipway, write: Write) -> None:
    path = write("s.yaml", STRATEGY.replace("[first]", "[first, nowhere, second]") % "mine")
    result = slipway("plan", path, "-o", "json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{path}:5: $.data.groups[0].depends_on[1]: " in result.stderr
    assert f"{path}:5: $.data.groups[0].depends_on[2]: " in result.stderr


def test_a_strategy_without_groups(slipway: Slipway, write: Write) -> None:
    path = write("s.yaml", "schema: shipyard/DeploymentStrategy/v1\nmetadata: {name: none}\ndata: {groups: []}\n")
    assert _plan(slipway("plan", path, "-o", "json"))["order"] == []
    assert slipway("plan", path).exit_code == 0
    ElementTree.fromstring(slipway("plan", path, "--graph", "svg").stdout)  # noqa: S314 - our own output


@pytest.mark.parametrize("options", [(), ("-o", "json"), ("--graph", "svg"), ("--graph", "dot")])
def test_a_file_gets_what_standard_output_would(
    slipway: Slipway, example: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "plan.out"
    result = slipway("plan", example, *options, "-f", path)
    assert (result.exit_code, result.output) == (0, "")
    assert path.read_text(encoding="utf-8") == slipway("plan", example, *options).stdout


def test_a_file_that_cannot_be_written_fails(slipway: Slipway, example: Path, tmp_path: Path) -> None:
    result = slipway("plan", example, "-f", tmp_path / "missing" / "plan.txt")
    assert (result.exit_code, "cannot be written: No such file" in result.stderr) == (1, True)
    assert slipway("plan", example, "-f", tmp_path).exit_code == 2


def test_a_graph_and_a_form_are_one_too_many(slipway: Slipway, example: Path) -> None:
    assert slipway("plan", example, "--graph", "svg", "-o", "json").exit_code == 2


def test_rule_59_a_plan_says_how_many_batches_there_are_and_which_nodes_are_canaries(
    slipway: Slipway, write: Write
) -> None:
    strategy = STRATEGY.replace("{rack_names: [r1]}]", "{}], canary: 1, max_in_flight: 1") % "mine"
    sentence = (
        "Group second goes in 2 batches of at most 1 node, first its canaries: n2. "
        "If one of them fails, no other node is begun."
    )
    files = write("strategy.yaml", strategy), "--site", write("nodes.json", NODES)
    assert sentence in slipway("plan", *files).stdout.splitlines()
    data = _plan(slipway("plan", *files, "-o", "json"))
    assert data["batches"] == [sentence], "n1 is deployed by the group before"
