"""`slipway stop repair` and `slipway start repair`: of the site that is named, or of all sites."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, Server
from tests.unit.slipway_cli.online.test_node_states import REPAIR

ALL: dict[str, Any] = {
    "stopped_at": AT,
    "stopped_by": "ann",
    "reason": "a storm",
    "sites": ["north"],
    "actions": ["A"],
    "problems": [],
}
STOPPED = "repair of all sites is stopped by ann since 2026-03-01 12:00:00 UTC: a storm"


@pytest.mark.parametrize("words", [(), ("--all-sites",), ("--all-sites", "--site", "lab-7")])
def test_without_a_site_all_are_stopped(slipway: Slipway, server: Server, words: tuple[str, ...]) -> None:
    server.on("PUT", "/repair", ALL)
    lines = slipway("stop", "repair", "a storm", *words).stdout.splitlines()
    assert lines == [
        STOPPED,
        "at work: action/A",
        "site north is stopped by itself: slipway start repair --site north",
    ]
    assert json.loads(server.request.body) == {"stopped": True, "reason": "a storm"}
    assert server.request.params == {}


def test_the_site_that_is_named_is_stopped(slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.on("PUT", "/sites/lab-7/repair", {**REPAIR, "all_sites": True})
    said = "repair of site lab-7: on, stopped for all sites by ann since 2026-03-01 12:00:00 UTC"
    assert slipway("stop", "repair", "--site", "lab-7").stdout.startswith(said)
    monkeypatch.setenv("SLIPWAY_SITE", "lab-7")
    assert slipway("start", "repair").stdout.startswith(said)
    assert json.loads(server.request.body) == {"stopped": False, "reason": ""}


def test_what_goes_on_all_the_same_is_an_error(slipway: Slipway, server: Server) -> None:
    server.on("PUT", "/repair", {**ALL, "problems": ["Airflow does not answer"]})
    result = slipway("stop", "repair")
    assert result.exit_code == 1
    assert "no repair begins any more, but what is at work goes on: Airflow does not answer" in result.stderr
    assert result.stdout.startswith("repair of all sites is stopped")


def test_it_goes_on(slipway: Slipway, server: Server) -> None:
    server.on("PUT", "/repair", {**ALL, "stopped_at": None, "sites": [], "actions": []})
    assert slipway("start", "repair").stdout == "repair of all sites goes on, as their settings say\n"
