"""An action in Shipyard's words: lifecycle, states, fields."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_store import ActionListing, ActionState, StepState
from slipway_api.actions.view import (
    created_view,
    dag_status,
    lifecycle,
    listed_view,
    listings_for_display,
)
from strategy_lib.phase import GroupState
from tests.unit.site_engine.records import CREATED, ID, record

# What Shipyard's own client looks at, or its documentation names.
LISTED = {
    "id",
    "name",
    "parameters",
    "dag_id",
    "dag_execution_date",
    "user",
    "datetime",
    "context_marker",
    "dag_status",
    "action_lifecycle",
    "steps",
    "notes",
}


@pytest.mark.parametrize(
    ("state", "word", "status"),
    [
        (ActionState.PENDING, "Pending", "QUEUED"),
        (ActionState.RUNNING, "Processing", "RUNNING"),
        (ActionState.SUCCESS, "Complete", "SUCCESS"),
        (ActionState.FAILED, "Failed", "FAILED"),
        (ActionState.CANCELLED, "Failed", "FAILED"),
    ],
)
def test_every_state_has_its_word(state: ActionState, word: str, status: str) -> None:
    assert (lifecycle(record(state=state)), dag_status(record(state=state))) == (word, status)


@pytest.mark.parametrize("state", list(ActionState))
def test_only_an_open_action_is_paused(state: ActionState) -> None:
    paused = record(state=state, paused=CREATED)
    assert (lifecycle(paused) == "Paused") is not state.is_end
    assert (created_view(paused)["paused"] is None) is state.is_end


def test_a_critical_group_that_failed_makes_a_failed_action() -> None:
    failed = record(state=ActionState.FAILED, verdict="critical group control failed", step="report", ended=CREATED)
    shown = listed_view(ActionListing(failed, (("control", GroupState.FAILURE),)), 1)
    assert shown["action_lifecycle"] == "Failed"
    assert shown["groups"] == [{"name": "control", "state": "failure"}]
    assert [note["note_val"] for note in shown["notes"]] == ["critical group control failed"]
    assert "control" in next(step["id"] for step in shown["steps"] if step["state"] == "failed")


def test_verbosity_0_has_no_notes() -> None:
    ended = record(state=ActionState.SUCCESS, verdict="every group succeeded", ended=CREATED)
    assert listed_view(ActionListing(ended, ()), 0)["notes"] == []


def test_a_note_has_the_fields_that_shipyards_client_prints() -> None:
    ended = record(state=ActionState.SUCCESS, verdict="every group succeeded", ended=CREATED)
    (note,) = listed_view(ActionListing(ended, ()), 1)["notes"]
    assert {"sub_type", "subject", "note_timestamp", "note_val", "resolved_url_value"} <= set(note)
    assert note["assoc_id"] == f"action/{ID}"
    assert note["resolved_url_value"] is None


def test_behind_a_verdict_is_the_report() -> None:
    ended = record(state=ActionState.SUCCESS, verdict="every group succeeded", ended=CREATED, has_report=True)
    (note,) = listed_view(ActionListing(ended, ()), 1)["notes"]
    assert (note["note_id"], note["resolved_url_value"]) == (ID, f"Details at notedetails/{ID}")


def test_the_created_action_has_shipyards_fields() -> None:
    given = {"target_nodes": ["n1"], "allow-intermediate-commits": True}
    shown = created_view(record(state=ActionState.PENDING, parameters=given, context_marker="a marker"))
    assert set(shown) >= LISTED | {"timestamp", "committed_rev_id", "allow_intermediate_commits"}
    assert shown["dag_status"] == "SCHEDULED"
    assert shown["parameters"] == {"target_nodes": ["n1"]}
    assert shown["allow_intermediate_commits"] is True
    assert shown["committed_rev_id"] == 3
    assert shown["dag_execution_date"] == "2026-03-01T12:00:00+00:00"


def test_an_action_that_is_listed_as_it_will_be_closed_keeps_what_its_steps_have_noted() -> None:
    opened = record(step="prepare_site")
    actions = SimpleNamespace(get=lambda _: opened, commands=lambda _: [])
    airflow = SimpleNamespace(run_states=lambda _: {})
    listing = ActionListing(opened, (("control", GroupState.RUNNING),), {"verify_site": StepState.SKIPPED})
    (shown,) = listings_for_display(cast(Any, SimpleNamespace(actions=actions)), cast(Any, airflow), [listing])
    assert (shown.action.state, shown.groups) == (ActionState.CANCELLED, (("control", GroupState.FAILURE),))
    assert {step["id"]: step["state"] for step in listed_view(shown, 1)["steps"]}["verify_site"] == "skipped"
