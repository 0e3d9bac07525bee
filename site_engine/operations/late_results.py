"""Results that came after their timeout (rule 14): recorded against the node, without touching any verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from site_engine.log_messages import names
from site_engine.operations.polling import PhaseTimes
from site_engine.operations.proof import note_conditions, outcome_of
from site_engine.operations.run import Ended, OperationRun
from site_store import OperationStatus

if TYPE_CHECKING:
    from site_engine.task_log import TaskLog
    from site_store import Operation, SiteStore

_ONE_LOOK = PhaseTimes(interval=1.0, timeout=0.0, queue_timeout=0.0)


def record_late_result(store: SiteStore, operation: Operation, ended: Ended, log: TaskLog) -> None:
    """Write down what an operation that nobody waits for any more has come to; its provisioner task is over."""
    if operation.nodes:
        outcome = outcome_of(store, operation, ended.evidence)
        known = store.record_late(operation.op, outcome, f"seen late: provisioner task is {ended.how}")
        note_conditions(store, operation, ended.evidence)
        log.info("Provisioner task %s is over after all; now known: %s.", operation.provisioner_task, names(known))
    else:
        store.finish_operation(operation.op, OperationStatus.COMPLETE, ended.how)


def look_for_late_results(store: SiteStore, operations: OperationRun, action_id: str, log: TaskLog) -> None:
    """Look once at every provisioner task of an action that was not seen to be over, and record those that are.

    Raises
    ------
    provisioner_client.errors.ProvisionerError
        The provisioner could not be asked.
    """
    site = store.action(action_id).site
    for operation in store.unfinished_operations(site):
        if operation.action_id == action_id:
            ended = operations.await_older(operation, _ONE_LOOK, operations.clock.now())
            if isinstance(ended, Ended):
                record_late_result(store, operation, ended, log)
