"""One group of a deployment while it runs: what has happened to it, what is known beyond it, what its nodes may do.

Each round of its attempt is one operation, in order. What was tried how often follows from them. A group sends its
nodes for prepare, and then for deploy, each in one round; and asks them whether they are ready, if it is to (rule 58).
There are more where failed nodes are tried again, nodes wait for each other, or the group is redeployed in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strategy_lib.groups.group_plan import NO_PLAN, GroupPlan
from strategy_lib.groups.waves import Submittable, submittable
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason, Step
from strategy_lib.strategy import NO_RETRIES, CriterionResult, Group, Retries
from strategy_lib.verdict import SUCCESSFUL


@dataclass(frozen=True, slots=True)
class Round:
    """One operation of a group's attempt.

    Attributes
    ----------
    phase : prepare, deploy, ready, or release.
    nodes : those that were sent.
    ended : whether what came of them is known, as far as it ever will be to this attempt.
    left_out : those that were due and could not be sent, such as those that an older provisioner task held: they are
        not sent for this phase in this attempt.
    """

    phase: Phase
    nodes: tuple[str, ...]
    ended: bool = True
    left_out: tuple[str, ...] = ()


class Rounds:
    """All rounds of an attempt so far."""

    def __init__(self, rounds: Iterable[Round] = ()) -> None:
        self.numbers: Counter[Phase] = Counter()
        self.under_way: Round | None = None
        self.submitted: set[str] = set()
        self.released: set[str] = set()
        self.deployed: set[str] = set()
        self._last: dict[str, Phase] = {}
        self._deploys: Counter[str] = Counter()
        # Since the node was last deployed.
        self._prepares: Counter[str] = Counter()
        self._prepared_late: set[str] = set()
        self._left_out: set[tuple[Phase, str]] = set()
        for each in rounds:
            self.add(each)

    def add(self, this: Round) -> None:
        """Take a round, the newest."""
        self.under_way = None if this.ended else this
        self.numbers[this.phase] += 1
        if this.phase is not Phase.READY:
            self.submitted.update(this.nodes)
        self._last.update(dict.fromkeys(this.nodes, this.phase))
        if this.phase is Phase.DEPLOY:
            self._deploys.update(this.nodes)
            self.deployed.update(this.nodes)
            if self._prepares:
                for name in this.nodes:
                    self._prepares.pop(name, None)
        elif this.phase is Phase.PREPARE:
            self._prepares.update(this.nodes)
            if self.numbers[Phase.PREPARE] > 1 or self.numbers[Phase.DEPLOY]:
                self._prepared_late.update(this.nodes)
        elif this.phase is Phase.RELEASE:
            self.released.update(this.nodes)
        self._left_out.update((this.phase, name) for name in this.left_out)

    def next_number(self, phase: Phase) -> int:
        """Return the number of the round of a phase that is under way, or comes next; the first is 0."""
        under_way = self.under_way is not None and self.under_way.phase is phase
        return self.numbers[phase] - under_way

    @property
    def is_whole(self) -> bool:
        """Whether all nodes that were due could be sent, in each round."""
        return not self._left_out

    def is_left_out(self, phase: Phase, name: str) -> bool:
        """Whether the node was due for the phase and could not be sent."""
        return (phase, name) in self._left_out

    def is_only_released(self, name: str) -> bool:
        """Whether the node was released, and neither prepared nor deployed: it is still to be begun."""
        return self.was_released(name) and not self._prepares[name] and name not in self.deployed

    def was_prepared_late(self, name: str) -> bool:
        """Whether the node was sent in another round of prepare than the first, or after a round of deploy."""
        return name in self._prepared_late

    def was_released(self, name: str) -> bool:
        """Whether the newest that was done to the node is its release."""
        return self._last.get(name) is Phase.RELEASE

    def may_try_again(self, name: str, retries: Retries) -> bool:
        """Whether a node that failed in the last round it was in is tried again.

        A failed release is not, nor is a node that was deployed and not ready in time.
        """
        last = self._last.get(name)
        if last is Phase.DEPLOY:
            return self._deploys[name] <= retries.deploy
        return last is Phase.PREPARE and self._prepares[name] <= retries.prepare


@dataclass(slots=True)
class GroupRun:
    """What has happened to one group.

    Attributes
    ----------
    over : phases of which nothing more is sent.
    rounds : those of its attempt.
    deploying : its prepare criteria were judged, and met.
    held : nodes that are not sent, because of nodes that they wait for: each with the reason.
    waiting : nodes that are sent once another is done: each with the first such node. None: not looked at yet.
    kept : nodes that are not redeployed, and serve as they are: each with the reason.
    """

    group: Group
    nodes: tuple[str, ...]
    plan: GroupPlan = NO_PLAN
    state: GroupState = GroupState.PENDING
    reason: Reason | None = None
    criteria: tuple[CriterionResult, ...] = ()
    over: set[Phase] = field(default_factory=set)
    rounds: Rounds = field(default_factory=Rounds)
    deploying: bool = False
    held: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[str, str] | None = None
    kept: Mapping[str, str] = field(default_factory=dict)

    def step(self, phase: Phase, nodes: tuple[str, ...]) -> Step:
        """Return what sends these nodes (sorted) for this phase."""
        return Step(self.group.name, phase, nodes)

    def is_waiting_for_batch(self, name: str) -> bool:
        """Whether the node still serves in its old design, and is to be redeployed."""
        return name in self.plan.redeploy and name not in self.rounds.released


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beyond a group. Who makes a `Deployment` leaves out what that has besides: the first three.

    Attributes
    ----------
    states : of the nodes of the action.
    members : these nodes.
    serving : nodes that serve in another design: a group that does not redeploy them leaves them alone.
    withheld : nodes that are never sent, whatever their state (rule 21); in the criteria they count as they are.
    errors : why nodes have failed, or were not sent: what is said to those that wait for them.
    held : nodes of other groups that were held for others, with the reason.
    below_criteria : a redeploy may take a critical group below its criteria.
    elsewhere : of groups that bound a redeploy, the nodes that failed in other groups, or are not back there; of them
        `taken` served before.
    awaited : nodes that are deployed (`success`) and are still to be asked whether they are ready (rule 58); of others
        that are `success` nothing more is asked.
    not_ready : nodes that were deployed and were not ready in time: their state says so.
    beside : nodes that another group has in hand at this moment, each with the phase (rule 11). They are not sent.
    sent_before : nodes that earlier attempts of the group have submitted.
    """

    states: Mapping[str, NodeState] = field(default_factory=dict)
    members: frozenset[str] = frozenset()
    serving: set[str] = field(default_factory=set)
    withheld: frozenset[str] = frozenset()
    errors: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    below_criteria: bool = False
    elsewhere: Mapping[str, frozenset[str]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    awaited: set[str] = field(default_factory=set)
    not_ready: set[str] = field(default_factory=set)
    beside: Mapping[str, Phase] = field(default_factory=dict)
    sent_before: frozenset[str] = frozenset()

    def state(self, name: str) -> NodeState:
        """Return the state of a node."""
        return self.states.get(name, NodeState.NOT_STARTED)


def prepare_again(run: GroupRun, known: Known) -> tuple[str, ...]:
    """Return the nodes that are prepared again: those that failed and may be, and those that were released for it."""
    rounds = run.rounds
    if not rounds.numbers or (run.group.retries == NO_RETRIES and not rounds.released):
        return ()
    return tuple(name for name in run.nodes if is_tried_again(run, known, name))


def is_tried_again(run: GroupRun, known: Known, name: str) -> bool:
    """Whether a node is prepared again: it failed and may be tried again, or was released for it."""
    rounds, state = run.rounds, known.state(name)
    if rounds.is_left_out(Phase.PREPARE, name) or name in known.withheld:
        return False
    if state is NodeState.FAILURE:
        return rounds.may_try_again(name, run.group.retries)
    return state is NodeState.NOT_STARTED and rounds.was_released(name)


def successful_nodes(run: GroupRun, known: Known, phase: Phase) -> set[str]:
    """Return the nodes that count as successful after a phase, whichever group processed them (rule 15)."""
    good = SUCCESSFUL[phase]
    found = {name for name, state in zip(run.nodes, map(known.states.get, run.nodes), strict=True) if state in good}
    if phase is Phase.PREPARE and run.plan.redeploy:
        # They serve, and are prepared when it is their turn.
        found.update(name for name in run.nodes if is_serving_yet(run, known, name))
    if phase is Phase.PREPARE and run.group.has_batches:
        # They were prepared, whatever came of their deploy.
        found.update(run.rounds.deployed.intersection(run.nodes))
    if run.group.ready is not None and phase is not Phase.READY:
        # They were prepared and deployed, whatever came afterwards.
        found.update(name for name in run.nodes if name in known.not_ready)
    if phase is Phase.READY:
        found -= known.awaited
    return found


def nodes_to_ask(run: GroupRun, known: Known) -> tuple[str, ...]:
    """Return the nodes that the group asks whether they are ready: they are deployed, whichever group did that."""
    if run.group.ready is None or not known.awaited:
        return ()
    return tuple(
        name
        for name in run.nodes
        if name in known.awaited
        and known.state(name) is NodeState.SUCCESS
        and name not in known.withheld
        and not run.rounds.is_left_out(Phase.READY, name)
    )


def is_serving_yet(run: GroupRun, known: Known, name: str) -> bool:
    """Whether a node still serves in its old design, and waits for its batch."""
    return run.is_waiting_for_batch(name) and known.state(name) is NodeState.NOT_STARTED


def is_prepared(run: GroupRun, known: Known, name: str) -> bool:
    """Whether a prepared node may be sent for deploy, as far as it alone is concerned.

    After the first round these are nodes that had to wait, or that were prepared later.
    """
    if known.state(name) is not NodeState.PREPARED or name in known.withheld:
        return False
    if run.rounds.is_left_out(Phase.DEPLOY, name):
        return False
    first = not run.rounds.numbers[Phase.DEPLOY]
    return first or name in run.plan.waits_for or run.rounds.was_prepared_late(name)


def prepared_nodes(run: GroupRun, known: Known) -> tuple[str, ...]:
    """Return the prepared nodes that may be sent for deploy, as far as each alone is concerned."""
    states = zip(run.nodes, map(known.states.get, run.nodes), strict=True)
    prepared = tuple([name for name, state in states if state is NodeState.PREPARED])
    if not known.withheld and run.rounds.is_whole and not run.rounds.numbers[Phase.DEPLOY]:
        return prepared
    return tuple(name for name in prepared if is_prepared(run, known, name))


def may_be_taken(run: GroupRun, known: Known, name: str) -> bool:
    """Whether a node waits for a batch that may still take it."""
    return (
        run.is_waiting_for_batch(name)
        and name not in run.kept
        and known.state(name) is NodeState.NOT_STARTED
        and not run.rounds.is_left_out(Phase.RELEASE, name)
    )


def find_submittable(run: GroupRun, known: Known, candidates: frozenset[str]) -> Submittable:
    """Tell which candidates wait, and which are held because what they wait for will not be done."""
    done = set(run.plan.met)
    failed: dict[str, str] = {}
    held: dict[str, str] = {}
    for name in run.plan.named - candidates - done:
        state = known.state(name)
        if state is NodeState.SUCCESS:
            done.add(name)
        elif state is NodeState.FAILURE:
            failed[name] = known.errors.get(name) or "no reason is known"
        elif name in known.held:
            held[name] = known.held[name]
        elif state is NodeState.UNKNOWN:
            held[name] = f"waits for {name}, and what came of that is not known"
        elif name in run.kept:
            held[name] = f"waits for {name}, which stays in its old design: {run.kept[name]}"
        elif name in known.members:
            why = f": {known.errors[name]}" if name in known.errors else ""
            held[name] = f"waits for {name}, which was not deployed{why}"
    return submittable(candidates, run.plan.waits_for, done, failed, held)
