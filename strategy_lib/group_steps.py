"""What a group sends next once its nodes are prepared (rules 39, 40 and 44): waves, retries, batches of a redeploy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain

from strategy_lib.criteria import CriterionResult
from strategy_lib.goals.rolling import (
    Batch,
    OtherGroup,
    Refused,
    RollingGroup,
    Stopped,
    kept_by_others,
    next_batch,
)
from strategy_lib.goals.waves import Submittable, removal_waves, submittable, waves
from strategy_lib.group_plan import NO_PLAN, GroupPlan
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.rounds_of_group import Rounds
from strategy_lib.strategy import Group

States = Mapping[str, NodeState]
_LOST = (NodeState.FAILURE, NodeState.UNKNOWN)


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

    def is_waiting_for_batch(self, name: str) -> bool:
        """Whether the node still serves in its old design, and is to be redeployed."""
        return name in self.plan.redeploy and name not in self.rounds.released


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beyond a group: states of the nodes of the action, its `members`, and why nodes are as they are.

    `withheld` nodes are never sent, `held` ones wait for others that are not done. `awaited` ones are deployed, and not
    yet known to be ready. `elsewhere` has for other groups
    their nodes that failed, or were destroyed and are not back; of them `taken` served before.
    """

    states: States
    members: frozenset[str]
    withheld: frozenset[str]
    errors: dict[str, str]
    held: dict[str, str]
    below_criteria: bool = False
    elsewhere: Mapping[str, frozenset[str]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    awaited: AbstractSet[str] = frozenset()

    def state(self, name: str) -> NodeState:
        """Return the state of a node."""
        return self.states.get(name, NodeState.NOT_STARTED)


@dataclass(frozen=True, slots=True)
class Due:
    """Send these nodes (sorted) for this phase."""

    phase: Phase
    nodes: tuple[str, ...]


def prepare_again(run: GroupRun, known: Known) -> tuple[str, ...]:
    """Return the nodes that are prepared again: those that failed and may be, and those that were released for it."""
    rounds, retries = run.rounds, run.group.retries
    if not rounds.numbers:
        return ()
    return tuple(
        name
        for name in run.nodes
        if not rounds.is_left_out(Phase.PREPARE, name)
        and name not in known.withheld
        and (
            (known.state(name) is NodeState.FAILURE and rounds.may_try_again(name, retries))
            or (known.state(name) is NodeState.NOT_STARTED and rounds.was_released(name))
        )
    )


def next_due(run: GroupRun, known: Known) -> Due | None:
    """Return what a group sends next whose prepare criteria are met; None: nothing more, and it is judged.

    First what is prepared and waits for nothing; then batches that were begun, and failed nodes again; then whether
    those that were deployed are ready (rule 58); then the next batch. It keeps with the run which nodes are held, and
    which stay as they are.
    """
    asked = nodes_to_ask(run, known)
    prepared = tuple(name for name in run.nodes if _is_prepared(run, known, name))
    again = prepare_again(run, known)
    if run.plan == NO_PLAN:
        ready = prepared
    else:
        waiting = frozenset(name for name in run.nodes if _may_go(run, known, name))
        # Others that wait for a node wait until it is ready.
        candidates = waiting.union(prepared, again, asked)
        found = _submittable(run, known, candidates)
        run.held = {name: why for name, why in found.held.items() if name not in asked}
        run.waiting = found.waiting
        ready = tuple(name for name in prepared if name in found.ready)
        again = tuple(name for name in again if name not in found.held)
    if ready:
        return Due(Phase.DEPLOY, ready)
    needed = _needed_by_batch(run, known, again) if run.plan.redeploy else frozenset()
    if needed:
        return Due(Phase.RELEASE, _first_to_go(run, needed))
    if again:
        return Due(Phase.PREPARE, again)
    if asked:
        return Due(Phase.READY, asked)
    if run.plan.redeploy:
        kept = run.kept
        batch = _new_batch(run, known)
        if batch:
            return Due(Phase.RELEASE, _first_to_go(run, batch))
        if run.kept is not kept:
            # What waits for the nodes that stay as they are is held now.
            return next_due(run, known)
    return None


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


def serving_yet(run: GroupRun, known: Known) -> int:
    """Return how many nodes still serve in their old design, and wait for their batch."""
    return sum(run.is_waiting_for_batch(name) and known.state(name) is NodeState.NOT_STARTED for name in run.nodes)


def _is_prepared(run: GroupRun, known: Known, name: str) -> bool:
    """Whether a prepared node may be sent for deploy, as far as it alone is concerned.

    After the first round these are nodes that had to wait, or that were prepared later.
    """
    if known.state(name) is not NodeState.PREPARED or name in known.withheld:
        return False
    if run.rounds.is_left_out(Phase.DEPLOY, name):
        return False
    first = not run.rounds.numbers[Phase.DEPLOY]
    return first or name in run.plan.waits_for or run.rounds.was_prepared_late(name)


def _may_go(run: GroupRun, known: Known, name: str) -> bool:
    """Whether a node waits for a batch that may still take it."""
    return (
        run.is_waiting_for_batch(name)
        and name not in run.kept
        and known.state(name) is NodeState.NOT_STARTED
        and not run.rounds.is_left_out(Phase.RELEASE, name)
    )


def _submittable(run: GroupRun, known: Known, candidates: frozenset[str]) -> Submittable:
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


def _first_to_go(run: GroupRun, batch: frozenset[str]) -> tuple[str, ...]:
    """Return the nodes of a batch that are released next: dependants before what they depend on (rule 40)."""
    return tuple(removal_waves(batch, batch, run.plan.waits_for)[0])


def _needed_by_batch(run: GroupRun, known: Known, again: Iterable[str]) -> frozenset[str]:
    """Return the nodes that belong to the batch under way, and are not released yet: those that it depends on.

    A batch begins with its dependants (rule 40), so that this is what is left of it after a crash.
    """
    released = run.rounds.released
    left = [*released.intersection(again)]
    left += [name for name in released if name not in run.held and _is_prepared(run, known, name)]
    needed: set[str] = set()
    while left:
        for other in run.plan.waits_for.get(left.pop(), ()):
            if other not in needed and _may_go(run, known, other):
                needed.add(other)
                left.append(other)
    return frozenset(needed)


def _new_batch(run: GroupRun, known: Known) -> frozenset[str]:
    """Choose the next batch; where there is none, keep why the nodes that are left stay as they are."""
    waiting = frozenset(name for name in run.nodes if _may_go(run, known, name))
    gone = frozenset(
        name for name in run.rounds.released & run.plan.redeploy if known.state(name) is not NodeState.SUCCESS
    )
    others = _other_groups(run, known, gone)
    kept = {name: why for name, why in kept_by_others(others).items() if name in waiting}
    if kept:
        # What waits for them is held now, so that the rest is looked at anew.
        run.kept = {**run.kept, **kept}
        return frozenset()
    order = _order(run, known, waiting)
    if not order:
        return frozenset()
    lost = gone.union(name for name in run.nodes if known.state(name) in _LOST)
    # New nodes come first, and serve by now.
    new = (name for name in run.nodes if name not in run.plan.redeploy and known.state(name) is NodeState.SUCCESS)
    step = next_batch(
        RollingGroup(
            nodes=frozenset(run.nodes),
            serving=run.plan.serving.union(new),
            redeploy=waiting | run.plan.redeploy.intersection(run.rounds.released),
            redeployed=frozenset(name for name in run.plan.redeploy if known.state(name) is NodeState.SUCCESS),
            failed=lost,
            criteria=run.group.criteria,
            critical=run.group.critical,
            max_unavailable=run.group.max_unavailable,
            below_criteria=known.below_criteria,
            order=order,
            others=others,
        )
    )
    if isinstance(step, Refused | Stopped):
        run.kept = {**run.kept, **dict.fromkeys(waiting, step.reason)}
    return frozenset(step.nodes) if isinstance(step, Batch) else frozenset()


def _other_groups(run: GroupRun, known: Known, gone: frozenset[str]) -> tuple[OtherGroup, ...]:
    """Return the other groups whose bounds a batch keeps, as they stand; `gone` are nodes of this one, not back yet."""
    found = []
    for bounds in run.plan.bounds:
        lost = frozenset(name for name in bounds.nodes if name in gone or known.state(name) in _LOST)
        elsewhere = known.elsewhere.get(bounds.group, frozenset())
        found.append(
            OtherGroup(
                bounds.group,
                bounds.nodes,
                bounds.total,
                bounds.serving,
                lost | elsewhere,
                lost | (elsewhere & known.taken),
                bounds.criteria,
                bounds.critical,
                bounds.max_unavailable,
                known.below_criteria,
            )
        )
    return tuple(found)


def _order(run: GroupRun, known: Known, waiting: frozenset[str]) -> tuple[str, ...]:
    """Return the nodes that a batch can take, in order: each behind all it depends on that is in it, too."""
    edges = run.plan.waits_for
    done = {name for name in run.plan.named if name in run.plan.met or known.state(name) is NodeState.SUCCESS}
    chosen: dict[str, None] = {}
    for name in chain.from_iterable(waves(waiting, waiting, edges)):
        if name not in run.held and all(other in done or other in chosen for other in edges.get(name, ())):
            chosen[name] = None
    return tuple(chosen)
