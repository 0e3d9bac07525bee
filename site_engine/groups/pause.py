"""Pause (rule 26): while an action is paused nothing of it begins; what has begun goes on.

The mark is set on the action by the API (`slipway_api.actions.control`); what is about to begin asks here. A task that
is held back is started again later by Airflow, and holds no worker meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from strategy_lib.phase import GroupState

if TYPE_CHECKING:
    from site_store import ActionRecord, GroupStanding

LOOK_AGAIN: Final = timedelta(seconds=10)
"""Until what is first to go on looks again whether it may begin."""
LOOK_AGAIN_BEHIND_OTHERS: Final = timedelta(seconds=60)
"""The same for a group behind others: each look is a process."""


def hold_back(action: ActionRecord) -> timedelta | None:
    """Return after how long to look again whether a step may begin; None: it may begin now."""
    return None if action.paused is None else LOOK_AGAIN


def hold_group_back(
    action: ActionRecord,
    standings: Iterable[GroupStanding],
    group: str,
    attempt_key: str,
    submitted: Callable[[], bool],
) -> timedelta | None:
    """Return after how long to look again whether a group may begin or go on; None: it may now.

    Parameters
    ----------
    standings : all groups of the action.
    attempt_key : differs from that of a failed group when a person has cleared it: then it begins anew (rule 23).
    submitted : whether an attempt that is open has submitted anything; one that waits for an approval has not.
    """
    if action.paused is None:
        return None
    order = list(standings)
    (ours,) = (standing for standing in order if standing.name == group)
    is_cleared = ours.state is GroupState.FAILURE and ours.attempt_key != attempt_key
    if ours.state is not GroupState.PENDING and not is_cleared:
        return LOOK_AGAIN if ours.state is GroupState.RUNNING and not submitted() else None
    is_first = all(standing.is_judged for standing in order if standing.position < ours.position)
    return LOOK_AGAIN if is_first else LOOK_AGAIN_BEHIND_OTHERS
