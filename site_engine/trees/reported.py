"""Leaves of external reporters: they stand below existing entries and roll up, and decide nothing (rule 30)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from site_engine.trees.owners import Owners
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.leaf import OwnerRecord, Shown
from strategy_lib.status.tree import MOST_MESSAGES, task_entry
from strategy_lib.status.words import Status, status_from, status_of_parent

if TYPE_CHECKING:
    from site_store import ReportedLeaf

SEPARATOR = "/"
"""Stands between the names of a path: of an action's tree "deploy_group/<group>", of a site's "<group>"."""


def with_reported(root: Entry, reported: Sequence[ReportedLeaf], now: datetime, owners: Owners) -> Entry:
    """Return a tree with the leaves of reporters below the entries that they name; what is not shown counts above it.

    Parameters
    ----------
    root : the tree as it was read.
    reported : the leaves of its site or action.
    now : the moment of the reading.
    owners : at that moment.
    """
    by_parent: defaultdict[str, list[ReportedLeaf]] = defaultdict(list)
    for one in reported:
        by_parent[one.parent.strip(SEPARATOR)].append(one)
    return _with(root, "", by_parent, owners) if by_parent else root


def _with(entry: Entry, path: str, by_parent: dict[str, list[ReportedLeaf]], owners: Owners) -> Entry:
    children = []
    for child in entry.children:
        below = f"{path}{SEPARATOR}{child.name}".strip(SEPARATOR)
        children.append(_with(child, below, by_parent, owners))
    added = [_leaf(one, owners) for one in by_parent.pop(path, ())]
    hidden = []
    if not children:
        prefix = f"{path}{SEPARATOR}" if path else ""
        for parent in [name for name in by_parent if name.startswith(prefix)] if path else []:
            hidden += [_leaf(one, owners) for one in by_parent.pop(parent)]
    changed = [new for new, old in zip(children, entry.children, strict=True) if new is not old]
    if not (added or hidden or changed):
        return entry
    status = entry.status
    new = [child for child in (*added, *hidden, *changed) if child.status is not None and child.rolls_up]
    messages = entry.messages
    if status is not None:
        status = status_of_parent([status, *(child.status for child in new if child.status is not None)])
        worse = tuple(text for child in new if child.status is status for text in child.messages)
        messages = (messages + worse if status is entry.status else worse)[:MOST_MESSAGES]
    times = [child.last_updated for child in new if child.last_updated is not None]
    if entry.last_updated is not None:
        times.append(entry.last_updated)
    return replace(
        entry,
        status=status,
        messages=messages,
        leaves=entry.leaves + len(added) + len(hidden),
        last_updated=max(times, default=None),
        children=(*children, *added),
    )


def _leaf(one: ReportedLeaf, owners: Owners) -> Entry:
    name = one.owner if one.owner.startswith("reporter:") else f"reporter:{one.owner}"
    shown = owners.judge(name, Shown(status_from(one.status), one.message or ""))
    record = OwnerRecord(
        name,
        one.status,
        alive=shown.status is not Status.UNRESPONSIVE,
        messages=(f"{one.name}: {shown.message}",) if shown.message else (),
        first_updated=one.first_updated,
        last_updated=one.last_updated,
    )
    return task_entry(one.name, [record], kind=EntryKind.REPORTED, owners=(owners.seen(name, shown.status),))
