"""Whose turn it is: which group of a run may begin (rule 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_lib.phase import GroupState

if TYPE_CHECKING:
    from site_store import GroupStanding

# Airflow's states of a task that will not go on by itself.
OVER = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})

_JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)


@dataclass(frozen=True, slots=True)
class Turn:
    """``wait_for`` is the group that goes first, None when it is ours; ``interrupted`` ended without a verdict."""

    wait_for: str | None
    interrupted: tuple[str, ...] = ()


def whose_turn(group: str, standings: Iterable[GroupStanding], task_state: Callable[[int], str | None]) -> Turn:
    """Return whose turn it is.

    An earlier group goes first as long as its task will go on: also one with an old failure, which a person has cleared
    and which is about to be tried again. A later group goes first when it has begun, and only then: so no two groups
    wait for each other.

    Parameters
    ----------
    group : the group whose task has started.
    standings : all groups of the action, in processing order.
    task_state : Airflow's state of the mapped task of this index; None: not scheduled yet.
    """
    order = list(standings)
    (ours,) = (standing for standing in order if standing.name == group)
    if ours.state is GroupState.RUNNING:
        # It has begun before: it goes on, whatever was cleared meanwhile.
        return Turn(None)
    interrupted = []
    for standing in order:
        if standing.position < ours.position:
            goes_first = standing.state is not GroupState.SUCCESS
        else:
            goes_first = standing.state is GroupState.RUNNING
        if not goes_first:
            continue
        # One that had nothing to submit has no task: it will not go on.
        if standing.map_index is not None and task_state(standing.map_index) not in OVER:
            return Turn(standing.name)
        if standing.state not in _JUDGED:
            interrupted.append(standing.name)
    return Turn(None, tuple(interrupted))
