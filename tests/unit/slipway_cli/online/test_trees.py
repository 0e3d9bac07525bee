"""Status trees: shown once, as a whole, or followed until the action is over."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import ID, Server, action
from tests.unit.slipway_cli.test_tree_text import TREE, node, parent

HEADER = {
    "id": ID,
    "kind": "deploy_site",
    "site": "default",
    "revision": 3,
    "user": "ann",
    "state": "running",
    "verdict": None,
    "paused": None,
    "elapsed": 65.0,
    "estimate": 600.0,
    "superseded": None,
    "has_report": True,
}


def tree(state: str = "running", status: str = "processing", number: int = 1, **more: Any) -> dict[str, Any]:
    root = parent("action", ID, node("acquire", kind="step"), parent("stage", "deploy_group", node("n1", status)))
    return {"token": str(number), "read_at": "", "depth": 3, "header": HEADER | {"state": state} | more, "root": root}


def test_an_action_as_a_tree(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}/tree", tree() | {"root": TREE})
    result = slipway("describe", f"action/{ID}", "--tree", "--depth", "4")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[:4] == [
        "deploy_site of site default, revision 3, by ann: running",
        "elapsed 1 min 05 s; about 8 min 55 s left (earlier ones took 10 min 00 s)",
        "✗ deploy_site  error  ✗ 4 ✓ 4",
        "├─ ✓ acquire  success",
    ]
    assert server.request.params["depth"] == "4"


def test_the_answer_itself(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}/tree", tree())
    assert json.loads(slipway("describe", ID, "--tree", "-o", "json").stdout) == tree()


def test_what_is_over_is_history(slipway: Slipway, server: Server) -> None:
    shown = tree("failed", "error", verdict="critical group control failed", superseded="superseded by revision 4")
    server.on("GET", f"/actions/{ID}/tree", shown)
    assert slipway("describe", ID, "--tree").stdout.splitlines()[:4] == [
        "deploy_site of site default, revision 3, by ann: failed",
        "superseded by revision 4",
        "critical group control failed",
        "elapsed 1 min 05 s",
    ]


def flat(root: dict[str, Any], path: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the entries of a tree as the server streams them."""
    own = {key: value for key, value in root.items() if key != "children"}
    below = [one for child in root.get("children", ()) for one in flat(child, (*path, child["name"]))]
    return [own | {"path": list(path)}, *below]


def test_everything_comes_as_a_stream(slipway: Slipway, server: Server) -> None:
    lines = [{key: value for key, value in tree().items() if key != "root"}, *flat(TREE)]
    server.on("GET", f"/actions/{ID}/tree", "".join(f"{json.dumps(line)}\n" for line in lines))
    whole = slipway("describe", ID, "--tree", "--depth", "all").stdout.splitlines()
    assert "   │     └─ ✗ c2  error" in whole
    assert [
        json.loads(line)
        for line in slipway("describe", ID, "--tree", "--depth", "all", "-o", "json").stdout.splitlines()
    ] == lines


@pytest.mark.parametrize(
    "options", [("--depth", "2"), ("--tree", "--depth", "1000"), ("--tree", "--follow", "--depth", "all")]
)
def test_wrong_use(slipway: Slipway, server: Server, options: tuple[str, ...]) -> None:
    server.mock.assert_all_requests_are_fired = False
    assert slipway("describe", ID, *options).exit_code == 2


@pytest.mark.usefixtures("_hurry")
@pytest.mark.parametrize(("state", "status", "code"), [("success", "success", 0), ("failed", "error", 1)])
@pytest.mark.parametrize("arguments", [("--follow",), ("--tree", "--follow")])
def test_it_is_followed_to_its_end(
    slipway: Slipway, server: Server, state: str, status: str, code: int, arguments: tuple[str, ...]
) -> None:
    path = f"/actions/{ID}/tree"
    server.on("GET", f"/actions/{ID}", action())
    server.on("GET", path, tree())
    server.on("GET", path, status=204)
    server.on("GET", path, body=requests.ConnectionError("refused"))
    server.on("GET", path, tree(state, status, 2, verdict="that is how it was"))
    server.on("GET", f"/actions/{ID}/report", "the report\n")
    result = slipway("describe", ID, *arguments)
    said = [line.partition(" s  ")[2] or line for line in result.stdout.splitlines()]
    assert result.exit_code == code, result.output
    assert said[0] == f"action/{ID}: deploy_site of site default, revision 3"
    assert said[1:3] == ["acquire: success", "deploy_group / n1: processing"]
    assert f"deploy_group / n1: {status}" in said
    assert said[-2:] == ["the report", f"{state.upper()}: that is how it was"]
    urls = [urlsplit(call.request.url or "") for call in server.mock.calls]
    asked = [parse_qs(url.query).get("since") for url in urls if url.path.endswith("/tree")]
    assert asked == [None, ["1"], ["1"], ["1"]]


@pytest.mark.usefixtures("_hurry")
def test_each_tree_is_a_line_for_programs(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}", action())
    server.on("GET", f"/actions/{ID}/tree", tree())
    server.on("GET", f"/actions/{ID}/tree", tree("success", "success", 2, verdict="good"))
    result = slipway("describe", ID, "--tree", "--follow", "-o", "json")
    assert [json.loads(line)["token"] for line in result.stdout.splitlines()] == ["1", "2"]
    assert "SUCCESS: good" in result.stderr


BEHIND = "behind the design since 2026-03-01 12:00:00 UTC: 1 node serves an older revision"


def site(**more: Any) -> dict[str, Any]:
    running = {"id": ID, "kind": "update_site", "state": "running", "verdict": None}
    return {
        "name": "lab-7",
        "in_sync": False,
        "sync": BEHIND,
        "healthy": False,
        "health": "not healthy: 1 node in error",
        "revision_committed": 3,
        "revision_done": 2,
        "nodes": 3,
        "nodes_as_wanted": 2,
        "running": running,
        "last": running | {"state": "failed", "verdict": "critical group a failed"},
    } | more


@pytest.mark.parametrize("arguments", [("site/lab-7",), ("site", "lab-7"), ("site", "--site", "lab-7")])
def test_a_site_as_a_tree(slipway: Slipway, server: Server, arguments: tuple[str, ...]) -> None:
    root = parent("site", "lab-7", parent("group", "racks", node("n1"), node("n2", "error", "no PXE")))
    server.on("GET", "/sites/lab-7/tree", {"token": "1", "header": site(), "root": root})
    assert slipway("describe", *arguments).stdout.splitlines() == [
        f"site lab-7: {BEHIND}; not healthy: 1 node in error",
        "revision 3 is committed, 2 is done; 3 nodes",
        f"running: update_site, action/{ID}, running",
        f"last: update_site, action/{ID}, failed: critical group a failed",
        "✗ lab-7  error  ✗ 1 ✓ 1",
        "└─ ✗ racks  error  ✗ 1 ✓ 1",
        "   ├─ ✓ n1  success",
        "   └─ ✗ n2  error",
        "         no PXE",
    ]
