"""How the texts of environment variables are read, and refused."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from strategy_lib import settings
from strategy_lib.settings import SETTINGS, Proxy, Setting, SettingError


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (settings.SLIPWAY_PORT, "", 8080),
        (settings.SLIPWAY_PORT, "0", 0),
        (settings.SLIPWAY_NODE_NETWORKS, "10.0.0.0/8, fd00::/8", (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))),
        (settings.SLIPWAY_NODE_PROXY, "", None),
        (settings.SLIPWAY_NODE_PROXY, "http://127.0.0.1:9000", Proxy("127.0.0.1", 9000)),
        (settings.SLIPWAY_KEYSTONE, "", True),
        (settings.SLIPWAY_KEYSTONE, " Off ", False),
        (settings.SLIPWAY_KEYSTONE, "1", True),
        (settings.SLIPWAY_NOTIFIERS, " mine = a.b:C, ", {"mine": "a.b:C"}),
    ],
)
def test_a_text_is_read_as_its_kind_and_none_is_the_default(setting: Setting[object], text: str, value: object) -> None:
    assert setting.read({setting.name: text}) == value


@pytest.mark.parametrize(
    ("setting", "texts"),
    [
        (settings.SLIPWAY_PORT, ("http", "-1", "65536", "80 80")),
        (settings.SLIPWAY_NODE_NETWORKS, ("ten", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/8;fd00::/8", "node.example")),
        (
            settings.SLIPWAY_NODE_PROXY,
            ("https://127.0.0.1:1", "127.0.0.1:9000", "http://h", "http://u:p@h:1", "http://h:x"),
        ),
        (settings.SLIPWAY_KEYSTONE, ("of",)),
        (settings.SLIPWAY_NOTIFIERS, ("x=y", "=a:b")),
    ],
)
def test_what_is_not_of_its_kind_is_refused_by_the_name_of_the_variable(
    setting: Setting[object], texts: tuple[str, ...]
) -> None:
    for text in texts:
        with pytest.raises(SettingError) as refused:
            setting.read({setting.name: text})
        said = str(refused.value)
        assert said.startswith(f"{setting.name}: {text!r} is not {setting.kind.noun}")
        assert said.endswith(f"; for example {setting.kind.example}")


def test_every_example_is_of_its_kind() -> None:
    for setting in SETTINGS:
        setting.parse(setting.kind.example)
