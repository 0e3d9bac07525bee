"""The settings of a site, and at which addresses its nodes are asked."""

from __future__ import annotations

import re
from typing import Any

import pytest

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from strategy_lib.errors import StrategyLibError
from strategy_lib.parsing.node_networks import NodeNetworks
from strategy_lib.parsing.schema_check import schema
from strategy_lib.parsing.site_settings import (
    DEFAULT_SETTINGS,
    SITE_SETTINGS_SCHEMA,
    SiteSettings,
    parse_health_url,
    parse_site_settings,
)
from strategy_lib.settings import SLIPWAY_NODE_NETWORKS
from tests.support.designs import validate

SITE = """\
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {}
"""
SETTINGS = """\
---
schema: slipway/SiteSettings/v1
metadata: {name: %s}
data:
  updates: {redeploy_percent: %s}
"""


def test_every_setting_has_a_default() -> None:
    assert parse_site_settings({}) == DEFAULT_SETTINGS == SiteSettings(20, 5, 86400)
    read = parse_site_settings({"updates": {"redeploy_percent": 0}, "unknown_nodes": {"follow_timeout": 60}})
    assert read == SiteSettings(redeploy_percent=0, follow_timeout=60)


def test_the_schema_names_the_same_settings_and_defaults() -> None:
    definitions = schema("site_settings")["$defs"]
    sections = {
        name: about["default"]
        if "default" in about
        else {setting: its["default"] for setting, its in definitions[name]["properties"].items()}
        for name, about in definitions["data"]["properties"].items()
    }
    assert sections == DEFAULT_SETTINGS.to_data()


def test_what_was_read_can_be_written_and_read_again() -> None:
    read = SiteSettings(1, 2, 3)
    assert parse_site_settings(read.to_data()) == read


@pytest.mark.parametrize(
    ("given", "mode"),
    [("off", "off"), (False, "off"), ("on", "on"), (True, "on"), ("observe", "observe"), ("redeploy", "redeploy")],
)
def test_on_and_off_need_no_quotes_in_yaml(given: object, mode: str) -> None:
    read = parse_site_settings({"repair": given, "max_repairs_per_hour": 3})
    assert (read.repair, read.max_repairs_per_hour) == (mode, 3)
    assert parse_site_settings(read.to_data()) == read


def test_a_whole_number_may_be_written_with_a_point() -> None:
    read = parse_site_settings({"updates": {"redeploy_nodes": 5.0}})
    assert read == DEFAULT_SETTINGS
    assert isinstance(read.redeploy_nodes, int)


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (None, "", "must be a mapping"),
        ({"update": {}}, ".update", "did you mean updates?"),
        ({"updates": {"redeploy_nodes": -1}}, ".updates.redeploy_nodes", "0"),
        ({"updates": {"redeploy_percent": 101}}, ".updates.redeploy_percent", "100"),
        ({"updates": {"redeploy_percent": "20%"}}, ".updates.redeploy_percent", "must be a whole number"),
        ({"updates": {"redeploy_percent": True}}, ".updates.redeploy_percent", "must be a whole number"),
        ({"unknown_nodes": {"follow_timeout": 0.5}}, ".unknown_nodes.follow_timeout", "must be a whole number"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_settings(data: Any, path: str, words: str) -> None:
    with pytest.raises(StrategyLibError) as caught:
        parse_site_settings(data)
    assert any(problem.path == f"$.data{path}" and words in problem.message for problem in caught.value.problems)


@pytest.mark.parametrize("value", [-1, 10**10, 10**400, float("nan"), float("inf"), True, "5", None, 1.5])
def test_no_setting_takes_what_is_no_sensible_number(value: object) -> None:
    settings = DEFAULT_SETTINGS.to_data()
    numbers = [(section, name) for section, data in settings.items() if isinstance(data, dict) for name in data]
    for section, name in numbers:
        if name != "health_url":
            with pytest.raises(StrategyLibError, match=name):
                parse_site_settings({section: {name: value}})
    for name in ("max_repairs_per_hour", "max_parallel_groups"):
        with pytest.raises(StrategyLibError, match=name):
            parse_site_settings({name: value})


def test_a_design_has_the_settings_of_its_site() -> None:
    assert read_design(load_documents(SITE, "site.yaml")).settings == DEFAULT_SETTINGS
    design = read_design(load_documents(SITE + SETTINGS % ("settings", 7), "site.yaml"))
    assert design.settings.redeploy_percent == 7


def test_a_site_has_one_document_of_settings() -> None:
    documents = load_documents(SITE + SETTINGS % ("one", 7) + SETTINGS % ("two", 8), "site.yaml")
    with pytest.raises(StrategyLibError, match=re.escape(SITE_SETTINGS_SCHEMA)):
        read_design(documents)


def test_wrong_settings_are_found_with_their_line() -> None:
    documents = load_documents(SITE + SETTINGS % ("settings", 700), "site.yaml")
    (problem,) = (found for found in validate(documents) if found.path == "$.data.updates.redeploy_percent")
    assert (problem.source, problem.line, problem.level) == ("site.yaml", 8, "error")


def test_how_many_groups_run_side_by_side() -> None:
    assert parse_site_settings({}).max_parallel_groups == 1
    read = parse_site_settings({"max_parallel_groups": 16.0})
    assert read.max_parallel_groups == 16
    assert parse_site_settings(read.to_data()) == read
    for wrong in (0, 17, "2", True, 1.5, None):
        with pytest.raises(StrategyLibError):
            parse_site_settings({"max_parallel_groups": wrong})


@pytest.mark.parametrize(
    ("text", "network", "url"),
    [
        ("http://{address}:9650/state", "", "http://10.0.0.5:9650/state"),
        ("https://{address:oam}:9650/node/state", "oam", "https://10.0.0.5:9650/node/state"),
        ("http://{address}", "", "http://10.0.0.5/state"),
    ],
)
def test_a_node_is_asked_at_its_own_address(text: str, network: str, url: str) -> None:
    template = parse_health_url(text)
    assert (template.network, template.at("10.0.0.5")) == (network, url)


def test_an_address_of_ipv6_has_brackets() -> None:
    assert parse_health_url("http://{address}:9650/state").at("fd00::5") == "http://[fd00::5]:9650/state"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ftp://{address}/", "must begin with http:// or https://"),
        ("{address}:9650", "must begin with http:// or https://"),
        ("http://10.0.0.5:9650/state", "must have the node's own address as its host"),
        ("http://me:secret@{address}:9650/state", "must have the node's own address as its host"),
        ("http://{address}.example.com/state", "must have the node's own address as its host"),
        ("http://{address}:0/state", "must have a port from 1 to 65535, not 0"),
        ("http://{address}:99999999/state", "must have a port from 1 to 65535, not 999999"),
        ("http://{address}:9650/state?wait=5", "must have a plain path, without a query"),
        ("http://{address}:9650/a b", "must have a plain path"),
        ("http://{address}:9650/a\r\nX: y", "must have"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(text: str, words: str) -> None:
    with pytest.raises(StrategyLibError) as caught:
        parse_site_settings({"node_states": {"health_url": text}})
    (problem,) = caught.value.problems
    assert problem.path == "$.data.node_states.health_url"
    assert words in problem.message


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
