"""`validate`, `plan` and `simulate` judge files as a commit does: rendered, and by policies (rule 42)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from design_rendering.policies import police
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import render
from site_engine.extensions import PolicySet, installed_policies
from tests.support.designs import child, layered, parent
from tests.support.sites import document, group, node, site
from tests.unit.slipway_cli.conftest import Slipway, Write

GROUPS = [group("control", ["n1"]), group("rest", ["n2"], critical=False)]
DESIGN = site([node("n1"), node("n2"), node("n3")], GROUPS).replace("  groups:", "  default_group: rest\n  groups:")
STRATEGIC = ("shipyard/DeploymentStrategy/v1", "shipyard/DeploymentConfiguration/v1")
BY_POLICY = {"strategy/deployment-strategy": ["default-group"]}
SENTENCE = "strategy/deployment-strategy is changed by policy default-group"


def halves() -> tuple[str, str]:
    """Return the strategy with its configuration, and all other documents."""
    documents = list(yaml.safe_load_all(DESIGN))
    strategic = [one for one in documents if one["schema"] in STRATEGIC]
    others = [one for one in documents if one["schema"] not in STRATEGIC]
    return yaml.safe_dump_all(strategic), yaml.safe_dump_all(others)


def data_of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("command", ["validate", "plan", "simulate"])
def test_what_policies_change_is_said(slipway: Slipway, write: Write, command: str) -> None:
    file = str(write("site.yaml", DESIGN))
    assert data_of(slipway(command, file, "-o", "json"))["by_policy"] == BY_POLICY
    assert SENTENCE in slipway(command, file).output
    plain = str(write("plain.yaml", DESIGN.replace("  default_group: rest\n", "")))
    assert "by_policy" not in data_of(slipway(command, plain, "-o", "json"))


def test_plan_and_simulate_have_the_groups_of_a_commit(slipway: Slipway, write: Write) -> None:
    file = str(write("site.yaml", DESIGN))
    committed = police(render(load_documents(DESIGN)), installed_policies().policies).rendering
    (strategy,) = (one.document.data for one in committed.documents if one.document.schema == STRATEGIC[0])
    assert strategy["groups"][1]["selectors"][-1] == {"node_names": ["n3"]}
    plan = data_of(slipway("plan", file, "-o", "json"))
    assert (plan["groups"][1]["nodes"], plan["unassigned"]) == (["n2", "n3"], [])
    assert data_of(slipway("simulate", file, "-o", "json"))["groups"]["rest"]["nodes"] == ["n2", "n3"]


def test_nodes_of_other_files_come_into_the_default_group_too(slipway: Slipway, write: Write) -> None:
    strategy, nodes = (str(write(name, text)) for name, text in zip(("a.yaml", "b.yaml"), halves(), strict=True))
    plan = data_of(slipway("plan", strategy, "--site", nodes, "-o", "json"))
    assert (plan["groups"][1]["nodes"], plan["unassigned"], plan["by_policy"]) == (["n2", "n3"], [], BY_POLICY)


def restless(objects: Mapping[str, Document]) -> Mapping[str, Document]:
    """Change a node without end; without that node it fails."""
    before = objects["node/n1"]
    return {"node/n1": replace(before, data={**before.data, "round": before.data.get("round", 0) + 1}, marks=None)}


def install(monkeypatch: pytest.MonkeyPatch, policies: Callable[[], PolicySet]) -> None:
    for module in ("validate", "strategy_input"):
        monkeypatch.setattr(f"slipway_cli.offline.{module}.installed_policies", policies)


@pytest.mark.parametrize("command", ["validate", "plan", "simulate"])
def test_what_policies_refuse_is_refused(
    slipway: Slipway, write: Write, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    install(monkeypatch, lambda: PolicySet({"p": restless}, "x"))
    result = slipway(command, str(write("site.yaml", DESIGN)))
    assert result.exit_code == 1
    assert "policies p still change node/n1 after 10 rounds" in result.output


def test_a_part_of_a_site_is_not_refused_for_what_a_policy_misses_in_it(
    slipway: Slipway, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda: PolicySet({"p": restless}, "x"))
    part = str(write("part.yaml", halves()[0]))
    for command in ("validate", "plan"):
        result = slipway(command, part)
        assert (result.exit_code, "policy p failed: KeyError: 'node/n1'" in result.output) == (0, True), command


PROFILE, STRATEGY_SCHEMA = "drydock/HostProfile/v1", "shipyard/DeploymentStrategy/v1"
BASE = parent({"metadata": {"owner_data": {"role": "compute"}}}, schema=PROFILE)
COMPUTE = child("compute", {"metadata": {"tags": ["x"]}}, schema=PROFILE)
DATA = {"host_profile": "compute", "metadata": {"rack": "r1"}}
NODE = layered("n1", "site", DATA, schema="drydock/BaremetalNode/v1")
GROUP = group("compute", percent_successful_nodes=100) | {"selectors": [{"node_labels": ["role: compute"]}]}
STRATEGY = document(STRATEGY_SCHEMA, "deployment-strategy", {"groups": [GROUP]})
NOTHING_TO_REPLACE = child("d", {"a": 1}, schema="x/Y/v1", replacement=True)


@pytest.fixture
def layered_site(write: Write) -> Path:
    """Return a site whose labels come from a layered host profile."""
    return write("site.yaml", yaml.safe_dump_all([BASE, COMPUTE, NODE, STRATEGY]))


def test_labels_of_layered_profiles_are_selected(slipway: Slipway, layered_site: Path) -> None:
    shown = json.loads(slipway("plan", layered_site, "-o", "json").stdout)
    assert shown["groups"][0]["nodes"] == ["n1"]
    assert shown["warnings"] == []
    assert json.loads(slipway("validate", layered_site, "-o", "json").stdout)["warnings"] == []
    rehearsed = json.loads(slipway("simulate", layered_site, "--fail", "deploy:n1", "-o", "json").stdout)
    assert rehearsed["groups"]["compute"]["state"] == "failure"


def test_nodes_of_another_file_are_rendered_too(slipway: Slipway, layered_site: Path, write: Write) -> None:
    strategy = write("strategy.yaml", yaml.safe_dump(STRATEGY))
    shown = json.loads(slipway("plan", strategy, "--site", layered_site, "-o", "json").stdout)
    assert shown["groups"][0]["nodes"] == ["n1"]


def test_a_part_of_a_site_may_lack_what_it_is_layered_on_but_not_what_it_replaces(
    slipway: Slipway, write: Write
) -> None:
    assert slipway("validate", write("whole.yaml", yaml.safe_dump_all([COMPUTE, STRATEGY]))).exit_code == 0
    path = write("part.yaml", yaml.safe_dump_all([NOTHING_TO_REPLACE, STRATEGY]))
    result = slipway("validate", path)
    assert (result.exit_code, "there is nothing to replace" in result.stdout) == (1, True)
    # The strategy can be looked at all the same.
    assert slipway("plan", path).exit_code == 0
