"""One group of a deployment while it runs: what has happened to it, what is known beyond it, what its nodes may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strategy_lib.groups.group_plan import NO_PLAN, GroupPlan
from strategy_lib.groups.rounds_of_group import Rounds
from strategy_lib.groups.waves import Submittable, submittable
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason, Step
from strategy_lib.strategy import NO_RETRIES, CriterionResult, Group
from strategy_lib.verdict import SUCCESSFUL


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
