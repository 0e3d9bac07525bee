"""Sites, nodes, owners and reporters in lists, and what happened to one node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, ID, Server
from tests.unit.slipway_cli.online.test_trees import site


def listed_site(name: str, **more: Any) -> dict[str, Any]:
    return site(name=name, status="processing", counts={"success": 2, "processing": 1}, repair_stopped=None) | more


def node(name: str, **more: Any) -> dict[str, Any]:
    return {
        "node": name,
        "status": "error",
        "message": "no PXE answer",
        "groups": ["control", "all"],
        "rack": "r1",
        "wanted_revision": 3,
        "done_revision": None,
        "serves": "nothing",
        "done_at": None,
        "provisioner_status": "Failed",
        "power": "off",
        "listed_at": AT,
        "error": "no PXE answer",
        "error_revision": 3,
        "error_action": ID,
        "fixed": None,
        "doubt": None,
        "owner": "provisioner:drydock",
        "failures": 2,
        "next_try": AT,
    } | more


def test_sites(slipway: Slipway, server: Server) -> None:
    none = dict.fromkeys(("status", "revision_committed", "revision_done", "running", "last"))
    known = [listed_site("lab-7"), listed_site("new", nodes=0, nodes_as_wanted=0, counts={}, **none)]
    server.on("GET", "/sites", known)
    lines = slipway("get", "sites").stdout.splitlines()
    words = f"lab-7 ▶ processing 3 2 2/3 ▶ 1 ✓ 2 action/{ID} update_site: critical group a failed"
    assert " ".join(lines[2].split()) == words
    assert " ".join(lines[3].split()) == "new not known 0/0"
    assert json.loads(slipway("get", "sites", "-o", "json", "--site", "lab-9").stdout) == known
    assert server.request.params == {}, "the list of all sites is not about one"


def test_rule_27_a_commit_does_not_make_sites_and_nodes_look_as_if_they_served_nothing(
    slipway: Slipway, server: Server
) -> None:
    serving = {"counts": {"pending": 3}, "serves": "older", "pending_serves": {"older": 2}}
    server.on("GET", "/sites", [listed_site("lab-7", status="pending", **serving)])
    line = " ".join(slipway("get", "sites").stdout.splitlines()[2].split())
    assert line.startswith("lab-7 ↑ pending, serves older 3 2 2/3 ↑ 2 · 1 action/")
    nodes = [node(f"n{n}", status="pending", serves=word) for n, word in enumerate(("older", "wanted", "nothing"))]
    server.on("GET", "/sites/default/nodes", {"nodes": nodes, "after": None, "total": 3})
    lines = [" ".join(line.split()) for line in slipway("get", "nodes").stdout.splitlines()[2:]]
    words = ("↑ pending, serves older", "↻ pending, serves wanted", "· pending")
    assert [line.startswith(f"n{n} {text} r1") for n, (line, text) in enumerate(zip(lines, words, strict=True))] == [
        True
    ] * 3


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("contrl", "site default has no group 'contrl'; did you mean 'control'?"),
        ("x", "site default has no group 'x'; it has control, compute"),
    ],
)
def test_a_group_that_the_site_does_not_have_is_named(slipway: Slipway, server: Server, group: str, said: str) -> None:
    server.on("GET", "/sites/default/nodes", {"nodes": [], "after": None, "total": 0})
    server.on("GET", "/sites/default/tree", {"root": {"children": [{"name": "control"}, {"name": "compute"}]}})
    result = slipway("get", "nodes", "--group", group)
    assert (result.exit_code, result.stderr) == (1, f"Error: {said}\n")


def test_a_group_may_have_no_node_that_is_like_that(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes", {"nodes": [], "after": None, "total": 0})
    server.on("GET", "/sites/default/tree", {"root": {"children": [{"name": "control"}]}})
    assert slipway("get", "nodes", "--group", "control", "--status", "error").stdout == "no node is like that\n"


@pytest.mark.parametrize(("everywhere", "where"), [(True, "all sites"), (False, "site lab-7")])
def test_who_has_stopped_repair_stands_below(slipway: Slipway, server: Server, everywhere: bool, where: str) -> None:
    stop = {"at": AT, "by": "ann", "reason": "a storm", "all_sites": everywhere}
    server.on("GET", "/sites", [listed_site("lab-7", repair_stopped=stop), listed_site("lab-8")])
    lines = slipway("get", "sites").stdout.splitlines()
    assert lines[-1] == f"repair of {where} is stopped by ann since 2026-03-01 12:00:00 UTC: a storm"
    assert sum("is stopped" in line for line in lines) == 1


def test_of_two_sites_it_is_said_which_one_nobody_watches(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites", [listed_site("example", stopped="demo: simulator stopped"), listed_site("lab-8")])
    lines = slipway("get", "sites").stdout.splitlines()
    assert lines[-1] == "site example is not watched: demo: simulator stopped"
    assert sum("is not watched" in line for line in lines) == 1


def test_of_a_copied_store_it_is_said_once_that_nothing_is_sent(slipway: Slipway, server: Server) -> None:
    hold = "this store is a copy; run `slipway store restored`"
    server.on("GET", "/sites", [listed_site("a", hold=hold), listed_site("b", hold=hold)])
    lines = slipway("get", "sites").stdout.splitlines()
    assert [line for line in lines if "copy" in line] == [f"held: {hold}"]


def test_sites_on_several_pages(slipway: Slipway, server: Server) -> None:
    more = {"Link": '</slipway/api/v1.0/sites?after=a>; rel="next"'}
    server.on("GET", "/sites", [listed_site("a")], headers=more)
    server.on("GET", "/sites", [listed_site("b")])
    assert [line.split()[0] for line in slipway("get", "sites").stdout.splitlines()[2:]] == ["a", "b"]
    assert server.request.params["after"] == "a"
    server.on("GET", "/sites", [listed_site("a")], headers=more)
    server.on("GET", "/sites", [listed_site("b")])
    assert json.loads(slipway("get", "sites", "-o", "json").stdout) == [listed_site("a"), listed_site("b")]


def page(*nodes: dict[str, Any], total: int | None = None, after: str | None = None) -> dict[str, Any]:
    return {"token": "1", "read_at": AT, "total": total or len(nodes), "after": after, "nodes": list(nodes)}


def test_nodes(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/lab-7/nodes", page(node("n1")))
    options = ("--group", "control", "--rack", "r1", "--status", "error", "--where", "power=off", "--sort", "-rack")
    result = slipway("get", "nodes", "n", "--site", "lab-7", *options)
    row = " ".join(result.stdout.splitlines()[2].split())
    assert row == "n1 ✗ error r1 3 Failed off control, all no PXE answer"
    asked = {"group": "control", "rack": "r1", "status": "error", "where": "power=off", "sort": "-rack", "q": "n"}
    assert asked.items() <= server.request.params.items()


def test_nodes_on_several_pages(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes", page(node("n1"), total=3, after="x"))
    server.on("GET", "/sites/default/nodes", page(node("n2"), total=3, after="y"))
    lines = slipway("get", "nodes", "--limit", "2").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["n1", "n2"]
    assert lines[-1] == "the first 2 nodes of 3: see --limit"
    assert (server.request.params["after"], server.request.params["limit"]) == ("x", "1")


def test_programs_get_all_nodes_or_as_many_as_they_ask_for(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes", page(node("n1"), total=3, after="x"))
    server.on("GET", "/sites/default/nodes", page(node("n2"), total=3, after="y"))
    server.on("GET", "/sites/default/nodes", page(node("n3"), total=3))
    whole = page(node("n1"), node("n2"), node("n3"))
    assert json.loads(slipway("get", "nodes", "-o", "json").stdout) == whole
    assert (server.request.params["after"], server.request.params["limit"]) == ("y", "1000")
    server.on("GET", "/sites/default/nodes", page(node("n1"), total=3, after="x"))
    first = json.loads(slipway("get", "nodes", "-o", "json", "--limit", "1").stdout)
    assert (first["after"], server.request.params["limit"]) == ("x", "1"), "the rest can be asked for"


def test_no_node_is_like_that(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes", page())
    assert slipway("get", "nodes").stdout == "no node is like that\n"
    assert slipway("get", "nodes", "--status", "bananas").exit_code == 2


def test_owners(slipway: Slipway, server: Server) -> None:
    def owner(name: str, **more: Any) -> dict[str, Any]:
        return {
            "name": name, "alive": False, "status": "unresponsive", "last_seen": None, "interval": None,
            "detail": None, "unresponsive_since": None, "sites": ["lab-7"], "actions": [ID],
        } | more  # fmt: skip

    seen = owner("airflow:deploy_site", alive=True, status="alive", last_seen=AT, interval=120.0, actions=[])
    answer = {"read_at": "2026-03-01T12:03:20+00:00", "after": None}
    server.on("GET", "/owners", {**answer, "owners": [seen], "after": seen["name"]})
    server.on("GET", "/owners", {**answer, "owners": [owner("provisioner:drydock")]})
    lines = [" ".join(line.split()) for line in slipway("get", "owners").stdout.splitlines()[2:]]
    assert lines == [
        f"provisioner:drydock ? unresponsive never lab-7 action/{ID}",
        "airflow:deploy_site ✓ alive 2026-03-01 12:00:00 3 min 20 s 2 min 00 s lab-7",
    ], "silent ones come first"
    assert server.request.params["after"] == "airflow:deploy_site"


def history(**more: Any) -> dict[str, Any]:
    phase = {
        "phase": "deploy",
        "status": "error",
        "message": "no PXE answer",
        "processed_by": None,
        "op": 17,
        "provisioner_task": "t-17",
        "duration": 65.0,
    }
    event: dict[str, Any] = {"at": AT, "kind": "late", "group": None, "message": "n1: a late result", "data": {}}
    done = {
        "id": ID, "kind": "deploy_site", "revision": 3, "state": "failed", "user": "ann", "created": AT,
        "dry_run": False, "groups": ["control"], "phases": [phase], "events": [event],
    }  # fmt: skip
    error = {
        "op": 17, "code": "provisioner", "text": "no PXE answer\nno boot", "phase": "deploy", "action": ID,
        "provisioner_task": "t-17", "wanted_version": 3, "time": AT, "standing": "shown", "report": "failed",
        "acknowledged_by": None, "acknowledged_at": None,
    }  # fmt: skip
    older = error | {
        "op": 9, "code": "timeout", "text": "no result", "standing": "history", "report": "cleared",
        "acknowledged_by": "bob",
    }  # fmt: skip
    retry = {"by": "repair", "is_due": False, "why_not": None}
    shown = {"site": "default", "name": "n1", "read_at": AT, "node": node("n1"), "actions": [done], "before": None}
    shown["retry"] = retry
    return shown | {"errors": [error, older]} | more


def test_what_happened_to_a_node(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes/n1", history())
    assert slipway("describe", "node/n1").stdout.splitlines() == [
        "n1 of site default  ✗ error",
        "  Message: no PXE answer",
        "  Wanted: since revision 3",
        "  Serves: nothing",
        "  Done: never",
        "  Groups: control, all",
        "  Rack: r1",
        f"  Of: action/{ID}, revision 3",
        "  Tries: failed in 2 actions in a row; repair may try it again from 2026-03-01 12:00:00 UTC on",
        "  Provisioner: Failed, power off (2026-03-01 12:00:00 UTC)",
        "  Owner: provisioner:drydock",
        "",
        f"2026-03-01 12:00:00  action/{ID}  deploy_site, revision 3, by ann: failed, in control",
        "  deploy  ✗ error  took 1 min 05 s, op 17, task t-17",
        "    no PXE answer",
        "  2026-03-01 12:00:00  n1: a late result",
        "",
        "Errors",
        "  2026-03-01 12:00:00  op 17  deploy  provisioner, failed",
        "    no PXE answer",
        "    no boot",
        "  2026-03-01 12:00:00  op 9  deploy  timeout, history, cleared by bob",
        "    no result",
    ]


@pytest.mark.parametrize(
    ("retry", "said"),
    [
        ({"by": "repair", "is_due": True, "why_not": None}, "; repair may try it again now"),
        ({"by": None, "is_due": True, "why_not": "repair is off"}, "; nothing tries it again by itself: repair is off"),
        (None, None),
    ],
)
def test_what_tries_a_failed_node_again(
    slipway: Slipway, server: Server, retry: dict[str, Any] | None, said: str | None
) -> None:
    server.on("GET", "/sites/default/nodes/n1", history(retry=retry))
    lines = slipway("describe", "node/n1").stdout.splitlines()
    found = [line.removeprefix("  Tries: failed in 2 actions in a row") for line in lines if "Tries:" in line]
    assert found == ([] if said is None else [said])


def task_entry(name: str, status: str, *messages: str, **more: Any) -> dict[str, Any]:
    said = {"task": f"t-{name}", "state": "complete", "result": "x", "attempt": 1, "nodes": 1, "links": []}
    return {
        "type": "task", "kind": "provisioner_task", "name": name, "status": status, "last_status": status,
        "last_status_age": None, "first_updated": None, "last_updated": None, "leaves": 1, "messages": [*messages],
        "provisioner": said | {"created": None, "updated": None},
    } | more  # fmt: skip


def asked_tasks(**more: Any) -> dict[str, Any]:
    leaf = task_entry("deploy_node", "error", "no PXE answer")
    return {
        "action": ID, "op": 17, "phase": "deploy", "group": "control", "attempt": 1, "node": "n1", "nodes": 2,
        "connection": "slipway_provisioner", "provisioner_task": "t-17", "read_at": AT, "reason": "",
        "root": task_entry("deploy_nodes", "error", "n1 is lost", children=[leaf]),
    } | more  # fmt: skip


def test_the_provisioners_own_tasks_of_the_newest_operation_on_a_node(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes/n1", history())
    server.on("GET", f"/actions/{ID}/operations/17/tasks", asked_tasks())
    assert slipway("describe", "node/n1", "--tasks").stdout.splitlines() == [
        "operation 17: deploy of n1",
        f"  Action: action/{ID}",
        "  Group: control",
        "  Task: t-17",
        "  Connection: slipway_provisioner",
        "  Asked: 2026-03-01 12:00:00 UTC",
        "✗ deploy_nodes  error",
        "│  n1 is lost",
        "└─ ✗ deploy_node  error",
        "      no PXE answer",
    ]


def test_that_the_provisioner_does_not_answer_is_said_in_its_place(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes/n1", history())
    body = asked_tasks(root=None, reason="The provisioner cannot be reached: no route")
    server.on("GET", f"/actions/{ID}/operations/17/tasks", body)
    said = slipway("describe", "node/n1", "--tasks", "--op", "17").stdout.splitlines()
    assert said[-1] == "The provisioner cannot be reached: no route"


def test_an_operation_that_was_not_on_the_node(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes/n1", history())
    said = slipway("describe", "node/n1", "--tasks", "--op", "18").stderr
    assert "there was no operation 18 on n1; the newest is 17" in said
    server.on("GET", "/sites/default/nodes/n2", history(actions=[], name="n2"))
    assert "nothing was submitted for n2 yet" in slipway("describe", "node/n2", "--tasks").stderr
    assert "--op is about --tasks" in slipway("describe", "node/n1", "--op", "18").stderr


def test_a_node_that_nothing_is_stored_of_any_more(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/nodes/n1", history(node=None, before="x"))
    lines = slipway("describe", "node", "n1").stdout.splitlines()
    assert lines[0] == "n1 of site default"
    assert lines[-1] == "older actions are left out: see --limit"


MADE = {"id": ID, "site": "lab-7", "owner": "reporter:burn-in", "created": AT, "created_by": "ann"}


def test_its_token_is_all_of_the_output(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/sites/lab-7/reporters", MADE | {"token": "a-token"}, 201)
    result = slipway("create", "reporter", "burn-in", "--site", "lab-7")
    assert (result.exit_code, result.stdout) == (0, "a-token\n")
    assert f"reporter {ID} of site lab-7 speaks for reporter:burn-in" in result.stderr
    assert json.loads(server.request.body) == {"owner": "burn-in"}


def test_the_list(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/reporters", [MADE | {"revoked": None, "last_used": None}])
    row = slipway("get", "reporters").stdout.splitlines()[2]
    assert row.split() == [ID, "reporter:burn-in", "2026-03-01", "12:00:00", "ann", "never"]


def test_one_is_revoked(slipway: Slipway, server: Server) -> None:
    listed = [MADE | {"revoked": None, "last_used": None}]
    server.on("GET", "/sites/default/reporters", listed, headers={"ETag": '"3"'})
    server.on("DELETE", f"/sites/default/reporters/{ID}", MADE | {"revoked": AT, "last_used": None})
    revoked = slipway("delete", f"reporter/{ID}", stdin="y\n")
    assert revoked.stdout == f"reporter {ID} is revoked\n"
    asked = f"revoke reporter {ID} of site default, which speaks for reporter:burn-in, never used? [y/N]: "
    assert asked in revoked.stderr
    assert server.request.headers["If-Match"] == '"3"', "as it was when it was asked"
    assert slipway("delete", "reporter", ID, "--yes").exit_code == 0
    assert "If-Match" not in server.request.headers
    calls = len(server.mock.calls)
    assert slipway("delete", "reporter", ID, stdin="n\n").exit_code == 1
    assert len(server.mock.calls) == calls + 1, "the list was read, and nothing else asked"


def test_one_that_is_none_is_not_asked_about(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/reporters", [])
    refused = slipway("delete", "reporter", ID)
    assert (refused.exit_code, f"site default has no reporter {ID}" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("kind", "path", "said"),
    [
        ("reporters", "/sites/default/reporters", "site default has no reporter\n"),
        ("sites", "/sites", "there is no site yet: slipway create configdocs --help\n"),
    ],
)
def test_what_there_is_none_of_is_said(slipway: Slipway, server: Server, kind: str, path: str, said: str) -> None:
    server.on("GET", path, [])
    assert slipway("get", kind).stdout == said
