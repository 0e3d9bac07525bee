"""The state of a node that is published: what is seen of it, what the user set, and its history (rule 49)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypedDict


class NodeAvailability(StrEnum):
    """How available a node is, from the least to the most."""

    MAINTENANCE = "maintenance"
    DOWN = "down"
    STOPPING = "stopping"
    INITIALIZING = "initializing"
    RETIRED = "retired"
    UP = "up"

    @property
    def rank(self) -> int:
        """Place in the order, 0 for maintenance."""
        return _RANKS[self]


_A = NodeAvailability
_RANKS = {state: rank for rank, state in enumerate(_A)}
REPORTED = frozenset({_A.UP, _A.INITIALIZING, _A.STOPPING, _A.DOWN})
"""What the provisioner's list, or a node itself, may report."""
USER = frozenset({_A.UP, _A.RETIRED, _A.MAINTENANCE, _A.DOWN})
"""What a person may want."""
_JUDGED_BY_HISTORY = frozenset({_A.UP, _A.RETIRED})
_REPORTED_WORDS = {state.value: state for state in _A if state in REPORTED}
_USER_WORDS = {state.value: state for state in _A if state in USER}


class GeneratedState(TypedDict):
    """The state that is published, and why it is not simply up."""

    state: str
    reason: str


def least_available(states: Iterable[NodeAvailability]) -> NodeAvailability:
    """Return the least available of these states; up where there is none."""
    return min(states, key=_RANKS.__getitem__, default=_A.UP)


def generated_state(
    reported: str,
    user: str = "up",
    *,
    now: float,
    transition_started: float | None = None,
    transition_time: float = 30.0,
    crashes: int = 0,
    max_crashes: int = 4,
    crashed_in_init: bool = False,
    init_progressed: float | None = None,
    init_timeout: float = 0.0,
) -> GeneratedState:
    """Return the state of a node that is published: the first row of the table that fits decides (rule 49).

    Parameters
    ----------
    reported : "up", "initializing", "stopping" or "down".
    user : "up", "retired", "maintenance" or "down".
    now : all times are in seconds of one clock.
    transition_started, transition_time : when the node was first seen not up, None where it never was seen up; and for
        how long that may be a reboot.
    crashes, max_crashes : premature crashes, and how many are still fine.
    crashed_in_init : it went down while it initialized, and has not been up since.
    init_progressed, init_timeout : when it last made progress with initializing, and for how long it may make none; 0:
        for ever.

    Returns
    -------
    dict
        `state`: one of the six words, never more available than `user`. `reason`: empty only where the reported and the
        user state are up, and the state is.

    Raises
    ------
    ValueError : when a state is not one that may be reported, or wanted.

    Examples
    --------
    >>> generated_state("down", now=110.0, transition_started=100.0)
    {'state': 'maintenance', 'reason': 'down: it may be restarting, as it may for 30 s'}
    """
    seen = _REPORTED_WORDS.get(reported) if isinstance(reported, str) else None
    wanted = _USER_WORDS.get(user) if isinstance(user, str) else None
    if seen is None:
        raise ValueError(f"{reported!r} cannot be reported: {', '.join(_REPORTED_WORDS)}")
    if wanted is None:
        raise ValueError(f"{user!r} cannot be wanted by a user: {', '.join(_USER_WORDS)}")
    if wanted in _JUDGED_BY_HISTORY:
        if crashes > max_crashes:
            return _state(_A.DOWN, f"crashed {crashes} times, at most {max_crashes} are accepted")
        if seen in (_A.DOWN, _A.STOPPING):
            if transition_started is not None and now < transition_started + transition_time:
                return _state(_A.MAINTENANCE, f"{seen}: it may be restarting, as it may for {transition_time:g} s")
            return _state(seen, "stopping" if seen is _A.STOPPING else "not back within the grace period")
    if seen is _A.INITIALIZING and wanted is _A.RETIRED:
        return _state(_A.MAINTENANCE, "initializing, and retired by the user")
    if seen is _A.INITIALIZING and wanted is _A.UP:
        if crashed_in_init:
            return _state(_A.DOWN, "crashed while it initialized")
        if init_timeout > 0 and init_progressed is not None and now >= init_progressed + init_timeout:
            return _state(_A.DOWN, f"initializing without progress for {now - init_progressed:.0f} s")
    if seen is wanted is _A.UP:
        return _state(seen, "")
    if _RANKS[seen] <= _RANKS[wanted]:
        return _state(seen, f"reported {seen}")
    return _state(wanted, f"set to {wanted} by the user")


def _state(state: NodeAvailability, reason: str) -> GeneratedState:
    return {"state": state.value, "reason": reason}
