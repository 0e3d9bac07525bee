"""Rows of the tree's statements as values: columns, the lists that come as JSON inside of one column, whole actions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Row

from site_store.actions.action_rows import action_record
from site_store.sql.home import why_held
from site_store.sql.rows import filled, json_list, json_value, json_zip, listed, moment
from site_store.status.owner_queries import change_token, owners_by_name
from site_store.status.status_records import TOUCH, ApprovalRecord, OwnerCheckIn, ReportedLeaf, StatusCount
from site_store.trees.tree_facts import (
    ActionFacts,
    GroupFacts,
    LeafFacts,
    OperationSpan,
    StepFacts,
    Times,
    TroubleFacts,
)
from site_store.trees.tree_queries import batches_query
from strategy_lib.groups.batch_words import count_batches
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
    *facts, ready, max_in_flight, canary, troubles = item
    return replace(
        listed(GroupFacts, facts),
        asks_ready=json_value(ready) is not None,
        max_in_flight=_share(max_in_flight),
        canary=_share(canary),
        troubles=tuple(sorted((TroubleFacts(*one) for one in troubles), key=itemgetter(0))) if troubles else (),
    )


def _share(value: Any) -> Share | None:
    return None if value is None else Share.parse(value)


def site_group_facts(item: Sequence[Any]) -> GroupFacts:
    """Return a group of a site."""
    *facts, max_in_flight, canary = item
    return replace(listed(GroupFacts, facts), max_in_flight=_share(max_in_flight), canary=_share(canary))


def leaf_facts(row: Row[*tuple[Any, ...]]) -> LeafFacts:
    """Return a task of an action under one of its groups."""
    return filled(LeafFacts, row, group=row.group_name, message=row.error)


def action_facts(
    row: Row[*tuple[Any, ...]],
    groups: Sequence[GroupFacts],
    counts: Sequence[StatusCount],
    touched: int,
    leaves: Sequence[LeafFacts],
    now: datetime,
) -> ActionFacts:
    """Return what the tree of an action is judged from: its row, with what was read beside it."""
    owners = owners_by_name(row.owners)
    fixed: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for group, phase, name, why in sorted(json_list(row.fixed)):
        fixed[group, phase].append((name, why))
    return ActionFacts(
        token=token_of_action(touched, row.committed, owners, now, row.hold),
        read_at=now,
        action=action_record(row),
        committed=row.committed,
        leased=bool(row.leased),
        at_provisioner=frozenset(phase for (phase,) in json_list(row.sent)),
        counts=counts,
        owners=owners,
        steps=[listed(StepFacts, item) for item in json_list(row.steps)],
        groups=groups,
        approvals=[listed(ApprovalRecord, item, row.id) for item in json_list(row.gates)],
        reported=[listed(ReportedLeaf, item, row.site, row.id) for item in json_list(row.said)],
        durations=tuple(float(seconds) for (seconds,) in json_list(row.durations)),
        leaves=leaves,
        times={
            (group, phase): Times(moment(first), moment(last)) for group, phase, first, last in json_list(row.times)
        },
        fixed=fixed,
        spans=[listed(OperationSpan, item) for item in json_list(row.spans)],
        hold=why_held(row.hold),
    )


def with_groups(
    tx: Connection, rows: Sequence[Row[*tuple[Any, ...]]]
) -> list[tuple[Row[*tuple[Any, ...]], Sequence[GroupFacts]]]:
    """Return rows of actions, each with its groups in order."""
    groups = {
        row.id: sorted((group_facts(item) for item in json_list(row.groups)), key=lambda group: group.position)
        for row in rows
    }
    begun = {(row.id, one.name): one for row in rows for one in groups[row.id] if one.has_batches and one.started}
    if begun:
        # It takes a statement more, where a group goes in batches.
        sent: defaultdict[tuple[str, str], list[tuple[str, Sequence[str]]]] = defaultdict(list)
        ids, names = zip(*begun, strict=True)
        these = {"action_ids": sorted(set(ids)), "groups": sorted(set(names))}
        for action_id, name, phase, nodes in tx.execute(batches_query(), these):
            sent[action_id, name].append((phase, nodes))
        for key, steps in sent.items():
            batches, order = count_batches(steps)
            if key in begun:
                at = groups[key[0]].index(begun[key])
                groups[key[0]][at] = replace(begun[key], batches=batches, begun=len(order))
    return [(row, groups[row.id]) for row in rows]


def token_of_action(
    changes: Any, committed: int | None, owners: Mapping[str, OwnerCheckIn], now: datetime, hold: str | None
) -> str:
    """Put changes of an action and of what is committed into one word: a commit supersedes what is over (rule 29).

    Both numbers only grow, and so does their sum.
    """
    return change_token(int(changes) + (committed or 0), owners, now, hold)
