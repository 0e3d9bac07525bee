"""`slipway touch`, `adopt`, `start repair` and `stop repair`: what is sent, said and asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, Server
from tests.unit.slipway_cli.online.test_node_states import REPAIR

PLAN: dict[str, Any] = {
    "site": "lab-7",
    "dry_run": True,
    "revision": None,
    "nodes": ["n1", "n2"],
    "skipped": [{"name": "n3", "reason": "the provisioner does not list it"}],
}
DONE = PLAN | {"dry_run": False, "revision": 3, "skipped": []}
ADOPT = "/sites/lab-7/adopt"


def test_nodes_are_asked_for_again(slipway: Slipway, server: Server) -> None:
    nodes = [{"name": "n1", "wanted_version": 4}, {"name": "n2", "wanted_version": 2}]
    server.on("POST", "/sites/lab-7/touch", {"site": "lab-7", "nodes": nodes})
    result = slipway("touch", "node/n1", "n2", "--site", "lab-7")
    assert result.stdout.splitlines() == [
        "node n1 is asked for again, as version 4 of the node",
        "node n2 is asked for again, as version 2 of the node",
        "next: slipway plan update_site --site lab-7",
    ]
    assert json.loads(server.request.body) == {"nodes": ["n1", "n2"]}


def test_a_node_is_named_in_any_of_three_forms(slipway: Slipway, server: Server) -> None:
    for named in (("node", "n1", "n2"), ("node/n1,n2",), ("node/n1", "node/n2")):
        server.on("POST", "/sites/lab-7/touch", {"site": "lab-7", "nodes": []})
        slipway("touch", *named, "--site", "lab-7")
        assert json.loads(server.request.body) == {"nodes": ["n1", "n2"]}
    server.on("POST", "/sites/lab-7/touch", {"site": "lab-7", "nodes": []})
    slipway("touch", "node", "--site", "lab-7")
    assert json.loads(server.request.body) == {"nodes": ["node"]}


def test_adopting_says_which_nodes_and_asks(slipway: Slipway, server: Server) -> None:
    server.on("POST", ADOPT, PLAN, headers={"ETag": '"e49dc847b7ab5b0f"'})
    server.on("POST", ADOPT, DONE)
    result = slipway("adopt", "--all", "--site", "lab-7", stdin="y\n")
    assert server.request.headers["If-Match"] == '"e49dc847b7ab5b0f"', "only what was shown is recorded"
    assert result.stdout == "2 nodes count as done in revision 3\nnext: slipway status\n"
    assert result.stderr.splitlines()[:2] == [
        "n3 is left as it is: the provisioner does not list it",
        "2 nodes to adopt: n1, n2",
    ]
    assert json.loads(server.request.body) == {"nodes": ["n1", "n2"]}
    assert "dryrun=true" in str(server.mock.calls[0].request.url)


def test_without_a_yes_nothing_is_adopted(slipway: Slipway, server: Server) -> None:
    server.on("POST", ADOPT, PLAN)
    assert slipway("adopt", "node/n1", "--site", "lab-7", stdin="n\n").exit_code == 1
    assert len(server.mock.calls) == 1
    shown = slipway("adopt", "n1", "--site", "lab-7", "--dryrun")
    assert (shown.exit_code, "2 nodes to adopt: n1, n2" in shown.stdout) == (0, True)


def test_nodes_or_all_and_not_both(slipway: Slipway, server: Server) -> None:
    for arguments in ((), ("n1", "--all")):
        result = slipway("adopt", *arguments)
        assert (result.exit_code, "name the nodes to adopt, or use --all" in result.stderr) == (2, True)
    server.on("POST", ADOPT, PLAN | {"nodes": []})
    assert "has no node to adopt" in slipway("adopt", "--all", "--site", "lab-7").stderr


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
