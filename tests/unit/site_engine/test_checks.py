"""Slipway's own check of nodes (rule 56), and which nodes of a list it need not look at."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from design_rendering.kinds.nodes import StatedNode, stated_nodes
from design_rendering.reading.documents import load_documents
from provisioner_client.protocol import NO_ADDRESSES
from site_engine.extensions import CHECKS, ExtensionError, check_set
from site_engine.node_states.checks import AS_LEFT, CheckedNode, Suspects, check_as_left
from strategy_lib.node_condition import NodeCondition
from tests.support.sites import node, site

DEPLOYED = NodeCondition.DEPLOYED


def stated(address: str = "10.0.0.9") -> StatedNode:
    """A node with this address in the network 10.0.0.0/24."""
    document = node("n1")
    document["data"]["addressing"] = [
        {"network": "oob", "address": address},
        {"network": "gone", "address": "10.0.0.8"},
    ]
    return stated_nodes(load_documents(site([document], [])))["n1"]


@pytest.mark.parametrize(
    ("condition", "status", "power", "addresses", "reason"),
    [
        pytest.param(DEPLOYED, "Deployed", "on", {}, "", id="as it was left"),
        pytest.param(DEPLOYED, "Deployed", None, {}, "", id="power not known"),
        pytest.param(DEPLOYED, "Deployed", "off", {}, "power is off", id="off"),
        pytest.param(NodeCondition.READY, "Ready", "off", {}, "the provisioner says Ready", id="wiped"),
        pytest.param(
            NodeCondition.OTHER,
            "Deployed, owned by alice",
            "on",
            {},
            "it is another's: the provisioner says Deployed, owned by alice",
            id="a stranger has redeployed it",
        ),
        pytest.param(NodeCondition.NOT_LISTED, None, None, {}, "the provisioner does not list it", id="not listed"),
        pytest.param(DEPLOYED, "Deployed", "on", {"power_address": "10.0.0.9"}, "", id="the stated address"),
        pytest.param(
            DEPLOYED,
            "Deployed",
            "on",
            {"power_address": "10.0.0.7"},
            "power_address is 10.0.0.7, stated is 10.0.0.9",
            id="another than the stated one",
        ),
        pytest.param(DEPLOYED, "Deployed", "on", {"boot_ip": "10.7.0.1"}, "", id="a network that states nothing"),
        pytest.param(DEPLOYED, "Deployed", "on", {"boot_ip": "nonsense"}, "", id="no address"),
    ],
)
def test_rule_56_what_the_own_check_finds(
    condition: NodeCondition, status: str | None, power: str | None, addresses: Mapping[str, str], reason: str
) -> None:
    seen = CheckedNode("north", "n1", condition, status, power, addresses, stated())
    assert check_as_left(seen).reason == reason


def test_rule_56_an_address_that_is_left_open_may_be_any() -> None:
    seen = CheckedNode("north", "n1", DEPLOYED, "Deployed", "on", {"boot_ip": "10.0.0.7"}, stated("dhcp"))
    assert check_as_left(seen).reason == ""


def test_a_node_says_in_its_metadata_that_it_is_not_monitored() -> None:
    document = node("n1")
    document["metadata"]["monitor"] = False
    assert not stated_nodes(load_documents(site([document], [])))["n1"].monitored
    assert stated().monitored


@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        pytest.param(AS_LEFT, "site_engine.node_states.checks:check_as_left", "is registered by", id="taken"),
        pytest.param("mine", "site_engine.node_states.checks:check_as_left", "is a function", id="no check"),
    ],
)
def test_rule_42_what_is_no_check_is_refused(name: str, place: str, said: str) -> None:
    with pytest.raises(ExtensionError, match=said):
        check_set([EntryPoint(name, place, CHECKS)])


HERE = StatedNode({"pxe": "10.0.0.1"}, {"pxe": ipaddress.ip_network("10.0.0.0/24")})
STATED = {"a": HERE, "b": HERE, "c": StatedNode()}


def found_anew(listed: Mapping[str, Mapping[str, Any]], stated: Mapping[str, StatedNode]) -> set[str]:
    """Return the nodes that the check itself finds something at."""
    seen = (
        CheckedNode(
            *("north", name, said["condition"], said["status"], said["power"]),
            said.get("addresses", NO_ADDRESSES),
            stated.get(name),
        )
        for name, said in listed.items()
    )
    return {node.name for node in seen if check_as_left(node).reason}


def test_what_is_kept_of_the_last_list_is_what_the_check_finds_anew() -> None:
    chance, kept = random.Random(56), Suspects()
    listed: dict[str, Mapping[str, Any]] = {}
    stated: Mapping[str, StatedNode] = {}
    complete = 0
    for _ in range(500):
        for name in chance.sample("abcdef", chance.randrange(3)):
            listed = {key: said for key, said in listed.items() if key != name}
            if chance.random() < 0.8:
                condition = chance.choice((NodeCondition.DEPLOYED, NodeCondition.DEPLOYED, NodeCondition.READY))
                said: dict[str, Any] = {"status": str(condition), "condition": condition}
                said["power"] = chance.choice(("on", "on", "off", None))
                if chance.random() < 0.5:
                    said["addresses"] = {"boot_ip": chance.choice(("10.0.0.1", "10.0.0.2"))}
                listed[name] = said
        if chance.random() < 0.1:
            stated = chance.choice((STATED, {}, dict(STATED)))
        kept.follow(listed, stated)
        if kept.read(most=chance.choice((1, 2, 10))):
            complete += 1
            assert kept.names == found_anew(listed, stated)
        assert kept.names <= listed.keys()
    assert 100 < complete < 500
