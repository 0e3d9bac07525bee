"""One action at a time on a site (rule 24): take the site's lock, also from an action whose DAG run is over or gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from site_store import ActionState, SiteBusy

if TYPE_CHECKING:
    from site_engine.task_log import TaskLog
    from site_store import LockOwner, SiteStore

STOP = "stop"
"""The command that ends an action, as it is kept in its audits."""

# Airflow's states of a DAG run that will not go on by itself.
_OVER = frozenset({"success", "failed"})
# An action's row is written before its DAG run is triggered: for so long the trigger may still be on its way.
TRIGGER_TIME = timedelta(seconds=120)

RunState = Callable[[str, str], str | None]


def take_site(store: SiteStore, action_id: str, run_state: RunState, log: TaskLog) -> None:
    """Take the lock of the action's site, or learn that this action has it already.

    Parameters
    ----------
    run_state
        Gives Airflow's state of a DAG run (dag id, run id), None when the run does not exist any more.

    Raises
    ------
    site_store.SiteBusy
        Another action that is still going on has it; the error names it.
    """
    try:
        store.acquire_site(action_id)
    except SiteBusy as busy:
        owner = busy.owner
        if not _stale(owner, action_id, run_state):
            raise
        log.warning(
            "The site was left locked by action %s, whose run %s is over: taking it over.",
            owner.action_id,
            owner.run_id,
        )
        if not store.take_over_site(action_id, owner):
            raise


def _stale(owner: LockOwner, action_id: str, run_state: RunState) -> bool:
    if owner.action_id == action_id:
        return False
    state = run_state(owner.dag_id, owner.run_id)
    return state is None or state in _OVER


def reconcile(store: SiteStore, action_id: str, run_state: RunState) -> None:
    """Close an action whose DAG run ended without its report, was deleted or never came to be, and free its site.

    One that was only just asked for is left alone: its DAG run may be about to be there (rule 24).
    """
    action = store.action(action_id)
    if action.state.is_end:
        return
    state = run_state(action.dag_id, action.run_id)
    if state is None and action.state is ActionState.PENDING and datetime.now(UTC) - action.created < TRIGGER_TIME:
        return
    if state is None or state in _OVER:
        close_without_report(store, action_id)


def close_without_report(store: SiteStore, action_id: str) -> bool:
    """Close an action whose DAG run ended without its report, and free its site; False when it has ended otherwise.

    The verdict names who stopped it last, where somebody did.
    """
    stopped = [audit.user for audit in store.audits(action_id) if audit.command == STOP]
    verdict = f"stopped by {stopped[-1]}" if stopped else "the DAG run ended without its report"
    return store.close_action(action_id, ActionState.CANCELLED, verdict)
