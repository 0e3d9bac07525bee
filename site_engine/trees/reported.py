"""Leaves of external reporters: they stand below existing entries and roll up, and decide nothing (rule 30)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from site_engine.trees.owners import Owners
from site_store import ReportedLeaf
from site_store.status.reporters import checks_in_as
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.leaf import OwnerRecord, Shown
from strategy_lib.status.roll_up import read_by_owner, status_of_parent
from strategy_lib.status.tree import MOST_MESSAGES, earliest, latest, task_entry
from strategy_lib.status.words import Status

SEPARATOR = "/"
"""Stands between the names of a path: of an action's tree "deploy_group/<group>", of a site's "<group>"."""
Leaves = Mapping[str, Sequence["ReportedLeaf"]]
"""Leaves by the path of the entry that they stand below."""


def by_parent(reported: Sequence[ReportedLeaf]) -> Leaves:
    """Return leaves by the path of the entry that they stand below."""
    found: defaultdict[str, list[ReportedLeaf]] = defaultdict(list)
    for one in reported:
        found[one.parent.strip(SEPARATOR)].append(one)
    return found


@dataclass(frozen=True, slots=True)
class Reports:
    """Puts leaves of reporters into the tree of their site or action.

    Attributes
    ----------
    leaves : all of them.
    owners : at the moment of the reading.
    over : the action is over, so that its leaves are history: neither owner nor revision is judged (rule 29).
    wanted : the revision that a leaf must be about: that of the action, or the committed one; None: none is.
    """

    leaves: Leaves
    owners: Owners
    over: bool = False
    wanted: int | None = None

    def all(self, below: str = "") -> list[tuple[str, Entry]]:
        """Return the leaves with the paths that they stand below, the worst first.

        Parameters
        ----------
        below : a path; only those of its entry and of all below that. "": all.
        """
        found = [
            (path, self.leaf(one))
            for path, leaves in self.leaves.items()
            if not below or path == below or path.startswith(f"{below}{SEPARATOR}")
            for one in leaves
        ]
        return sorted(found, key=lambda each: -(each[1].status or Status.SUCCESS).rank)

    def added_to(self, root: Entry, path: str = "") -> Entry:
        """Return an entry with the leaves below it; those of entries that were not read count above those."""
        if not self.leaves:
            return root
        left = dict(self.leaves) if not path else {path: self.leaves[path]} if path in self.leaves else {}
        return self._with(root, path, left)

    def _with(self, entry: Entry, path: str, left: dict[str, Sequence[ReportedLeaf]]) -> Entry:
        children = [
            self._with(child, f"{path}{SEPARATOR}{child.name}".strip(SEPARATOR), left) for child in entry.children
        ]
        added = [self.leaf(one) for one in left.pop(path, ())]
        hidden: list[Entry] = []
        if path and entry.kind is not EntryKind.NODE:
            below = [parent for parent in left if parent.startswith(f"{path}{SEPARATOR}")]
            hidden = [self.leaf(one) for parent in below for one in left.pop(parent)]
        changed = [new for new, old in zip(children, entry.children, strict=True) if new is not old]
        if not (added or hidden or changed):
            return entry
        more = len(added) + len(hidden)
        grown = sum(new.leaves - old.leaves for new, old in zip(children, entry.children, strict=True)) + more
        grown_own = sum(new.own_leaves - old.own_leaves for new, old in zip(children, entry.children, strict=True))
        new = [child for child in (*added, *hidden, *changed) if child.status is not None and child.rolls_up]
        status, messages = entry.status, entry.messages
        if status is not None:
            status = status_of_parent([status, *(child.status for child in new if child.status is not None)])
            worse = tuple(text for child in new if child.status is status for text in child.messages)
            messages = (messages + worse if status is entry.status else worse)[:MOST_MESSAGES]
        return replace(
            entry,
            status=status,
            messages=messages,
            leaves=entry.leaves + grown,
            own_leaves=entry.own_leaves + grown_own + more,
            first_updated=earliest([entry.first_updated, *(child.first_updated for child in new)]),
            last_updated=latest([entry.last_updated, *(child.last_updated for child in new)]),
            children=(*children, *added),
        )

    def leaf(self, one: ReportedLeaf) -> Entry:
        """Return the entry of a leaf."""
        name = checks_in_as(one.owner, one.site)
        current = self.over or one.revision is None or self.wanted is None or one.revision >= self.wanted
        said = one.message or ""
        if not current:
            said = f"reported of revision {one.revision}, wanted is revision {self.wanted}"
        shown = Shown(read_by_owner(one.status, current=current), said)
        if not (self.over or self.owners.is_there(name) or shown.status is Status.UNDEFINED):
            # Nobody else keeps its word true: also a success is as old as its last sign of life.
            shown = Shown(Status.UNRESPONSIVE, self.owners.silence(name))
        record = OwnerRecord(
            name,
            one.status,
            alive=shown.status is not Status.UNRESPONSIVE,
            current=current,
            messages=(f"{one.name}: {shown.message}",) if shown.message else (),
            first_updated=one.first_updated,
            last_updated=one.last_updated,
        )
        seen = self.owners.seen(name, shown.status)
        return task_entry(one.name, [record], kind=EntryKind.REPORTED, over=self.over, owners=(seen,))
