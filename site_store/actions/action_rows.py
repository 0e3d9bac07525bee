"""Rows of actions as values, and the other way round, in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, exists, func, insert, select
from ulid import ULID

from site_store.records import ActionListing, ActionRecord, ActionState, AuditRecord, StepState
from site_store.sql.errors import no_action
from site_store.sql.rows import filled, plain
from site_store.tables import action, action_audit, action_report
from strategy_lib.phase import GroupState, Phase

_STATES = tuple(ActionState)
#: What an action's record is made of.
FACTS = [*action.c, exists().where(action_report.c.action_id == action.c.id).label("has_report")]


def read_action(tx: Connection, action_id: str) -> ActionRecord:
    """Return an action in the caller's transaction. Raises `NotFound`: no action has this id."""
    row = tx.execute(select(*FACTS).where(action.c.id == action_id)).one_or_none()
    if row is None:
        raise no_action(action_id)
    return action_record(row)


def action_record(row: Row[*tuple[Any, ...]]) -> ActionRecord:
    """Return a row of `FACTS` as a value."""
    known = row.state in _STATES
    return filled(
        ActionRecord,
        row,
        user=row.created_by,
        state=ActionState(row.state) if known else ActionState.RUNNING,
        whole_site=not row.targeted,
        unknown_state="" if known else row.state,
    )


def known_or_stored(kind: type[StrEnum], stored: str) -> str:
    """Return the member of an enum that is stored, or the word itself where this version does not know it."""
    return kind(stored) if stored in tuple(kind) else stored


def group_state(stored: str) -> GroupState:
    """Return a group's stored state; of a word that this version does not know: at work, which nothing builds upon."""
    return GroupState(stored) if stored in tuple(GroupState) else GroupState.RUNNING


def action_listing(row: Row[*tuple[Any, ...]]) -> ActionListing:
    """Return a row of `FACTS`, with `groups` and `steps` as JSON, as a value."""
    groups = sorted(json.loads(row.groups or "[]"))
    steps = json.loads(row.steps or "[]")
    return ActionListing(
        action_record(row),
        tuple((name, known_or_stored(GroupState, state)) for _, name, state in groups),
        {name: known_or_stored(StepState, state) for name, state in steps},
    )


def next_id(tx: Connection, now: datetime) -> str:
    """Return an id behind that of every action, also where the clock stands still or runs backwards (rule 45)."""
    newest = tx.scalar(select(func.max(action.c.id)))
    if newest is not None:
        now = max(now, ULID.from_str(newest).datetime + timedelta(milliseconds=1))
    return str(ULID.from_datetime(now))


@dataclass(frozen=True, slots=True)
class NewAction:
    """A request for an action, as it is written down.

    Attributes
    ----------
    kind : what is to be done: the id of a DAG.
    site : the site it is for. It need not exist yet: that it does not is the action's own failure to report.
    revision : the revision to bring about; a given one is not looked up here.
    parameters : what the user asked for, as JSON values.
    user : who asked.
    dry_run : whether it changes nothing.
    whole_site : whether it brings its whole site to the revision.
    context_marker : the user's own name for the request.
    connection : the Airflow connection of the provisioner that the action is to use; None while it is not decided.
    steps : its steps, each with its place: they stand there as pending from now on (rule 31).
    node_step, nodes : its step on named nodes, if it has one, and these nodes.
    """

    kind: str
    site: str
    revision: int | None
    parameters: Mapping[str, Any]
    user: str
    dry_run: bool = False
    whole_site: bool = True
    context_marker: str | None = None
    connection: str | None = None
    steps: Mapping[str, int] = field(default_factory=dict)
    node_step: Phase | None = None
    nodes: Collection[str] = ()

    def row(self, action_id: str, dag_id: str, run_id: str | None, created: datetime) -> dict[str, Any]:
        """Return the row of the action, which nobody has begun."""
        return {
            "id": action_id,
            "kind": self.kind,
            "site": self.site,
            "revision": self.revision,
            "parameters": plain(self.parameters),
            "dag_id": dag_id,
            "run_id": run_id,
            "created_by": self.user,
            "created": created,
            "state": ActionState.PENDING,
            "context_marker": self.context_marker,
            "connection": self.connection,
            "dry_run": self.dry_run,
            "targeted": not self.whole_site,
        }


def write_audit(tx: Connection, now: datetime, action_id: str, command: str, user: str) -> AuditRecord:
    """Keep who gave which command to an action, in the caller's transaction."""
    record = AuditRecord(str(ULID.from_datetime(now)), action_id, command, user, now)
    row = {"id": record.id, "action_id": action_id, "command": command, "created_by": user, "at": now}
    tx.execute(insert(action_audit).values(row))
    return record
