"""Which group is to blame for a group that did not run (rules 9 and 28). `strategy_lib.status` blames whole plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.leaf import blocked_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from site_store import GroupRecord, SiteStore


def culprit_of(store: SiteStore, record: GroupRecord) -> GroupRecord:
    """Return the group that failed by its own fault and stands in the way of this one; a culprit is its own.

    Of several failed dependencies it is the first, as in `strategy_lib.status.tree.blame_groups`.
    """
    while record.state is GroupState.FAILURE and record.reason is Reason.DEPENDENCY:
        states = store.groups.states(record.action_id, record.definition.depends_on)
        failed = [name for name in record.definition.depends_on if states.get(name) is GroupState.FAILURE]
        if not failed:
            # What stood in the way has been tried again since, and is under way.
            break
        record = store.groups.get(record.action_id, failed[0])
    return record


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
    """Say of a group that is about to be judged which group stands in its way, and why."""
    states = store.groups.states(record.action_id, record.definition.depends_on)
    failed = [name for name in record.definition.depends_on if states.get(name) is GroupState.FAILURE]
    if not failed:
        return "a group that it depends on has not succeeded"
    culprit = culprit_of(store, store.groups.get(record.action_id, failed[0]))
    return blocked_by(culprit.name, culprit.reason.value if culprit.reason else "failed")
