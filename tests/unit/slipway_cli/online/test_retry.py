"""Trying again: what will be done is said first, and asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import ID, Server

PLAN: dict[str, Any] = {
    "action_id": ID,
    "site": "lab-7",
    "groups": [
        {"name": "control", "position": 1, "nodes": ["n2", "n3"], "blocked_by": None},
        {"name": "compute", "position": 2, "nodes": ["n4"], "blocked_by": "control"},
    ],
    "steps": ["report", "release"],
    "nodes": ["n2", "n3", "n4"],
    "warnings": ["revision 4 was committed since: this goes on with revision 3"],
}
SAID = [
    "warning: revision 4 was committed since: this goes on with revision 3",
    "group control: 2 nodes: n2, n3",
    "group compute (it did not run because of control): 1 node: n4",
    "steps: report, release",
]


def test_it_says_what_it_will_do_and_asks(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}/retry", PLAN, headers={"ETag": '"7"'})
    server.on("POST", f"/actions/{ID}/retry", PLAN)
    result = slipway("retry", f"action/{ID}", stdin="y\n")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert lines[:4] == SAID
    assert lines[4].startswith(f"action {ID} of site lab-7 at ")
    assert result.stdout.splitlines()[0] == f"action {ID} is tried again"
    assert json.loads(server.request.body) == {}
    assert server.request.headers["If-Match"] == '"7"', "what was confirmed is done, or nothing"


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_without_a_yes_nothing_is_done(slipway: Slipway, server: Server, answer: str) -> None:
    server.on("GET", f"/actions/{ID}/retry", PLAN)
    result = slipway("retry", ID, stdin=answer)
    assert (result.exit_code, "nothing was done" in result.stderr) == (1, True)


def test_only_some_groups(slipway: Slipway, server: Server) -> None:
    asked = server.on("GET", f"/actions/{ID}/retry", PLAN)
    server.on("POST", f"/actions/{ID}/retry", PLAN)
    result = slipway("retry", ID, "--group", "control", "--group", "ntp", "--yes", "-o", "json")
    assert json.loads(result.stdout) == PLAN
    assert json.loads(server.request.body) == {"groups": ["control", "ntp"]}
    assert "group=control&group=ntp" in str(asked.calls[0].request.url)


def test_there_is_nothing_to_try_again(slipway: Slipway, server: Server) -> None:
    server.refuse("GET", f"/actions/{ID}/retry", 409, f"action {ID}: nothing of it has failed")
    result = slipway("retry", ID, "--yes")
    assert (result.exit_code, "nothing of it has failed" in result.stderr) == (1, True)


def test_nodes_of_a_step_without_groups(slipway: Slipway, server: Server) -> None:
    plan = PLAN | {"groups": [], "nodes": ["n1"], "steps": ["destroy_nodes"], "warnings": []}
    server.on("GET", f"/actions/{ID}/retry", plan)
    server.on("POST", f"/actions/{ID}/retry", plan)
    assert slipway("retry", ID, "--yes").stderr.splitlines() == ["1 node: n1", "steps: destroy_nodes"]
