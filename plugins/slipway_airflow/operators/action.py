"""The last tasks of an action: report, release the site (rules 19, 20, 24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowRuntimeError

from site_engine.actions.dead_actions import close_without_report
from site_engine.actions.finalization import finalize_action, finalize_dry_run
from site_engine.controller.upkeep import EVENTS_KEPT
from site_engine.kinds import REPORT, kind_of
from site_store import SiteStore
from slipway_airflow import connections
from slipway_airflow.operators.base import SiteOperator, step_states, task_states
from strategy_lib.phase import Verdict

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.types import RuntimeTaskInstanceProtocol


def run_states(ti: RuntimeTaskInstanceProtocol) -> Callable[[str, str], str | None]:
    """Return a function that asks Airflow for the state of a DAG run; None for one that does not exist any more."""

    def state(dag_id: str, run_id: str) -> str | None:
        try:
            # The SDK gives a text or a member of an enumeration, whose `str` is not its value.
            found: Any = ti.get_dagrun_state(dag_id, run_id)
            return str(getattr(found, "value", found))
        except AirflowRuntimeError as error:
            if is_not_found(error):
                return None
            raise

    return state


def is_not_found(error: AirflowRuntimeError) -> bool:
    """Tell whether Airflow says that what was asked for is not there."""
    # The task SDK passes the API server's 404 on as a generic error.
    detail: Any = error.error.detail or {}
    return isinstance(detail, dict) and detail.get("status_code") == 404


class ReportOperator(SiteOperator):
    """Report, whatever happened before; fails when the action failed, and so fails the DAG run."""

    def run_step(self, context: Context, store: SiteStore) -> None:
        """Report. Raises `AirflowFailException`, which names the critical groups or earlier steps that failed."""
        action = self.action(store, context)
        kind = kind_of(action.kind)
        steps = step_states(context, store, (*kind.steps, *kind.steps_behind))
        if action.dry_run:
            report = finalize_dry_run(store, action, steps, self.log)
        else:
            report = finalize_action(store, action, steps, self.log, connections, self._stopping)
        if report.verdict is not Verdict.SUCCESS:
            raise AirflowFailException(report.verdict_text)


# Airflow's states of a task that has run.
_HAS_RUN = ("success", "failed")


class ReleaseSiteOperator(SiteOperator):
    """Free the site. An action that has no verdict by now was cancelled or killed, and is closed as such.

    Airflow lets this task alone decide a run that was marked failed, so it fails where the report did not run.
    """

    def run_step(self, context: Context, store: SiteStore) -> None:
        """Close and release; safe to repeat.

        Raises `AirflowFailException`: the site is free, and there was no report.
        """
        ti = context["ti"]
        action = store.actions.of_run(ti.dag_id, ti.run_id)
        if action is None:
            raise AirflowFailException("this run has no action: nothing was done, and nothing is locked")
        closed = not action.state.is_end and close_without_report(store, action.id)
        if closed:
            self.log.warning("Action %s ended without a report; it is closed as cancelled.", action.id)
        store.locks.release(action.id)
        pruned = store.events.prune(store.now() - EVENTS_KEPT)
        if pruned:
            self.log.info("Forgot %d events older than %d days.", pruned, EVENTS_KEPT.days)
        self.log.info("Site %s is free.", action.site)
        reported = task_states(context, [REPORT]).get(REPORT) in _HAS_RUN
        if closed or not reported:
            verdict = store.actions.get(action.id).verdict
            raise AirflowFailException(f"site {action.site} is free; this task fails as there was no report: {verdict}")
