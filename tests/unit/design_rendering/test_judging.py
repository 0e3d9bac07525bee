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
    assert levels["$.metadata.substitutions"] == "warning"
    assert levels["$.metadata.storagePolicy"] == "error"
