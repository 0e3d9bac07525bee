"""The roll-up as counts: rows that are kept up to date with every change, and summed when somebody reads.

A row says how many records of one group, phase and owner have one stored status and are fresh or not. It holds nothing
that changes by itself: whether an owner is alive is asked when the rows are read, so that no row changes when it dies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from strategy_lib.status.leaf import OwnerRecord, status_of_record
from strategy_lib.status.words import Status, status_of_parent


@dataclass(frozen=True, slots=True)
class Cell:
    """What the records of one row share. `status` is the stored value as it is, None where nothing is stored."""

    group: str
    phase: str
    owner: str
    status: str | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """How many records a row stands for, and how many leaves: a leaf is counted with the first of its owners.

    `own_leaves` leaves out the nodes that another group processed (rule 34).
    """

    records: int = 0
    leaves: int = 0
    own_leaves: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.records + other.records, self.leaves + other.leaves, self.own_leaves + other.own_leaves)

    def __neg__(self) -> Tally:
        return Tally(-self.records, -self.leaves, -self.own_leaves)


NONE = Tally()
Counts = Mapping[Cell, Tally]


@dataclass(frozen=True, slots=True)
class CountedLeaf:
    """A task as the rows see it: its place, and the record of each expected owner."""

    group: str
    phase: str
    records: tuple[OwnerRecord, ...]
    processed_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """What the rows say of a group or of the whole: status, how many records show which status, number of leaves."""

    status: Status
    records: Mapping[Status, int]
    leaves: int


def count(leaves: Iterable[CountedLeaf]) -> dict[Cell, Tally]:
    """Count leaves from scratch."""
    counts: defaultdict[Cell, Tally] = defaultdict(Tally)
    for leaf in leaves:
        for cell, tally in _cells(leaf):
            counts[cell] += tally
    return dict(counts)


def change(before: CountedLeaf | None, after: CountedLeaf | None) -> dict[Cell, Tally]:
    """Return what a change of one leaf adds to the rows; only rows that change, negative where it takes away.

    Parameters
    ----------
    before, after : the leaf; None where it did not exist, or does not exist any more.
    """
    changes: defaultdict[Cell, Tally] = defaultdict(Tally)
    for cell, tally in _cells(before) if before is not None else ():
        changes[cell] += -tally
    for cell, tally in _cells(after) if after is not None else ():
        changes[cell] += tally
    return {cell: tally for cell, tally in changes.items() if tally != NONE}


def add(counts: Counts, changes: Counts) -> dict[Cell, Tally]:
    """Return the rows after changes; rows that stand for nothing are left out.

    Raises `ValueError`: when a row would stand for less than nothing: the rows do not belong to the leaves.
    """
    result = dict(counts)
    for cell, tally in changes.items():
        now = result.pop(cell, NONE) + tally
        if min(now.records, now.leaves, now.own_leaves) < 0:
            raise ValueError(f"the roll-up of {cell} would be {now}: count it anew from the stored tasks")
        if now != NONE:
            result[cell] = now
    return result


def summarize(
    counts: Counts, alive: Callable[[Cell], bool], *, over: bool = False, outside: Collection[str] = ()
) -> tuple[Summary, dict[str, Summary]]:
    """Judge the rows at the moment they are read.

    Parameters
    ----------
    counts : the rows of a site or an action.
    alive : whether the owner of a row's records is alive, or owes nothing (rule 30).
    over : the action is over (rule 29).
    outside : groups that do not count in the whole, such as `NO_GROUP` (rule 33).

    Returns
    -------
    tuple
        The whole, and each group by its name. The whole counts every node once, a group all its nodes (rule 34).
    """
    records: defaultdict[str, Counter[Status]] = defaultdict(Counter)
    leaves: Counter[str] = Counter()
    whole: Counter[Status] = Counter()
    total = 0
    for cell, tally in counts.items():
        record = OwnerRecord(cell.owner, cell.status, alive=alive(cell), current=cell.fresh)
        status = status_of_record(record, over=over)
        records[cell.group][status] += tally.records
        leaves[cell.group] += tally.leaves
        total += tally.own_leaves
        if cell.group not in outside:
            whole[status] += tally.records
    groups = {
        group: Summary(status_of_parent(tallies), dict(tallies), leaves[group]) for group, tallies in records.items()
    }
    return Summary(status_of_parent(whole), dict(whole), total), groups


_WITHOUT_OWNER = (OwnerRecord("", stored=Status.UNDEFINED.value),)


def _cells(leaf: CountedLeaf) -> Iterable[tuple[Cell, Tally]]:
    for i, record in enumerate(leaf.records or _WITHOUT_OWNER):
        here = 0 if i else 1
        tally = Tally(1, here, 0 if leaf.processed_elsewhere else here)
        fresh = record.current or record.stored is None
        yield Cell(leaf.group, leaf.phase, record.owner, record.stored, fresh), tally
