"""How far groups are that go in batches, as trees and tables show it (rule 59)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from strategy_lib.groups.batch_words import BatchesSoFar, batches_so_far
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GroupState

if TYPE_CHECKING:
    from site_store import GroupFacts, StatusCount


def batches_of(group: GroupFacts, prepares: Iterable[StatusCount], *, over: bool = False) -> BatchesSoFar | None:
    """Return how far a group is; None where it does not go in batches.

    Parameters
    ----------
    prepares : the roll-up of its nodes in the phase prepare.
    over : its action is over: a group without a verdict was interrupted.
    """
    if not group.has_batches:
        return None
    cells = list(prepares)
    total = sum(cell.records for cell in cells)
    left = sum(cell.records for cell in cells if cell.status == TaskStatus.PENDING)
    state = GroupState.FAILURE if over and group.state == GroupState.RUNNING else group.state
    return batches_so_far(group.max_in_flight, group.canary, total, state, group.batches, group.begun, left)


def batches_to_dict(found: BatchesSoFar | None) -> dict[str, Any] | None:
    """Return the same as plain data."""
    if found is None:
        return None
    at = found.batches or None
    return {"most": found.most, "canaries": found.canaries, "at": at, "of": found.of, "text": found.text}
