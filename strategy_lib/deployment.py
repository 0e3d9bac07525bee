"""The deployment state machine (rules 8-19): events go in, the next step comes out. It carries out nothing itself.

Each group's members are counted when the group is judged, which is twice, so that a whole run costs
O(nodes x overlap + edges). It can be rebuilt from a store at any time: that is how a crash is survived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from strategy_lib.criteria import CriterionResult, evaluate
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason, Verdict
from strategy_lib.strategy import Group

__all__ = [
    "Deploy",
    "Deployment",
    "Finished",
    "GroupCounts",
    "GroupDone",
    "GroupState",
    "GroupView",
    "Phase",
    "Prepare",
    "Reason",
    "Step",
    "Verdict",
    "counts_of",
    "nothing_to_deploy",
]


@dataclass(frozen=True, slots=True)
class Prepare:
    """Send these nodes (sorted) for prepare, on behalf of this group."""

    group: str
    nodes: tuple[str, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the nodes are sent for."""
        return Phase.PREPARE


@dataclass(frozen=True, slots=True)
class Deploy:
    """Send these nodes (sorted) for deploy, on behalf of this group."""

    group: str
    nodes: tuple[str, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the nodes are sent for."""
        return Phase.DEPLOY


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to do: every group has a verdict."""


Step = Prepare | Deploy


@dataclass(frozen=True, slots=True)
class GroupDone:
    """The verdict of a group, with every criterion that was not met."""

    group: str
    state: GroupState
    reason: Reason | None
    failed_criteria: tuple[CriterionResult, ...]


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How many nodes of a group are where, at this moment.

    `prepared` counts those whose prepare succeeded, as the criteria do (rule 15), also when their deploy then failed.
    """

    total: int
    prepared: int
    succeeded: int
    failed: int
    unknown: int
    not_started: int


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as it stands: state, reason, what was judged, and its nodes."""

    name: str
    critical: bool
    state: GroupState
    reason: Reason | None
    criteria: tuple[CriterionResult, ...]
    nodes: tuple[str, ...]
    counts: GroupCounts

    @property
    def failed_criteria(self) -> tuple[CriterionResult, ...]:
        """The criteria that were not met."""
        return tuple(result for result in self.criteria if not result.met)


_IN_FLIGHT = {Phase.PREPARE: NodeState.PREPARING, Phase.DEPLOY: NodeState.DEPLOYING}
_ELIGIBLE = {Phase.PREPARE: NodeState.NOT_STARTED, Phase.DEPLOY: NodeState.PREPARED}
_DONE = {Phase.PREPARE: NodeState.PREPARED, Phase.DEPLOY: NodeState.SUCCESS}
_SUCCESSFUL = {
    Phase.PREPARE: frozenset({NodeState.PREPARED, NodeState.DEPLOYING, NodeState.SUCCESS}),
    Phase.DEPLOY: frozenset({NodeState.SUCCESS}),
}
_JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)


@dataclass(slots=True)
class _Run:
    """What has happened to one group."""

    group: Group
    nodes: tuple[str, ...]
    state: GroupState = GroupState.PENDING
    reason: Reason | None = None
    criteria: tuple[CriterionResult, ...] = ()
    over: set[Phase] = field(default_factory=set)


def counts_of(states: Iterable[NodeState]) -> GroupCounts:
    """Return how many of these nodes, given by their states, are where (rule 20).

    Of a node that failed its state does not say whether it had been prepared: here it counts as if it had not.
    """
    tally = Counter(states)
    return GroupCounts(
        total=tally.total(),
        prepared=sum(tally[state] for state in _SUCCESSFUL[Phase.PREPARE]),
        succeeded=tally[NodeState.SUCCESS],
        failed=tally[NodeState.FAILURE],
        unknown=tally[NodeState.UNKNOWN],
        not_started=tally[NodeState.NOT_STARTED],
    )


def nothing_to_deploy(group_sizes: Sequence[int]) -> str:
    """Say why groups of these numbers of nodes have nothing to deploy, which is never a success (rule 19).

    Returns
    -------
    str
        A clause without an end, and "" where there is something. An empty group beside others is no reason.
    """
    if not group_sizes:
        return "there are no groups"
    return "" if any(group_sizes) else "no group has a node"


class Deployment:
    """A deployment of groups: ask `next()`, carry the step out, `record()` what came of it, and ask again.

    One group alone, as an Airflow task drives it, is `Deployment([group], {group.name: members}, states,
    verdicts_of_its_dependencies, phases_done)`. After a crash the same call resumes it: nodes that are `preparing`
    or `deploying` have a provisioner task under way (`in_flight`), and `next()` returns that step again, with these
    nodes only, for the caller to re-join. A phase that is over, whether or not nodes were sent, is named in
    `phases_done`; its criteria are judged from the nodes as they are.

    Parameters
    ----------
    groups
        In processing order (`order_groups`).
    members
        Names of each group's nodes.
    states
        States of nodes at the start; a node that is missing is `not_started`. Only nodes whose provisioner task
        belongs to the first group without a verdict may be `preparing` or `deploying`: any such node of that group is
        taken to be under way for it. A node that another group has left behind is `unknown`.
    verdicts
        Groups that have been judged. May name groups outside `groups`, for the dependencies.
    phases_done
        Phases that are already over for the first group without a verdict.
    withheld
        Nodes that are never sent, whatever their state (rule 21); in the criteria they count as they are.

    Raises
    ------
    ValueError
        When a dependency is neither judged nor earlier in `groups`.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        members: Mapping[str, Collection[str]],
        states: Mapping[str, NodeState] | None = None,
        verdicts: Mapping[str, GroupState] | None = None,
        phases_done: Collection[Phase] = (),
        withheld: Collection[str] = (),
    ) -> None:
        self._withheld = frozenset(withheld)
        self._states: dict[str, NodeState] = dict(states or {})
        self._verdicts = {name: state for name, state in (verdicts or {}).items() if state in _JUDGED}
        self._unknown_since: dict[str, Phase] = {}
        self._lost_in_deploy: set[str] = set()
        self._runs: dict[str, _Run] = {}
        self._done: list[GroupDone] = []
        self._pending: Step | None = None
        for group in groups:
            for other in group.depends_on:
                if other not in self._runs and other not in self._verdicts:
                    raise ValueError(f"group {group.name!r} stands before {other!r}, which it depends on")
            run = _Run(group, tuple(sorted(set(members.get(group.name, ())))))
            run.state = self._verdicts.get(group.name, GroupState.PENDING)
            self._runs[group.name] = run
        self._waiting = [run for run in reversed(self._runs.values()) if run.state is GroupState.PENDING]
        if self._waiting:
            self._waiting[-1].over.update(phases_done)

    def next(self) -> Step | Finished:
        """Return the next step; the same one until it has been recorded.

        Groups are judged on the way (rules 9, 16, 18): a step without nodes is never returned.
        """
        while self._pending is None and self._waiting:
            self._advance(self._waiting[-1])
        return self._pending if self._pending is not None else Finished()

    def start(self, step: Step) -> None:
        """Note that the nodes of the step have been sent: they are `preparing` or `deploying`. Optional."""
        self._require(step)
        for name in step.nodes:
            self._states[name] = _IN_FLIGHT[step.phase]

    def record(self, step: Step, succeeded: Collection[str], failed: Collection[str]) -> frozenset[str]:
        """Record what came of a step (rules 13 and 14).

        Parameters
        ----------
        step
            What `next()` returned.
        succeeded, failed
            Names of nodes. A name in both has failed; a node that was sent and is in neither is `unknown`.

        Returns
        -------
        frozenset of str
            Names that were not sent. They are ignored.

        Raises
        ------
        ValueError
            When this is not the step that waits for its result.
        """
        self._require(step)
        good, bad = set(succeeded), set(failed)
        phase, states = step.phase, self._states
        done = _DONE[phase]
        for name in step.nodes:
            if name in bad:
                states[name] = NodeState.FAILURE
            elif name in good:
                states[name] = done
            else:
                states[name] = NodeState.UNKNOWN
                self._unknown_since[name] = phase
        if phase is Phase.DEPLOY:
            self._lost_in_deploy.update(name for name in step.nodes if states[name] is not done)
        self._pending = None
        self._runs[step.group].over.add(phase)
        return frozenset((good | bad).difference(step.nodes))

    def record_late(self, node: str, phase: Phase, succeeded: bool) -> bool:
        """Record a result that came after its timeout (rule 14): `unknown` becomes the true state.

        Verdicts that have been given stay. Returns False, and changes nothing, when the node is not unknown or
        became so in another phase.
        """
        if self.state_of(node) is not NodeState.UNKNOWN or self._unknown_since.get(node, phase) is not phase:
            return False
        self._unknown_since.pop(node, None)
        self._states[node] = _DONE[phase] if succeeded else NodeState.FAILURE
        if succeeded:
            self._lost_in_deploy.discard(node)
        return True

    def in_flight(self, phase: Phase) -> tuple[str, ...]:
        """Return the nodes (sorted) of the present group whose provisioner task of this phase is under way."""
        if not self._waiting:
            return ()
        return self._in_state(self._waiting[-1], _IN_FLIGHT[phase])

    def state_of(self, node: str) -> NodeState:
        """Return the state of a node (rule 10)."""
        return self._states.get(node, NodeState.NOT_STARTED)

    def group(self, name: str) -> GroupView:
        """Return a group as it stands; its counts take time linear in its nodes."""
        run = self._runs[name]
        counts = counts_of(self._states_of(run.nodes))
        if self._lost_in_deploy:
            counts = replace(counts, prepared=counts.prepared + len(self._lost_in_deploy.intersection(run.nodes)))
        return GroupView(name, run.group.critical, run.state, run.reason, run.criteria, run.nodes, counts)

    @property
    def groups(self) -> tuple[GroupView, ...]:
        """All groups in processing order."""
        return tuple(self.group(name) for name in self._runs)

    @property
    def done(self) -> tuple[GroupDone, ...]:
        """The verdicts given so far by this object, in the order they were given."""
        return tuple(self._done)

    @property
    def critical_failures(self) -> tuple[str, ...]:
        """Names of the critical groups that have failed, for whatever reason (rule 19)."""
        return tuple(name for name, run in self._runs.items() if run.group.critical and run.state is GroupState.FAILURE)

    @property
    def verdict(self) -> Verdict | None:
        """Failure as soon as a critical group has failed; success when all groups are judged; else None (rule 19).

        Where there is no group, or no group has a node, it is a failure.
        """
        if self.critical_failures or nothing_to_deploy([len(run.nodes) for run in self._runs.values()]):
            return Verdict.FAILURE
        return None if self._waiting else Verdict.SUCCESS

    def _require(self, step: Step) -> None:
        if step != self._pending:
            raise ValueError(f"{step!r} is not the step that waits for a result, which is {self._pending!r}")

    def _advance(self, run: _Run) -> None:
        """Take the present group to its next step or to its verdict."""
        if any(self._verdict_of(other) is not GroupState.SUCCESS for other in run.group.depends_on):
            self._close(run, GroupState.FAILURE, Reason.DEPENDENCY)
            return
        run.state = GroupState.RUNNING
        if Phase.PREPARE not in run.over:
            self._open(run, Phase.PREPARE)
            return
        if Phase.DEPLOY not in run.over:
            resumed = self._in_state(run, NodeState.DEPLOYING)
            # A deploy under way proves that prepare was judged and met; by now its nodes may have moved on.
            if not resumed and not self._meets(run, Phase.PREPARE):
                self._close(run, GroupState.FAILURE, Reason.PREPARE_CRITERIA)
                return
            self._open(run, Phase.DEPLOY)
            return
        if self._meets(run, Phase.DEPLOY):
            self._close(run, GroupState.SUCCESS, None)
        else:
            self._close(run, GroupState.FAILURE, Reason.DEPLOY_CRITERIA)

    def _open(self, run: _Run, phase: Phase) -> None:
        """Issue the step of a phase; where there is nothing to send, the phase is over at once (rule 18)."""
        eligible = (name for name in self._in_state(run, _ELIGIBLE[phase]) if name not in self._withheld)
        nodes = self._in_state(run, _IN_FLIGHT[phase]) or tuple(eligible)
        if not nodes:
            run.over.add(phase)
        elif phase is Phase.PREPARE:
            self._pending = Prepare(run.group.name, nodes)
        else:
            self._pending = Deploy(run.group.name, nodes)

    def _meets(self, run: _Run, phase: Phase) -> bool:
        """Judge the criteria of a group after a phase, over all its nodes (rule 15), and keep the results."""
        if run.group.criteria is None:
            return True
        tally = Counter(self._states_of(run.nodes))
        successful = sum(tally[state] for state in _SUCCESSFUL[phase])
        results = evaluate(run.group.criteria, phase, len(run.nodes), successful)
        run.criteria += results
        return all(result.met for result in results)

    def _close(self, run: _Run, state: GroupState, reason: Reason | None) -> None:
        run.state, run.reason = state, reason
        self._waiting.pop()
        failed = tuple(result for result in run.criteria if not result.met)
        self._done.append(GroupDone(run.group.name, state, reason, failed))

    def _verdict_of(self, name: str) -> GroupState:
        run = self._runs.get(name)
        return run.state if run is not None else self._verdicts[name]

    def _in_state(self, run: _Run, state: NodeState) -> tuple[str, ...]:
        get = self._states.get
        if state is NodeState.NOT_STARTED:
            return tuple(name for name in run.nodes if get(name, state) is state)
        return tuple(name for name in run.nodes if get(name) is state)

    def _states_of(self, nodes: Iterable[str]) -> Iterable[NodeState]:
        return map(self._states.get, nodes, repeat(NodeState.NOT_STARTED))
