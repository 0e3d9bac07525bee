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
from strategy_lib.verdict import SUCCESSFUL, GroupCounts, counts_of, verdict_on


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
_JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)


@dataclass(slots=True)
class GroupRun:
    """What has happened to one group."""

    group: Group
    nodes: tuple[str, ...]
    state: GroupState = GroupState.PENDING
    reason: Reason | None = None
    criteria: tuple[CriterionResult, ...] = ()
    over: set[Phase] = field(default_factory=set)


class Deployment:
    """A deployment of groups: ask `next()`, carry the step out, `record()` what came of it, and ask again.

    One group alone, as an Airflow task drives it, is `Deployment([group], {group.name: members}, states,
    verdicts_of_its_dependencies, phases_done)`. After a crash the same call resumes it: nodes that are `preparing`
    or `deploying` have a provisioner task under way, and `next()` returns that step again, with these
    nodes only, for the caller to re-join. A phase that is over, whether or not nodes were sent, is named in
    `phases_done`; its criteria are judged from the nodes as they are.

    Parameters
    ----------
    groups : in processing order (`order_groups`).
    members : names of each group's nodes.
    states : states of nodes at the start; a node that is missing is `not_started`. Only nodes whose provisioner task
        belongs to the first group without a verdict may be `preparing` or `deploying`: any such node of that group is
        taken to be under way for it. A node that another group has left behind is `unknown`.
    verdicts : groups that have been judged. May name groups outside `groups`, for the dependencies.
    phases_done : phases that are already over for the first group without a verdict.
    withheld : nodes that are never sent, whatever their state (rule 21); in the criteria they count as they are.

    Raises
    ------
    ValueError : when a dependency is neither judged nor earlier in `groups`.
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
        self._lost_in_deploy: set[str] = set()
        self._runs: dict[str, GroupRun] = {}
        self._pending: Step | None = None
        for group in groups:
            for other in group.depends_on:
                if other not in self._runs and other not in self._verdicts:
                    raise ValueError(f"group {group.name!r} stands before {other!r}, which it depends on")
            run = GroupRun(group, tuple(sorted(set(members.get(group.name, ())))))
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
            run = self._waiting[-1]
            self._advance(run)
            if run.state in _JUDGED:
                self._waiting.pop()
        return self._pending if self._pending is not None else Finished()

    def record(self, step: Step, succeeded: Collection[str], failed: Collection[str]) -> None:
        """Record what came of a step (rules 13 and 14).

        Parameters
        ----------
        step : what `next()` returned.
        succeeded, failed : names of nodes; those that were not sent are ignored. A name in both has failed; a node that
            was sent and is in neither is `unknown`.

        Raises
        ------
        ValueError : when this is not the step that waits for its result.
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
        if phase is Phase.DEPLOY:
            self._lost_in_deploy.update(name for name in step.nodes if states[name] is not done)
        self._pending = None
        self._runs[step.group].over.add(phase)

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
    def verdict(self) -> Verdict | None:
        """Failure as soon as a critical group has failed or nothing can be deployed; None before the end (rule 19)."""
        verdict = verdict_on(self.groups).verdict
        return None if self._waiting and verdict is Verdict.SUCCESS else verdict

    def _require(self, step: Step) -> None:
        if step != self._pending:
            raise ValueError(f"{step!r} is not the step that waits for a result, which is {self._pending!r}")

    def _advance(self, run: GroupRun) -> None:
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

    def _open(self, run: GroupRun, phase: Phase) -> None:
        """Issue the step of a phase; where there is nothing to send, the phase is over at once (rule 18)."""
        nodes = self._in_state(run, _IN_FLIGHT[phase]) or self._eligible(run, phase)
        if nodes:
            self._pending = _step(run.group.name, phase, nodes)
        else:
            run.over.add(phase)

    def _claim(self, run: GroupRun, phase: Phase) -> Step | None:
        """Take the nodes that a group sends for a phase, so that no group beside it takes them too (rule 11)."""
        nodes = self._eligible(run, phase)
        if not nodes:
            run.over.add(phase)
            return None
        self._states.update(dict.fromkeys(nodes, _IN_FLIGHT[phase]))
        return _step(run.group.name, phase, nodes)

    def _eligible(self, run: GroupRun, phase: Phase) -> tuple[str, ...]:
        return tuple(name for name in self._in_state(run, _ELIGIBLE[phase]) if name not in self._withheld)

    def _meets(self, run: GroupRun, phase: Phase) -> bool:
        """Judge the criteria of a group after a phase, over all its nodes (rule 15), and keep the results."""
        if run.group.criteria is None:
            return True
        tally = Counter(self._states_of(run.nodes))
        successful = sum(tally[state] for state in SUCCESSFUL[phase])
        results = evaluate(run.group.criteria, phase, len(run.nodes), successful)
        run.criteria += results
        return all(result.met for result in results)

    def _close(self, run: GroupRun, state: GroupState, reason: Reason | None) -> None:
        run.state, run.reason = state, reason

    def _verdict_of(self, name: str) -> GroupState:
        run = self._runs.get(name)
        return run.state if run is not None else self._verdicts[name]

    def _in_state(self, run: GroupRun, state: NodeState) -> tuple[str, ...]:
        get = self._states.get
        if state is NodeState.NOT_STARTED:
            return tuple(name for name in run.nodes if get(name, state) is state)
        return tuple(name for name in run.nodes if get(name) is state)

    def _states_of(self, nodes: Iterable[str]) -> Iterable[NodeState]:
        return map(self._states.get, nodes, repeat(NodeState.NOT_STARTED))


def _step(group: str, phase: Phase, nodes: tuple[str, ...]) -> Step:
    return Prepare(group, nodes) if phase is Phase.PREPARE else Deploy(group, nodes)
