"""One thing wrong in a good design: a commit is refused for that one thing, by the place where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
import yaml

from site_store import SiteStore
from tests.support.configdocs import commit, put
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

Change = Callable[[dict[str, Any]], object]
STRATEGY, CONFIGURATION = "shipyard/DeploymentStrategy/v1", "shipyard/DeploymentConfiguration/v1"
NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"
GOOD = site(
    [node("n1"), node("n2")],
    [group("one", ["n1"], percent_successful_nodes=50), group("two", ["n2"], after=["one"])],
    {"deploy_interval": 5, "deploy_timeout": 60},
)


def strategy(change: Callable[[list[dict[str, Any]]], object]) -> tuple[str, Change]:
    return STRATEGY, lambda data: change(data["groups"])


def configuration(**settings: object) -> tuple[str, Change]:
    return CONFIGURATION, lambda data: data["physical_provisioner"].update(settings)


def test_nothing_is_wrong_with_it(connected: Simulator, user: httpx.Client) -> None:
    put(user, GOOD)
    answer = commit(user)
    assert (answer.status_code, answer.json()["details"]["errorCount"]) == (200, 0)


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        (strategy(lambda groups: groups[0].pop("critical")), "$.data.groups[0]", "critical is missing"),
        (strategy(lambda groups: groups[0].update(critical="yes")), "$.data.groups[0].critical", "true or false"),
        (strategy(lambda groups: groups[1].update(name=7)), "$.data.groups[1].name", "must be text"),
        (
            strategy(lambda groups: groups[1].update(name="one", depends_on=[])),
            "$.data.groups[1].name",
            "already taken",
        ),
        (
            strategy(lambda groups: groups[1].update(depends_on=["ones"])),
            "$.data.groups[1].depends_on[0]",
            "mean 'one'?",
        ),
        (strategy(lambda groups: groups[0].update(depends_on=["two"])), "$.data.groups[0].depends_on[0]", "cycle"),
        (strategy(lambda groups: groups[0].update(critcal=True)), "$.data.groups[0].critcal", "mean critical?"),
        (
            strategy(lambda groups: groups[0]["success_criteria"].update(percent_successful_nodes=101)),
            "$.data.groups[0].success_criteria.percent_successful_nodes",
            "100",
        ),
        (
            strategy(lambda groups: groups[0]["selectors"][0].update(rack_names="r1")),
            "$.data.groups[0].selectors[0].rack_names",
            "list",
        ),
        (configuration(deploy_timeout=0), "$.data.physical_provisioner.deploy_timeout", "from 1 to 315360000"),
        (configuration(deploy_interval=61), "$.data.physical_provisioner.deploy_interval", "which is 60"),
        (configuration(deploy_timeout="soon"), "$.data.physical_provisioner.deploy_timeout", "whole number"),
        (configuration(deployment_strategy="other"), "$.data.physical_provisioner.deployment_strategy", "'other'"),
        (configuration(deploy_timout=5), "$.data.physical_provisioner.deploy_timout", "mean deploy_timeout?"),
        ((NODE, lambda data: data["metadata"].update(rack=7)), "$.data.metadata.rack", "name of a rack"),
        ((NODE, lambda data: data.update(host_profile="ghost")), "$.data.host_profile", "'ghost'"),
    ],
)
def test_one_thing_is_wrong(
    change: tuple[str, Change], path: str, words: str, connected: Simulator, user: httpx.Client, store: SiteStore
) -> None:
    schema, apply = change
    documents = list(yaml.safe_load_all(GOOD))
    changed = next(document for document in documents if document["schema"] == schema)
    apply(changed["data"])
    put(user, yaml.safe_dump_all(documents))
    answer = commit(user)
    assert answer.status_code == 400
    errors = [one for one in answer.json()["details"]["messageList"] if one["error"] and one["source"] == "Slipway"]
    assert [(error["path"], error["documents"]) for error in errors] == [
        (path, [{"schema": schema, "name": changed["metadata"]["name"]}])
    ]
    assert words in errors[0]["text"]
    assert store.revisions.newest("default") == []


def test_an_address_that_no_node_is_asked_at_is_refused_unless_the_installation_names_its_network(
    connected: Simulator, user: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = list(yaml.safe_load_all(GOOD))
    changed = next(document for document in documents if document["schema"] == NODE)
    changed["data"].update(primary_network="loop", addressing=[{"network": "loop", "address": "127.0.0.1"}])
    documents.append(document("drydock/Network/v1", "loop", {"cidr": "127.0.0.0/8"}))
    states = {"health_url": "http://{address:loop}:9650/state"}
    documents.append(document("slipway/SiteSettings/v1", "settings", {"node_states": states}))
    put(user, yaml.safe_dump_all(documents))
    answer = commit(user)
    assert answer.status_code == 400
    (error,) = (one for one in answer.json()["details"]["messageList"] if one["error"] and one["source"] == "Slipway")
    assert (error["path"], error["documents"][0]["name"]) == ("$.data.addressing[0].address", "n1")
    assert "127.0.0.1 is a loopback address, where nodes are not asked" in error["message"]
    monkeypatch.setenv("SLIPWAY_NODE_NETWORKS", "127.0.0.0/8")
    assert commit(user).status_code == 200
