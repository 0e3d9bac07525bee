"""What the offline commands judge and show is the rendered design, as a commit would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.designs import child, layered, parent
from tests.support.sites import document, group
from tests.unit.slipway_cli.conftest import Slipway, Write

PROFILE, STRATEGY_SCHEMA = "drydock/HostProfile/v1", "shipyard/DeploymentStrategy/v1"
BASE = parent({"metadata": {"owner_data": {"role": "compute"}}}, schema=PROFILE)
COMPUTE = child("compute", {"metadata": {"tags": ["x"]}}, schema=PROFILE)
DATA = {"host_profile": "compute", "metadata": {"rack": "r1"}}
NODE = layered("n1", "site", DATA, schema="drydock/BaremetalNode/v1")
GROUP = group("compute", percent_successful_nodes=100) | {"selectors": [{"node_labels": ["role: compute"]}]}
STRATEGY = document(STRATEGY_SCHEMA, "deployment-strategy", {"groups": [GROUP]})
NOTHING_TO_REPLACE = child("d", {"a": 1}, schema="x/Y/v1", replacement=True)


@pytest.fixture
def site(write: Write) -> Path:
    """Return a site whose labels come from a layered host profile."""
    return write("site.yaml", yaml.safe_dump_all([BASE, COMPUTE, NODE, STRATEGY]))


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


def test_a_part_of_a_site_may_lack_what_it_is_layered_on_but_not_what_it_replaces(
    slipway: Slipway, write: Write
) -> None:
    assert slipway("validate", write("whole.yaml", yaml.safe_dump_all([COMPUTE, STRATEGY]))).exit_code == 0
    path = write("part.yaml", yaml.safe_dump_all([NOTHING_TO_REPLACE, STRATEGY]))
    result = slipway("validate", path)
    assert (result.exit_code, "there is nothing to replace" in result.stdout) == (1, True)
    # The strategy can be looked at all the same.
    assert slipway("plan", path).exit_code == 0
