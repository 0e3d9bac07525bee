"""Steps on the whole site (verify_site, prepare_site): each is driven to its end, and its task's result decides.

And which steps of an action have no work, and why: their tasks are skipped before they have a process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from design_rendering.design import KeyedDesign
from provisioner_client.protocol import TaskResult
from site_engine.actions.finalization import why_no_stage
from site_engine.errors import StepError
from site_engine.kinds import AFTER_SUCCESS, DEPLOY_GROUP, PLAN_GROUPS, STEP_WARNING, STEPS, kind_of
from site_engine.monitoring.metrics import measure_operation
from site_engine.operations.reconcile import OperationOwner
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import EndKind, OperationEnd, PhaseTimes, StillRunning
from site_engine.plans.differences import node_differences
from site_engine.plans.erasures import nodes_to_remove, why_not_asked
from site_store import ActionRecord, Claim, OperationStatus, SiteStore
from strategy_lib.goals.update import Change
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow

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


DRY_RUN = "dry run: nothing is submitted; the report says what would be"


def steps_without_work(store: SiteStore, action: ActionRecord, design: KeyedDesign) -> dict[str, str]:
    """Return the steps behind `validate_design` that have no work, as far as the design tells, each with the reason."""
    kind = kind_of(action.kind)
    if action.dry_run:
        # Its groups are skipped once they are planned.
        steps = (*kind.steps, *kind.steps_behind)
        return {step: DRY_RUN for step in steps if STEPS[step].submits and step != DEPLOY_GROUP}
    found = {}
    is_begun = bool(store.tasks.of_step(action.id, Phase.RELABEL))
    if kind.relabels and not is_begun and not _may_relabel(design, store.nodes.of_site(action.site)):
        found[Phase.RELABEL.value] = "no node differs by its labels alone"
    if kind.prunes and (why := why_not_asked(action)):
        found[Phase.DESTROY.value] = why
    if AFTER_SUCCESS in kind.steps_behind and (why := why_no_stage(action, design.configuration.after_success)):
        found[AFTER_SUCCESS] = why
    return found


def _may_relabel(design: KeyedDesign, records: Iterable[NodeRow]) -> bool:
    """Whether a node may differ by its labels alone: the store tells, the provisioner need not be asked."""
    deployed = dict.fromkeys(design.digests, NodeCondition.DEPLOYED)
    found = node_differences(design.digests, records, deployed).values()
    return any(each.change is Change.RELABEL for each in found)


def site_steps_without_work(store: SiteStore, action: ActionRecord, groups: int) -> dict[str, str]:
    """Return the steps on the whole site that a plan leaves out, each with the reason; none where one has work.

    They are left out where no node is to be sent, and the newest of each on this site succeeded for this revision. Not
    where a provisioner task was not seen to be over: of one whose provisioner was killed only a newer one proves that.

    Parameters
    ----------
    groups : how many groups have something to submit.
    """
    order = kind_of(action.kind).steps
    behind = order[order.index(PLAN_GROUPS) + 1 :]
    steps = [step for step in behind if step in (Phase.VERIFY_SITE, Phase.PREPARE_SITE)]
    if action.dry_run or groups or nodes_to_remove(store, action) or store.operations.unfinished(action.site):
        return {}
    for step in steps:
        newest = store.operations.newest_of_site(action.site, Phase(step))
        if newest is None or newest.result not in GOOD_RESULTS[Phase(step)]:
            return {}
        other = store.actions.get(newest.action_id)
        if (other.revision, other.connection) != (action.revision, action.connection):
            return {}
    return dict.fromkeys(steps, f"no node is to be sent, and it succeeded for revision {action.revision} before")
