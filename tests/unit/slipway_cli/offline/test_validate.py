"""`slipway validate`: all problems at once, with file, line and path; warnings apart."""

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.slipway_cli.conftest import Slipway, Write

BROKEN = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: broken}
data:
  groups:
  - name: a
    critical: maybe
    depends_on: [b, nowhere]
    selectors: [{node_labels: [no colon]}]
  - name: b
    critical: true
    depends_on: [a]
    selectors: []
    success_criteria: {percent_successful_nodes: 120}
  - {name: a, critical: false, depends_on: [], selectors: []}
"""
CONFIGURATION = """\
schema: shipyard/DeploymentConfiguration/v1
metadata: {name: deployment-configuration}
data: {physical_provisioner: {deployment_strategy: %s}}
"""
LAX = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: lax}
data:
  groups:
  - {name: all, critical: true, depends_on: [], selectors: [{node_tags: [no-such-tag]}]}
"""
NODE = """\
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {metadata: {rack: r1, tags: [compute]}}
"""


def test_rule_03_all_problems_at_once_with_file_line_and_path(slipway: Slipway, write: Write) -> None:
    path = write("broken.yaml", BROKEN)
    result = slipway("validate", path)
    assert result.exit_code == 1
    for place in (
        "6: $.data.groups[0].critical: ",
        "7: $.data.groups[0].depends_on[1]: ",
        "8: $.data.groups[0].selectors[0].node_labels[0]: ",
        "13: $.data.groups[1].success_criteria.percent_successful_nodes: ",
        "14: $.data.groups[2].name: ",
    ):
        assert f"{path}:{place}" in result.stdout
    assert "a -> b -> a" in result.stdout
    assert result.stderr == "1 document read (1 strategy): 6 errors, 0 warnings\n"


def test_problems_of_several_files_come_together(slipway: Slipway, write: Write) -> None:
    paths = write("one.yaml", BROKEN), write("two.yaml", "a: [\n"), write("three.yaml", "a: 1\na: 2\n")
    result = slipway("validate", *paths)
    assert all(f"{path}:" in result.stdout for path in paths)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_problems_as_data(slipway: Slipway, write: Write, form: str) -> None:
    path = write("broken.yaml", BROKEN)
    result = slipway("validate", path, "-o", form)
    data = json.loads(result.stdout) if form == "json" else yaml.safe_load(result.stdout)
    assert (result.exit_code, data["valid"], data["documents"], len(data["problems"])) == (1, False, 1, 6)
    assert data["problems"][0]["path"] == "$.data.groups[0].critical"
    assert (data["problems"][0]["line"], data["problems"][0]["source"]) == (6, str(path))
    assert data["warnings"] == []


def test_the_example_site_is_valid_without_warnings(slipway: Slipway, example: Path) -> None:
    result = slipway("validate", example, "--strict")
    expected = "58 documents read (1 strategy, 1 configuration, 40 nodes): 0 errors, 0 warnings\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")


def test_a_file_named_twice_is_read_once(slipway: Slipway, example: Path) -> None:
    assert slipway("validate", example, example).exit_code == 0


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), 1)])
def test_rule_04_warnings_stand_apart_and_fail_only_when_strict(
    slipway: Slipway, write: Write, options: tuple[str, ...], status: int
) -> None:
    site = write("site.yaml", "---\n".join([LAX, NODE]))
    result = slipway("validate", site, *options)
    assert result.exit_code == status
    assert "4 warnings:" in result.stdout
    assert "error" not in result.stdout.partition("warnings:")[2].replace("0 errors", "")
    assert "matches no node" in result.stdout
    assert "in no group, so never deployed: n1" in result.stdout


def test_a_strategy_that_is_named_and_missing_is_an_error_of_the_site(slipway: Slipway, write: Write) -> None:
    site = write("site.yaml", "---\n".join([CONFIGURATION % "strict", LAX, NODE]))
    result = slipway("validate", site)
    assert result.exit_code == 1
    assert f"{site}:3: $.data.physical_provisioner.deployment_strategy: " in result.stdout


def test_a_file_that_cannot_be_read_makes_nothing_else_seem_missing(slipway: Slipway, write: Write) -> None:
    broken = write("broken.yaml", BROKEN.replace("name: broken", "name: strict") + "---\na: [\n")
    node = NODE.replace("data: {", "data: {host_profile: in-the-other-file, ")
    rest = write(
        "rest.yaml", "---\n".join([CONFIGURATION % "strict", node, LAX.replace("critical: true", "critical: 1")])
    )
    result = slipway("validate", broken, rest)
    assert result.exit_code == 1
    assert "not YAML" in result.stdout
    assert "groups[0].critical" in result.stdout
    assert not any(words in result.stdout for words in ("there is no", "no group", "would not use"))


def test_a_configuration_by_itself_may_name_a_strategy_in_another_file(slipway: Slipway, write: Write) -> None:
    path = write("configuration.yaml", CONFIGURATION % "strict")
    assert slipway("validate", path).exit_code == 0
    assert slipway("validate", path, "--strict").exit_code == 1


@pytest.mark.parametrize(
    ("schema", "near"),
    [
        ("drydock/BaremetalNode/v2", "drydock/BaremetalNode/v1"),
        ("slipway/NodeSets/v1", "slipway/NodeSet/v1"),
        ("shipyard/DeploymentStrategi/v1", "shipyard/DeploymentStrategy/v1"),
        ("shipyard/DeploymentConfiguration/v1.0", "shipyard/DeploymentConfiguration/v1"),
        ("drydock/Rack/v1", None),
        ("drydock/BootAction/v1", None),
        ("promenade/KubernetesNode/v1", None),
        ("drydock/Network/v1", None),
    ],
)
def test_a_kind_that_is_nearly_known_is_a_warning(
    slipway: Slipway, write: Write, schema: str, near: str | None
) -> None:
    path = write("s.yaml", f"{NODE}---\nschema: {schema}\nmetadata: {{name: other}}\ndata: {{}}\n")
    result = slipway("validate", path)
    assert result.exit_code == 0
    if near is None:
        assert "0 warnings" in result.stdout
    else:
        assert f"{path}:5: $.schema: not read: '{schema}' is no known kind. Did you mean {near}?" in result.stdout


def test_equal_warnings_of_several_files_are_one_with_the_names_of_all(slipway: Slipway, write: Write) -> None:
    node = NODE.replace("schema: ", "schema:  ").replace("BaremetalNode/v1", "BaremetalNode/v2")
    paths = [write(f"{name}.yaml", node.replace("n1", name)) for name in ("n1", "n10", "n2")]
    result = slipway("validate", write("site.yaml", NODE.replace("n1", "good")), *paths)
    found = [line for line in result.stdout.splitlines() if "is no known kind" in line]
    assert [line.partition(" (")[2] for line in found] == ["3 times: n1, n10, n2)"]
    assert f"{paths[0]}:1: " in found[0]
    data = json.loads(slipway("validate", *paths, "-o", "json").stdout)
    assert len([one for one in data["warnings"] if "no known kind" in one["message"]]) == 3


def test_files_with_nothing_to_check_are_not_called_good_silently(slipway: Slipway, write: Write) -> None:
    path = write("other.yaml", "schema: drydock/Region/v1\nmetadata: {name: r}\ndata: {}\n")
    assert "nothing here is checked" in slipway("validate", path).stdout


def test_control_characters_in_a_document_do_not_reach_the_terminal(slipway: Slipway, write: Write) -> None:
    path = write("evil.yaml", BROKEN.replace("name: b", 'name: "b\\e[31m\\a"'))
    assert not {"\x1b", "\a"} & set(slipway("validate", path).stdout)


def test_documents_of_a_site_on_maas(slipway: Slipway, write: Write) -> None:
    good = "schema: slipway/Site/v1\nmetadata: {name: s}\ndata: {provisioner: maas}\n---\n"
    good += "schema: slipway/NodeSet/v1\nmetadata: {name: compute}\ndata: {tags: [compute]}\n---\n"
    good += "schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {sets: [compute]}\n"
    path = write("good.yaml", good)
    result = slipway("validate", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("3 documents read (1 node, 1 node set, 1 site): 0 errors, 0 warnings\n")


def test_a_directory_is_checked_with_all_below_it(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "site" / "below").mkdir(parents=True)
    (tmp_path / "site" / "below" / "lax.yml").write_text(BROKEN)
    (tmp_path / "site" / "configuration.yaml").write_text(CONFIGURATION % "broken")
    result = slipway("validate", "-d", str(tmp_path / "site"))
    assert (result.exit_code, "2 documents read" in result.output) == (1, True)
    assert slipway("validate").exit_code == 2
    missing = slipway("validate", "-d", str(tmp_path / "missing"))
    assert (missing.exit_code, "cannot be read: No such file or directory" in missing.output) == (2, True)


TWICE = """\
schema: x/Y/v1
metadata: {name: one, layeringDefinition: {layer: site}}
data: {a: 1}
"""


def test_a_document_twice_in_a_layer_and_a_secret_left_out_are_found_as_by_a_commit(
    slipway: Slipway, write: Write
) -> None:
    left_out = TWICE.replace("one", "two").replace("a: 1", "a: '[redacted]'")
    result = slipway("validate", write("site.yaml", f"{TWICE}---\n{TWICE}---\n{left_out}"))
    assert result.exit_code == 1
    assert "there is already a x/Y/v1 named 'one' of layer 'site' at line 1" in result.stdout
    assert "stands for a secret that was left out" in result.stdout
