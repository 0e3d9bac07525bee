"""The template of where node agents are asked."""

from __future__ import annotations

import pytest

from strategy_lib.errors import StrategyLibError
from strategy_lib.parsing.site_settings import parse_health_url, parse_site_settings


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
