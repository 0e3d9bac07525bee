"""The batches of a rolling redeploy (rule 40): which nodes are taken away next, and which stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from strategy_lib.groups.group_plan import GroupBounds, bounds_of
from strategy_lib.groups.group_run import GroupRun, Known, is_prepared, may_be_taken
from strategy_lib.groups.rolling import first_of, kept_by_others, room_left
from strategy_lib.groups.waves import removal_waves, waves
from strategy_lib.node import NodeState

_LOST = (NodeState.FAILURE, NodeState.UNKNOWN)


def first_to_go(run: GroupRun, batch: frozenset[str]) -> tuple[str, ...]:
    """Return the nodes of a batch that are released next: dependants before what they depend on (rule 40)."""
    return tuple(removal_waves(batch, batch, run.plan.waits_for)[0])


def needed_by_batch(run: GroupRun, known: Known, again: Iterable[str]) -> frozenset[str]:
    """Return the nodes that belong to the batch under way, and are not released yet: those that it depends on.

    A batch begins with its dependants (rule 40), so that this is what is left of it after a crash.
    """
    released = run.rounds.released
    left = [*released.intersection(again)]
    left += [name for name in released if name not in run.held and is_prepared(run, known, name)]
    needed: set[str] = set()
    while left:
        for other in run.plan.waits_for.get(left.pop(), ()):
            if other not in needed and may_be_taken(run, known, other):
                needed.add(other)
                left.append(other)
    return frozenset(needed)


def new_redeploy_batch(
    run: GroupRun, known: Known, most: int | None = None, pool: Collection[str] | None = None
) -> frozenset[str]:
    """Choose the next batch; where there is none, keep why the nodes that are left stay as they are.

    Parameters
    ----------
    most : so many nodes at most, whatever else there is room for; None: no such bound.
    pool : only these may be taken now; None: all that wait.
    """
    waiting = frozenset(name for name in run.nodes if may_be_taken(run, known, name))
    gone = frozenset(
        name for name in run.rounds.released & run.plan.redeploy if known.state(name) is not NodeState.SUCCESS
    )
    others = _other_groups(run, known, gone)
    below = known.below_criteria
    kept = {name: why for name, why in kept_by_others(others, below_criteria=below).items() if name in waiting}
    if kept:
        # What waits for them is held now, so that the rest is looked at anew.
        run.kept = {**run.kept, **kept}
        return frozenset()
    order = tuple(name for name in _order(run, known, waiting) if pool is None or name in pool)[:most]
    if not order:
        return frozenset()
    lost = gone.union(name for name in run.nodes if known.state(name) in _LOST)
    done = frozenset(name for name in run.nodes if known.state(name) is NodeState.SUCCESS)
    # New nodes come first, and serve by now.
    serving = run.plan.serving | (done - run.plan.redeploy)
    own = replace(bounds_of(run.group, run.nodes, waiting, serving, run.plan.theirs), failed=lost, lost=lost & serving)
    room = room_left(own, begun=bool(lost or done & run.plan.redeploy), below_criteria=below)
    if isinstance(room, str):
        run.kept = {**run.kept, **dict.fromkeys(waiting, room)}
        return frozenset()
    return frozenset(first_of(order, room, others, below_criteria=below))


def _other_groups(run: GroupRun, known: Known, gone: frozenset[str]) -> tuple[GroupBounds, ...]:
    """Return the other groups whose bounds a batch keeps, as they stand; `gone` are nodes of this one, not back yet."""
    found = []
    for bounds in run.plan.bounds:
        lost = frozenset(name for name in bounds.nodes if name in gone or known.state(name) in _LOST)
        elsewhere = known.elsewhere.get(bounds.group, frozenset())
        found.append(replace(bounds, failed=lost | elsewhere, lost=lost | (elsewhere & known.taken)))
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
