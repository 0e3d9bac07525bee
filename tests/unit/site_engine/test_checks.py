"""Slipway's own check of nodes: it compares what the design states, and leaves all else open (rule 56)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint

import pytest

from design_rendering.kinds.nodes import StatedNode, stated_nodes
from design_rendering.reading.documents import load_documents
from site_engine.extensions import CHECKS, ExtensionError, check_set
from site_engine.node_states.checks import AS_LEFT, CheckedNode, check_as_left
from strategy_lib.outcome import NodeCondition
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
