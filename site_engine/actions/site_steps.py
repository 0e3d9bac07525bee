"""Drive a step that concerns the whole site (verify_site, prepare_site) to its end. Its task's result decides."""

from __future__ import annotations

from collections.abc import Mapping

from provisioner_client.protocol import TaskResult
from site_engine.errors import StepError
from site_engine.kinds import STEP_WARNING
from site_engine.monitoring.metrics import measure_operation
from site_engine.operations.reconcile import OperationOwner
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import EndKind, OperationEnd, PhaseTimes, StillRunning
from site_store import Claim, OperationStatus, SiteStore
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase

GOOD_RESULTS: Mapping[Phase, tuple[TaskResult, ...]] = {
    Phase.VERIFY_SITE: (TaskResult.SUCCESS,),
    Phase.PREPARE_SITE: (TaskResult.SUCCESS, TaskResult.PARTIAL_SUCCESS),
}
"""With which results a step is proven done. Drydock reports networks in `prepare_site`: in part is a warning."""
_ENDED = (OperationStatus.COMPLETE, OperationStatus.TIMED_OUT)
_NOBODY = Outcome(frozenset(), frozenset(), frozenset())


def is_proven_done(store: SiteStore, action_id: str, phase: Phase) -> bool:
    """Whether the action has carried out this step, in whichever attempt."""
    good = GOOD_RESULTS[phase]
    return any(one.phase is phase and one.result in good for one in store.operations.of_action(action_id))


def run_site_step(
    operations: OperationRun, owner: OperationOwner, phase: Phase, design_ref: str, times: PhaseTimes
) -> StillRunning | None:
    """Go on until the step is done (None), or a long wait is better deferred. One that is stored as ended stays so.

    Parameters
    ----------
    owner : the attempt: another one, when a person cleared the task, does a failed step again.

    Raises `StepError`: the provisioner says so, or did not say anything in time. ``prepare_site`` may succeed in part:
    Drydock reports networks there, and says so although nothing is wrong with the nodes; that is a warning.
    """
    store, log, name = operations.store, operations.log, phase.value
    if is_proven_done(store, owner.action_id, phase):
        # The provisioner may have forgotten it since.
        log.info("%s was proven done before this task started again; the provisioner is not asked.", name)
        return None
    operation = store.operations.begin(
        Claim(owner.action_id, owner.site, None, owner.attempt or 0, phase, (), design_ref)
    )
    if operation.status in _ENDED:
        raise StepError(
            f"{name} ended with {operation.result or operation.status.value} before this task started again "
            f"(provisioner task {operation.provisioner_task or 'none'}): clear the task to repeat the step"
        )
    ended = operations.run(operation, times)
    if isinstance(ended, StillRunning):
        return ended
    store.operations.record_outcome(operation.op, _NOBODY, status=ended.status, result=ended.result)
    measure_operation(store.operations.get(operation.op))
    if ended.task is None or ended.kind is not EndKind.COMPLETE:
        raise StepError(_why(name, ended, times))
    task = ended.task
    for message in task.messages:
        (log.warning if message.error else log.info)("  %s", message.text)
    if task.result is TaskResult.SUCCESS:
        log.info("%s succeeded.", name)
        return None
    errors = [message.text for message in task.messages if message.error]
    said = "; ".join(errors[:5]) or "the provisioner gave no message"
    if task.result in GOOD_RESULTS[phase]:
        log.warning("%s succeeded in part: %s", name, said)
        store.events.add(owner.site, STEP_WARNING, f"{name} succeeded in part: {said}", action_id=owner.action_id)
        return None
    raise StepError(f"{name} ended with {task.result}: {said}")


def _why(name: str, ended: OperationEnd, times: PhaseTimes) -> str:
    if ended.kind is EndKind.TIMED_OUT:
        return f"{name} did not end within {times.timeout:g} s"
    if ended.kind is EndKind.REFUSED:
        return f"{name}: {ended.refusal}"
    if ended.kind is EndKind.DEAD:
        return f"{name}: the provisioner was killed under the task, which will never end; clear the step to repeat it"
    return f"{name}: the provisioner no longer knows the task"
