"""A group's deployment as the store knows it: its nodes, operations and plan, and what other groups have in hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from site_engine.operations.reconcile import OperationOwner
from site_store import GroupRecord, Operation, Readiness, SiteStore
from strategy_lib.deployment import Deployment
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.groups.group_run import Known, Round
from strategy_lib.node import NodeState
from strategy_lib.phase import Phase

_NOT_BACK = (NodeState.FAILURE, NodeState.UNKNOWN)


@dataclass
class StoredGroup:
    """Reads what is known of one attempt of a group.

    Parameters
    ----------
    owner : the attempt.
    is_beside : groups run side by side (rule 8).
    below_criteria : a redeploy may take a critical group below its criteria.

    Attributes
    ----------
    others : the operations of other groups that have nodes of this one in hand, once `deployment` has looked.
    """

    store: SiteStore
    record: GroupRecord
    owner: OperationOwner
    is_beside: bool
    below_criteria: bool
    others: tuple[int, ...] = ()

    @cached_property
    def _operations(self) -> Sequence[Operation]:
        """The operations of all attempts of the group, in order."""
        return self.store.operations.of_action(self.record.action_id, self.record.name)

    def deployment(self) -> Deployment:
        """Build it anew from what is known now."""
        record = self.record
        plan = self._plan()
        elsewhere, taken = self._lost_elsewhere(plan)
        attempt = (record.action_id, record.name, record.attempt)
        beside = None
        if self.is_beside:
            beside = self.store.tasks.beside_others(*attempt)
            self.others = tuple(sorted(beside.ops))
        own = self.store.tasks.attempt_states(*attempt) if beside is None else beside.states
        rounds = self.rounds()
        named = plan.named | self._lost_canaries(own, rounds)
        waited_for = self.store.waits.facts(record.action_id, named) if named else {}
        states = {name: fact.state for name, fact in waited_for.items()}
        readiness = Readiness()
        if record.definition.ready is not None:
            readiness = self.store.tasks.readiness(record.action_id, record.name)
        return Deployment(
            [record.definition],
            {record.name: record.nodes},
            {**states, **own},
            self.store.groups.states(record.action_id, record.definition.depends_on),
            Known(
                withheld=frozenset(self.store.tasks.withheld(record.action_id, record.name)),
                errors={name: fact.error for name, fact in waited_for.items() if fact.error is not None},
                held={name: fact.held for name, fact in waited_for.items() if fact.held is not None},
                below_criteria=self.below_criteria,
                elsewhere=elsewhere,
                taken=taken,
                awaited=set(readiness.awaited),
                not_ready=set(readiness.not_ready),
                beside={} if beside is None else beside.phases,
                sent_before=self._sent_before(),
            ),
            plans={record.name: plan},
            rounds=rounds,
        )

    def _lost_canaries(self, states: Mapping[str, NodeState], rounds: Sequence[Round]) -> frozenset[str]:
        """Return nodes of a group with canaries that it has sent, and that failed or are unknown: it says why."""
        if self.record.definition.canary is None:
            return frozenset()
        sent = {name for each in rounds for name in each.nodes}
        return frozenset(name for name in sent if states.get(name) in _NOT_BACK)

    def _sent_before(self) -> frozenset[str]:
        """Return the nodes that earlier attempts of a group with canaries have submitted (rule 59)."""
        if self.record.definition.canary is None or self.record.attempt == 1:
            return frozenset()
        return frozenset(name for one in self._operations if not self.owner.owns(one) for name in one.nodes)

    def _plan(self) -> GroupPlan:
        """Return the plan of the group's nodes; what an earlier attempt has taken away serves no more."""
        plan = self.record.plan
        if not plan.redeploy:
            return plan
        gone = {
            name
            for operation in self._operations
            if operation.phase is Phase.RELEASE and not self.owner.owns(operation)
            for name in operation.nodes
        }
        bounds = tuple(
            replace(each, nodes=each.nodes - gone, serving=each.serving - len(each.nodes & gone))
            for each in plan.bounds
        )
        return replace(plan, redeploy=plan.redeploy - gone, serving=plan.serving - gone, bounds=bounds)

    def _lost_elsewhere(self, plan: GroupPlan) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
        """Return the nodes of other groups with bounds that are not back, and of all nodes those that were released."""
        if not plan.bounds:
            return {}, frozenset()
        action_id, own = self.record.action_id, frozenset(self.record.nodes)
        operations = self.store.operations.of_action(action_id)
        taken = frozenset(name for one in operations if one.phase is Phase.RELEASE for name in one.nodes)
        lost = {}
        for bounds in plan.bounds:
            states = self.store.tasks.node_states(action_id, bounds.group)
            lost[bounds.group] = frozenset(
                name
                for name, state in states.items()
                if name not in own and (state in _NOT_BACK or (name in taken and state is not NodeState.SUCCESS))
            )
        return lost, taken

    def rounds(self) -> list[Round]:
        """Return the operations of this attempt, in order."""
        return [
            Round(operation.phase, operation.nodes, operation.ended is not None, operation.left_out)
            for operation in self._operations
            if self.owner.owns(operation)
        ]
