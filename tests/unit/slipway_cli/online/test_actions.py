"""Actions: what is asked before and sent, what is shown, what stops them, how one is followed, and its report."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from responses import matchers
from rich.console import Console

from api_client.slipway import SlipwayClient
from slipway_cli import output
from slipway_cli.online.actions import control
from slipway_cli.online.server.online_command import confirm
from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import API, AT, ID, RUN_ID, URL, Server, action

STEP = {"id": "validate_design", "index": 3, "state": "success", "notes": []}


def note(text: str, about: str = f"action/{ID}", at: str = AT, **more: Any) -> dict[str, Any]:
    return {"assoc_id": about, "note_val": text, "note_timestamp": at, "note_id": "0" * 26} | more


def test_the_list(slipway: Slipway, server: Server) -> None:
    steps = [STEP, {**STEP, "state": "failed"}, {**STEP, "state": None}]
    # One without work does not count; a group behind one that failed does.
    steps += [{**STEP, "id": each, "state": "skipped"} for each in ("after_success", "deploy_group.b")]
    stands = {"status": "error", "last_updated": "2026-03-01T12:05:00+00:00"}
    failed = action(action_lifecycle="Failed", verdict="critical group a failed", steps=steps, **stands)
    server.on("GET", "/actions", [failed])
    row = slipway("get", "actions", "--limit", "5").stdout.splitlines()[2]
    times = "2026-03-01 12:00:00 2026-03-01 12:05:00"
    words = f"deploy_site Failed ✗ error 3 {times} admin 1/4, 1 failed critical group a failed"
    assert row.split() == [ID, *words.split()]
    assert (server.request.params["limit"], server.request.params["status"]) == ("5", "true")


def test_no_group_of_a_dry_run_is_a_step_of_the_list(slipway: Slipway, server: Server) -> None:
    groups = [{**STEP, "id": f"deploy_group.{name}", "state": state} for name, state in (("a", "skipped"), ("b", None))]
    made = action(parameters={"dry_run": True}, steps=[{**STEP, "id": "report", "state": "success"}, *groups])
    server.on("GET", "/actions", [made])
    assert " 1/1 " in slipway("get", "actions").stdout.splitlines()[2]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"action_lifecycle": "Complete", "state": "success", "verdict": "every group succeeded"}, "1;32"),
        ({"action_lifecycle": "Complete", "state": "success", "verdict": "by its criteria", "left_alone": 3}, "1;33"),
        ({"action_lifecycle": "Failed", "state": "failed", "verdict": "critical group a failed"}, "1;31"),
        ({"waits": "waits for approval: slipway approve x", "verdict": None}, "1;33"),
    ],
    ids=["success", "left alone", "failed", "waits"],
)
def test_rule_20_a_verdict_has_the_colour_that_the_tree_gives_it(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], code: str
) -> None:
    server.on("GET", "/actions", [action(**more)])
    screen = io.StringIO()
    monkeypatch.setattr(
        output, "console", lambda: Console(file=screen, force_terminal=True, width=200, color_system="standard")
    )
    assert slipway("get", "actions").exit_code == 0
    said = more.get("waits") or more["verdict"]
    assert f"\x1b[{code}m{said}\x1b[0m" in screen.getvalue()


def test_a_long_list_is_asked_for_in_parts_each_with_how_its_actions_stand(slipway: Slipway, server: Server) -> None:
    parts = (("100", None, 100), ("100", "b1", 100), ("50", "b2", 50))
    for number, (limit, before, length) in enumerate(parts):
        query = {"limit": limit, "status": "true"} | ({"before": before} if before else {})
        link = {"Link": f'<{API}/actions?limit={limit}&status=true&before=b{number + 1}>; rel="next"'}
        found = [action(status="success")] * length
        server.on(
            "GET", "/actions", found, headers=link, match=[matchers.query_param_matcher(query, strict_match=False)]
        )
    said = slipway("get", "actions", "--limit", "250").stdout
    assert said.count("✓ success") == 250
    assert "older ones are left out: see --limit" in said


@pytest.mark.parametrize("arguments", [("action", ID), (f"action/{ID}",), (ID,), ("action", f"action/{ID}")])
def test_an_action_is_described(slipway: Slipway, server: Server, arguments: tuple[str, ...]) -> None:
    group = {
        "name": "control", "critical": True, "state": "failure", "reason": "deploy_criteria",
        "counts": {"total": 3, "success": 1, "failure": 1, "unknown": 1},
        "criteria": [
            {"phase": "deploy", "criterion": "minimum_successful_nodes", "needed": 3, "actual": 1, "met": False},
            {"phase": "prepare", "criterion": "minimum_successful_nodes", "needed": 3, "actual": 3, "met": True},
        ],
    }  # fmt: skip
    later = note("attempt 1: failure", f"step/{ID}/deploy_group.control", "2026-03-01T12:01:00+00:00")
    step = {"id": "deploy_group.control", "index": 7, "state": "failed", "notes": [later]}
    shown = action(
        action_lifecycle="Failed",
        verdict="critical group control failed",
        parameters={"target_nodes": ["n1"]},
        ended="2026-03-01T12:02:05+00:00",
        groups=[group],
        nodes=[{"name": "n2", "state": "failure", "groups": ["control"], "message": "no PXE answer"}],
        steps=[STEP, step, {"id": "report", "index": 9, "state": "success", "notes": []}],
        notes=[note("action failed", at="2026-03-01T12:02:05+00:00"), note("acquired", resolved_url_value="Details")],
        command_audit=[{"datetime": AT, "command": "invoke", "user": "admin"}],
    )
    server.on("GET", f"/actions/{ID}", shown)
    result = slipway("describe", *arguments)
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:7] == [
        f"Action: {ID}: deploy_site",
        "Site: default, revision 3",
        'Parameters: target_nodes=["n1"]',
        "State: Failed",
        "Verdict: critical group control failed",
        "Created: 2026-03-01 12:00:00 UTC by admin",
        "Started: 2026-03-01 12:00:00 UTC",
    ]
    assert "Ended: 2026-03-01 12:02:05 UTC, after 2 min 05 s" in lines
    assert "control  yes       failure (deploy_criteria)      3          1       1        1" in lines
    assert "control, after deploy: minimum_successful_nodes needed 3, actual 1" in lines
    assert "n2    failure  control  no PXE answer" in lines
    assert f"The whole report: slipway report action/{ID}" in lines
    assert "7  deploy_group.control  failed" in lines
    assert lines[-5:] == [
        f"2026-03-01 12:00:00  acquired  (notedetails/{'0' * 26})",
        "2026-03-01 12:01:00  deploy_group.control: attempt 1: failure",
        "2026-03-01 12:02:05  action failed",
        "",
        "2026-03-01 12:00:00  invoke by admin",
    ]


def test_a_report_that_was_never_written_is_not_offered(slipway: Slipway, server: Server) -> None:
    skipped = {"id": "report", "index": 9, "state": "skipped", "notes": []}
    server.on("GET", f"/actions/{ID}", action(ended="2026-03-01T12:02:05+00:00", steps=[STEP, skipped]))
    assert "slipway report" not in slipway("describe", "action", ID).stdout


@pytest.mark.parametrize(
    "run_id", ["manual__2026-03-01T12:00:00.5+00:00", RUN_ID, "my.site__01ARZ3NDEKTSV4RRFFQ69G5FAV"]
)
@pytest.mark.parametrize("target", ["action/{}", "{}"])
def test_an_action_is_named_by_the_run_that_airflow_shows(
    slipway: Slipway, server: Server, run_id: str, target: str
) -> None:
    server.on("GET", f"/actions/{run_id}", action())
    result = slipway("describe", target.format(run_id))
    assert (result.exit_code, ID in result.stdout) == (0, True), result.output


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("describe", f"step/{ID}/deploy_group.a"), f"/actions/{ID}/steps/deploy_group.a"),
        (("describe", "step", "deploy_group.a", "--action", ID), f"/actions/{ID}/steps/deploy_group.a"),
        (("describe", f"validation/{ID}/7"), f"/actions/{ID}/validations/7"),
        (("describe", "validation", "7", "--action", ID), f"/actions/{ID}/validations/7"),
        (
            ("describe", "workflow/deploy_site__2026-03-01T12:00:00.0"),
            "/workflows/deploy_site__2026-03-01T12%3A00%3A00.0",
        ),
    ],
)
def test_other_things_are_described(slipway: Slipway, server: Server, arguments: tuple[str, ...], path: str) -> None:
    task = {"task_id": "report", "map_index": -1, "state": "success", "try_number": 1}
    body = {"task_id": "t", "state": "success", "start_date": AT, "notes": [note("told")], "steps": [task]}
    server.on("GET", path, body)
    result = slipway(*arguments)
    assert (result.exit_code, "state: success\n" in result.stdout) == (0, True), result.output


@pytest.mark.parametrize(
    ("arguments", "attempt"),
    [
        ((f"step/{ID}/report",), None),
        ((f"step/{ID}/report/2",), "2"),
        (("step", "report", "--action", ID), None),
        (("step", "report", "--action", f"action/{ID}", "--try", "2"), "2"),
    ],
)
def test_logs(slipway: Slipway, server: Server, arguments: tuple[str, ...], attempt: str | None) -> None:
    server.on("GET", f"/actions/{ID}/steps/report/logs", "line 1\nline 2\n")
    assert slipway("logs", *arguments).stdout == "line 1\nline 2\n"
    assert server.request.params.get("try") == attempt


def test_the_details_of_a_note(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/notedetails/{'0' * 25}7", "operation 4\n\nphase: prepare\n")
    assert slipway("describe", f"notedetails/{'0' * 25}7").stdout == "operation 4\n\nphase: prepare\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("describe", "action/1"),
        ("describe", "step/report"),
        ("describe", "step", "report"),
        ("logs", f"step/{ID}"),
        ("stop", "action"),
        ("stop", "nothing/1"),
        ("describe", "revision/0"),
    ],
)
def test_what_names_nothing_is_wrong_use(slipway: Slipway, server: Server, arguments: tuple[str, ...]) -> None:
    assert slipway(*arguments).exit_code == 2


def test_what_a_verb_does_not_take_is_answered_with_what_it_takes(slipway: Slipway) -> None:
    assert "logs takes step/…, and not action/…" in slipway("logs", f"action/{ID}", "report").stderr


@pytest.mark.parametrize("verb", ["stop", "pause", "unpause"])
@pytest.mark.parametrize("target", [("action", ID), (f"action/{ID}",), (ID,)])
def test_control(slipway: Slipway, server: Server, verb: str, target: tuple[str, ...]) -> None:
    server.on("POST", f"/actions/{ID}/control/{verb}", "", 202)
    result = slipway(verb, *target)
    assert (result.exit_code, result.stdout.startswith(f"action {ID} ")) == (0, True)
    assert ("--yes" in slipway(verb, "action", "--help").stdout) is (verb == "stop"), "what can be undone does not ask"


@pytest.mark.parametrize(
    ("verb", "said", "told"),
    [
        ("stop", "dag_run state must be running, but is success", "it is over, with success"),
        ("pause", "dag_run state must be running, but is failed", "it is over, it has failed"),
        ("pause", "dag_run state must be running, but is paused", "it is paused already"),
        ("unpause", "dag_run state must be paused, but is running", "it is not paused"),
        ("unpause", "dag_run state must be paused, but is scheduled", "it is scheduled"),
        ("pause", "relabel_nodes has no groups", "relabel_nodes has no groups"),
    ],
)
def test_a_command_at_the_wrong_time(slipway: Slipway, server: Server, verb: str, said: str, told: str) -> None:
    server.refuse("POST", f"/actions/{ID}/control/{verb}", 409, said)
    result = slipway(verb, ID)
    assert result.exit_code == 1
    assert result.stderr == f"Error: cannot {verb} action {ID}: {told}\n"


def test_workflows_and_site_statuses(slipway: Slipway, server: Server) -> None:
    run = {"workflow_id": "deploy_site__x", "state": "success", "start_date": AT, "end_date": None, "run_id": ID}
    server.on("GET", "/workflows", [run], headers={"Link": '</next>; rel="next"'})
    lines = slipway("get", "workflows", "--since", "2026-03-01", "--limit", "1").stdout.splitlines()
    assert (lines[2].split()[:2], lines[-1]) == (["deploy_site__x", "success"], "older ones are left out: see --limit")
    asked = server.request.params
    assert (asked["since"], asked["limit"], "until" in asked) == ("2026-03-01", "1", False)
    assert "older" not in slipway("get", "workflows", "--until", "2026-03-02", "-o", "json").stdout
    assert (server.request.params["until"], server.request.params["limit"]) == ("2026-03-02", "50")
    server.on("GET", "/site_statuses", {"machines_powerstate": [{"hostname": "n1", "power_state": "on"}]})
    assert slipway("get", "site-statuses", "-s", "machines-power-state").stdout.splitlines()[2].split() == ["n1", "on"]
    assert server.request.params["filters"] == "machines-power-state"


REPORT = {"verdict": "success", "verdict_text": "every group succeeded"}


def tree(server: Server, state: str, **more: Any) -> None:
    header = {"id": ID, "kind": "deploy_site", "state": state, "verdict": "the verdict"} | more
    server.on("GET", f"/actions/{ID}/tree", {"token": "1", "header": header, "root": {"name": ID, "status": state}})


@pytest.mark.usefixtures("_hurry")
def test_following_what_was_just_created_ends_with_the_verdict(slipway: Slipway, server: Server) -> None:
    server.foresee()
    server.on("POST", "/actions", action(), 201)
    tree(server, "running")
    tree(server, "cancelled", has_report=False)
    result = slipway("create", "action", "deploy_site", "--follow")
    assert (result.exit_code, result.stdout.endswith("CANCELLED: the verdict\n")) == (1, True), result.output


def test_following_again_and_the_report_as_data(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}", action())
    tree(server, "success", has_report=True)
    server.on("GET", f"/actions/{ID}/report", REPORT)
    result = slipway("describe", ID, "--follow", "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, REPORT)
    assert f"{ID}: success" in result.stderr


def test_an_action_without_a_run_cannot_be_followed(slipway: Slipway, server: Server) -> None:
    server.on("GET", f"/actions/{ID}", action() | {"run_id": None})
    result = slipway("describe", ID, "--follow")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"action/{ID} cannot be followed: no DAG run carries it out" in result.stderr


def test_ctrl_c_ends_the_following_and_not_the_action(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    server.on("GET", f"/actions/{ID}", action())
    monkeypatch.setattr(SlipwayClient, "action_tree", interrupted)
    result = slipway("describe", ID, "--follow")
    assert result.exit_code == 130
    assert f"action/{ID} goes on. Stop it: slipway stop action/{ID};" in result.stderr
    assert all(call.request.method == "GET" for call in server.mock.calls)


@pytest.mark.parametrize(
    ("terminal", "typed", "arguments", "status"),
    [
        (True, "y\n", (), 0),
        (True, "n\n", (), 1),
        (True, "", (), 1),
        (True, "", ("--yes",), 0),
        (False, "", (), 0),
    ],
    ids=["yes", "no", "nobody answers", "told not to ask", "a pipe"],
)
def test_to_stop_an_action_asks_on_a_terminal(
    slipway: Slipway,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    typed: str,
    arguments: tuple[str, ...],
    status: int,
) -> None:
    monkeypatch.setattr(control, "is_terminal", lambda: terminal)
    asks = terminal and not arguments
    if asks:
        server.on("GET", f"/actions/{ID}", action())
    if status == 0:
        server.on("POST", f"/actions/{ID}/control/stop", "", 202)
    result = slipway("stop", f"action/{ID}", *arguments, stdin=typed)
    assert result.exit_code == status, result.output
    assert (f"stop deploy_site of site default at {URL}?" in result.stderr) is asks
    assert ("nothing was done" in result.stderr) is (status == 1)


def test_ctrl_c_at_a_question_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any, **__: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", pressed)
    with pytest.raises(KeyboardInterrupt):
        confirm("go on?", "--yes")


TEXT = "deploy_site of site default, revision 3: SUCCESS: every group succeeded\n"


@pytest.mark.parametrize(
    ("options", "form"),
    [((), "text"), (("-o", "json"), "json"), (("-o", "html"), "html"), (("--output-format", "raw"), "json")],
)
@pytest.mark.parametrize("target", [f"action/{ID}", ID])
def test_the_form_is_what_was_asked_for(
    slipway: Slipway, server: Server, options: tuple[str, ...], form: str, target: str
) -> None:
    server.on("GET", f"/actions/{ID}/report", TEXT)
    result = slipway("report", target, *options)
    assert (result.exit_code, result.stdout) == (0, TEXT)
    assert server.request.params["format"] == form


def test_it_is_written_to_a_file(slipway: Slipway, server: Server, tmp_path: Path) -> None:
    server.on("GET", f"/actions/{ID}/report", "<!doctype html>")
    path = tmp_path / "report.html"
    result = slipway("report", f"action/{ID}", "-o", "html", "-f", path)
    assert (result.exit_code, result.stdout, path.read_text()) == (0, "", "<!doctype html>\n")
