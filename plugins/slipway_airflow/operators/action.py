"""The last tasks of an action: the stage after its groups, its report, the release of its site (rules 19, 20, 24)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowRescheduleException,
    AirflowRuntimeError,
    AirflowSkipException,
    DagRunTriggerException,
)

from site_engine.actions.dead_actions import close_without_report, take_site
from site_engine.actions.finalization import NextStage, finalize_action, finalize_dry_run, next_stage
from site_engine.controller.upkeep import EVENTS_KEPT
from site_engine.errors import StepError
from site_engine.groups.turns import hold_back
from site_engine.kinds import BEGIN_ACTION, REPORT, kind_of
from site_store import SiteStore
from slipway_airflow import connections
from slipway_airflow.operators.base import CONFIGURATION_KEY, SiteOperator, step_states, task_states
from strategy_lib.phase import Verdict

if TYPE_CHECKING:
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


_LOOK_EVERY = 5
_SUCCESS, _FAILED = "success", "failed"


class AfterSuccessOperator(SiteOperator):
    """Trigger the DAG that comes after a successful deployment, and fail if it does."""

    def run_step(self, context: Context, store: SiteStore) -> None:
        """Trigger the DAG unless it was before, and see its run to its end.

        Raises `AirflowSkipException`: nothing is to come, and the message says why; `StepError`: the DAG's run failed,
        or there is no such DAG; `AirflowRescheduleException`: the action is paused; `DagRunTriggerException`,
        `TaskDeferred`: it is triggered, or waited for.
        """
        ti, action = context["ti"], self.action(store, context)
        # Pulled, and not templated: where that failed there are no settings, and no stage.
        kind = kind_of(action.kind)
        settings = ti.xcom_pull(task_ids=BEGIN_ACTION, key=CONFIGURATION_KEY) or {}
        stage = next_stage(
            store,
            action,
            settings.get("after_success"),
            step_states(context, store, [*kind.steps, *kind.steps_behind[:-1]]),
            # Airflow raises max_tries when a person clears the task, and only then: a retry keeps it (rule 23).
            again=int(ti.max_tries) - int(self.retries or 0),
        )
        if not isinstance(stage, NextStage):
            raise AirflowSkipException(stage)
        take_site(store, action.id, run_states(ti), self.log)
        state = run_states(ti)(stage.dag_id, stage.run_id)
        if state is None and hold_back(action) is not None:
            self.log.info("The action is paused since %s: nothing is begun until it goes on.", action.paused)
            raise AirflowRescheduleException(datetime.now(UTC) + (hold_back(action) or timedelta()))
        if state is None:
            _require_dag(context, stage.dag_id)
            self.log.info("Triggering %s, run %s.", stage.dag_id, stage.run_id)
            raise DagRunTriggerException(
                trigger_dag_id=stage.dag_id,
                dag_run_id=stage.run_id,
                conf=dict(stage.conf),
                reset_dag_run=False,
                skip_when_already_exists=False,
                wait_for_completion=True,
                allowed_states=[_SUCCESS],
                failed_states=[_FAILED],
                poke_interval=_LOOK_EVERY,
                deferrable=True,
                note=f"after {action.kind} of site {action.site}, revision {action.revision}",
            )
        if state == _FAILED:
            raise StepError(f"the DAG {stage.dag_id} failed: open its run {stage.run_id}")
        if state != _SUCCESS:
            # It loads Airflow's models, and only a run that is waited for needs it.
            from airflow.providers.standard.triggers.external_task import DagStateTrigger

            self.log.info("Run %s of %s is %s: waiting for it.", stage.run_id, stage.dag_id, state)
            self.defer(
                trigger=DagStateTrigger(
                    dag_id=stage.dag_id,
                    states=[_SUCCESS, _FAILED],  # type: ignore[list-item]
                    run_ids=[stage.run_id],
                    poll_interval=_LOOK_EVERY,
                ),
                method_name="execute_complete",
            )
        self.log.info("Run %s of %s succeeded.", stage.run_id, stage.dag_id)

    def execute_complete(self, context: Context, event: Any) -> None:
        """Come back from waiting: Airflow is asked how the run ended."""
        self._in_step(context, self.run_step)


def _require_dag(context: Context, dag_id: str) -> None:
    """Make sure that the DAG can run. Raises `StepError`: there is none, or it is switched off."""
    try:
        dag = context["ti"].get_dag(dag_id)
    except AirflowRuntimeError as error:
        if not is_not_found(error):
            raise
        raise StepError(
            f"after_success names {dag_id}, and Airflow has no such DAG: add it, or name another"
        ) from error
    if dag.is_paused:
        raise StepError(f"the DAG {dag_id} is switched off (paused) in Airflow: switch it on there, then retry")
