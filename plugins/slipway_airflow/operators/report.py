"""The last word of a run: log and store the report, and decide the run's state (rules 19, 20)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from provisioner_client.errors import ProvisionerError
from site_store import ActionState
from slipway_airflow.clock import SystemClock
from slipway_airflow.errors import SettingsError
from slipway_airflow.hook import DrydockHook
from slipway_airflow.late_results import look_for_late_results
from slipway_airflow.operation_run import OperationRun
from slipway_airflow.operators.base import SiteOperator, parameter
from slipway_airflow.rehearsal import rehearse
from slipway_airflow.reporting import failed_steps, report_of
from strategy_lib.phase import Verdict
from strategy_lib.report import render, to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from site_store import ActionRecord, SiteStore


class ReportOperator(SiteOperator):
    """Report, whatever happened before; fails when the action failed, and so fails the DAG run.

    Parameters
    ----------
    steps : sequence of str
        Task ids of the steps before the groups, in order.
    """

    def __init__(self, *, steps: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.steps = list(steps)

    def execute(self, context: Context) -> None:
        """Report.

        Raises
        ------
        AirflowFailException
            Names the critical groups that failed, or what failed before them.
        """
        with self.telling(context) as store:
            action = self.action(store, context)
            if parameter(action, "dry_run"):
                self._dry_run(store, action, context)
                return
            for group in store.plan(action.id):
                if not group.is_judged:
                    self.log.warning("The task of group %s ended without a verdict.", group.name)
                    store.interrupt_group(action.id, group.name)
            self._late_results(store, action)
            data = store.report_input(action.id)
            report = report_of(data, failed_steps(self._step_states(context), data.events), datetime.now(UTC))
            for line in render(report).splitlines():
                self.log.info("%s", line)
            store.save_report(action.id, to_dict(report))
            succeeded = report.verdict is Verdict.SUCCESS
            store.close_action(action.id, ActionState.SUCCESS if succeeded else ActionState.FAILED, report.verdict_text)
        if not succeeded:
            raise AirflowFailException(report.verdict_text)

    def _late_results(self, store: SiteStore, action: ActionRecord) -> None:
        """Look once more at what had no result in time; the report goes on without an answer."""
        try:
            provisioner = DrydockHook.for_site(action.site).get_conn()
        except SettingsError as error:
            self.log.warning("Late results cannot be looked for: %s", error)
            return
        try:
            operations = OperationRun(store, provisioner, SystemClock(), 0.0, self.log)
            look_for_late_results(store, operations, action.id, self.log)
        except ProvisionerError as error:
            self.log.warning("Late results cannot be looked for: %s", error)
        finally:
            provisioner.close()

    def _step_states(self, context: Context) -> dict[str, str | None]:
        ti = context["ti"]
        states = ti.get_task_states(dag_id=ti.dag_id, task_ids=self.steps, run_ids=[ti.run_id]).get(ti.run_id, {})
        return {step: states.get(step) for step in self.steps}

    def _dry_run(self, store: SiteStore, action: ActionRecord, context: Context) -> None:
        data = store.report_input(action.id)
        failed = failed_steps(self._step_states(context), data.events)
        if failed or not data.groups:
            said = "; ".join(f"{step.step}: {step.message}" for step in failed) or "there is no plan"
            store.close_action(action.id, ActionState.FAILED, f"dry run: {said}")
            raise AirflowFailException(f"dry run: {said}")
        for line in rehearse(data.groups, {tasks.node: tasks.state for tasks in data.nodes}):
            self.log.info("%s", line)
        store.close_action(action.id, ActionState.SUCCESS, "dry run: nothing was submitted")
