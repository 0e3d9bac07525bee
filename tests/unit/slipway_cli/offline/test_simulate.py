"""`slipway simulate`: what the rules say would happen, shown to people and to programs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from strategy_lib import simulate
from tests.unit.slipway_cli.conftest import Slipway, Write

STRATEGY = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: mine}
data:
  groups:
  - name: control
    critical: true
    depends_on: []
    selectors: [{node_tags: [control]}]
    success_criteria: {percent_successful_nodes: 50}
  - {name: rest, critical: false, depends_on: [control], selectors: []}
"""
NODES: list[dict[str, Any]] = [
    {"name": "c1", "tags": ["control"], "labels": {}, "rack": "r1"},
    {"name": "c2", "tags": ["control"], "labels": {"k": "v"}, "rack": None},
    {"name": "w1"},
]


@pytest.fixture
def files(write: Write) -> tuple[Path, str, Path]:
    """Return the arguments `STRATEGY --inventory FILE`."""
    return write("strategy.yaml", STRATEGY), "--inventory", write("nodes.json", json.dumps(NODES))


@pytest.mark.parametrize(
    ("options", "outcomes"),
    [
        ((), None),
        (("--fail", "deploy:c1"), {"deploy": {"c1": "failure"}}),
        (
            ("--fail", "prepare:c1", "--timeout", "deploy:c2"),
            {"prepare": {"c1": "failure"}, "deploy": {"c2": "unknown"}},
        ),
        (("--timeout", "prepare:c1", "--timeout", "prepare:c2"), {"prepare": {"c1": "unknown", "c2": "unknown"}}),
        (("--timeout", "prepare:c?"), {"prepare": {"c1": "unknown", "c2": "unknown"}}),
        (("--fail", "deploy:[cw]1"), {"deploy": {"c1": "failure", "w1": "failure"}}),
    ],
)
def test_json_is_exactly_what_the_library_returns(
    slipway: Slipway, files: tuple[Path, str, Path], options: tuple[str, ...], outcomes: dict[str, Any] | None
) -> None:
    expected = simulate(yaml.safe_load(STRATEGY)["data"], NODES, outcomes)
    result = slipway("simulate", *files, *options, "-o", "json")
    assert json.loads(result.stdout) == expected
    assert result.exit_code == (0 if expected["verdict"] == "success" else 1)
    assert yaml.safe_load(slipway("simulate", *files, *options, "-o", "yaml").stdout) == expected


def test_rule_19_a_critical_failure_exits_1_and_is_explained(slipway: Slipway, files: tuple[Path, str, Path]) -> None:
    result = slipway("simulate", *files, "--fail", "deploy:c1", "--timeout", "deploy:c2", "--fail", "deploy:w1")
    assert (result.exit_code, result.stderr) == (1, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "Given: c1 fails in deploy, w1 fails in deploy, c2 is not heard of in deploy" in lines
    assert "1 control yes 2, 2 0/2 failure deploy criteria" in lines
    assert "2 rest no 0, 0 0/3 failure dependency" in lines
    assert "control deploy percent_successful_nodes 50 0/2" in lines
    assert "failure 1 c1" in lines
    assert "unknown 1 c2" in lines
    assert "not started 1 w1" in lines
    assert "Made no difference, because the node was never sent: deploy:w1" in lines
    assert lines[-1] == "Verdict: failure; critical groups that failed: control"


def test_rule_19_a_failure_that_is_not_critical_exits_0_and_is_named(slipway: Slipway, write: Write) -> None:
    lenient = STRATEGY.replace("critical: true", "critical: false")
    inventory = write("nodes.json", json.dumps(NODES))
    result = slipway(
        "simulate", write("s.yaml", lenient), "--inventory", inventory, "--fail", "deploy:c1", "--fail", "deploy:c2"
    )
    assert result.exit_code == 0
    assert result.stdout.endswith("Verdict: success; groups that failed, none of them critical: control, rest\n")


def test_success_is_short(slipway: Slipway, files: tuple[Path, str, Path]) -> None:
    result = slipway("simulate", *files)
    assert "Given: every node succeeds" in result.stdout
    assert "State at the end" not in result.stdout
    assert result.stdout.endswith("Verdict: success\n")


def test_rule_04_warnings_are_on_standard_error(slipway: Slipway, write: Write) -> None:
    path = write("s.yaml", STRATEGY.replace("[control]}]", "[controll]}]"))
    inventory = write("nodes.json", json.dumps(NODES))
    for form in ("table", "json"):
        result = slipway("simulate", path, "--inventory", inventory, "-o", form)
        assert f"{path}:8: $.data.groups[0].selectors: group 'control' matches no node" in result.stderr
        assert "matches no node" not in result.stdout


def test_a_strategy_without_groups_is_said_to_deploy_nothing(slipway: Slipway, write: Write) -> None:
    path = write("s.yaml", STRATEGY.partition("  groups:")[0] + "  groups: []\n")
    result = slipway("simulate", path, "--inventory", write("nodes.json", json.dumps(NODES)))
    assert "$.data.groups: there are no groups: nothing would be deployed" in result.stderr
    assert result.stdout.endswith("Verdict: failure; there are no groups, so nothing would be deployed\n")
    assert result.exit_code == 1


def test_rule_19_groups_without_any_node_are_said_to_deploy_nothing(slipway: Slipway, write: Write) -> None:
    path = write("s.yaml", STRATEGY.replace("selectors: []", "selectors: [{node_tags: [nowhere]}]"))
    result = slipway("simulate", path, "--inventory", write("nodes.json", '[{"name": "stranger"}]'))
    assert result.stdout.endswith("Verdict: failure; no group has a node, so nothing would be deployed\n")
    assert result.exit_code == 1


MISTAKES = {
    "a node that does not exist": (("--fail", "deploy:c3"), "there is no node 'c3'. Did you mean c"),
    "nothing like it": (("--fail", "deploy:zzzzzz"), "there is no node 'zzzzzz'.\n"),
    "no phase": (("--fail", "c1"), "write prepare:NODE or deploy:NODE"),
    "a pattern that fits none": (("--fail", "deploy:x-*"), "there is no node 'x-*'"),
    "an unknown phase": (("--timeout", "destroy:c1"), "write prepare:NODE or deploy:NODE"),
    "no node": (("--fail", "deploy:"), "write prepare:NODE or deploy:NODE"),
    "two fates": (("--fail", "deploy:c1", "--timeout", "deploy:c1"), "not both"),
    "two fates by a pattern": (
        ("--fail", "deploy:c1", "--timeout", "deploy:*"),
        "deploy:*: c1 can either fail or time",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_wrong_outcomes_are_wrong_use(slipway: Slipway, files: tuple[Path, str, Path], case: str) -> None:
    options, message = MISTAKES[case]
    result = slipway("simulate", *files, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_all_wrong_outcomes_are_told_at_once(slipway: Slipway, files: tuple[Path, str, Path]) -> None:
    result = slipway("simulate", *files, "--fail", "deploy:c3", "--timeout", "prepare:w3", "--fail", "x")
    assert all(text in result.stderr for text in ("'c3'", "'w3'", "--fail x"))


class TestInventory:
    """Nodes come from a site design, a plain list, or the strategy's own file."""

    def test_the_nodes_of_the_strategy_file(self, slipway: Slipway, example: Path) -> None:
        data = json.loads(slipway("simulate", example, "-o", "json").stdout)
        assert len(data["nodes"]) == 40

    def test_a_site_in_several_files(self, slipway: Slipway, write: Write, example: Path) -> None:
        first, separator, second = example.read_text().partition("\n---\nschema: shipyard/DeploymentStrategy")
        files = write("nodes.yaml", first), write("strategy.yaml", f"{separator}{second}")
        together = slipway("simulate", example, "-o", "json").stdout
        assert slipway("simulate", *files, "-o", "json").stdout == together

    def test_a_site_design(self, slipway: Slipway, write: Write, example: Path) -> None:
        result = slipway("simulate", write("s.yaml", STRATEGY), "--inventory", example, "-o", "json")
        assert len(json.loads(result.stdout)["groups"]["control"]["nodes"]) == 10

    @pytest.mark.parametrize(
        "text",
        [
            "- name: c1\n- name: w1\n",
            "# nodes\n\n---\n- {name: c1}\n- {name: w1}\n",
            '\ufeff[\n  {"name": "c1"}, {"name": "w1"}]',
            "-\n  name: c1\n-\n  name: w1\n",
        ],
    )
    def test_a_plain_list_in_any_dress(self, slipway: Slipway, write: Write, text: str) -> None:
        result = slipway("simulate", write("s.yaml", STRATEGY), "--inventory", "-", "-o", "json", stdin=text)
        assert sorted(json.loads(result.stdout)["nodes"]) == ["c1", "w1"]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (b'[{"name": "a"},\n {"name": "a"}]', "<stdin>:2: $[1].name: "),
            (b"- name: a\n- tags: x\n  name: b\n  colour: red\n", "<stdin>:2: $[1].tags: "),
            (b"- name: a\n- [\n", "this is not YAML"),
            (b"- name: \xff\n", "<stdin>:1: $: not UTF-8"),
            (b"- name: a\n---\n- name: b\n", "must be one document"),
            (b"- name: a\n- name: b\n  name: c\n", "<stdin>:3: "),
        ],
    )
    def test_a_bad_list_fails_with_its_line(self, slipway: Slipway, write: Write, text: bytes, problem: str) -> None:
        result = slipway("simulate", write("s.yaml", STRATEGY), "--inventory", "-", stdin=text)
        assert (result.exit_code, result.stdout) == (1, "")
        assert problem in result.stderr

    def test_a_list_stands_alone(self, slipway: Slipway, files: tuple[Path, str, Path], example: Path) -> None:
        assert slipway("simulate", *files, "--inventory", example).exit_code == 2

    @pytest.mark.parametrize("text", ["[]", "schema: drydock/Region/v1\nmetadata: {name: r}\ndata: {}\n"])
    def test_no_nodes_is_wrong_use(self, slipway: Slipway, write: Write, text: str) -> None:
        result = slipway("simulate", write("s.yaml", STRATEGY), "--inventory", write("nodes", text))
        assert (result.exit_code, "There are no nodes in" in result.stderr) == (2, True)

    def test_standard_input_can_be_read_once_only(self, slipway: Slipway) -> None:
        assert slipway("simulate", "-", "--inventory", "-", stdin=STRATEGY).exit_code == 2


class TestBatches:
    """Rule 59: groups in batches, and canaries."""

    def test_a_canary_that_fails_is_the_reason_of_its_group(self, slipway: Slipway, write: Write) -> None:
        group = "{name: g, critical: true, depends_on: [], selectors: [], canary: 1, max_in_flight: 2}"
        strategy = f"schema: shipyard/DeploymentStrategy/v1\nmetadata: {{name: s}}\ndata: {{groups: [{group}]}}\n"
        nodes = write("nodes.yaml", "[{name: a}, {name: b}, {name: c}]")
        files = write("s.yaml", strategy), "--inventory", nodes
        good = json.loads(slipway("simulate", *files, "-o", "json").stdout)
        assert [item["nodes"] for item in good["submissions"]] == [["a"], ["a"], ["b", "c"], ["b", "c"]]
        result = slipway("simulate", *files, "--fail", "deploy:a")
        assert result.exit_code == 1
        assert "canary" in result.stdout
        assert "the canaries failed: a (deploy failed)" in result.stdout
        assert "Group g goes in 1 batch of at most 1 node, first its canaries: a." in result.stdout
        assert "Group g goes in 2 batches of at most 2 nodes" in slipway("simulate", *files).stdout


class TestExampleSite:
    """What the comment at the top of the example site promises."""

    def test_one_compute_node_is_forgiven(self, slipway: Slipway, example: Path) -> None:
        result = slipway("simulate", example, "--fail", "deploy:r1-compute-07", "-o", "json")
        data = json.loads(result.stdout)
        assert (result.exit_code, data["verdict"]) == (0, "success")
        assert {group["state"] for group in data["groups"].values()} == {"success"}
        assert data["nodes"]["r1-compute-07"] == "failure"


def test_groups_side_by_side_are_shown_in_rounds(slipway: Slipway, write: Write) -> None:
    names = ("a", "b", "c")
    groups = [{"name": n, "critical": True, "depends_on": [], "selectors": [{"node_names": [n]}]} for n in names]
    text = {"schema": "shipyard/DeploymentStrategy/v1", "metadata": {"name": "mine"}, "data": {"groups": groups}}
    given = (
        write("s.yaml", yaml.safe_dump(text)),
        "--inventory",
        write("n.json", json.dumps([{"name": n} for n in names])),
    )
    beside = ("--max-parallel-groups", "2")
    assert json.loads(slipway("simulate", *given, *beside, "-o", "json").stdout)["waves"] == [["a", "b"], ["c"]]
    shown = slipway("simulate", *given, *beside).stdout
    assert "Groups side by side" in shown
    assert "a, b" in shown
    assert "side by side" not in slipway("simulate", *given).stdout
    assert slipway("simulate", *given, "--max-parallel-groups", "17").exit_code == 2
