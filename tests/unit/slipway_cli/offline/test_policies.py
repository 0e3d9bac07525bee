"""`validate`, `plan` and `simulate` judge files as a commit does: by the policies, which are named (rule 42)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml
from click.testing import Result

from design_rendering.policies import police
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import render
from site_engine.extensions import PolicySet, installed_policies
from tests.support.sites import group, node, site
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


def data(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("command", ["validate", "plan", "simulate"])
def test_what_policies_change_is_said(slipway: Slipway, write: Write, command: str) -> None:
    file = str(write("site.yaml", DESIGN))
    assert data(slipway(command, file, "-o", "json"))["by_policy"] == BY_POLICY
    assert SENTENCE in slipway(command, file).output
    plain = str(write("plain.yaml", DESIGN.replace("  default_group: rest\n", "")))
    assert "by_policy" not in data(slipway(command, plain, "-o", "json"))


def test_plan_and_simulate_have_the_groups_of_a_commit(slipway: Slipway, write: Write) -> None:
    file = str(write("site.yaml", DESIGN))
    committed = police(render(load_documents(DESIGN)), installed_policies().policies).rendering
    (strategy,) = (one.document.data for one in committed.documents if one.document.schema == STRATEGIC[0])
    assert strategy["groups"][1]["selectors"][-1] == {"node_names": ["n3"]}
    plan = data(slipway("plan", file, "-o", "json"))
    assert (plan["groups"][1]["nodes"], plan["unassigned"]) == (["n2", "n3"], [])
    assert data(slipway("simulate", file, "-o", "json"))["groups"]["rest"]["nodes"] == ["n2", "n3"]


def test_nodes_of_other_files_come_into_the_default_group_too(slipway: Slipway, write: Write) -> None:
    strategy, nodes = (str(write(name, text)) for name, text in zip(("a.yaml", "b.yaml"), halves(), strict=True))
    plan = data(slipway("plan", strategy, "--site", nodes, "-o", "json"))
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
