"""What reporters say of a site, an action or a part of it, as the pages list it: the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from site_engine.trees.status_trees import StatusTree
from strategy_lib.status.entry import Entry
from strategy_lib.status.words import Status

LEAVES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ShownLeaf:
    """A leaf of a reporter: the path of the entry that it stands below, and what is shown of it."""

    name: str
    place: str
    owner: str
    status: Status | None
    message: str
    last_updated: datetime | None


@dataclass(frozen=True, slots=True)
class ReportedLeaves:
    """The worst leaves; `more` counts those that are not among them."""

    leaves: Sequence[ShownLeaf]
    more: int


def reported_leaves(tree: StatusTree, below: str = "") -> ReportedLeaves:
    """Return what reporters say in a tree.

    Parameters
    ----------
    below : a path; only the leaves of its entry and of all below that. "": all.
    """
    found = tree.reports.all(below)
    return ReportedLeaves([_shown(place, leaf) for place, leaf in found[:LEAVES_SHOWN]], len(found[LEAVES_SHOWN:]))


def _shown(place: str, leaf: Entry) -> ShownLeaf:
    owner = leaf.owners[0].name if leaf.owners else ""
    # A message names its leaf, which stands beside it here.
    said = "; ".join(text.removeprefix(f"{leaf.name}: ") for text in leaf.messages)
    return ShownLeaf(leaf.name, place, owner, leaf.status, said, leaf.last_updated)
