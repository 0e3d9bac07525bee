"""An operator that waits for provisioner tasks: polls while the wait is short, defers when it is long.

Both ways lead through the same method, which reads the store and goes on from wherever the action stands.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowRescheduleException, AirflowSkipException

from site_engine.actions.dead_actions import take_site
from site_engine.actions.finalization import finalize_action
from site_engine.actions.site_steps import DRY_RUN
from site_engine.groups.turns import OVER
from site_engine.kinds import REPORT, kind_of
from site_engine.operations.readiness import StillAsking
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import StillRunning
from site_engine.process import Stopping
from site_engine.provisioners import ProvisionerConnection
from site_store import ActionRecord, SiteStore
from slipway_airflow import connections
from slipway_airflow.operators.action import run_states
from slipway_airflow.operators.base import SiteOperator, step_states, task_states
from slipway_airflow.triggers import NodesReadyTrigger, ProvisionerTaskTrigger

# A task that comes back from the triggerer finds its provisioner task over, or nearly so.
_PATIENCE_AFTER_DEFERRAL = 5.0


@dataclass(frozen=True, slots=True)
class StepWork:
    """What a step that submits has at hand: its action, the store, the provisioner, and what carries operations out."""

    context: Context
    store: SiteStore
    action: ActionRecord
    connection: ProvisionerConnection
    operations: OperationRun


class WaitingOperator(SiteOperator):
    """Base of the operators that submit provisioner tasks and wait for them.

    Parameters
    ----------
    configuration : the design's settings, as ``load_design`` returned them (templated).
    """

    # Not the name of a group: a name is a name, and never a template.
    template_fields = ("configuration",)

    def __init__(self, *, configuration: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.configuration = configuration

    @abstractmethod
    def carry_out(self, work: StepWork) -> Any:
        """Go on from where the store says; return the result, or `StillRunning` or `StillAsking` to defer."""

    def run_step(self, context: Context, store: SiteStore) -> Any:
        """Begin, or begin again after the last try ended, for any reason."""
        return self._run(context, store, resumed=False)

    def resume(self, context: Context, event: dict[str, Any]) -> Any:
        """Come back from the triggerer. The event is only a wake-up call; the store and the provisioner know better."""
        task = event.get("provisioner_task")
        others = event.get("waited_for", "nodes to be ready")
        self.log.info("Back from waiting for %s.", others if task is None else f"provisioner task {task}")
        return self._in_step(context, lambda context, store: self._run(context, store, resumed=True))

    def _run(self, context: Context, store: SiteStore, *, resumed: bool) -> Any:
        # A signal may have come before.
        self._stopping = Stopping(since=store.now(), told=self._stopping.told)
        action = self.action(store, context)
        self._stopping.store, self._stopping.action_id = store, action.id
        if action.dry_run:
            # Its tasks are skipped without a process: a person has cleared this one.
            raise AirflowSkipException(DRY_RUN)
        # The step may have been cleared long after its run had given the site back (rule 23).
        take_site(store, action.id, run_states(context["ti"]), self.log)
        clients = self.clients(store, action)
        connection = clients.connection
        patience = connection.settings.poll_in_worker
        if resumed:
            patience = min(patience, _PATIENCE_AFTER_DEFERRAL)
        with clients.operations(self.log, patience) as operations:
            result = self.carry_out(StepWork(context, store, action, connection, operations))
        if isinstance(result, StillAsking):
            self.log.info("Nodes are not ready yet: they are asked in the triggerer, without a worker.")
            self.defer(trigger=NodesReadyTrigger(result.op, result.timeout), method_name="resume")
        if isinstance(result, StillRunning):
            # An older operation is asked about over the connection of its own action.
            used = store.actions.get(store.operations.get(result.op).action_id).connection
            self.log.info(
                "Provisioner task %s %s; waiting for it in the triggerer, without a worker.",
                result.provisioner_task,
                "is over, and nodes of it are still at work" if result.settling else "goes on",
            )
            self.defer(
                trigger=ProvisionerTaskTrigger(
                    conn_id=used or connection.id,
                    provisioner_task=result.provisioner_task,
                    op=result.op,
                    interval=result.times.interval,
                    timeout=result.times.timeout,
                    queue_timeout=result.times.queue_timeout,
                    give_up=result.give_up.isoformat() if result.give_up else None,
                    settling=result.settling,
                ),
                method_name="resume",
            )
        return result

    def wait_while_paused(self, action: ActionRecord, look_again: timedelta | None) -> None:
        """Have Airflow start this task again later, if its action is paused (`site_engine.groups.turns`).

        Raises `AirflowRescheduleException`: this task is not to begin now; it holds no worker meanwhile.
        """
        if look_again is not None:
            self.log.info("The action is paused since %s: nothing is begun until it goes on.", action.paused)
            raise AirflowRescheduleException(datetime.now(UTC) + look_again)

    def finalize_cleared_task(self, work: StepWork, own_state: str | None = None) -> None:
        """Report again when nobody else will: a person cleared this task alone, and ``report`` has had its turn.

        ``own_state`` is the state in which this task is about to end, where the report asks for it.
        """
        context, store, action = work.context, work.store, work.store.actions.get(work.action.id)
        # A task of a run that was stopped lives on for seconds, and must not overwrite the verdict of the stop.
        if self._stopping.told or action.state.is_end:
            self.log.info("The action has been stopped: its verdict stays as it is.")
            return
        kind = kind_of(action.kind)
        if task_states(context, [REPORT]).get(REPORT) not in OVER:
            return
        found = step_states(context, store, (*kind.steps, *kind.steps_behind))
        if own_state is not None:
            found[self.step_name()] = own_state
        self.log.info("The run's report had been made before this task was cleared; it is made again:")
        report = finalize_action(store, action, found, self.log, connections, self._stopping)
        self.log.info(
            "The action's verdict is now: %s. Clear 'report' too to have the run's state follow.", report.verdict
        )
