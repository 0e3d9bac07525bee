"""The last word of a run: log and store the report, and fail when the action failed (rules 19, 20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowFailException

from site_engine.actions.kinds import kind_of
from site_engine.finalization import finalize_action, finalize_dry_run
from slipway_airflow import connections
from slipway_airflow.operators.base import SiteOperator, task_states
from strategy_lib.phase import Verdict

if TYPE_CHECKING:
    from airflow.sdk import Context


class ReportOperator(SiteOperator):
    """Report, whatever happened before; fails when the action failed, and so fails the DAG run."""

    def execute(self, context: Context) -> None:
        """Report.

        Raises
        ------
        AirflowFailException
            Names the critical groups that failed, or what failed before them.
        """
        with self.error_reporting(context) as store:
            action = self.action(store, context)
            names = kind_of(action.kind).steps
            found = task_states(context, names)
            steps = {step: found.get(step) for step in names}
            if action.dry_run:
                report = finalize_dry_run(store, action, steps, self.log)
            else:
                report = finalize_action(store, action, steps, self.log, connections)
        if report.verdict is not Verdict.SUCCESS:
            raise AirflowFailException(report.verdict_text)
