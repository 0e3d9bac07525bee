"""Which group is to blame for a group that did not run (rules 9 and 28). `strategy_lib.status` blames whole plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.leaf import blocked_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from site_store import GroupRecord, SiteStore


def is_only_judged(state: str, depends_on: Iterable[str], states: Mapping[str, str | None], *, has_sent: bool) -> bool:
    """Tell whether the task of a group that is at work does no more than find that the group is blocked.

    Parameters
    ----------
    states : of all groups of the action.
    has_sent : something was sent for the group, so that it has begun.
    """
    is_behind = any(states.get(name) == GroupState.FAILURE for name in depends_on)
    return state == GroupState.RUNNING and is_behind and not has_sent


def why_blocked(store: SiteStore, record: GroupRecord) -> str:
    """Say which group stands in the way of one that does not run, and why: the one that failed by its own fault.

    Of several failed dependencies it is the first, as in `strategy_lib.status.tree.blame_groups`.
    """
    culprit: GroupRecord | None = None
    while culprit is None or culprit.reason is Reason.DEPENDENCY:
        behind = culprit or record
        states = store.groups.states(behind.action_id, behind.definition.depends_on)
        failed = [name for name in behind.definition.depends_on if states.get(name) is GroupState.FAILURE]
        if not failed:
            # What stood in the way has been tried again since, and is under way.
            break
        culprit = store.groups.get(behind.action_id, failed[0])
    if culprit is None:
        return "blocked by a group that has not succeeded"
    return blocked_by(culprit.name, culprit.reason.value if culprit.reason else "failed")
