"""Rows of the tree's statements as values: columns, and the lists that come as JSON inside of one column."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Row

from site_store.sql.rows import filled, json_value, json_zip, moment_or_none
from site_store.status.status_records import (
    TOUCH,
    StatusCount,
)
from site_store.trees.tree_facts import GroupFacts, LeafFacts, TroubleFacts
from strategy_lib.strategy import Share


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


def leaf_facts(row: Row[*tuple[Any, ...]]) -> LeafFacts:
    """Return a task of an action under one of its groups."""
    return filled(LeafFacts, row, group=row.group_name, message=row.error)
