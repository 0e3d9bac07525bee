"""`slipway get site-state`, `get node-state` and `set node-state`: what is sent, shown, and asked before force."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slipway_cli.online.sites import node_states
from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import API, AT, Server

STATE = "/sites/lab-7/state"
STATES = "/sites/lab-7/states"
VIEW: dict[str, Any] = {
    "epoch": 7,
    "version": 3,
    "published": AT,
    "site": "lab-7",
    "state": "up",
    "reason": "",
    "nodes": {
        "n1": {"state": "up", "rack": "r1"},
        "n2": {"state": "maintenance", "reason": "new disk", "rack": "r2"},
    },
}
REPAIR = {
    "site": "lab-7",
    "repair": "on",
    "stopped_at": AT,
    "stopped_by": "ann",
    "reason": "the power is worked on",
    "all_sites": False,
    "drifts": 1,
    "action": None,
}
DONE = {"modified": True, "reason": "", "nodes": ["n1"], "published": True, "missing": None}


def test_the_nodes_that_are_not_up_are_listed(slipway: Slipway, server: Server) -> None:
    server.on("GET", STATE, VIEW)
    server.on("GET", "/sites/lab-7/repair", REPAIR)
    lines = slipway("get", "site-state", "--site", "lab-7").stdout.splitlines()
    assert lines[:2] == ["site lab-7: up", "version 7.3, published 2026-03-01 12:00:00 UTC; 2 nodes, 1 up"]
    assert [line.split() for line in lines if "new disk" in line] == [["n2", "maintenance", "r2", "new", "disk"]]
    assert not any("n1" in line for line in lines)
    stopped = "stopped by ann since 2026-03-01 12:00:00 UTC: the power is worked on"
    assert lines[-1] == f"repair of site lab-7: on, {stopped}; 1 node has drifted"


def test_without_racks_there_is_no_column_of_them(slipway: Slipway, server: Server) -> None:
    nodes = {"n2": {"state": "maintenance", "reason": "new disk"}}
    server.on("GET", STATE, {**VIEW, "nodes": nodes})
    server.on("GET", "/sites/lab-7/repair", REPAIR)
    lines = slipway("get", "site-state", "--site", "lab-7").stdout.splitlines()
    assert lines[2].split() == ["Node", "State", "Reason"]


def test_watching_shows_each_newer_version_and_goes_on_after_silence(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_states, "_REST", 0.0)
    server.on("GET", STATE, VIEW)
    server.on("GET", "/sites/lab-7/repair", {**REPAIR, "stopped_at": None})
    server.on("GET", STATE, None, 204)
    newer = {**VIEW, "version": 4, "since": "7.3", "nodes": {"n1": {"state": "down", "reason": "why"}, "n2": None}}
    server.refuse("GET", STATE, 503, "it is being started again")
    server.on("GET", STATE, newer)
    server.refuse("GET", STATE, 404, "there is no site 'lab-7'")
    result = slipway("get", "site-state", "--watch", "--site", "lab-7")
    assert result.stdout.splitlines()[-2:] == [
        "2026-03-01 12:00:00 7.4 n1 down: why",
        "2026-03-01 12:00:00 7.4 n2 gone",
    ]
    asked = [str(call.request.url) for call in server.mock.calls]
    asked = [url.partition("?")[2] for url in asked if "/repair" not in url]
    again = ["since=7.3&wait=60.0"] * 3
    assert asked[:5] == ["", *again, "since=7.4&wait=60.0"]
    assert (result.exit_code, "there is no site 'lab-7'" in result.stderr) == (1, True)
    lingering: list[Any] = [call.request for call in server.mock.calls if "wait=" in str(call.request.url)]
    assert {each.req_kwargs["timeout"] > 60 for each in lingering} == {True}, "an answer may take as long as it lingers"


def watched(slipway: Slipway, server: Server, *newer: dict[str, Any]) -> list[str]:
    """What is printed of newer versions, behind what there was at first."""
    server.on("GET", STATE, VIEW)
    server.on("GET", "/sites/lab-7/repair", {**REPAIR, "stopped_at": None})
    for one in newer:
        server.on("GET", STATE, {**VIEW, **one})
    server.refuse("GET", STATE, 404, "there is no site 'lab-7'")
    lines = slipway("get", "site-state", "--watch", "--site", "lab-7").stdout.splitlines()
    return [line.removeprefix("2026-03-01 12:00:00 ") for line in lines if line.startswith("2026-03-01 12:00:00 ")]


def test_who_is_far_behind_is_shown_what_differs_and_not_everything(slipway: Slipway, server: Server) -> None:
    n1, n2 = VIEW["nodes"]["n1"], VIEW["nodes"]["n2"]
    down, gone = {"state": "down", "reason": "why", "rack": "r1"}, {"n1": None}
    shown = watched(
        slipway,
        server,
        {"version": 500, "nodes": {"n1": {**n1, "cores": 8}, "n2": {**n2, "reason": "new fan"}, "n3": {"state": "up"}}},
        {"version": 501, "since": "7.500", "nodes": {"n1": down}},
        {"epoch": 8, "version": 1000, "nodes": {"n1": down, "n2": {**n2, "reason": "new fan"}}},
        {"epoch": 8, "version": 1001, "since": "8.1000", "nodes": gone},
        {"epoch": 9, "version": 2000, "nodes": {"n2": {**n2, "reason": "new fan"}}},
    )
    assert shown == [
        "7.500 is far ahead of 7.3: 2 nodes differ",
        "7.500 n2 maintenance: new fan",
        "7.500 n3 up",
        "7.501 n1 down: why",
        "8.1000 is far ahead of 7.501: 1 node differs",
        "8.1000 n3 gone",
        "8.1001 n1 gone",
        "9.2000 is far ahead of 8.1001: 0 nodes differ",
    ]


def test_watching_shows_how_the_site_as_a_whole_is(slipway: Slipway, server: Server) -> None:
    why = {"state": "down", "reason": "1 node is up, 2 are needed"}
    shown = watched(
        slipway,
        server,
        {"version": 4, "since": "7.3", "nodes": {}, **why},
        {"version": 5, "since": "7.4", "nodes": {}, **why},
        {"version": 6, "since": "7.5", "nodes": {}},
    )
    assert shown == ["7.4 site lab-7 down: 1 node is up, 2 are needed", "7.6 site lab-7 up"]


def test_ctrl_c_ends_the_watching_without_a_complaint(slipway: Slipway, server: Server) -> None:
    def interrupt(_: Any) -> tuple[int, dict[str, str], str]:
        raise KeyboardInterrupt

    server.on("GET", STATE, VIEW)
    server.on("GET", "/sites/lab-7/repair", REPAIR)
    server.mock.add_callback("GET", f"{API}{STATE}", interrupt)
    result = slipway("get", "site-state", "--watch", "--site", "lab-7")
    assert (result.exit_code, result.stderr) == (130, "\n")
    assert "site lab-7: up" in result.stdout


def test_the_three_states_of_a_node(slipway: Slipway, server: Server) -> None:
    found = {
        "site": "lab-7",
        "node": "n2",
        "reported": {"state": "up", "reason": "Deployed, power on", "since": AT},
        "user": {"state": "maintenance", "reason": "new disk", "since": AT},
        "set_by": "ann",
        "until": AT,
        "generated": {"state": "maintenance", "reason": "new disk", "since": AT},
        "crashes": 2,
    }
    server.on("GET", "/sites/lab-7/nodes/n2/state", found)
    text = slipway("get", "node-state", "node/n2", "--site", "lab-7").stdout
    assert "Deployed, power on" in text
    assert "new disk (set by ann, until 2026-03-01 12:00:00 UTC)" in text
    assert text.splitlines()[-1] == "crashes: 2"


@pytest.mark.parametrize(
    ("words", "nodes", "state", "reason"),
    [
        (("n1", "maintenance", "new disk"), ["n1"], "maintenance", "new disk"),
        (("node/n1,n2", "retired", "old", "box"), ["n1", "n2"], "retired", "old box"),
        (("node", "n1", "up"), ["n1"], "up", ""),
    ],
)
def test_nodes_state_and_reason_are_told_apart(
    slipway: Slipway, server: Server, words: tuple[str, ...], nodes: list[str], state: str, reason: str
) -> None:
    server.on("PUT", STATES, {**DONE, "nodes": nodes})
    result = slipway("set", "node-state", *words, "--site", "lab-7")
    sent = json.loads(server.request.body)
    assert (sent["nodes"], sent["user"]) == (nodes, {"state": state, "reason": reason})
    assert (sent["condition"], sent["wait"], sent["probe"]) == ("safe", True, False)
    assert f"set to {state}" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("n1", "maintenance"), "say why, behind the state"),
        (("n1", "n2"), "which state: up, retired, maintenance, down?"),
        (("up",), "name nodes before the state, or use --group or --rack"),
        (("n1", "down", "x", "--until", "soon"), "--until 'soon' is no time"),
        (("n1", "down", "x", "--until", "9999999999d"), "--until '9999999999d' is no time"),
        (("n1", "down", "x", "--until", "²h"), "--until '²h' is no time"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_sent(
    slipway: Slipway, server: Server, words: tuple[str, ...], said: str
) -> None:
    result = slipway("set", "node-state", *words, "--site", "lab-7")
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(server.mock.calls) == 0


def test_a_refusal_ends_with_1_and_says_why(slipway: Slipway, server: Server) -> None:
    server.on("PUT", STATES, {**DONE, "modified": False, "published": False, "reason": "n1: action A works on it"})
    result = slipway("set", "node-state", "n1", "maintenance", "x", "--site", "lab-7")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing was set: n1: action A works on it" in result.stderr


def test_a_version_is_shown_and_is_a_condition(slipway: Slipway, server: Server) -> None:
    server.on("PUT", STATES, DONE, headers={"ETag": '"7"'})
    named = ("set", "node-state", "n1", "up", "--site", "lab-7")
    assert slipway(*named, "--probe").stdout.splitlines()[-1] == "only if nothing changes until then: --if-version 7"
    assert "If-Match" not in server.request.headers
    assert slipway(*named, "--if-version", "7").exit_code == 0
    assert server.request.headers["If-Match"] == '"7"'


def test_force_says_what_it_overrides_and_asks(slipway: Slipway, server: Server) -> None:
    judged = {**DONE, "published": False, "reason": "n1: something is deployed on it"}
    server.on("PUT", STATES, judged)
    arguments = ("set", "node-state", "n1", "down", "broken", "--force", "--site", "lab-7")
    result = slipway(*arguments, stdin="n\n")
    assert result.exit_code == 1
    assert "n1: something is deployed on it" in result.stderr
    assert [json.loads(call.request.body or "")["probe"] for call in server.mock.calls] == [True]
    server.on("PUT", STATES, DONE, headers={"ETag": '"7"'})
    slipway(*arguments, stdin="y\n")
    looked, forced = (call.request for call in server.mock.calls[-2:])
    assert "If-Match" not in looked.headers
    assert forced.headers["If-Match"] == '"7"', "only if nothing changed since it was asked"
    server.on("PUT", STATES, {**judged, "missing": "no controller leads the site"}, 202)
    done = slipway(*arguments, "--yes")
    assert done.exit_code == 0
    assert "it holds for actions now, and is not published yet: no controller leads the site" in done.stderr
    assert json.loads(server.request.body)["condition"] == "force"
