"""An action's row, and what is read beside it, as the facts that its tree is judged from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from site_store.actions.action_rows import action_record
from site_store.sql.rows import json_list, listed, moment
from site_store.status.owner_queries import change_token, owners_by_name
from site_store.status.status_records import ApprovalRecord, OwnerCheckIn, ReportedLeaf, StatusCount
from site_store.trees.tree_facts import ActionFacts, GroupFacts, LeafFacts, OperationSpan, StepFacts, Times
from site_store.trees.tree_queries import batches_query
from site_store.trees.tree_rows import (
    group_facts,
)
from strategy_lib.groups.batch_words import count_batches


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
        token=token_of_action(touched, row.committed, owners, now),
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


def token_of_action(changes: Any, committed: int | None, owners: Mapping[str, OwnerCheckIn], now: datetime) -> str:
    """Put changes of an action and of what is committed into one word: a commit supersedes what is over (rule 29).

    Both numbers only grow, and so does their sum.
    """
    return change_token(int(changes) + (committed or 0), owners, now)
