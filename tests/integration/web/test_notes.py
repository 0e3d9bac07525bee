"""Notes of an action, and what is behind one."""

from __future__ import annotations

import httpx
import pytest

from site_store import ActionRecord, SiteStore
from slipway_airflow.web import access
from slipway_airflow.web.notes import notes_of_action
from tests.integration.web.test_service import assert_failure

DETAILS = "/api/v1.0/notedetails"


@pytest.fixture
def action(store: SiteStore) -> ActionRecord:
    """Let things happen in an action: one of its own, one of a step, one of a group, one of a node."""
    action = store.ensure_action("deploy_site", "run-1", "deploy_site", "alpha", None, {}, "tester")
    store.acquire_site(action.id)
    store.add_event("alpha", "step_failed", "no design", action_id=action.id, data={"step": "load_design"})
    store.add_event("alpha", "outcome", "2 succeeded", action_id=action.id, group="racks", data={"op": 4})
    store.add_event("alpha", "ignored", "it was not sent", action_id=action.id, group="racks", node="ä")
    store.add_event("alpha", "outcome", "done", action_id=action.id, data={"op": 5, "phase": "verify_site"})
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
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert notes[2]["resolved_url_value"] == f"Details at notedetails/{notes[2]['note_id']}"
    assert notes[3]["resolved_url_value"] is None
    assert viewer.get(f"{DETAILS}/{notes[3]['note_id']}").text == "ä: it was not sent\n"


@pytest.mark.parametrize(("note_id", "status"), [("9" * 26, 404), ("0" * 26, 404), ("1", 400), ("x" * 26, 400)])
def test_no_such_note(viewer: httpx.Client, note_id: str, status: int) -> None:
    said = "there is no event" if status == 404 else "the request is not valid"
    answer = viewer.get(f"{DETAILS}/{note_id}")
    assert_failure(answer, status, said)
    if status == 400:
        words = "path parameter 'note_id': must be the id of a note: 26 digits, as the notes of an action have it"
        assert answer.json()["details"]["messageList"][0]["message"] == words


def test_a_note_of_an_action_that_one_may_not_see(
    viewer: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = store.ensure_action("destroy_nodes", "run-2", "destroy_nodes", "alpha", None, {}, "tester")
    store.acquire_site(action.id)
    (note,) = notes_of_action(store, action.id, 1)
    monkeypatch.setattr(access.Caller, "may_read", lambda _, dag_id: dag_id == "deploy_site")
    assert_failure(viewer.get(f"{DETAILS}/{note['note_id']}"), 403, "does not let viewer see the runs of destroy_nodes")
