"""What the controller remembers of a node: crashes, the start of a transition, progress with initializing (rule 50).

A history is a value. Each observation makes a new one; the clock alone ends windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from strategy_lib.node_states.generated import NodeAvailability

_A = NodeAvailability
STABLE_TIME = 2 * 3600.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a node.

    Attributes
    ----------
    state : up, initializing, stopping or down.
    operating : an operation on the node is open: ours, or one that the provisioner shows.
    ordered : a stop was ordered: the node is not meant to be used (its user state is maintenance or down).
    progress : how far initializing is, in whatever measure; None: not known.
    """

    state: NodeAvailability
    operating: bool = False
    ordered: bool = False
    progress: str | None = None


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """What is known of a node from the looks so far. All times are in seconds of one clock.

    Attributes
    ----------
    state, since : what was reported last, and since when; None before the first sight.
    been_up, up_since : it was up in some look; when it was first seen up again after it was not. A node that is up at
        the first sight counts as up since then.
    transition_started : when it was first seen not up after it had been up; None while it is up, and where it never
        was.
    crashes : premature crashes since the count was cleared.
    crashed_in_init, init_progressed, progress : it went down while initializing; when it last made progress; the last
        progress. All end with up.
    operated : an operation on it has begun, and it has not been up since: nothing that happens is a crash.
    """

    state: NodeAvailability | None = None
    since: float | None = None
    been_up: bool = False
    up_since: float | None = None
    transition_started: float | None = None
    crashes: int = 0
    crashed_in_init: bool = False
    init_progressed: float | None = None
    progress: str | None = None
    operated: bool = False


def observe(history: NodeHistory, seen: Observation, now: float, stable_time: float = STABLE_TIME) -> NodeHistory:
    """Return the history after one look.

    A premature crash is: from up to down, to a stop that nobody ordered, or to initializing, within `stable_time` of
    having become up; and from initializing to down, of a node that had been up. Neither is one from the start of an
    operation on the node to its next up, nor when the stop was ordered. The first sight of a node has no history.
    """
    history = clear_when_stable(history, now, stable_time)
    if history.state is seen.state and history.operated is seen.operating and history.progress == seen.progress:
        return history
    operated = seen.operating or (history.operated and seen.state is not _A.UP)
    if history.state is None:
        return _entered(NodeHistory(operated=operated), seen, now)
    if history.state is seen.state:
        return _progressed(replace(history, operated=operated), seen, now)
    excused = operated or history.operated or seen.ordered
    crashed_in_init = not excused and history.state is _A.INITIALIZING and seen.state is _A.DOWN
    crashed = not excused and (
        (history.state is _A.UP and history.up_since is not None and now - history.up_since < stable_time)
        or (crashed_in_init and history.been_up)
    )
    after = replace(
        history,
        operated=operated,
        crashes=history.crashes + crashed,
        crashed_in_init=history.crashed_in_init or crashed_in_init,
        transition_started=now if history.state is _A.UP else history.transition_started,
    )
    return _entered(after, seen, now)


def operation_started(history: NodeHistory) -> NodeHistory:
    """Return the history after an operation of ours on the node has begun: until it is up again, nothing is a crash."""
    return replace(history, operated=True)


def set_up(history: NodeHistory) -> NodeHistory:
    """Return the history after a person has set the node up: its crashes are forgiven."""
    return replace(history, crashes=0, crashed_in_init=False)


def clear_when_stable(history: NodeHistory, now: float, stable_time: float = STABLE_TIME) -> NodeHistory:
    """Return the history with the crashes cleared, if the node has been up, or down, for `stable_time`."""
    steady = history.state in (_A.UP, _A.DOWN) and history.since is not None and now - history.since >= stable_time
    return replace(history, crashes=0) if steady and history.crashes else history


def _entered(history: NodeHistory, seen: Observation, now: float) -> NodeHistory:
    """Return the history of a node that has just entered a state."""
    history = replace(history, state=seen.state, since=now)
    if seen.state is _A.UP:
        return replace(
            history,
            been_up=True,
            up_since=now,
            transition_started=None,
            crashed_in_init=False,
            init_progressed=None,
            progress=None,
        )
    if seen.state is _A.INITIALIZING:
        return replace(history, init_progressed=now, progress=seen.progress)
    return replace(history, init_progressed=None, progress=None)


def _progressed(history: NodeHistory, seen: Observation, now: float) -> NodeHistory:
    if seen.state is _A.INITIALIZING and seen.progress != history.progress:
        return replace(history, init_progressed=now, progress=seen.progress)
    return history
