"""Which addresses nodes are asked at, whatever a site's documents say."""

from __future__ import annotations

import pytest

from strategy_lib.parsing.node_networks import NodeNetworks
from strategy_lib.settings import SLIPWAY_NODE_NETWORKS


def within(text: str) -> NodeNetworks:
    return NodeNetworks(SLIPWAY_NODE_NETWORKS.parse(text))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1", "loopback"),
        ("127.200.3.4", "loopback"),
        ("::1", "loopback"),
        ("169.254.1.2", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("0.0.0.0", "unspecified"),  # noqa: S104 - nothing listens
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("169.254.169.254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:a9fe:a9fe", "metadata"),
        ("::ffff:0.0.0.0", "unspecified"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("2002:7f00:1::", "loopback"),
    ],
)
@pytest.mark.parametrize("networks", ["", "0.0.0.0/0 ::/0", "10.0.0.0/8,fd00::/8"])
def test_no_node_is_asked_at_a_special_address(address: str, words: str, networks: str) -> None:
    why = within(networks).refusal(address)
    assert why is not None
    assert why.startswith(f"{address} is a")
    assert words in why


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.0.1", "100.64.0.1", "203.0.113.9", "fd00::1", "2001:db8::1"])
def test_any_other_address_is_asked_where_the_installation_names_none(address: str) -> None:
    assert NodeNetworks().refusal(address) is None
    assert NodeNetworks().refusal("::ffff:10.0.0.1") is None


def test_the_installation_narrows_it_to_its_networks() -> None:
    ours = within("10.1.0.0/16, fd00:1::/32")
    asked = ("10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5")
    refused = ("10.2.0.1", "::ffff:10.2.0.1", "fd00:2::5", "203.0.113.9")
    assert [ours.refusal(address) for address in asked] == [None] * 3
    for address in refused:
        why = f"{address} is in no network of SLIPWAY_NODE_NETWORKS, where alone nodes are asked"
        assert ours.refusal(address) == why


def test_a_special_address_is_asked_where_a_network_that_is_special_as_a_whole_is_named() -> None:
    here = within("127.0.0.0/16 ::1/128 10.0.0.0/8")
    asked = ("127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1")
    assert [here.refusal(address) for address in asked] == [None] * 4
    assert here.refusal("127.1.0.1") is not None
    beside = within("169.254.0.0/16")
    assert beside.refusal("169.254.7.7") is None
    assert beside.refusal("169.254.169.254") is not None, "a service of the cloud is named by itself, or not meant"
    assert within("169.254.0.0/16 169.254.169.254").refusal("169.254.169.254") is None
