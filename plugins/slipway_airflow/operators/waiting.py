"""An operator that waits for provisioner tasks: polls while the wait is short, defers when it is long.

Both ways lead through the same method, which reads the store and goes on from wherever the action stands.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from slipway_airflow.clock import SystemClock
from slipway_airflow.hook import DrydockHook
from slipway_airflow.operation_run import OperationRun, StillRunning
from slipway_airflow.operators.base import SiteOperator
from slipway_airflow.triggers import ProvisionerTaskTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context

    from site_store import SiteStore

# A task that comes back from the triggerer finds its provisioner task over, or nearly so.
_PATIENCE_AFTER_DEFERRAL = 5.0


class WaitingOperator(SiteOperator):
    """Base of the operators that submit provisioner tasks and wait for them."""

    @abstractmethod
    def go_on(self, context: Context, store: SiteStore, hook: DrydockHook, operations: OperationRun) -> Any:
        """Go on from where the store says; return the result, or :class:`StillRunning` to defer."""

    def execute(self, context: Context) -> Any:
        """Begin, or begin again after whatever ended the last try."""
        return self._run(context, resumed=False)

    def resume(self, context: Context, event: dict[str, Any]) -> Any:
        """Come back from the triggerer. The event is only a wake-up call; the store and the provisioner know better."""
        self.log.info("Back from waiting for provisioner task %s.", event.get("provisioner_task"))
        return self._run(context, resumed=True)

    def _run(self, context: Context, *, resumed: bool) -> Any:
        with self.telling(context) as store:
            hook = DrydockHook.for_site(self.action(store, context).site)
            patience = hook.settings.poll_in_worker
            if resumed:
                patience = min(patience, _PATIENCE_AFTER_DEFERRAL)
            provisioner = hook.get_conn()
            try:
                operations = OperationRun(store, provisioner, SystemClock(), patience, self.log)
                result = self.go_on(context, store, hook, operations)
            finally:
                provisioner.close()
        if isinstance(result, StillRunning):
            self.log.info(
                "Provisioner task %s goes on; waiting for it in the triggerer, without a worker.",
                result.provisioner_task,
            )
            self.defer(
                trigger=ProvisionerTaskTrigger(
                    conn_id=hook.conn_id,
                    provisioner_task=result.provisioner_task,
                    op=result.op,
                    interval=result.times.interval,
                    timeout=result.times.timeout,
                    queue_timeout=result.times.queue_timeout,
                    give_up=result.give_up.isoformat() if result.give_up else None,
                ),
                method_name="resume",
            )
        return result

    def on_kill(self) -> None:
        """Say what a kill does not do: Drydock has no cancel, so what was submitted goes on there."""
        self.log.warning("Killed. What was submitted goes on at the provisioner, and is found again by its reference.")
