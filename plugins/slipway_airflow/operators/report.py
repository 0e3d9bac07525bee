"""The last word of a run: log and store the report, and fail when the action failed (rules 19, 20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowFailException

from site_store import ActionState
from slipway_airflow.conclusion import conclude
from slipway_airflow.operators.base import SiteOperator, parameter, task_states
from slipway_airflow.rehearsal import rehearse
from slipway_airflow.reporting import failed_steps
from slipway_airflow.steps import has_groups, node_step_of, steps_of
from strategy_lib.phase import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context

    from site_store import ActionRecord, SiteStore


class ReportOperator(SiteOperator):
    """Report, whatever happened before; fails when the action failed, and so fails the DAG run."""

    def execute(self, context: Context) -> None:
        """Report.

        Raises
        ------
        AirflowFailException
            Names the critical groups that failed, or what failed before them.
        """
        with self.telling(context) as store:
            action = self.action(store, context)
            found = task_states(context, steps_of(action.kind))
            steps = {step: found.get(step) for step in steps_of(action.kind)}
            if parameter(action, "dry_run"):
                self._dry_run(store, action, steps)
                return
            report = conclude(store, action, steps, self.log)
        if report.verdict is not Verdict.SUCCESS:
            raise AirflowFailException(report.verdict_text)

    def _dry_run(self, store: SiteStore, action: ActionRecord, steps: Mapping[str, str | None]) -> None:
        data = store.report_input(action.id)
        failed = failed_steps(steps, data.events)
        step = node_step_of(action.kind)
        if failed or (has_groups(action.kind) and not data.groups):
            said = "; ".join(f"{step.step}: {step.message}" for step in failed) or "there is no plan"
            store.close_action(action.id, ActionState.FAILED, f"dry run: {said}")
            raise AirflowFailException(f"dry run: {said}")
        targets = sorted(parameter(action, "target_nodes") or ())
        for line in rehearse(data.groups, {tasks.node: tasks.state for tasks in data.nodes}, step, targets):
            self.log.info("%s", line)
        store.close_action(action.id, ActionState.SUCCESS, "dry run: nothing was submitted")
