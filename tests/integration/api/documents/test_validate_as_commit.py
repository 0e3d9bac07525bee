"""What a commit finds, `slipway validate` finds: the same documents through both, word by word.

A commit says more only where it needs more: the server, its provisioner, its connections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from click.testing import CliRunner

from slipway_cli.main import main
from tests.support.configdocs import commit, put
from tests.support.sites import boot_action, document, group, node, site

NODES = [node("n1"), node("n2")]
ALL = [group("all", percent_successful_nodes=50)]
GOOD = site(NODES, ALL)
SET = document("slipway/NodeSet/v1", "compute", {"tags": ["compute"]})
OWN = [document("slipway/Site/v1", "s", {"provisioner": "maas"}), SET]


def _with(*more: dict[str, Any]) -> str:
    return GOOD + yaml.safe_dump_all(more, explicit_start=True, sort_keys=False)


def _addressed(name: str, network: str = "oob") -> dict[str, Any]:
    made = node(name)
    made["data"]["addressing"] = [{"network": network, "address": "10.0.0.7"}]
    return made


def _groups(*groups: dict[str, Any], **more: Any) -> str:
    text = site(NODES, groups)
    found = list(yaml.safe_load_all(text))
    next(one for one in found if one["schema"].startswith("shipyard/DeploymentStrategy"))["data"].update(more)
    return yaml.safe_dump_all(found, explicit_start=True, sort_keys=False)


def _own(*documents: dict[str, Any], groups: Iterable[dict[str, Any]] = ALL) -> str:
    strategy = document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": list(groups)})
    return yaml.safe_dump_all([*OWN, *documents, strategy], explicit_start=True, sort_keys=False)


SUBSTITUTED = {"src": {"schema": "a/B/v1", "name": "gone", "path": "."}, "dest": {"path": ".x"}}
CHILD = {
    "abstract": False,
    "layer": "site",
    "parentSelector": {"name": "gone"},
    "actions": [{"method": "merge", "path": "."}],
}
#: Documents by what is to be found in them.
DOCUMENTS = {
    "nothing": GOOD,
    "a host profile that is not there": site([node("n1", profile="computee"), node("n2")], ALL),
    "a network that is not there": site([_addressed("n1", "oib"), node("n2")], ALL),
    "a group that is not there": _groups(group("all", after=["al"])),
    "a default group that is not there": _groups(group("all"), default_group="al"),
    "no group": _groups(),
    "a cycle": _groups(group("a", after=["b"]), group("b", after=["a"])),
    "wrong types": _groups({"name": "a", "critical": "maybe", "depends_on": [], "selectors": [{"node_tag": []}]}),
    "names, tags and racks that no node has": _groups(
        group("a", ["n3"], minimum_successful_nodes=9),
        {"name": "b", "critical": False, "depends_on": [], "selectors": [{"node_tags": ["x"]}, {"rack_names": ["r9"]}]},
    ),
    "nodes to wait for that are not there": _groups({**group("all"), "depends_on_nodes": [{"node_names": ["n9"]}]}),
    "a node that waits for one that is not there": site(
        [document("drydock/BaremetalNode/v1", "n1", {}, depends_on_nodes=["n9"])], ALL
    ),
    "an address that two have": site([_addressed("n1"), _addressed("n2")], ALL),
    "a long name": site([node("n" * 40)], ALL),
    "a document twice": _with(node("n1")),
    "a key twice with one value": GOOD.replace("critical: true", "critical: true\n    critical: true", 1),
    "a kind that is nearly known": _with(document("drydock/BaremetalNode/v2", "n3", {})),
    "a source that is not there": _with(document("armada/Chart/v1", "c", {}, substitutions=[SUBSTITUTED])),
    "a parent that is not there": _with(document("a/B/v1", "c", {}, layeringDefinition=CHILD)),
    "a strategy that is not there": GOOD.replace("deployment_strategy: d", "deployment_strategy: e"),
    "a strategy that is not used": _with(document("shipyard/DeploymentStrategy/v1", "other", {"groups": [{}]})),
    "a secret in settings": _with(document("slipway/SiteSettings/v1", "settings", {}, storagePolicy="encrypted")),
    "wrong tags": site([document("drydock/BaremetalNode/v1", "n1", {"metadata": {"tags": "x", "rack": 7}})], ALL),
    "wrong settings": _with(document("slipway/SiteSettings/v1", "settings", {"repare": True})),
    "wrong notifications": _with(document("slipway/Notifications/v1", "n", {"targets": [{"events": ["action_end"]}]})),
    "no boot action": site(NODES, ALL, boot_actions=[]),
    "two boot actions of one name": _with(boot_action()),
    "nodes of two provisioners": _with(document("slipway/Node/v1", "m1", {}), SET),
    "a node set that is not there": _own(document("slipway/Node/v1", "m1", {"sets": ["computes"]})),
    "user data that is not there": _own(document("slipway/Node/v1", "m1", {"user_data": "gone"})),
    "a field that nobody knows": _own(document("slipway/Node/v1", "m1", {"tag": ["x"]})),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_commit_finds_validate_finds(name: str, user: httpx.Client, tmp_path: Path) -> None:
    text = DOCUMENTS[name]
    answer = put(user, text)
    if answer.status_code == httpx.codes.CREATED:
        answer = commit(user, dryrun="true")
    by_commit = [
        (one["level"].lower(), one["path"], one["line"], one["text"])
        for one in answer.json()["details"]["messageList"]
        if "text" in one and one["source"] == "Slipway"
    ]
    path = tmp_path / "site.yaml"
    path.write_text(text)
    found = json.loads(CliRunner().invoke(main, ["validate", str(path), "-o", "json"]).stdout)
    here = [(one["level"], one["path"], one["line"], one["message"]) for one in found["problems"] + found["warnings"]]
    assert sorted(here, key=str) == sorted(by_commit, key=str)
    assert bool(here) is (name not in ("nothing", "no boot action"))
