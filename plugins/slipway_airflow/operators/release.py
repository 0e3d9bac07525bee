"""End an action whatever happened: the site's teardown (rule 24)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowFailException

from site_engine.dead_actions import close_without_report
from site_store import ActionState, SiteStore
from slipway_airflow.operators.base import SiteOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

# Facts are kept for ever, the history of how they came about for a year (docs/store.md).
EVENTS_KEPT = timedelta(days=365)


class ReleaseSiteOperator(SiteOperator):
    """Free the site. An action that has no verdict by now was cancelled or killed, and is closed as such.

    Airflow lets this task alone decide a run that was marked failed, so it fails unless the action succeeded.
    """

    def execute(self, context: Context) -> None:
        """Close and release; safe to repeat.

        Raises
        ------
        AirflowFailException
            The site is free, and the action did not succeed.
        """
        ti = context["ti"]
        with SiteStore.open() as store:
            action = store.actions.of_run(ti.dag_id, ti.run_id)
            if action is None:
                raise AirflowFailException("this run has no action: nothing was done, and nothing is locked")
            if not action.state.is_end and close_without_report(store, action.id):
                self.log.warning("Action %s ended without a report; it is closed as cancelled.", action.id)
            store.locks.release(action.id)
            pruned = store.events.prune(datetime.now(UTC) - EVENTS_KEPT)
            if pruned:
                self.log.info("Forgot %d events older than %d days.", pruned, EVENTS_KEPT.days)
            self.log.info("Site %s is free.", action.site)
            ended = store.actions.get(action.id)
        if ended.state is not ActionState.SUCCESS:
            raise AirflowFailException(
                f"site {ended.site} is free; this task fails only because the action did: {ended.verdict}"
            )
