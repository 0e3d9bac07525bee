"""Pages of the server: their addresses, and whether a browser is asked to show them."""

from __future__ import annotations

import json
import webbrowser

import pytest

from slipway_cli.online.server.open_page import has_browser
from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import ID, URL, Server


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the browser was asked for; there is none."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    asked: list[str] = []

    def ask(address: str) -> bool:
        asked.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", ask)
    return asked


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        (("sites",), "/"),
        (("site",), "/sites/default"),
        (("site/lab-7",), "/sites/lab-7"),
        (("site", "--site", "lab-7"), "/sites/lab-7"),
        ((ID,), f"/actions/{ID}"),
        ((f"action/{ID}",), f"/actions/{ID}"),
        (("node/rack 1/n1", "--site", "lab-7"), "/sites/lab-7/nodes/rack%201%2Fn1"),
    ],
)
def test_the_address_is_printed(
    slipway: Slipway, server: Server, shown: list[str], arguments: tuple[str, ...], page: str
) -> None:
    result = slipway("open", *arguments)
    assert (result.exit_code, result.stdout) == (0, f"{URL}/slipway/ui{page}\n"), result.output
    assert shown == [], "nobody looks at a browser that has no window"


def test_where_there_is_a_browser_it_is_asked(
    slipway: Slipway, server: Server, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "my-browser")
    result = slipway("open", "sites", "-o", "json")
    assert json.loads(result.stdout) == {"address": f"{URL}/slipway/ui/", "opened": True}
    assert shown == [f"{URL}/slipway/ui/"]


@pytest.mark.parametrize(
    ("environ", "platform", "there"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "lynx"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_whether_there_is_a_browser(environ: dict[str, str], platform: str, there: bool) -> None:
    assert has_browser(environ, platform) is there
