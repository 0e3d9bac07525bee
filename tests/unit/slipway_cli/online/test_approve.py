"""Answering a group that waits: what is asked is shown, and the answer is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, ID, Server
from tests.unit.slipway_cli.test_tree_text import node, parent


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
    assert result.stdout == f"group racks of action {ID} is {answer}\n"
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
