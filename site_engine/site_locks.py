"""One action at a time on a site (rule 24): take the site's lock, also from an action whose DAG run is over or gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from site_engine.reconciliation import run_is_over
from site_store import SiteBusy

if TYPE_CHECKING:
    from site_engine.reconciliation import RunState
    from site_engine.task_log import TaskLog
    from site_store import LockOwner, SiteStore


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
    return run_is_over(run_state(owner.dag_id, owner.run_id))
