"""`--watch`, and the forms of lists."""

from __future__ import annotations

import time
from typing import Any

import click
import pytest

from slipway_cli.online.sites.get import get
from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import Server
from tests.unit.slipway_cli.online.test_lists import listed_site, node


@pytest.fixture
def _looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four looks, then Ctrl-C."""
    left = [None] * 3

    def rest(_seconds: float) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()

    monkeypatch.setattr(time, "sleep", rest)


@pytest.mark.usefixtures("_looks")
def test_what_is_watched_is_shown_again_when_it_has_changed(slipway: Slipway, server: Server) -> None:
    for name in ("a", "a", "b", "b"):
        server.on("GET", "/sites", [listed_site(name)])
    result = slipway("get", "sites", "--watch", "-o", "name")
    assert (result.exit_code, result.stdout) == (130, "a\nb\n")


@pytest.mark.usefixtures("_looks")
def test_a_server_that_is_away_for_a_while_is_waited_for(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites", [listed_site("a")])
    server.refuse("GET", "/sites", 503, "the store does not answer")
    server.on("GET", "/sites", [listed_site("b")])
    server.on("GET", "/sites", [listed_site("b")])
    assert slipway("get", "sites", "-w", "-o", "name").stdout == "a\nb\n"


@pytest.mark.usefixtures("_looks")
def test_what_is_refused_at_once_is_not_watched(slipway: Slipway, server: Server) -> None:
    server.refuse("GET", "/sites", 403, "you may not")
    assert slipway("get", "sites", "--watch").exit_code == 1


def test_every_list_can_be_watched(slipway: Slipway) -> None:
    for name, command in get.commands.items():
        names = {option for one in command.params if isinstance(one, click.Option) for option in one.opts}
        assert "--watch" in names, name


def test_wide_is_a_line_for_each_and_name_is_names_alone(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    found: dict[str, Any] = {"nodes": [node("n1", message="no PXE answer " * 9), node("n2")], "after": None, "total": 2}
    server.on("GET", "/sites/default/nodes", found)
    assert slipway("get", "nodes", "-o", "name").stdout == "n1\nn2\n"
    assert len(slipway("get", "nodes", "-o", "wide").stdout.splitlines()) == 4
    assert len(slipway("get", "nodes").stdout.splitlines()) > 4
    server.on("GET", "/actions", [])
    assert slipway("get", "actions", "-o", "name").stdout == ""
