"""Secrets in what is shown to everybody: the groups of a strategy and the settings of a configuration."""

from __future__ import annotations

from typing import Any

import pytest

from design_rendering import render
from design_rendering.judging import exposed_secrets, judge_files, judge_site
from strategy_lib import Document
from tests.support.designs import child, documents, layered, parent, substitution

STRATEGY = "shipyard/DeploymentStrategy/v1"
CONFIGURATION = "shipyard/DeploymentConfiguration/v1"
PASSPHRASE = "deckhand/Passphrase/v1"
GROUP = {"name": "one", "critical": True, "depends_on": [], "selectors": []}
FROM_SECRET = substitution("pw", ".", ".groups[0].name", schema=PASSPHRASE)
SECRET = layered("pw", "site", "hunter2", schema=PASSPHRASE, storagePolicy="encrypted")
ABOVE = parent({"groups": [GROUP]}, schema=STRATEGY, storagePolicy="encrypted")


def strategy(schema: str = STRATEGY, **metadata: Any) -> dict[str, Any]:
    return layered("deployment-strategy", "site", {"groups": [GROUP]}, schema=schema, **metadata)


def exposed(*design: dict[str, Any]) -> list[str]:
    read = documents(*design)
    found = exposed_secrets(render(read))
    assert all(problem.level == "error" and problem.line for problem in found)
    assert {*map(str, found)} <= {*map(str, judge_files(read))}
    assert {*map(str, found)} <= {*map(str, judge_site(read))}
    return [problem.path for problem in found]


@pytest.mark.parametrize("schema", [STRATEGY, CONFIGURATION])
def test_a_secret_in_a_group_or_setting_is_an_error(schema: str) -> None:
    assert exposed(SECRET, strategy(schema, substitutions=[FROM_SECRET])) == ["$.data.groups[0].name"]
    assert exposed(strategy(schema, storagePolicy="encrypted")) == ["$.metadata.storagePolicy"]


def test_an_inherited_secret_is_an_error() -> None:
    assert exposed(ABOVE, child("deployment-strategy", {"x": 1}, schema=STRATEGY)) == ["$.data"]


def test_a_group_in_plain_is_none_and_neither_is_a_secret_elsewhere() -> None:
    plain = layered("names", "site", {"first": "one"})
    taken = [substitution("names", ".first", ".groups[0].name")]
    other = layered("x", "site", {}, substitutions=[substitution("pw", ".", ".x", schema=PASSPHRASE)])
    assert exposed(SECRET, plain, other, strategy(substitutions=taken)) == []


def test_a_draft_that_cannot_be_rendered_exposes_its_secrets_too() -> None:
    read: list[Document] = documents(strategy(storagePolicy="encrypted", substitutions="wrong"))
    levels = {problem.path: problem.level for problem in judge_files(read)}
    assert levels["$.metadata.storagePolicy"] == levels["$.metadata.substitutions"] == "error"


def test_what_cannot_be_rendered_is_an_error_in_a_draft_too() -> None:
    wrong = layered("c", "global", {}, schema="armada/Chart/v1", substitutions="wrong")
    (problem,) = judge_files(documents(wrong))
    assert (problem.path, problem.level) == ("$.metadata.substitutions", "error")


def test_a_consequence_of_a_failed_rendering_is_not_told() -> None:
    hidden = strategy(substitutions="wrong")
    named = {"physical_provisioner": {"deployment_strategy": "deployment-strategy", "deploy_timeout": -1}}
    settings = layered("deployment-configuration", "site", named, schema=CONFIGURATION)
    node = layered("n1", "site", {"host_profile": "gone"}, schema="drydock/BaremetalNode/v1")
    for judge in (judge_files, judge_site):
        found = [(problem.path, problem.level) for problem in judge(documents(hidden, settings, node))]
        assert found == [
            ("$.metadata.substitutions", "error"),
            ("$.data.physical_provisioner.deploy_timeout", "error"),
        ]
