"""What the server says that an action would do, and that files are still planned without one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, Server


def changed(
    name: str, deed: str, change: str, reason: str, withheld: str | None = None, allowed_by: str | None = None
) -> dict[str, Any]:
    fields = [{"path": f"$.{each}", "change": "modified", "from": "old", "to": "new"} for each in "abcd"]
    document = {"schema": "drydock/HostProfile/v1", "name": "rack", "change": "modified", "fields": fields}
    known = {"groups": ["control"], "documents": [document] if withheld else None}
    facts = {"deed": deed, "change": change, "reason": reason, "withheld": withheld, "allowed_by": allowed_by}
    return {"name": name, **facts, **known}


SUMMARY = "erases 1 (0 redeployed, 1 released first, 0 removed), deploys 1, labels 0, leaves 1, withholds 1"


def planned(**more: Any) -> dict[str, Any]:
    return {
        "name": "update_site",
        "site": "lab-7",
        "revision": 3,
        "listed": {"read_at": AT, "age": 185.0, "connection": "slipway_provisioner", "nodes": 4},
        "verdict": "success",
        "verdict_text": "dry run: nothing was submitted",
        "summary": SUMMARY,
        "erased": ["n2"],
        "groups": [
            {"name": "ntp", "critical": False, "depends_on": [], "nodes": 1, "phases": {}, "failing": None},
            {
                "name": "control",
                "critical": True,
                "depends_on": ["ntp"],
                "nodes": 3,
                "phases": {"prepare": 2, "deploy": 2},
                "failing": "deploy_criteria",
            },
        ],
        "submissions": [],
        "schedule": {"max_parallel_groups": 1, "waves": [["control"]], "seconds": None, "note": None},
        "nodes": [
            changed("n2", "release", "add", "never done"),
            changed("n3", "deploy", "add", "never done"),
            changed("n4", "withhold", "change", "the design differs", "needs redeploy", "--allow-redeploy"),
            changed("n1", "leave", "none", "as wanted since revision 3"),
        ],
        "edges": [{"kind": "group", "later": "control", "earlier": "ntp"}],
        "notes": [
            {"message": f"update_site {SUMMARY}", "error": False, "level": "Info"},
            {"message": "1 node would be erased and released first: n2", "error": False, "level": "Warning"},
        ],
    } | more


def test_the_plan_of_an_action(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/actions/plan", planned())
    result = slipway("plan", "update_site", "--site", "lab-7")
    assert result.exit_code == 0, result.output
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:3] == [
        f"update_site of site lab-7, revision 3: {planned()['summary']}",
        "erased: n2",
        "by the list of slipway_provisioner of 3 min 05 s ago, with 4 nodes (--fresh renews it)",
    ]
    assert "1  ntp      no            1         nothing" in lines
    assert "2  control  yes           3  ntp    prepare 2, deploy 2 (would fail: deploy_criteria)" in lines
    rows = "\n".join(lines)
    assert re.search("release +n2 +never done", rows)
    assert re.search(r"change withheld +n4 +needs redeploy \(--allow-redeploy changes that\) +HostProfile rack", rows)
    assert "and 1 more: --explain shows them" in rows
    assert "as wanted" not in rows
    assert rows.count(SUMMARY) == 1, "it is the heading"
    assert "  1 node would be erased and released first: n2" in lines
    assert lines[-1] == "SUCCESS: dry run: nothing was submitted"
    assert json.loads(server.request.body) == {"name": "update_site"}
    assert server.request.params == {"site": "lab-7", "verbosity": "1", "allow-intermediate-commits": "false"}


def test_everything_that_differs_and_who_waits_is_explained_where_it_is_asked_for(
    slipway: Slipway, server: Server
) -> None:
    server.on("POST", "/actions/plan", planned())
    said = slipway("plan", "update_site", "--explain").stdout
    assert "HostProfile rack $.d: modified old -> new" in said
    assert "group control waits for ntp" in said


def test_groups_side_by_side_are_shown_in_rounds(slipway: Slipway, server: Server) -> None:
    schedule = {"max_parallel_groups": 2, "waves": [["ntp", "control"]], "seconds": 5400.0, "note": "gains nothing"}
    server.on("POST", "/actions/plan", planned(schedule=schedule))
    result = slipway("plan", "update_site", "--max-parallel-groups", "2")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert "    1  ntp, control" in lines
    assert "about 1 h 30 min, by the newest operations on the site" in lines
    assert "gains nothing" in lines
    assert json.loads(server.request.body)["parameters"] == {"max_parallel_groups": 2}


def test_what_would_fail_is_a_failure(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/actions/plan", planned(verdict="failure", verdict_text="critical group control would fail"))
    result = slipway("plan", "deploy_site")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "FAILURE: critical group control would fail")


def test_what_is_asked_for(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/actions/plan", planned())
    options = ("--fresh", "-n", "n1,n2", "-n", "n3", "--revision", "2", "--redo-done", "--allow-intermediate-commits")
    assert json.loads(slipway("plan", "deploy_site", *options, "-o", "json").stdout) == planned()
    parameters = {"target_nodes": ["n1", "n2", "n3"], "revision": 2, "redo_done": True}
    assert json.loads(server.request.body) == {"name": "deploy_site", "parameters": parameters}
    assert server.request.params["fresh"] == server.request.params["allow-intermediate-commits"] == "true"


@pytest.mark.parametrize("options", [("--fresh",), ("--prune",), ("--site", "lab-7"), ("--site=lab-7", "-o", "json")])
def test_options_may_stand_before_the_kind(slipway: Slipway, server: Server, options: tuple[str, ...]) -> None:
    server.on("POST", "/actions/plan", planned())
    assert slipway("--site", "lab-7", "plan", *options, "update_site").exit_code == 0
    assert server.request.params["site"] == "lab-7"


def test_the_value_of_an_option_is_no_kind(slipway: Slipway, example: Path) -> None:
    result = slipway("plan", example, "--strategy", "update_site")
    assert (result.exit_code, "update_site" in result.stderr) == (2, True), "there is no such strategy"


@pytest.mark.parametrize("arguments", [("plan", "redeploy_server"), ("plan", "deploy_sites")])
def test_anything_else_is_a_file(slipway: Slipway, arguments: tuple[str, ...]) -> None:
    result = slipway(*arguments)
    assert (result.exit_code, "Cannot read" in result.stderr) == (2, True)
