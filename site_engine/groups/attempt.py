"""One attempt of a group (rules 11-18, 23): what it sends next, which nodes it releases first, and its verdict.

`strategy_lib.Deployment` decides, from what the store knows; `operations.resume` carries it out. `turns` says which
group of a run may begin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from provisioner_client.protocol import ListedNode
from site_engine import log_messages
from site_engine.groups.approvals import refusal
from site_engine.groups.stored_groups import StoredGroup
from site_engine.groups.turns import why_blocked
from site_engine.kinds import STEP_WARNING
from site_engine.monitoring.metrics import measure_abandoned, measure_group
from site_engine.operations.readiness import EVERY
from site_engine.operations.reconcile import OperationOwner, list_nodes
from site_engine.operations.resume import NextOperation
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes
from site_engine.plans.differences import node_differences
from site_engine.plans.erasures import deployed_by_failed, nodes_to_keep, release_of
from site_engine.plans.planning import judge_deployed
from site_store import (
    ActionRecord,
    ApprovalAnswer,
    ApprovalRecord,
    GroupRecord,
    GroupStanding,
    GroupTurn,
    SiteStore,
    StoreError,
)
from strategy_lib.deployment import OthersAtWork
from strategy_lib.groups.group_run import Rounds
from strategy_lib.node import NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import NEEDS_REDEPLOY
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step
from strategy_lib.strategy import ApprovalMoment
from strategy_lib.verdict import GroupView

_LOOK_AT_OTHERS = 2.0
"""Seconds between two looks at what other groups have in hand."""
_NOT_RELEASED = "not released, and so not prepared: "


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Which group of which action is to be driven, and how.

    ``attempt_key`` tells a retry by Airflow (same key) from a person's clear (another key), rule 23.
    ``release_times`` are those of releasing nodes before they are prepared. ``redo_done`` also submits nodes that are
    deployed by now; ``ignore_older_tasks`` submits nodes although an older provisioner task still holds them;
    ``below_criteria`` redeploys nodes of a critical group although its criteria leave no room for that. ``kind`` is
    that of the action. ``may_begin`` is given where groups run side by side: it says whether this one may take a place
    (rule 8). ``takes_over`` says whether it goes on with an attempt of another key, or begins another one after it.
    """

    action_id: str
    site: str
    group: str
    attempt_key: str
    design_ref: str
    times: Mapping[Phase, PhaseTimes]
    release_times: PhaseTimes
    redo_done: bool = False
    ignore_older_tasks: bool = False
    below_criteria: bool = False
    kind: str = "deploy_site"
    may_begin: Callable[[Sequence[GroupTurn]], bool] | None = None
    takes_over: bool = True


@dataclass(frozen=True, slots=True)
class StillBeside:
    """Other groups are at work on nodes of this one longer than this process should wait: defer, and come back.

    ``ops`` are the operations that have these nodes in hand.
    """

    ops: tuple[int, ...]


class GroupSubject:
    """One attempt of a group, as `SubjectDriver` drives it."""

    def __init__(self, operations: OperationRun, request: GroupRequest) -> None:
        self.request = request
        self.times_of_others = request.times[Phase.PREPARE]
        self._operations = operations
        self._store = operations.store
        self._log = operations.log
        self._is_beside = request.may_begin is not None
        self.record = self._read()

    @property
    def owner(self) -> OperationOwner:
        """The group's present attempt."""
        return OperationOwner.of_group(self.record, self.request.site)

    @property
    def since(self) -> datetime:
        """When the attempt began."""
        return self.record.started or self._operations.clock.now()

    def unsettled_nodes(self) -> Collection[str]:
        """Return the group's nodes, unless its verdict stays."""
        return () if is_final(self.record, self.request.attempt_key) else self.record.nodes

    def open(self) -> None:
        """Open the attempt; a group that a person has cleared begins another (rule 23).

        Raises `PlaceTaken`: groups run side by side, and it may not begin now; `StoreError`: somebody else has it.
        """
        request = self.request
        self.record = record = self._store.groups.open_attempt(
            request.action_id, request.group, request.attempt_key, request.may_begin, takes_over=request.takes_over
        )
        if record.is_judged:
            self._log.info("Group %s already has its verdict: %s. Nothing is submitted.", record.name, record.state)
            return
        self._log.info(log_messages.opening(record))
        if record.definition.depends_on:
            self._log.info("Depends on: %s.", ", ".join(record.definition.depends_on))

    def next(self) -> NextOperation | GroupRecord | ApprovalRecord | StillBeside:
        """Return what the deployment says is due; with nothing due, store the verdict and return the group.

        An approval that the group asks for, and that nobody has given or refused yet, is returned as it was asked.
        Where other groups are at work on its nodes, it waits for them here, and returns `StillBeside` in the end.

        Raises `StoreError`: another attempt has begun meanwhile: it is not this process that goes on (rule 23).
        """
        record = self._read()
        if record.attempt != self.record.attempt:
            raise StoreError(
                f"group {record.name} of action {record.action_id}: attempt {self.record.attempt} is over, attempt "
                f"{record.attempt} has begun; nothing is sent"
            )
        self.record = record
        if record.is_judged:
            return record
        # Built anew each time: the store may know more than this process (late results, superseded nodes).
        # Of one moment: between two reads another process of this attempt may record what came of an operation.
        with self._store.at_one_moment() as moment:
            stored = self._stored(moment)
            deployment = stored.deployment()
        try:
            due = deployment.next()
        except OthersAtWork as others:
            return self._wait_for_others(others, stored.others) or self.next()
        view = deployment.group(record.name)
        gate = self._gate(due, view)
        if gate is not None and gate.answer is None:
            return gate
        if gate is not None and gate.answer is not ApprovalAnswer.APPROVED:
            return self._refused(view, gate)
        self._keep_back(view)
        if isinstance(due, Finished):
            return self._finish(view)
        if view.criteria and view.criteria != record.criteria:
            self._note_criteria(view)
        number = deployment.round_of(due)
        if due.phase is Phase.RELEASE:
            return NextOperation(due.phase, due.nodes, self.request.release_times, note=_NOT_RELEASED, number=number)
        if due.phase is Phase.READY:
            return NextOperation(due.phase, due.nodes, self._ready_times, number=number)
        again = [name for name in due.nodes if deployment.state_of(name) is NodeState.FAILURE]
        if again:
            self._log.info("Tried again in %s: %s.", due.phase, log_messages.names(again))
        return NextOperation(due.phase, due.nodes, self.request.times[due.phase], number=number, again=again)

    def prepare(self, due: NextOperation, free: Sequence[str], seen: Mapping[str, NodeCondition]) -> NextOperation:
        """Return the due operation with the nodes that can be sent; or their release, which comes before a prepare.

        For a deploy right behind the prepare the list counts that has shown the end of that.
        """
        if not free:
            return replace(due, nodes=())
        if due.phase is Phase.READY:
            return due
        is_known = seen.keys() >= set(free) and NodeCondition.LISTED_TWICE not in seen.values()
        if due.phase is Phase.DEPLOY and is_known:
            found = {name: seen[name] for name in free}
            return replace(due, nodes=self._without_deployed(due.phase, free, found), found=found)
        request = self.request
        listed = list_nodes(self._store, self._operations.provisioner, request.action_id, request.site, free)
        found = {name: node.condition for name, node in listed.items()}
        if due.phase is Phase.PREPARE:
            rounds = Rounds(self._stored(self._store).rounds())
            # The claim says of these why they are left out.
            unused = self._store.user_states.left_out(request.site, request.kind)
            used = {name: node for name, node in listed.items() if name not in unused}
            nodes = self._to_release(used, rounds, due.again)
            if nodes:
                return NextOperation(
                    Phase.RELEASE,
                    nodes,
                    request.release_times,
                    found,
                    note=_NOT_RELEASED,
                    number=rounds.next_number(Phase.RELEASE),
                    again=due.again,
                )
        return replace(due, nodes=self._without_deployed(due.phase, free, found), found=found)

    def _wait_for_others(self, others: OthersAtWork, at_work: tuple[int, ...]) -> StillBeside | None:
        """Wait until other groups know what became of nodes of this one; None: they do by now (rules 11 and 15).

        `at_work` are the operations of these groups that have the nodes in hand.

        Raises `TaskStopped`: this process was told to stop.
        """
        operations, log = self._operations, self._log
        log.info("Other groups are at work on %s: waiting for what becomes of them.", log_messages.names(others.nodes))
        began = operations.clock.now()
        while True:
            ops = tuple(op for op in at_work if self._store.operations.get(op).ended is None)
            if len(ops) < len(at_work):
                return None
            if operations.clock.now() - began >= timedelta(seconds=operations.patience):
                return StillBeside(ops)
            operations.stopping.require_not_told()
            operations.clock.sleep(_LOOK_AT_OTHERS)

    def _gate(self, due: Step | Finished, view: GroupView) -> ApprovalRecord | None:
        """Return the approval that stands before what is next, with its answer if there is one; None without any.

        A group with nothing to submit asks nobody, nor does one that fails all the same.
        """
        record, approval = self.record, self.record.definition.approval
        if approval is None:
            return None
        begun = _has_operation(self._store, self.owner)
        if approval.moment is ApprovalMoment.BEFORE:
            asks = not isinstance(due, Finished) and not begun
        else:
            asks = isinstance(due, Finished) and begun and view.state is GroupState.SUCCESS
        if not asks:
            return None
        return self._store.approvals.ask(
            record.action_id,
            record.name,
            record.attempt,
            approval.moment,
            approval.question(record.name),
            approval.approvers,
            approval.timeout,
        )

    def _refused(self, view: GroupView, gate: ApprovalRecord) -> GroupRecord:
        """Fail the group, and say in the report who refused, and why."""
        said = f"Group {self.record.name} was not approved: {refusal([gate])}"
        self._log.error("%s", said)
        request = self.request
        self._store.events.add(request.site, STEP_WARNING, said, action_id=request.action_id, group=request.group)
        return self._finish(replace(view, state=GroupState.FAILURE, reason=Reason.APPROVAL))

    @property
    def _ready_times(self) -> PhaseTimes:
        ready = self.record.definition.ready
        return PhaseTimes(EVERY, 0.0 if ready is None else float(ready.timeout), 0.0)

    def _read(self) -> GroupRecord:
        return self._store.groups.get(self.request.action_id, self.request.group)

    def _stored(self, store: SiteStore) -> StoredGroup:
        below = self.request.below_criteria
        return StoredGroup(store, self.record, self.owner, is_beside=self._is_beside, below_criteria=below)

    def _keep_back(self, view: GroupView) -> None:
        """Keep why nodes are not sent: for others that they wait for, or because no more may be away (rule 39)."""
        if view.waiting is not None:
            self._store.waits.wait(self.record.action_id, self.record.name, view.waiting)
        if view.held:
            self._store.waits.hold(self.record.action_id, view.held)
        if view.kept:
            why = {
                name: f"design changed, {NEEDS_REDEPLOY}; stays as it is: {said}" for name, said in view.kept.items()
            }
            self._store.tasks.settle_deployed(self.record.action_id, Phase.PREPARE, (), why)
            for line in log_messages.withheld(why):
                self._log.warning("%s", line)

    def _note_criteria(self, view: GroupView) -> None:
        """Keep what was judged after prepare: the nodes move on, and a report after a crash must say the same."""
        for result in view.criteria:
            log_messages.judged(result).write(self._log)
        record = self.record
        self._store.groups.save_criteria(record.action_id, record.name, record.attempt, view.criteria)

    def _finish(self, view: GroupView) -> GroupRecord:
        record = self.record
        fresh = {result.phase for result in view.criteria}
        criteria = [*(result for result in record.criteria if result.phase not in fresh), *view.criteria]
        for result in view.criteria:
            log_messages.judged(result).write(self._log)
        log_messages.verdict(view).write(self._log)
        verdict = (view.state, view.reason, criteria, asdict(view.counts))
        blocked = why_blocked(self._store, record) if view.reason is Reason.DEPENDENCY else None
        self._store.groups.finish(record.action_id, record.name, record.attempt, *verdict, blocked=blocked)
        judged = self._read()
        measure_group(self.request.site, judged)
        return judged

    def _kept(self) -> frozenset[str]:
        """Return the nodes that no group of the action releases, as one of theirs wants them as they are (rule 11)."""
        groups = self._store.groups.of_action(self.record.action_id)
        return nodes_to_keep((one.definition, one.nodes) for one in groups)

    def _to_release(self, listed: Mapping[str, ListedNode], rounds: Rounds, again: Collection[str]) -> Sequence[str]:
        """Return the nodes that are released now, once before each prepare; those that must stay fail."""
        record = self.record
        considered = {name: node for name, node in listed.items() if not rounds.was_released(name)}
        plan = release_of(self._store, self.request.site, self._kept, considered)
        if plan.refused:
            for name, why in plan.refused.items():
                self._log.warning("%s is not submitted: %s.", name, why)
            self._store.tasks.fail_unsent(
                record.action_id, self.request.site, record.name, record.attempt, plan.refused
            )
        release = list(plan.release)
        if again and (again := frozenset(again).difference(self._kept())):
            operations = self._store.operations.of_action(record.action_id, record.name)
            mine = [operation for operation in operations if self.owner.owns(operation)]
            release = sorted({*release, *deployed_by_failed(self._store, mine, again, considered)})
        for status in sorted({listed[name].status_name for name in release}):
            those = [name for name in release if listed[name].status_name == status]
            self._log.info(
                "The node list says %s, and so they are released first: %s.", status, log_messages.names(those)
            )
        return release

    def _without_deployed(
        self, phase: Phase, nodes: Sequence[str], found: Mapping[str, NodeCondition]
    ) -> Sequence[str]:
        """Return the nodes that can be submitted: without `redo_done` not those that are deployed by now (rule 21)."""
        if self.request.redo_done or NodeCondition.DEPLOYED not in found.values():
            return nodes
        record = self.record
        digests = self._store.tasks.digests(record.action_id, record.name)
        wanted = {name: digests.get(name, "") for name in nodes}
        differences = node_differences(wanted, self._store.nodes.of_site(self.request.site), found)
        deployed = judge_deployed({name: differences[name] for name in wanted})
        if phase is Phase.RELEASE:
            # They are to be redeployed: only what is as wanted by now is left alone.
            phase, deployed = Phase.PREPARE, replace(deployed, withheld={})
        self._store.tasks.settle_deployed(record.action_id, phase, deployed.as_wanted, deployed.withheld)
        if deployed.as_wanted:
            self._log.info("As wanted by now, not submitted: %s.", log_messages.names(deployed.as_wanted))
        for line in log_messages.withheld(deployed.withheld):
            self._log.warning("%s", line)
        return [name for name in nodes if name not in deployed.as_wanted and name not in deployed.withheld]


def submitted(store: SiteStore, action: ActionRecord, group: str) -> bool:
    """Whether the present attempt of a group has begun an operation."""
    return _has_operation(store, OperationOwner.of_group(store.groups.get(action.id, group), action.site))


def _has_operation(store: SiteStore, owner: OperationOwner) -> bool:
    return any(owner.owns(operation) for operation in store.operations.of_action(owner.action_id, owner.group))


def interrupt_group(store: SiteStore, action: ActionRecord, group: str) -> bool:
    """Judge a group whose task ended without a verdict: failure, `interrupted`; False where it has one."""
    if not store.groups.interrupt(action.id, group):
        return False
    judged = store.groups.get(action.id, group)
    measure_abandoned(store.operations.of_action(action.id, group), judged.ended)
    measure_group(action.site, judged)
    return True


def is_final(record: GroupRecord | GroupStanding, attempt_key: str) -> bool:
    """Whether a group's verdict stays: success always, failure unless a person has cleared the task (rule 23)."""
    failed_again = record.state is GroupState.FAILURE and record.attempt_key == attempt_key
    return record.state is GroupState.SUCCESS or failed_again
