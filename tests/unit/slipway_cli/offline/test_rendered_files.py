"""What the offline commands judge and show is the rendered design, as a commit would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from tests.support.sites import document

Slipway = Callable[..., Result]
Write = Callable[[str, str], Path]

MERGE = [{"method": "merge", "path": "."}]
BASE = document(
    "drydock/HostProfile/v1",
    "base",
    {"metadata": {"owner_data": {"role": "compute"}}},
    labels={"is": "base"},
    layeringDefinition={"abstract": True, "layer": "global"},
)
PROFILE = document(
    "drydock/HostProfile/v1",
    "compute",
    {},
    layeringDefinition={"abstract": False, "layer": "site", "parentSelector": {"is": "base"}, "actions": []},
)
PROFILE["data"] = {"metadata": {"tags": ["x"]}}
PROFILE["metadata"]["layeringDefinition"]["actions"] = MERGE
NODE = document("drydock/BaremetalNode/v1", "n1", {"host_profile": "compute", "metadata": {"rack": "r1"}})
STRATEGY = document(
    "shipyard/DeploymentStrategy/v1",
    "deployment-strategy",
    {
        "groups": [
            {
                "name": "compute",
                "critical": True,
                "depends_on": [],
                "selectors": [{"node_labels": ["role: compute"]}],
                "success_criteria": {"percent_successful_nodes": 100},
            }
        ]
    },
)
NOTHING_TO_REPLACE = document(
    "x/Y/v1",
    "d",
    {"a": 1},
    replacement=True,
    layeringDefinition={"abstract": False, "layer": "site", "parentSelector": {"k": "v"}, "actions": MERGE},
)


@pytest.fixture
def site(write: Write) -> Path:
    """Return a site whose labels come from a layered host profile."""
    return write("site.yaml", yaml.safe_dump_all([BASE, PROFILE, NODE, STRATEGY]))


def test_labels_of_layered_profiles_are_selected(slipway: Slipway, site: Path) -> None:
    shown = json.loads(slipway("plan", site, "-o", "json").stdout)
    assert shown["groups"][0]["nodes"] == ["n1"]
    assert shown["warnings"] == []
    assert json.loads(slipway("validate", site, "-o", "json").stdout)["warnings"] == []
    rehearsed = json.loads(slipway("simulate", site, "--fail", "deploy:n1", "-o", "json").stdout)
    assert rehearsed["groups"]["compute"]["state"] == "failure"


def test_nodes_of_another_file_are_rendered_too(slipway: Slipway, site: Path, write: Write) -> None:
    strategy = write("strategy.yaml", yaml.safe_dump(STRATEGY))
    shown = json.loads(slipway("plan", strategy, "--site", site, "-o", "json").stdout)
    assert shown["groups"][0]["nodes"] == ["n1"]


def test_a_site_that_cannot_be_rendered_is_refused_with_all_that_is_wrong(slipway: Slipway, write: Write) -> None:
    strategy = document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": [{"name": "a"}]})
    path = write("site.yaml", yaml.safe_dump_all([NODE, NOTHING_TO_REPLACE, strategy]))
    result = slipway("validate", path)
    assert result.exit_code == 1
    for expected in ("there is nothing to replace", "critical is missing"):
        assert expected in result.stdout
    assert slipway("plan", path).exit_code != 0


def test_a_part_of_a_site_may_lack_what_it_is_layered_on_but_not_what_it_replaces(
    slipway: Slipway, write: Write
) -> None:
    assert slipway("validate", write("whole.yaml", yaml.safe_dump_all([PROFILE, STRATEGY]))).exit_code == 0
    path = write("part.yaml", yaml.safe_dump_all([NOTHING_TO_REPLACE, STRATEGY]))
    result = slipway("validate", path)
    assert (result.exit_code, "there is nothing to replace" in result.stdout) == (1, True)
    # The strategy can be looked at all the same.
    assert slipway("plan", path).exit_code == 0
