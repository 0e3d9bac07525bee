"""What is known of one node, from look to look, and what is made of it at a moment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.history import NodeHistory
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.reported import reported_state
from strategy_lib.node_states.user_state import UserState
from strategy_lib.node_states.view import StateSettings, next_change, take_down, view_of

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
