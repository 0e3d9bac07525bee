"""What is known of one node, from look to look, and what is made of it at a moment (rules 49 and 50).

Its history is a value: crashes, the start of a transition, progress with initializing. Each observation makes a new
one; the clock alone ends windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from strategy_lib.node_states.generated import NodeAvailability, generated_state, least_available
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.reported import reason_with, reported_state
from strategy_lib.node_states.user_state import UserState

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


@dataclass(frozen=True, slots=True)
class StateSettings:
    """What a site sets for the states of its nodes; times in seconds. An `init_timeout` of 0 waits for ever."""

    transition_time: float = 30.0
    stable_time: float = STABLE_TIME
    max_crashes: int = 4
    init_timeout: float = 0.0


DEFAULTS = StateSettings()


def view_of(
    history: NodeHistory,
    user: UserState,
    now: float,
    settings: StateSettings = DEFAULTS,
    said: str = "",
    word: str = "",
) -> PublishedState:
    """Return the state of a node that is published (rule 49), with the user's own reason where the user decided.

    A node that was never seen is down.

    Parameters
    ----------
    said : what the node says of itself, where that lowers its state.
    word : what the provisioner's list says: the reason of a node that was not up since it is watched.
    """
    reported, user = history.state, user.at(now)
    if reported is None:
        return PublishedState(least_available((_A.DOWN, user.state)), "not seen yet")
    history = clear_when_stable(history, now, settings.stable_time)
    found = generated_state(
        reported,
        user.state,
        now=now,
        transition_started=history.transition_started,
        transition_time=settings.transition_time,
        crashes=history.crashes,
        max_crashes=settings.max_crashes,
        crashed_in_init=history.crashed_in_init,
        init_progressed=history.init_progressed,
        init_timeout=settings.init_timeout,
    )
    by_user = user.reason and found["state"] == user.state is not _A.UP
    why = found["reason"]
    if word and reported is _A.DOWN and found["state"] == _A.DOWN and not history.been_up:
        why = f"not up since it is watched: {word}"
    reason = reason_with(why, said) if found["state"] != user.state else why
    return PublishedState(_A(found["state"]), user.reason if by_user else reason)


def take_down(history: NodeHistory, user: UserState, settings: StateSettings = DEFAULTS) -> UserState | None:
    """Return the user state that the controller sets for a node that crashes too often; None where it sets none.

    It stays until a person sets the node up (`set_up`), which also forgives its crashes.
    """
    if user.state not in (_A.UP, _A.RETIRED) or history.crashes <= settings.max_crashes:
        return None
    return UserState(_A.DOWN, f"crashed {history.crashes} times, at most {settings.max_crashes} are accepted")


def next_change(history: NodeHistory, user: UserState, now: float, settings: StateSettings = DEFAULTS) -> float | None:
    """Return the next time after `now` at which the clock alone may change the state of a node; None: at none.

    Until then a node of which nothing new is reported need not be judged again.
    """
    times = [user.until]
    if history.state in (_A.DOWN, _A.STOPPING) and history.transition_started is not None:
        times.append(history.transition_started + settings.transition_time)
    if history.state is _A.INITIALIZING and settings.init_timeout > 0 and history.init_progressed is not None:
        times.append(history.init_progressed + settings.init_timeout)
    if history.crashes and history.state in (_A.UP, _A.DOWN) and history.since is not None:
        times.append(history.since + settings.stable_time)
    return min((time for time in times if time is not None and time > now), default=None)


_NO_HISTORY = NodeHistory()
_NOT_SEEN = PublishedState(NodeAvailability.DOWN, "not seen yet")


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """What a leader knows of a node, and leaves to the next one.

    Attributes
    ----------
    word, power : what the provisioner's list said last; None: it was never read.
    history : what was made of all looks.
    view, since : its generated state, before its groups are judged, and when it last changed; seconds.
    user_since : when its user state was set that the history knows of.
    said : what the node itself says, where that is what lowers its state.
    """

    word: str | None = None
    power: str | None = None
    history: NodeHistory = _NO_HISTORY
    view: PublishedState = _NOT_SEEN
    since: float = 0.0
    user_since: float = 0.0
    said: str = ""


NOT_KNOWN = NodeMemory()
"""What is known of a node at its first sight."""


@dataclass(frozen=True, slots=True)
class SetState:
    """A user state as it was set, and when. Setting the same again is another one."""

    user: UserState
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JudgedState:
    """What a step makes of a node: what is known of it then, and when the clock alone may change that."""

    known: NodeMemory
    taken_down: UserState | None
    next_change: float | None


def judge(known: NodeMemory, user: UserState, now: float, settings: StateSettings) -> JudgedState:
    """Return what is made of a node now: of its name nothing depends, so that nodes that are alike are judged once."""
    down = take_down(known.history, user.at(now), settings)
    user = down or user
    view = view_of(known.history, user, now, settings, known.said, _listed_as(known))
    after = known
    if view != known.view:
        since = known.since if view.state is known.view.state and known.since else now
        after = replace(known, view=view, since=since)
    return JudgedState(after, down, next_change(known.history, user, now, settings))


def _listed_as(known: NodeMemory) -> str:
    """Return what the provisioner calls a node that was never up: its state has no other reason."""
    if known.history.been_up or known.word is None:
        return ""
    return reported_state(known.word, known.power, None).reason
