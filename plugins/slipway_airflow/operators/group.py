"""Deploy one group: the task that is mapped over the plan, one box per group in Airflow's UI."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowRescheduleException, AirflowSkipException

from site_store import SiteStore
from slipway_airflow import story
from slipway_airflow.group_order import Turn, whose_turn
from slipway_airflow.group_run import GroupRequest, GroupRun
from slipway_airflow.hook import DrydockHook
from slipway_airflow.operation_run import OperationRun, StillRunning
from slipway_airflow.operators.acquire import run_states
from slipway_airflow.operators.base import parameter
from slipway_airflow.operators.waiting import WaitingOperator
from slipway_airflow.polling import PhaseTimes
from slipway_airflow.site_lock import take_site
from strategy_lib.phase import GroupState, Phase

if TYPE_CHECKING:
    from airflow.sdk import Context

    from site_store import ActionRecord
    from slipway_airflow.settings import ConnectionSettings

_WAIT_FOR_TURN = timedelta(seconds=5)


class DeployGroupOperator(WaitingOperator):
    """Prepare and deploy the nodes of one group, and judge it by its criteria.

    A group that does not meet its criteria fails without a retry: that is a verdict. Trouble on the way is retried.

    Parameters
    ----------
    group : str
        The group's name (mapped).
    design : dict
        What ``load_design`` returned (templated).
    """

    # Not `group`: a name is a name, and never a template.
    template_fields = ("design",)

    def __init__(self, *, group: str, design: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.design = design

    def go_on(self, context: Context, store: SiteStore, hook: DrydockHook, operations: OperationRun) -> Any:
        """Wait for the group's turn, then drive it to its verdict.

        Raises
        ------
        AirflowRescheduleException
            An earlier group has no verdict yet (its task is being retried): Airflow starts this one again later.
        AirflowFailException
            The group's verdict is failure.
        """
        action = self.action(store, context)
        if parameter(action, "dry_run"):
            raise AirflowSkipException(f"dry run: group {self.group} is not submitted; the report shows the rehearsal")
        # The group may have been cleared long after its run had given the site back (rule 23).
        take_site(store, action.id, run_states(context["ti"]), self.log)
        if not self._may_start(context, store, action):
            raise AirflowRescheduleException(datetime.now(UTC) + _WAIT_FOR_TURN)
        request = GroupRequest(
            action_id=action.id,
            site=action.site,
            group=self.group,
            # Airflow raises max_tries when a person clears the task, and only then: a retry keeps it (rule 23).
            attempt_key=str(context["ti"].max_tries),
            design_ref=self.design["design_ref"],
            times=phase_times(self.design["configuration"], hook.settings),
            force=bool(parameter(action, "force")),
            give_up=self.give_up,
        )
        result = GroupRun(store, operations, request, self.log).advance()
        if isinstance(result, StillRunning):
            return result
        if result.state is GroupState.FAILURE:
            raise AirflowFailException(story.failure(result))
        return None

    def _may_start(self, context: Context, store: SiteStore, action: ActionRecord) -> bool:
        ti = context["ti"]
        groups = store.plan(action.id)
        earlier = [
            group for group in groups[: next(g.position for g in groups if g.name == self.group)] if not group.is_judged
        ]
        if not earlier:
            return True
        states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id]).get(ti.run_id, {})
        for group in earlier:
            turn = whose_turn(states.get(f"{ti.task_id}_{group.position}"))
            if turn is Turn.THEIRS:
                self.log.info("Group %s has no verdict yet and its task will go on: waiting for it.", group.name)
                return False
            self.log.warning("The task of group %s ended without a verdict: the group counts as failed.", group.name)
            store.interrupt_group(action.id, group.name)
        return True


def phase_times(configuration: dict[str, Any], settings: ConnectionSettings) -> dict[Phase, PhaseTimes]:
    """Return intervals and timeouts of both phases from the design, capped by the connection's poll interval."""

    def times(interval: str, timeout: str) -> PhaseTimes:
        longest = min(float(configuration[interval]), settings.poll_interval)
        return PhaseTimes(longest, float(configuration[timeout]), settings.queue_timeout)

    return {
        Phase.PREPARE: times("prepare_node_interval", "prepare_node_timeout"),
        Phase.DEPLOY: times("deploy_interval", "deploy_timeout"),
    }
