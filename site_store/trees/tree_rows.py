"""Rows of the tree's statements as values: columns, and the lists that come as JSON inside of one column."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Row

from site_store.sql.rows import filled, json_value, json_zip, moment, moment_or_none
from site_store.status.status_records import (
    TOUCH,
    ApprovalRecord,
    StatusCount,
)
from site_store.trees.tree_facts import ActionBrief, GroupFacts, LeafFacts, OperationSpan, StepFacts, TroubleFacts
from strategy_lib.strategy import Share

STEP = ("name", "group_name", "state", "attempt", "started", "ended", "message", "owner", "fixed")
BRIEF = (
    "id",
    "kind",
    "revision",
    "state",
    "verdict",
    "created_by",
    "created",
    "ended",
    "paused",
    "dag_id",
    "run_id",
    "left_alone",
)
APPROVAL = (
    "group_name",
    "attempt",
    "moment",
    "text",
    "approvers",
    "asked",
    "deadline",
    "answered",
    "answer",
    "answered_by",
    "comment",
)
"""Columns of the lists that are read as JSON, in the order in which the functions below take them."""


def counts_of(value: Any) -> tuple[list[StatusCount], int]:
    """Return the cells of a scope of the roll-up, and how often it was changed."""
    counts: list[StatusCount] = []
    changes = 0
    for group, phase, owner, status, serves, records in json_zip(value):
        if phase == TOUCH:
            changes += int(records)
        elif records:
            counts.append(StatusCount(group, phase, owner, status, serves, int(records)))
    return counts, changes


def step_facts(item: Sequence[Any]) -> StepFacts:
    """Return the columns `STEP`."""
    name, group, state, attempt, started, ended, message, owner, fixed = item
    return StepFacts(name, group, state, attempt, moment_or_none(started), moment_or_none(ended), message, owner, fixed)


def group_facts(item: Sequence[Any]) -> GroupFacts:
    """Return a group of an action."""
    name, position, critical, depends_on, state, reason, attempt, criteria, started, ended, map_index, *more = item
    ready, max_in_flight, canary, troubles = more
    return GroupFacts(
        name=name,
        position=position,
        critical=bool(critical),
        depends_on=tuple(json_value(depends_on) or ()),
        state=state,
        reason=reason,
        attempt=attempt,
        criteria=tuple(json_value(criteria) or ()),
        started=moment_or_none(started),
        ended=moment_or_none(ended),
        map_index=map_index,
        asks_ready=json_value(ready) is not None,
        max_in_flight=_share(max_in_flight),
        canary=_share(canary),
        troubles=tuple(sorted((TroubleFacts(*one) for one in troubles), key=itemgetter(0))) if troubles else (),
    )


def _share(value: Any) -> Share | None:
    return None if value is None else Share.parse(value)


def site_group_facts(item: Sequence[Any]) -> GroupFacts:
    """Return a group of a site."""
    name, position, critical, depends_on, max_in_flight, canary = item
    return GroupFacts(
        name,
        position,
        bool(critical),
        tuple(json_value(depends_on) or ()),
        max_in_flight=_share(max_in_flight),
        canary=_share(canary),
    )


def approval_facts(action_id: str, item: Sequence[Any]) -> ApprovalRecord:
    """Return the columns `APPROVAL` of an action, as they are stored: a word that nobody knows is shown as such."""
    group, attempt, when, text, approvers, asked, deadline, answered, answer, answered_by, comment = item
    return ApprovalRecord(
        action_id=action_id,
        group=group,
        attempt=attempt,
        moment=when,
        text=text,
        approvers=tuple(json_value(approvers) or ()),
        asked=moment(asked),
        deadline=moment_or_none(deadline),
        answered=moment_or_none(answered),
        answer=answer,
        answered_by=answered_by,
        comment=comment,
    )


def operation_span(item: Sequence[Any]) -> OperationSpan:
    """Return an operation of a group of an action, as `operation_spans` selects it."""
    op, group, phase, attempt, status, begun, ended = item
    return OperationSpan(op, group, phase, attempt, status, moment(begun), moment_or_none(ended))


def action_brief(item: Sequence[Any]) -> ActionBrief:
    """Return the columns `BRIEF`, and of a running action its first group that waits for a person."""
    action_id, kind, revision, state, verdict, user, created, ended, paused, dag_id, run_id, left_alone, *asks = item
    return ActionBrief(
        action_id,
        kind,
        revision,
        state,
        verdict,
        user,
        moment(created),
        moment_or_none(ended),
        moment_or_none(paused),
        None if run_id is None else dag_id,
        left_alone=left_alone,
        asks=next(iter(asks), None),
    )


def leaf_facts(row: Row[*tuple[Any, ...]]) -> LeafFacts:
    """Return a task of an action under one of its groups."""
    return filled(LeafFacts, row, group=row.group_name, message=row.error)
