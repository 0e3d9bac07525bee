"""The stage after the groups: the DAG that the site names for it is triggered once, and waited for without a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import (
    AirflowRescheduleException,
    AirflowRuntimeError,
    AirflowSkipException,
    DagRunTriggerException,
)

from site_engine.actions.dead_actions import take_site
from site_engine.actions.finalization import NextStage, next_stage
from site_engine.errors import StepError
from site_engine.groups.turns import hold_back
from site_engine.kinds import BEGIN_ACTION, kind_of
from slipway_airflow.operators.action import is_not_found, run_states
from slipway_airflow.operators.base import SiteOperator, step_states
from slipway_airflow.operators.begin_action import CONFIGURATION_KEY

if TYPE_CHECKING:
    from airflow.sdk import Context

    from site_store import SiteStore

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
