"""Approving and trying again: what is asked, and what will be done, is said first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, ID, Server, action
from tests.unit.slipway_cli.test_tree_text import node, parent

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
def test_without_a_yes_nothing_is_tried_again(slipway: Slipway, server: Server, answer: str) -> None:
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


def test_nodes_of_a_step_without_groups(slipway: Slipway, server: Server) -> None:
    plan = PLAN | {"groups": [], "nodes": ["n1"], "steps": ["destroy_nodes"], "warnings": []}
    server.on("GET", f"/actions/{ID}/retry", plan)
    server.on("POST", f"/actions/{ID}/retry", plan)
    assert slipway("retry", ID, "--yes").stderr.splitlines() == ["1 node: n1", "steps: destroy_nodes"]


def _ended(**more: Any) -> dict[str, Any]:
    nodes = [
        {"name": "n1", "state": "failure", "groups": ["control"], "message": "burnt"},
        {"name": "n2", "state": "unknown", "groups": ["compute"], "message": None},
        {"name": "n3", "state": "not_started", "groups": ["compute"], "message": "withheld"},
    ]
    groups = [{"name": "control", "state": "success"}, {"name": "compute", "state": "failure"}]
    return action(site="lab-7", ended=AT, nodes=nodes, groups=groups, state="failed") | more


@pytest.mark.parametrize(
    ("options", "nodes"), [((), ["n1", "n2"]), (("--group", "control"), ["n1"])], ids=["all", "of a group"]
)
def test_the_nodes_that_failed_are_updated_by_a_new_action(
    slipway: Slipway, server: Server, options: tuple[str, ...], nodes: list[str]
) -> None:
    server.on("GET", f"/actions/{ID}", _ended())
    server.on("POST", "/actions", action(name="update_site", site="lab-7"), 201)
    result = slipway("retry", ID, "--failed-nodes", *options, "--yes")
    assert result.exit_code == 0, result.output
    number = "1 node" if len(nodes) == 1 else "2 nodes"
    assert result.stderr == f"update_site of site lab-7, of {number} that failed in it: {', '.join(nodes)}\n"
    assert json.loads(server.request.body) == {"name": "update_site", "parameters": {"target_nodes": nodes}}
    assert server.request.params["site"] == "lab-7", "the action's site, whichever is meant else"


def test_before_the_nodes_that_failed_are_updated_it_asks(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}", _ended())
    assert "nothing was done" in slipway("retry", ID, "--failed-nodes", stdin="n\n").stderr


@pytest.mark.parametrize(
    ("found", "options", "said"),
    [
        ({"nodes": []}, (), "no node of it failed in action"),
        ({"ended": None}, (), "is not over yet"),
        ({"name": "destroy_nodes"}, (), "destroy_nodes has no groups: `slipway retry action/"),
        ({}, ("--group", "contol"), "did you mean 'control'?"),
    ],
)
def test_where_no_node_failed_nothing_is_updated(
    slipway: Slipway, server: Server, found: dict[str, Any], options: tuple[str, ...], said: str
) -> None:
    server.on("GET", f"/actions/{ID}", _ended(**found))
    result = slipway("retry", ID, "--failed-nodes", *options)
    assert (result.exit_code != 0, said in result.stderr) == (True, True), result.output


def gate(**more: Any) -> dict[str, Any]:
    asked = {"moment": "before", "text": "Is rack 3 cabled?", "approvers": ["ann"], "answered": None, "answer": None}
    return asked | more


def group(name: str, approval: dict[str, Any] | None) -> dict[str, Any]:
    return parent("group", name, node("n1", "pending"), group={"nodes": 12, "approval": approval})


def on_tree(server: Server, *groups: dict[str, Any], asks: bool = True) -> None:
    root = parent("action", ID, node("acquire", kind="step"), parent("stage", "deploy_group", *groups))
    if asks:
        server.on("GET", f"/actions/{ID}", {}, headers={"ETag": '"7"'})
    server.on("GET", f"/actions/{ID}/tree", {"token": "1", "header": {}, "root": root})


@pytest.mark.parametrize(
    ("options", "answer", "comment"),
    [((), "approved", None), (("--comment", "seen"), "approved", "seen"), (("--refuse",), "refused", None)],
)
def test_the_group_that_waits_is_answered(
    slipway: Slipway, server: Server, options: tuple[str, ...], answer: str, comment: str | None
) -> None:
    on_tree(server, group("ntp", None), group("racks", gate()), group("old", gate(answered=AT, answer="approved")))
    server.on("POST", f"/actions/{ID}/approvals/racks", {})
    result = slipway("approve", f"action/{ID}", *options, stdin="y\n")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[0] == (
        "group racks (12 nodes) waits for an approval before it, by ann: Is rack 3 cabled?"
    )
    followed = f"next: slipway describe action/{ID} --follow\n"
    assert result.stdout == f"group racks of action {ID} is {answer}\n{followed}"
    assert json.loads(server.request.body) == {"answer": answer, "comment": comment}
    assert server.request.headers["If-Match"] == '"7"', "what was shown is answered, or nothing"


def test_without_a_yes_nothing_is_done(slipway: Slipway, server: Server) -> None:
    on_tree(server, group("racks", gate()))
    result = slipway("approve", ID, stdin="n\n")
    assert (result.exit_code, "nothing was done" in result.stderr) == (1, True)


def test_one_of_several(slipway: Slipway, server: Server) -> None:
    on_tree(server, group("rack 1", gate()), group("rack 2", gate()), asks=False)
    server.on("POST", f"/actions/{ID}/approvals/rack%202", {})
    assert slipway("approve", ID, "--group", "rack 2", "--yes").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "several wait: name one with --group: racks, compute"),
        (("--group", "rack"), "the action has no group"),
        (("--group", "rack"), "did you mean 'racks'?"),
        (("--group", "ntp"), "group 'ntp' waits for no approval; racks, compute waits"),
    ],
)
def test_which_group_is_meant(slipway: Slipway, server: Server, options: tuple[str, ...], words: str) -> None:
    on_tree(server, group("ntp", None), group("racks", gate()), group("compute", gate()), asks=False)
    result = slipway("approve", ID, *options, "--yes")
    assert (result.exit_code, words in result.stderr) == (1, True)


def test_nobody_waits(slipway: Slipway, server: Server) -> None:
    on_tree(server, group("ntp", None), asks=False)
    result = slipway("approve", ID, "--yes")
    assert (result.exit_code, "no group of this action waits" in result.stderr) == (1, True)
