"""What is known of one node, from look to look, and what is made of it at a moment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strategy_lib.node_states.generated import NodeAvailability, generated_state, least_available
from strategy_lib.node_states.history import STABLE_TIME, NodeHistory, clear_when_stable
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.reported import reason_with, reported_state
from strategy_lib.node_states.user_state import UserState

_A = NodeAvailability


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
