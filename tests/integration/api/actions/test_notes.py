"""Notes of an action, and what is behind one."""

from __future__ import annotations

import logging

import httpx
import pytest

from site_engine.actions.finalization import finalize_action
from site_store import ActionRecord, ActionState, NewAction, SiteStore
from slipway_airflow import connections
from slipway_api.actions.notes import notes_of_action
from slipway_api.http import airflow_access as access
from strategy_lib.reports.report_text import render
from tests.integration.api.http.test_service import assert_failure

DETAILS = "/api/v1.0/notedetails"


@pytest.fixture
def action(store: SiteStore) -> ActionRecord:
    """Let things happen in an action: one of its own, one of a step, one of a group, one of a node."""
    action = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", "alpha", None, {}, "tester"))
    store.locks.acquire(action.id)
    store.events.add("alpha", "step_failed", "no design", action_id=action.id, data={"step": "load_design"})
    store.events.add("alpha", "outcome", "2 succeeded", action_id=action.id, group="racks", data={"op": 4})
    store.events.add("alpha", "ignored", "it was not sent", action_id=action.id, group="racks", node="ä")
    store.events.add("alpha", "outcome", "done", action_id=action.id, data={"op": 5, "phase": "verify_site"})
    return action


@pytest.mark.parametrize(("verbosity", "count"), [(0, 0), (1, 2), (2, 2), (3, 4), (4, 4), (5, 5)])
def test_verbosity(store: SiteStore, action: ActionRecord, verbosity: int, count: int) -> None:
    notes = notes_of_action(store, action.id, verbosity)
    assert len(notes) == count
    assert all(note["verbosity"] <= verbosity for note in notes)


def test_what_a_note_is_about(store: SiteStore, action: ActionRecord) -> None:
    notes = [
        (note["assoc_id"], note["sub_type"], note["subject"], note["note_val"])
        for note in notes_of_action(store, action.id, 5)
    ]
    step = f"step/{action.id}"
    assert notes == [
        (f"action/{action.id}", "action", action.id, "site acquired"),
        (f"{step}/load_design", "step", "load_design", "no design"),
        (f"{step}/deploy_group.racks", "group", "racks", "2 succeeded"),
        (f"{step}/deploy_group.racks", "node", "ä", "ä: it was not sent"),
        (f"{step}/verify_site", "step", "verify_site", "done"),
    ]


def test_details(viewer: httpx.Client, store: SiteStore, action: ActionRecord) -> None:
    notes = notes_of_action(store, action.id, 5)
    assert [len(note["note_id"]) for note in notes] == [26] * len(notes)
    answer = viewer.get(f"{DETAILS}/{notes[2]['note_id']}")
    assert (answer.status_code, answer.text) == (200, "2 succeeded\n\nop: 4\n")
    assert answer.headers["content-type"].startswith("text/plain; charset=utf-8")
    assert notes[2]["resolved_url_value"] == f"Details at notedetails/{notes[2]['note_id']}"
    assert notes[3]["resolved_url_value"] is None
    assert viewer.get(f"{DETAILS}/{notes[3]['note_id']}").text == "ä: it was not sent\n"


@pytest.mark.parametrize("note_id", ["9" * 26, "0" * 26, "x" * 26, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ä" * 26, "²" * 26])
def test_no_such_note(viewer: httpx.Client, note_id: str) -> None:
    answer = viewer.get(f"{DETAILS}/{note_id}")
    assert_failure(answer, 404, f"there is no note '{note_id}'")


@pytest.mark.parametrize("note_id", ["1", "0" * 25, "x" * 27])
def test_an_id_that_no_note_can_have(viewer: httpx.Client, note_id: str) -> None:
    assert_failure(viewer.get(f"{DETAILS}/{note_id}"), 400, "the id of a note has 26 characters")


def test_behind_the_note_of_a_verdict_is_the_report(viewer: httpx.Client, store: SiteStore) -> None:
    made = store.actions.create(NewAction("deploy_site", "default", 1, {}, "op", context_marker=None), exclusive=True)
    assert_failure(viewer.get(f"{DETAILS}/{made.id}"), 404, "this action has no verdict yet")
    store.locks.acquire(made.id)
    report = finalize_action(store, made, {"load_design": "failed"}, logging.getLogger("test"), connections)
    (listed,) = viewer.get("/api/v1.0/actions").json()
    (note,) = listed["notes"]
    assert note["resolved_url_value"] == f"Details at notedetails/{made.id}"
    told = viewer.get(f"{DETAILS}/{note['note_id']}").text
    assert told == f"{report.verdict_text}\n\n{render(report)}\n"


def test_of_an_action_without_a_report_there_is_the_verdict(viewer: httpx.Client, store: SiteStore) -> None:
    made = store.actions.create(NewAction("deploy_site", "default", 1, {}, "op", context_marker=None), exclusive=True)
    store.actions.close(made.id, ActionState.CANCELLED, "stopped by op before it began")
    assert viewer.get(f"{DETAILS}/{made.id}").text == "stopped by op before it began\n"


def test_a_note_of_an_action_that_one_may_not_see(
    viewer: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = store.actions.ensure("destroy_nodes", "run-2", NewAction("destroy_nodes", "alpha", None, {}, "tester"))
    store.locks.acquire(action.id)
    (note,) = notes_of_action(store, action.id, 1)
    monkeypatch.setattr(access.Caller, "may_read", lambda _, dag_id: dag_id == "deploy_site")
    for note_id in (note["note_id"], action.id):
        assert_failure(viewer.get(f"{DETAILS}/{note_id}"), 403, "does not let viewer see the runs of destroy_nodes")
