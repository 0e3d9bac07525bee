"""The two sentences above the tree of a site, from its roll-up and its entry (rule 27)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from site_engine.trees.site import site_view
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.first_line import TROUBLES, FirstLine, first_line
from strategy_lib.status.serves import Serves
from strategy_lib.status.tree import NO_GROUP, TO_BE_REMOVED
from strategy_lib.status.words import Status

if TYPE_CHECKING:
    from site_store import SiteFacts


def first_line_of(facts: SiteFacts, root: Entry) -> FirstLine:
    """Say how a site stands against its design, and whether it is healthy.

    Parameters
    ----------
    root : its entry, with what reporters say.
    """
    if facts.committed is None:
        return FirstLine()
    view = site_view(facts)
    # Nodes in no group do not count in how the site stands (rule 33).
    grouped = [cell for cell in view.of_design if cell.phase != NO_GROUP]
    leaving = view.cells.get(TO_BE_REMOVED, ())
    again = (cell for cell in grouped if cell.status == Status.PENDING and cell.serves == Serves.WANTED)
    return first_line(
        view.serving(grouped).counts,
        view.tally([*grouped, *leaving])[0],
        asked_again=sum(cell.records for cell in again),
        to_be_removed=sum(cell.records for cell in leaving if cell.status != Status.DELETED),
        since=facts.behind_since,
        others=[words for child in root.children for words in _other_trouble(child)],
    )


def _other_trouble(child: Entry) -> Sequence[str]:
    """Return what is wrong with a child of a site beside its nodes: what stands below a group, or the child itself."""
    if child.status not in TROUBLES or not child.rolls_up or child.counts.get(child.status, 0):
        return ()
    name = f"group {child.name}" if child.kind is EntryKind.GROUP else child.name
    said = next(iter(child.messages), child.status.value).removeprefix(f"{child.name}: ")
    return (f"{name}: {said}",)
