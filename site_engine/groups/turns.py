"""Whose turn it is: which group of a run may begin (rule 8), one after the other, or so many side by side.

While an action is paused nothing of it begins, and what has begun goes on (rule 26): Airflow starts a task that is held
back again later, and holds no worker meanwhile. A group behind a failed one is blocked by it (rules 9 and 28).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from site_store import ActionRecord, GroupRecord, GroupStanding, GroupTurn, SiteStore
from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.leaf import blocked_by

# Airflow's states of a task that will not go on by itself.
OVER = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})

LOOK_AGAIN: Final = timedelta(seconds=30)
"""A group that waits for a place is started again at most so often."""
LONGEST_LOOK_AGAIN: Final = timedelta(minutes=5)
_LOOK_AGAIN_ALONE: Final = timedelta(seconds=5)

LOOK_AGAIN_PAUSED: Final = timedelta(seconds=10)
"""Until what is first to go on in a paused action looks again whether it may begin."""
LOOK_AGAIN_HELD: Final = timedelta(seconds=30)
"""Until a task of a store that may be a copy looks again whether something may be sent (rule 61)."""
LOOK_AGAIN_BEHIND_OTHERS: Final = timedelta(seconds=60)
"""The same for a group behind others: each look is a process."""

_JUDGED = (GroupState.SUCCESS, GroupState.FAILURE)


@dataclass(frozen=True, slots=True)
class Turn:
    """``wait_for`` is the group that goes first, None when it is ours; ``interrupted`` ended without a verdict.

    ``ahead`` are so many groups that begin before it, where groups run side by side.
    """

    wait_for: str | None
    interrupted: tuple[str, ...] = ()
    ahead: int = 0


def turn_of(group: str, turns: Iterable[GroupTurn], task_state: Callable[[int], str | None], places: int) -> Turn:
    """Return whose turn it is.

    A group begins when all groups that are judged before it have their verdicts, and a place is free that no group
    before it in the order waits for. An earlier one waits for it as long as its task will go on: also with an old
    failure, which a person has cleared and which is about to be tried again. A later one has a place when it has begun,
    and only then: so no two groups wait for each other. One that follows a failed group is judged at once, and takes no
    place. Of groups that take nodes down in batches one is at work at a time: they keep each other's bounds.

    Parameters
    ----------
    group : the group whose task has started.
    turns : all groups of the action, in processing order.
    task_state : Airflow's state of the mapped task of this index; None: not scheduled yet.
    places : how many groups may be at work at once.
    """
    order = list(turns)
    (ours,) = (turn for turn in order if turn.name == group)
    over = {turn.name for turn in order if turn.map_index is None or task_state(turn.map_index) in OVER}
    before = {turn.name for turn in order if turn.position < ours.position or turn.name in ours.after}
    interrupted = tuple(
        turn.name
        for turn in order
        if turn.name in over
        and turn.name != group
        and (turn.state is GroupState.RUNNING or (turn.state not in _JUDGED and turn.name in before))
    )
    if ours.state is GroupState.RUNNING:
        return Turn(None, interrupted)
    states = {turn.name: turn.state for turn in order} | dict.fromkeys(interrupted, GroupState.FAILURE)
    # A failed one whose task goes on was cleared, and is about to be tried again.
    again = {turn.name for turn in order if turn.state is GroupState.FAILURE and turn.name not in over}
    open_ = again | {name for name, state in states.items() if state not in _JUDGED}
    for name in (turn.name for turn in order if turn.name in ours.after):
        if name in open_:
            return Turn(name, interrupted, _ahead(ours, order, open_))
    if any(states.get(name) is GroupState.FAILURE for name in ours.depends_on):
        return Turn(None, interrupted)
    at_work = [turn for turn in order if turn.state is GroupState.RUNNING and turn.name not in over]
    waiting = [
        turn
        for turn in order
        if turn.position < ours.position
        and turn.name in open_
        and turn not in at_work
        and open_.isdisjoint(turn.after)
        and all(states.get(name) is not GroupState.FAILURE for name in turn.depends_on)
        and not (turn.redeploys and any(one.redeploys for one in at_work))
    ]
    first = at_work + waiting
    ahead = _ahead(ours, order, open_)
    if ours.redeploys:
        for turn in first:
            if turn.redeploys:
                return Turn(turn.name, interrupted, ahead)
    if len(first) >= places:
        return Turn(first[0].name, interrupted, ahead)
    return Turn(None, interrupted)


def _ahead(ours: GroupTurn, order: Iterable[GroupTurn], open_: set[str]) -> int:
    """Return how many groups that are not at work stand before ours."""
    return sum(
        turn.position < ours.position and turn.name in open_ and turn.state is not GroupState.RUNNING for turn in order
    )


def turn_by_store(group: str, turns: Iterable[GroupTurn], places: int) -> Turn:
    """Return whose turn it is as far as the store knows, for who waits: no task is taken to have ended early.

    A group that has failed is done with, unless a person has cleared it and its task has started again. One that is
    judged after it waits until its task is over: then Airflow says whether it was cleared.
    """
    order = list(turns)
    (ours,) = (turn for turn in order if turn.name == group)
    failed = [turn for turn in order if turn.state is GroupState.FAILURE]
    done = {turn.map_index for turn in failed if not turn.again}
    found = turn_of(group, order, lambda index: "failed" if index in done else "running", places)
    if found.wait_for is None and ours.state is not GroupState.RUNNING:
        before = next((turn.name for turn in failed if turn.name in ours.after and not turn.is_over), None)
        return replace(found, wait_for=before)
    return found


def place_taker(
    group: str, seen: Iterable[GroupTurn], task_state: Callable[[int], str | None], places: int
) -> Callable[[Sequence[GroupTurn]], bool]:
    """Return what says, of all groups as they stand when a place is taken, whether the group may take it.

    Parameters
    ----------
    seen : all groups as they stood when Airflow was asked; of those that have begun since, its word is too old.
    """
    began = {turn.map_index for turn in seen if turn.state is GroupState.RUNNING}

    def may_begin(turns: Sequence[GroupTurn]) -> bool:
        new = {turn.map_index for turn in turns if turn.state is GroupState.RUNNING} - began

        def state(map_index: int) -> str | None:
            return "running" if map_index in new else task_state(map_index)

        return turn_of(group, turns, state, places).wait_for is None

    return may_begin


def look_again(turn: Turn, places: int, most: int) -> timedelta | None:
    """Return after how long a group that waits is started again; None: it waits without a worker until its turn.

    Those that come next wait; for others nothing is to be expected soon, and each look is a process. Where groups run
    one at a time none waits so: Airflow counts it as active, and would not start the one that goes first.

    Parameters
    ----------
    most : so many tasks of groups are active at once, those that wait without a worker included.
    """
    if places == 1:
        return _LOOK_AGAIN_ALONE
    if turn.ahead < most - places:
        return None
    return min(LOOK_AGAIN * (1 + turn.ahead // places), LONGEST_LOOK_AGAIN)


def hold_back(action: ActionRecord) -> timedelta | None:
    """Return after how long to look again whether a step may begin; None: it may begin now."""
    return None if action.paused is None else LOOK_AGAIN_PAUSED


def hold_group_back(
    action: ActionRecord,
    standings: Iterable[GroupStanding],
    group: str,
    attempt_key: str,
    submitted: Callable[[], bool],
) -> timedelta | None:
    """Return after how long to look again whether a group may begin or go on; None: it may now.

    Parameters
    ----------
    standings : all groups of the action.
    attempt_key : differs from that of a failed group when a person has cleared it: then it begins anew (rule 23).
    submitted : whether an attempt that is open has submitted anything; one that waits for an approval has not.
    """
    if action.paused is None:
        return None
    order = list(standings)
    (ours,) = (standing for standing in order if standing.name == group)
    is_cleared = ours.state is GroupState.FAILURE and ours.attempt_key != attempt_key
    if ours.state is not GroupState.PENDING and not is_cleared:
        return LOOK_AGAIN_PAUSED if ours.state is GroupState.RUNNING and not submitted() else None
    is_first = all(standing.is_judged for standing in order if standing.position < ours.position)
    return LOOK_AGAIN_PAUSED if is_first else LOOK_AGAIN_BEHIND_OTHERS


def is_only_judged(state: str, depends_on: Iterable[str], states: Mapping[str, str | None], *, has_sent: bool) -> bool:
    """Tell whether the task of a group that is at work does no more than find that the group is blocked.

    Parameters
    ----------
    states : of all groups of the action.
    has_sent : something was sent for the group, so that it has begun.
    """
    is_behind = any(states.get(name) == GroupState.FAILURE for name in depends_on)
    return state == GroupState.RUNNING and is_behind and not has_sent


def why_blocked(store: SiteStore, record: GroupRecord) -> str:
    """Say which group stands in the way of one that does not run, and why: the one that failed by its own fault.

    Of several failed dependencies it is the first, as in `strategy_lib.status.tree.blame_groups`.
    """
    culprit: GroupRecord | None = None
    while culprit is None or culprit.reason is Reason.DEPENDENCY:
        behind = culprit or record
        states = store.groups.states(behind.action_id, behind.definition.depends_on)
        failed = [name for name in behind.definition.depends_on if states.get(name) is GroupState.FAILURE]
        if not failed:
            # What stood in the way has been tried again since, and is under way.
            break
        culprit = store.groups.get(behind.action_id, failed[0])
    if culprit is None:
        return "blocked by a group that has not succeeded"
    return blocked_by(culprit.name, culprit.reason.value if culprit.reason else "failed")
