"""The deployment state machine (rules 8-19, 58, 59): events go in, the next step comes out. It does nothing itself.

Each group's members are counted when the group is judged, which is twice or three times, so that a whole run costs
O(nodes x overlap + edges). It can be rebuilt from a store at any time: that is how a crash is survived.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

from strategy_lib.groups.batches import CRITERIA_REASONS, Batches, Stop
from strategy_lib.groups.group_plan import NO_PLAN, GroupPlan
from strategy_lib.groups.group_run import GroupRun, Known, Round, Rounds, prepare_again, successful_nodes
from strategy_lib.groups.group_steps import next_due
from strategy_lib.node import NodeState
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step, Verdict
from strategy_lib.strategy import Group
from strategy_lib.verdict import GroupView, counts_of, evaluate, verdict_on


class OthersAtWork(Exception):
    """Nothing can be sent or judged before other groups know what became of these nodes (rules 11 and 15)."""

    def __init__(self, nodes: tuple[str, ...]) -> None:
        super().__init__(f"other groups are at work on {', '.join(nodes)}")
        self.nodes = nodes


_DONE = {
    Phase.PREPARE: NodeState.PREPARED,
    Phase.DEPLOY: NodeState.SUCCESS,
    Phase.READY: NodeState.SUCCESS,
    Phase.RELEASE: NodeState.NOT_STARTED,
}
_LOST = (NodeState.FAILURE, NodeState.UNKNOWN)
_JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)
_NOTHING_KNOWN = Known()


class Deployment:
    """A deployment of groups: ask `next()`, carry the step out, `record()` what came of it, and ask again.

    One group alone, as an Airflow task drives it, is `Deployment([group], {group.name: members}, states,
    verdicts_of_its_dependencies, rounds=rounds)`. After a crash the same call resumes it: nodes that are `preparing`
    or `deploying` have a provisioner task under way, and `next()` returns that step again, with these
    nodes only, for the caller to re-join. The criteria of a phase that is over are judged from the nodes as they are.

    Parameters
    ----------
    groups : in processing order (`order_groups`).
    members : names of each group's nodes.
    states : states of nodes at the start; a node that is missing is `not_started`. Only nodes whose provisioner task
        belongs to the first group without a verdict may be `preparing` or `deploying`: any such node of that group is
        taken to be under way for it. A node that another group has left behind is `unknown`.
    verdicts : groups that have been judged. May name groups outside `groups`, for the dependencies.
    known : what else is known. Before anything is judged that depends on nodes of `beside`, `next` raises
        `OthersAtWork`.
    plans : what the plan says of the nodes of a group: their order, and which are redeployed.
    rounds : the operations of the attempt of the first group without a verdict, in order.

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
        known: Known = _NOTHING_KNOWN,
        *,
        plans: Mapping[str, GroupPlan] | None = None,
        rounds: Sequence[Round] = (),
    ) -> None:
        self._states: dict[str, NodeState] = dict(states or {})
        self._verdicts = {name: state for name, state in (verdicts or {}).items() if state in _JUDGED}
        self._lost_in_deploy: set[str] = set()
        self._beside = known.beside
        self._runs: dict[str, GroupRun] = {}
        self._pending: Step | None = None
        for group in groups:
            for other in group.depends_on:
                if other not in self._runs and other not in self._verdicts:
                    raise ValueError(f"group {group.name!r} stands before {other!r}, which it depends on")
            run = GroupRun(
                group, tuple(sorted(set(members.get(group.name, ())))), (plans or {}).get(group.name, NO_PLAN)
            )
            run.state = self._verdicts.get(group.name, GroupState.PENDING)
            self._runs[group.name] = run
        self._waiting = [run for run in reversed(self._runs.values()) if run.state is GroupState.PENDING]
        if self._waiting:
            _go_on(self._waiting[-1], rounds)
        # They serve in another design: a group that does not redeploy them leaves them alone.
        self._serving = {name for run in self._runs.values() for name in run.plan.redeploy | run.plan.later}
        self._known = known = replace(
            known,
            states=self._states,
            members=frozenset(self._states).union(*(run.nodes for run in self._runs.values() if plans)),
            serving=self._serving,
            errors=dict(known.errors),
            held=dict(known.held),
            awaited=set(known.awaited),
            not_ready=set(known.not_ready),
        )
        self._awaited, self._not_ready, self._withheld = known.awaited, known.not_ready, known.withheld
        self._batches: dict[str, Batches] = {}
        self._to_be_ready = {name for run in self._runs.values() if run.group.ready is not None for name in run.nodes}

    def next(self) -> Step | Finished:
        """Return the next step; the same one until it has been recorded.

        Groups are judged on the way (rules 9, 16, 18): a step without nodes is never returned.

        Raises `OthersAtWork`: there is nothing to do until other groups know what became of nodes (`beside`).
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
        states.update(dict.fromkeys(step.nodes, done))
        lost = [name for name in step.nodes if name in bad or name not in good]
        for name in lost:
            states[name] = NodeState.FAILURE if name in bad else NodeState.UNKNOWN
            if name in bad:
                self._known.errors.setdefault(name, f"{phase} failed")
        if phase is Phase.DEPLOY:
            self._lost_in_deploy.update(lost)
            if self._to_be_ready:
                self._awaited.update(name for name in step.nodes if name in self._to_be_ready and name in good - bad)
        if phase is Phase.READY:
            self._awaited.difference_update(step.nodes)
            self._not_ready.update(lost)
        if phase is Phase.RELEASE:
            self._serving.difference_update(step.nodes)
        self._pending = None
        run = self._runs[step.group]
        run.rounds.add(Round(phase, step.nodes))
        if step.group in self._batches and phase is not Phase.READY:
            self._batches[step.group].note(step.nodes)
        if phase is Phase.PREPARE:
            run.over.add(phase)

    def state_of(self, node: str) -> NodeState:
        """Return the state of a node (rule 10)."""
        return self._states.get(node, NodeState.NOT_STARTED)

    def states_of(self, nodes: Iterable[str]) -> Iterator[NodeState]:
        """Yield the states of nodes, in their order."""
        return map(self._states.get, nodes, repeat(NodeState.NOT_STARTED))

    def group(self, name: str) -> GroupView:
        """Return a group as it stands; its counts take time linear in its nodes."""
        run = self._runs[name]
        counts = counts_of(self.states_of(run.nodes))
        lost = self._lost_in_deploy | self._not_ready
        if run.group.has_batches:
            lost |= {each for each in run.rounds.deployed if self.state_of(each) in _LOST}
        if lost:
            counts = replace(counts, prepared=counts.prepared + len(lost.intersection(run.nodes)))
        facts = (name, run.group.critical, run.state, run.reason, run.criteria, run.nodes, counts)
        return GroupView(*facts, run.held, run.kept, run.waiting)

    def round_of(self, step: Step) -> int:
        """Return the number of a step among those of its group and phase; the first is 0."""
        return self._runs[step.group].rounds.next_number(step.phase)

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
        if run.rounds.under_way is not None:
            self._pending = run.step(run.rounds.under_way.phase, run.rounds.under_way.nodes)
            return
        if Phase.PREPARE not in run.over and not run.group.has_batches:
            nodes = self._left_in(run, NodeState.PREPARING) or self._eligible(run)
            if nodes:
                self._pending = run.step(Phase.PREPARE, nodes)
            else:
                # Where there is nothing to send, the phase is over at once (rule 18).
                run.over.add(Phase.PREPARE)
            return
        if run.group.has_batches and (begun := self._left_in(run, NodeState.PREPARING)):
            self._pending = run.step(Phase.PREPARE, begun)
            return
        # A deploy under way proves that prepare was judged and met; by now its nodes may have moved on.
        resumed = self._left_in(run, NodeState.DEPLOYING)
        if resumed and Phase.DEPLOY not in run.over:
            run.deploying = True
            self._pending = run.step(Phase.DEPLOY, resumed)
            return
        due = self._due(run)
        if due is not None:
            self._pending = due
        elif run.state is GroupState.RUNNING:
            self._judge_end(run)

    def _due(self, run: GroupRun) -> Step | None:
        """Return what a group sends once it was sent for prepare; None when it can be judged, or was (rule 18)."""
        if Phase.DEPLOY in run.over:
            return None
        if run.group.has_batches:
            return self._due_in_batches(run)
        if not run.deploying:
            again = prepare_again(run, self._known)
            if again:
                return run.step(Phase.PREPARE, again)
            if self._beside:
                self._require_known(name for name in run.nodes if self._beside.get(name) is Phase.PREPARE)
            if not self._meets(run, Phase.PREPARE):
                self._judge(run, False, Reason.PREPARE_CRITERIA)
                return None
            run.deploying = True
        if self._beside:
            # What waits for such a node is neither sent nor held before it is known what becomes of it.
            self._require_known(name for name in run.plan.named if name in self._beside)
        due = next_due(run, self._known)
        self._known.held.update(run.held)
        if self._beside and (due is None or due.phase is Phase.READY):
            self._require_known(name for name in run.nodes if name in self._beside)
        return due

    def _require_known(self, at_work: Iterable[str]) -> None:
        """Raise `OthersAtWork` where other groups are at work on any of these nodes."""
        names = tuple(at_work)
        if names:
            raise OthersAtWork(names)

    def _due_in_batches(self, run: GroupRun) -> Step | None:
        """Return what a group in batches sends; None when it can be judged, or was, as it stops (rule 59)."""
        name = run.group.name
        if name not in self._batches:
            self._batches[name] = Batches(run, self._known)
        if self._beside:
            self._require_known(other for other in run.plan.named if other in self._beside)
        due = self._batches[name].next()
        self._known.held.update(run.held)
        if not isinstance(due, Step) or due.phase is Phase.READY:
            self._require_known(other for other in run.nodes if other in self._beside)
        if not isinstance(due, Stop):
            return due
        for phase, reason in CRITERIA_REASONS.items():
            if reason is due.reason:
                self._meets(run, phase)
        self._judge(run, False, due.reason)
        return None

    def _judge_end(self, run: GroupRun) -> None:
        """Judge a group that has nothing more to send: after deploy, and then after ready, if it asks for that."""
        if run.group.has_batches and not self._meets(run, Phase.PREPARE):
            self._judge(run, False, Reason.PREPARE_CRITERIA)
        elif not self._meets(run, Phase.DEPLOY):
            self._judge(run, False, Reason.DEPLOY_CRITERIA)
        else:
            met = run.group.ready is None or self._meets(run, Phase.READY)
            self._judge(run, met, Reason.READY_CRITERIA)

    def _judge(self, run: GroupRun, met: bool, reason: Reason) -> None:
        self._close(run, GroupState.SUCCESS if met else GroupState.FAILURE, None if met else reason)

    def _left_in(self, run: GroupRun, state: NodeState) -> tuple[str, ...]:
        """Return the nodes whose provisioner task is under way, where nothing is known of rounds."""
        if run.rounds.numbers:
            return ()
        left = self._in_state(run, state)
        return tuple(name for name in left if name not in self._beside) if self._beside else left

    def _eligible(self, run: GroupRun) -> tuple[str, ...]:
        """Return the nodes that are sent for prepare first (rule 11): not those that wait for a batch."""
        if run.group.has_batches:
            due = self._due_in_batches(run)
            return due.nodes if due is not None and due.phase is Phase.PREPARE else ()
        found = self._in_state(run, NodeState.NOT_STARTED)
        if not (self._withheld or run.plan.redeploy or self._serving):
            return found
        return tuple(
            name
            for name in found
            if name not in self._withheld and name not in run.plan.redeploy and name not in self._serving
        )

    def _meets(self, run: GroupRun, phase: Phase) -> bool:
        """Judge the criteria of a group after a phase, over all its nodes (rule 15), and keep the results."""
        if run.group.criteria is None:
            return True
        successful = len(successful_nodes(run, self._known, phase))
        results = evaluate(run.group.criteria, phase, len(run.nodes), successful)
        run.criteria += results
        return all(result.met for result in results)

    def _close(self, run: GroupRun, state: GroupState, reason: Reason | None) -> None:
        run.state, run.reason = state, reason

    def _verdict_of(self, name: str) -> GroupState:
        run = self._runs.get(name)
        return run.state if run is not None else self._verdicts[name]

    def _in_state(self, run: GroupRun, state: NodeState) -> tuple[str, ...]:
        known = zip(run.nodes, map(self._states.get, run.nodes), strict=True)
        if state is NodeState.NOT_STARTED:
            return tuple([name for name, found in known if found is None or found is state])
        return tuple([name for name, found in known if found is state])


def _go_on(run: GroupRun, rounds: Sequence[Round]) -> None:
    """Have a group go on from what was done in its attempt."""
    run.rounds = Rounds(rounds)
    if any(each.phase is Phase.PREPARE and each.ended for each in rounds):
        run.over.add(Phase.PREPARE)
    numbers = run.rounds.numbers
    run.deploying = bool(numbers[Phase.DEPLOY] or numbers[Phase.READY] or run.rounds.released & run.plan.redeploy)
