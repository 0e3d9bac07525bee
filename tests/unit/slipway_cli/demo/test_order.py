"""What `slipway demo` refuses before it starts anything, and the port that it needs."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slipway_cli.demo.order import FORGIVEN_FAILURE, read_order
from slipway_cli.main import main

NODE = "schema: drydock/BaremetalNode/v1\nmetadata: {name: %s}\ndata: {}\n---\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    monkeypatch.setenv("SLIPWAY_HOME", str(path))
    return path


def run(*options: str) -> Result:
    return CliRunner().invoke(main, ["demo", *options])


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        ("deploy:typo", "--fail deploy:typo: no node of the site is 'typo'."),
        ("deploy:r1-compute-7", "no node of the site is 'r1-compute-7'. Did you mean r1-compute-07"),
        ("prepare:r9-*:stuck", "no node of the site is 'r9-*'."),
        ("deploy:", "a script needs a node"),
        ("polish:ntp01", "phase 'polish' is none of prepare, deploy, destroy, relabel"),
        ("deploy:ntp01:sulk", "behaviour 'sulk' is none of ok, fail"),
        ("ntp01", "'ntp01' is not PHASE:NODE"),
    ],
)
def test_a_failure_that_cannot_happen_is_wrong_use(home: Path, fail: str, message: str) -> None:
    result = run("--fail", fail)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not home.exists(), "nothing was started"


def test_all_wrong_nodes_are_named_at_once(home: Path) -> None:
    result = run("--fail", "deploy:x", "--fail", "deploy:ntp01", "--fail", "prepare:y")
    assert ("'x'" in result.stderr, "'y'" in result.stderr, "ntp01" in result.stderr) == (True, True, False)
    assert not home.exists()


@pytest.mark.parametrize("fail", ["deploy:a1", "prepare:a*", "deploy:?2:stuck", "deploy:[ab]1"])
def test_names_and_patterns_of_the_sites_own_nodes_are_good(tmp_path: Path, fail: str) -> None:
    design = tmp_path / "mine.yaml"
    design.write_text(NODE % "a1" + NODE % "a2")
    order = read_order(design, (fail,), 1.0, False)
    assert (order.site, order.fail) == ("mine", (fail,))


def test_the_example_has_a_failure_unless_told_otherwise() -> None:
    assert read_order(None, (), 1.0, False).fail == (FORGIVEN_FAILURE,)
    assert read_order(None, ("deploy:ntp01",), 1.0, False).fail == ("deploy:ntp01",)


def test_a_design_that_cannot_be_read_exits_1_with_its_errors(home: Path, tmp_path: Path) -> None:
    design = tmp_path / "bad.yaml"
    design.write_text(NODE % "a1" + NODE % "a1" + "a: [\n")
    result = run("--site", str(design))
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{design}:" in result.stderr
    assert not home.exists()


STRATEGY = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: deployment-strategy}
data:
  groups:
  - {name: a, critical: true, depends_on: [b], selectors: []}
  - {name: b, critical: true, depends_on: [a], selectors: []}
---
"""


def test_rule_03_a_design_that_a_commit_would_refuse_is_refused_at_once(home: Path, tmp_path: Path) -> None:
    design = tmp_path / "cycle.yaml"
    design.write_text(STRATEGY + NODE % "n1")
    result = run("--site", str(design))
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{design}:5: $.data.groups[0].depends_on[0]: " in result.stderr
    assert not home.exists(), "nothing was started"


def test_rule_04_warnings_come_with_the_errors_and_with_a_good_order(home: Path, tmp_path: Path) -> None:
    design = tmp_path / "mine.yaml"
    lax = STRATEGY.replace("depends_on: [b], selectors: []", "depends_on: [], selectors: [{node_tags: [none]}]")
    design.write_text(lax + NODE % "n1")
    assert "group 'a' matches no node" in str(read_order(design, (), 1.0, False).warnings[0])
    design.write_text(lax + NODE % "n1" + NODE % "n1")
    errors = run("--site", str(design)).stderr
    assert ("error:" in errors, f"{design}:5: $.data.groups[0]" in errors) == (True, True)
    assert not home.exists()


@pytest.mark.parametrize(
    ("stem", "name"), [("my site", "my_site"), ("_x", "x"), ("zoë", "zo_"), ("a" * 70, "a" * 64), ("...", "site")]
)
def test_the_sites_name_is_one_that_a_commit_takes(tmp_path: Path, stem: str, name: str) -> None:
    design = tmp_path / f"{stem}.yaml"
    design.write_text(NODE % "n1")
    assert read_order(design, (), 1.0, False).site == name


@pytest.mark.parametrize("folder", ["/proc/nope", "/dev/null/x"])
@pytest.mark.parametrize("command", ["demo", "up"])
def test_a_home_that_cannot_be_used_is_told_in_one_line(command: str, folder: str) -> None:
    result = CliRunner().invoke(main, [command, "--home", folder])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {folder} cannot be used (")
    assert result.stderr.count("\n") == 1


def test_the_documents_or_the_option_say_which_provisioner_is_simulated(tmp_path: Path) -> None:
    assert read_order(None, (), 1.0, False).provisioner == "drydock"
    on_maas = read_order(None, (), 1.0, False, "maas")
    assert (on_maas.provisioner, on_maas.site, on_maas.fail) == ("maas", "example-maas", (FORGIVEN_FAILURE,))
    on_ironic = read_order(None, (), 1.0, False, "ironic")
    assert (on_ironic.provisioner, on_ironic.site, on_ironic.fail) == ("ironic", "example-ironic", (FORGIVEN_FAILURE,))
    design = tmp_path / "mine.yaml"
    design.write_text("schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {}\n")
    found = read_order(design, ("deploy:n1:no_addresses",), 1.0, False)
    assert (found.provisioner, found.site) == ("maas", "mine")


def test_documents_of_another_provisioner_are_refused_before_anything_is_started(home: Path, tmp_path: Path) -> None:
    design = tmp_path / "mine.yaml"
    design.write_text(NODE % "a1")
    result = run("--provisioner", "maas", "--site", str(design))
    assert result.exit_code == 1
    assert "the site's provisioner is MAAS" in result.output.replace("\n", " ")
    assert not home.exists()


def test_each_provisioner_has_behaviours_of_its_own(home: Path) -> None:
    assert "none of" in run("--fail", "deploy:ntp01:no_addresses").stderr
    assert "none of" in run("--provisioner", "maas", "--fail", "relabel:ntp01").stderr
    assert "none of" in run("--provisioner", "ironic", "--fail", "deploy:ntp01:flaky").stderr
    assert not home.exists()
