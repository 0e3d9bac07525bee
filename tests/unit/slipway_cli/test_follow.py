"""Following the tree of an action: until it is over, through an Airflow that is away, on a terminal and in a pipe."""

from __future__ import annotations

import io
from typing import Any

import pytest
import requests
import responses
from rich.console import Console

from api_client.session import ApiError, ApiRefused, ApiSession
from api_client.slipway import SlipwayClient
from slipway_cli import SlipwayCliError
from slipway_cli.terminal.follow import Absence, Clock, TreeFrame, follow, open_tree_view
from tests.support.terminal_screens import WIDTHS, TerminalScreen
from tests.unit.slipway_cli.test_tree_text import node, parent

ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
REF = f"action/{ID}"
ACTION = f"http://127.0.0.1:1/slipway/api/v1.0/actions/{ID}"
HEADER = {"id": ID, "kind": "deploy_site", "site": "lab", "revision": 3, "user": "ann", "dag_id": "deploy_site"}
OPEN = {"id": ID, "run_id": "r", "name": "deploy_site", "state": "running"}


def tree(state: str, *entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    header = HEADER | {"state": state, "verdict": None, "elapsed": 60.0, "estimate": 600.0} | more
    return {"token": "1", "header": header, "root": parent("action", "deploy_site", *entries or (node("acquire"),))}


def watch(patience: float = 60.0, ended: str = "") -> tuple[dict[str, Any], str]:
    """Follow the action without a terminal; return its header at the end, and what was said."""
    said = io.StringIO()
    clock = Clock(Console(file=said, width=200))

    def check() -> None:
        if ended:
            raise SlipwayCliError(ended)

    absence = Absence(clock.say, check, "What to do")
    slipway = SlipwayClient(ApiSession.with_token("http://127.0.0.1:1", "admin", "t"))
    with pytest.MonkeyPatch.context() as patched, open_tree_view(clock, REF, documents=False) as view:
        for name, seconds in (("_SILENCE", 0.0), ("_PATIENCE", patience), ("_REST", 0.0)):
            patched.setattr(f"slipway_cli.terminal.follow.{name}", seconds)
        header = follow(slipway, ID, view, absence)
    return dict(header), said.getvalue()


@pytest.mark.parametrize(
    "gone", [{"body": requests.ConnectionError("refused")}, {"status": 503, "json": {"message": "starting"}}]
)
def test_an_airflow_that_is_away_for_a_while_is_told_once(wire: responses.RequestsMock, gone: dict[str, Any]) -> None:
    for _ in range(2):
        wire.get(f"{ACTION}/tree", **gone)
    wire.get(f"{ACTION}/tree", json=tree("success"))
    header, said = watch()
    assert header["state"] == "success"
    assert said.count("Airflow does not answer; waiting") == 1
    assert said.count("Airflow answers again") == 1


def test_a_run_that_airflow_does_not_begin_is_told_once(wire: responses.RequestsMock) -> None:
    wire.get(f"{ACTION}/tree", json=tree("pending"))
    for _ in range(2):
        wire.get(f"{ACTION}/tree", status=204)
        wire.get(ACTION, json=OPEN)
    wire.get(f"{ACTION}/tree", json=tree("success"))
    said = watch()[1]
    assert said.count("Airflow has not begun it. Is its scheduler running?") == 1
    assert said.count("waiting for Airflow to start it") == 1


def test_rule_24_the_run_of_an_action_that_died_is_not_waited_for(wire: responses.RequestsMock) -> None:
    wire.get(f"{ACTION}/tree", json=tree("running"))
    wire.get(f"{ACTION}/tree", status=204)
    wire.get(ACTION, json=OPEN | {"state": "cancelled", "verdict": "its run is gone"})
    header = watch()[0]
    assert (header["state"], header["verdict"]) == ("cancelled", "its run is gone")


def test_what_an_action_did_last_is_shown_though_it_ended_between_two_answers(wire: responses.RequestsMock) -> None:
    wire.get(f"{ACTION}/tree", json=tree("running"))
    wire.get(f"{ACTION}/tree", status=204)
    wire.get(ACTION, json=OPEN | {"state": "success"})
    wire.get(f"{ACTION}/tree", json=tree("success", node("acquire"), node("n1", "error", "no PXE")))
    header, said = watch()
    assert header["state"] == "success"
    assert "n1: error: no PXE" in said


def test_an_airflow_that_stays_away_is_given_up(wire: responses.RequestsMock) -> None:
    wire.get(f"{ACTION}/tree", body=requests.ConnectionError("refused"))
    with pytest.raises(ApiError, match=r"does not answer .*; given up after 0 s\. What to do"):
        watch(patience=0.0)


def test_an_airflow_that_has_ended_is_not_waited_for(wire: responses.RequestsMock) -> None:
    wire.get(f"{ACTION}/tree", body=requests.ConnectionError("refused"))
    with pytest.raises(SlipwayCliError, match="its last words"):
        watch(ended="its last words")


def test_a_refusal_is_not_an_absence(wire: responses.RequestsMock) -> None:
    wire.get(f"{ACTION}/tree", json={"detail": "no such action"}, status=404)
    with pytest.raises(ApiRefused, match="no such action"):
        watch()


ASKS = f"group racks waits for approval: slipway approve {REF} --group racks: Go on?"


def test_in_a_pipe_each_change_is_a_line_without_control_characters(wire: responses.RequestsMock) -> None:
    def group(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
        return parent("group", "racks", parent("phase", "deploy", *nodes), **more)

    blame = {"role": "culprit", "group": "racks", "message": "deploy: 2 needed, actual 1"}
    for each in (
        tree("running", group(node("n1", "pending")), waits=ASKS),
        tree("running", group(node("n1", "processing"), node("n2")), paused="2026-03-01T12:00:00+00:00"),
        tree("failed", group(node("n1", "error", "no\x1b[31mPXE"), node("n2"), blame=blame), verdict="racks failed"),
    ):
        wire.get(f"{ACTION}/tree", json=each)
    said = watch()[1]
    lines = [line.partition(" s  ")[2] for line in said.splitlines()]
    assert lines == [
        ASKS,
        "paused: the group at work ends, no other starts",
        "racks: processing",
        "racks / deploy: processing: 1 processing, 1 success",
        "racks / deploy / n1: processing",
        "racks / deploy / n2: success",
        "racks: error: deploy: 2 needed, actual 1; no\N{REPLACEMENT CHARACTER}[31mPXE",
        "racks / deploy: error: 1 error, 1 success",
        "racks / deploy / n1: error: no\N{REPLACEMENT CHARACTER}[31mPXE",
    ]
    assert "\x1b" not in said


@pytest.mark.parametrize("width", WIDTHS)
def test_on_a_terminal_the_tree_is_redrawn_in_place(width: int) -> None:
    screen = TerminalScreen(width)
    groups = [parent("group", f"group-{i}", node(f"n{i}", "processing")) for i in range(3)]
    with open_tree_view(Clock(screen.console), REF, documents=False) as view:
        view(tree("running", *groups))
        view(tree("running", *groups, paused="2026-03-01T12:00:00+00:00"))
    lines = screen.lines()
    assert lines[0] == "deploy_site of site lab, revision 3, by ann: running"
    above = " ".join(lines[1 : next(i for i, line in enumerate(lines) if "deploy_site  processing" in line)])
    assert above.startswith("elapsed 1 min 00 s; about 9 min 00 s left (earlier ones took 10 min 00 s); paused:")
    assert [line.split()[2] for line in lines if "group-" in line] == ["group-0", "group-1", "group-2"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"elapsed": None, "estimate": 600.0}, None),
        ({"elapsed": 60.0, "estimate": None}, "elapsed 1 min 05 s"),
        ({"elapsed": 695.0}, "elapsed 11 min 40 s; longer than earlier ones took 10 min 00 s"),
    ],
)
def test_the_time_stands_on_top_and_goes_on_between_two_answers(more: dict[str, Any], words: str | None) -> None:
    screen, now = TerminalScreen(100), 100.0
    frame = TreeFrame(tree("running", **more), REF, lambda: now)
    now = 105.0
    screen.console.print(frame)
    assert [line for line in screen.lines() if "elapsed" in line] == ([words] if words else [])
