"""The first and the last tasks of an action: take its site, report, release the site (rules 19, 20, 24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowRuntimeError

from site_engine.actions.dead_actions import close_without_report, reconcile, take_site
from site_engine.actions.finalization import finalize_action, finalize_dry_run
from site_engine.actions.kinds import REPORT, kind_of
from site_engine.actions.parameters import ParameterError, known_in_run, read_checked, unknown_parameters
from site_engine.controller.upkeep import EVENTS_KEPT
from site_store import SiteStore
from slipway_airflow import connections
from slipway_airflow.operators.base import SiteOperator, task_states
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


class AcquireSiteOperator(SiteOperator):
    """Write the action down and take its site; a second action on a busy site fails at once and names the first.

    Parameters
    ----------
    kind : a kind of action (`site_engine.actions.kinds`), such as ``deploy_site``.
    """

    def __init__(self, *, kind: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind

    def run_step(self, context: Context, store: SiteStore) -> None:
        """Take the site. A dry run only reads and takes nothing."""
        ti, params, run = context["ti"], context["params"], context["dag_run"]
        kind, asked = kind_of(self.kind), read_checked(params)
        settings = store.revisions.settings(str(params["site"]), asked.revision)
        asked = asked.with_default(kind, settings.max_parallel_groups)
        action = store.actions.ensure(
            ti.dag_id,
            ti.run_id,
            self.kind,
            str(params["site"]),
            asked.revision,
            asked.to_run_record(),
            getattr(run, "triggering_user_name", None) or "airflow",
            dry_run=asked.dry_run,
            whole_site=asked.is_whole_site(kind),
            steps=kind.planned_steps,
            node_step=kind.node_step,
            nodes=asked.target_nodes or (),
        )
        self._begin(store, context)
        unknown = unknown_parameters(run.conf or {}, known_in_run(kind))
        if unknown:
            raise ParameterError(unknown)
        self.log.info("Action %s: %s of site %s, revision %s.", action.id, action.kind, action.site, action.revision)
        if action.dry_run:
            self.log.info("Dry run: the site is not locked and nothing will be submitted.")
            return
        take_site(store, action.id, run_states(ti), self.log)
        # Whatever else looks open on this site is not: it has no lock, and its run may be gone (rule 24).
        for other in store.actions.unfinished(action.site):
            if other.id != action.id:
                reconcile(store, other.id, run_states(ti))
        self.log.info("Site %s is held by this action.", action.site)


class ReportOperator(SiteOperator):
    """Report, whatever happened before; fails when the action failed, and so fails the DAG run."""

    def run_step(self, context: Context, store: SiteStore) -> None:
        """Report. Raises `AirflowFailException`, which names the critical groups or earlier steps that failed."""
        action = self.action(store, context)
        kind = kind_of(action.kind)
        names = (*kind.steps, *kind.steps_behind)
        found = task_states(context, names)
        steps = {step: found.get(step) for step in names}
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
