"""Notes: the store's events of an action, in Shipyard's shape."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any

import yaml
from fastapi import Path
from fastapi.responses import Response
from pydantic import BaseModel, Field

from site_engine.kinds import DEPLOY_GROUP, STEPS
from site_store import EventRecord, NotFound, SiteStore
from site_store.status.events import EventKind
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Moment, PlainText, text_answer
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import Store, blocking_router
from strategy_lib.reports.report import from_dict
from strategy_lib.reports.report_text import render


class Note(BaseModel):
    """A note, in Shipyard's shape."""

    assoc_id: str = Field(examples=[f"action/{EXAMPLE_ID}"])
    subject: str = Field(examples=[EXAMPLE_ID])
    sub_type: str = Field(examples=["action"])
    note_val: str = Field(examples=["the plan has 3 groups"])
    verbosity: int = Field(examples=[1])
    note_id: str = Field(examples=["00000000000000000000000042"])
    note_timestamp: Moment | None
    resolved_url_value: str | None = Field(examples=[None])


router = blocking_router("actions")

SUMMARY, PROVISIONER, NODE = 1, 3, 5
"""The verbosity from which on a note is shown: of the action, of the provisioner's tasks, of each node."""

_OF_PROVISIONER = frozenset({EventKind.OPERATION_BEGUN, EventKind.OUTCOME, EventKind.LATE_RESULT})
# As the other ids of Shipyard, whose client insists on it.
_LENGTH = 26


def notes_of_action(store: SiteStore, action_id: str, verbosity: int) -> list[dict[str, Any]]:
    """Return the notes of an action that a verbosity (0 to 5) lets through, oldest first; of many, the newest.

    A note's ``assoc_id`` says what it is about: ``action/<id>``, or ``step/<id>/<step>``, where a group's step is
    ``deploy_group.<group>``.
    """
    if verbosity < SUMMARY:
        return []
    events = store.events.of_action(action_id, of_nodes=verbosity >= NODE)
    return [note_of(event) for event in events if verbosity_of(event) <= verbosity]


def notes_by_subject(store: SiteStore, action_id: str, verbosity: int) -> defaultdict[str, list[dict[str, Any]]]:
    """Return the notes of an action by what they are about, their ``assoc_id``."""
    notes = defaultdict[str, list[dict[str, Any]]](list)
    for note in notes_of_action(store, action_id, verbosity):
        notes[note["assoc_id"]].append(note)
    return notes


def note_of(event: EventRecord) -> dict[str, Any]:
    """Return an event as a note. `sub_type` is what its `subject` is: a node, group, step, action or site."""
    step, note_id = step_of(event), f"{event.id:0{_LENGTH}d}"
    named = {"node": event.node, "group": event.group, "step": step, "action": event.action_id, "site": event.site}
    sub_type, subject = next((kind, name) for kind, name in named.items() if name)
    return {
        "assoc_id": f"step/{event.action_id}/{step}" if step else f"action/{event.action_id}",
        "subject": subject,
        "sub_type": sub_type,
        "note_val": f"{event.node}: {event.message}" if event.node else event.message,
        "verbosity": verbosity_of(event),
        "note_id": note_id,
        "note_timestamp": event.at.isoformat(),
        "resolved_url_value": f"Details at notedetails/{note_id}" if event.data else None,
    }


def verbosity_of(event: EventRecord) -> int:
    """Return the verbosity from which on an event is shown."""
    if event.node is not None:
        return NODE
    return PROVISIONER if event.kind in _OF_PROVISIONER else SUMMARY


def step_of(event: EventRecord) -> str | None:
    """Return the step that an event is about, None when it is about the whole action."""
    if event.group:
        return f"{DEPLOY_GROUP}.{event.group}"
    named = event.data.get("step") or event.data.get("phase")
    return str(named) if named in STEPS or "step" in event.data else None


@router.get(
    "/notedetails/{note_id}",
    dependencies=[access.may_read],
    response_class=Response,
    summary="All that is known about a note",
    responses=text_answer("operation 4: prepare of 3 nodes\n\nphase: prepare\n"),
)
def note_details(
    note_id: Annotated[
        str,
        Path(
            description="As a note has it: 26 digits, or the id of the action whose verdict the note is.",
            examples=["00000000000000000000000042"],
            json_schema_extra={"pattern": "^[0-9A-Za-z]{26}$"},
        ),
    ],
    store: Store,
    caller: access.CallerDep,
) -> PlainText:
    """Return a note's text and its details; behind a verdict is the report. Other notes are kept for a while only."""
    if len(note_id) != _LENGTH:
        raise ApiError(400, f"the id of a note has {_LENGTH} characters, as the notes of an action have it")
    if note_id.isascii() and note_id.isdigit():
        return PlainText(_event_details(store, caller, note_id))
    return PlainText(_verdict_details(store, caller, note_id))


def _event_details(store: SiteStore, caller: access.Caller, note_id: str) -> str:
    try:
        # A database's numbers end at 64 bits; a note id may be longer, and then names nothing.
        event = store.events.get(min(int(note_id), 2**63 - 1))
    except NotFound:
        raise ApiError(404, f"there is no note {note_id!r}: notes are deleted after a while") from None
    if event.action_id is not None:
        caller.require_read(store.actions.get(event.action_id).dag_id)
    head = note_of(event)["note_val"]
    details = yaml.safe_dump(dict(event.data), sort_keys=True, allow_unicode=True) if event.data else ""
    return f"{head}\n\n{details}" if details else f"{head}\n"


def _verdict_details(store: SiteStore, caller: access.Caller, action_id: str) -> str:
    nothing = ApiError(404, f"there is no note {action_id!r}")
    if not (action_id.isascii() and action_id.isalnum()):
        raise nothing
    try:
        action = store.actions.get(action_id)
    except NotFound:
        raise nothing from None
    caller.require_read(action.dag_id)
    if not action.verdict:
        raise ApiError(404, f"there is no note {action_id!r}: this action has no verdict yet")
    report = store.reports.get(action_id) if action.has_report else None
    return f"{action.verdict}\n\n{render(from_dict(report))}\n" if report else f"{action.verdict}\n"
