"""A node that was done and is not as it was left: two looks in a row make a drift, one is a blink (rule 56)."""

from __future__ import annotations

from dataclasses import dataclass

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.node_row import DRIFTED
from strategy_lib.status.words import Status

LOOKS = 2
POWER_IS_OFF = "power is off"
"""The reason of a drift that Slipway's own check gives where a node has lost its power, and nothing else is known."""


@dataclass(frozen=True, slots=True)
class Drift:
    """What the checks of a node have found so far.

    Attributes
    ----------
    reason : what is not as it was left, at the last look; "" where all is well.
    looks : in how many looks in a row something was found.
    since : time of the first of them.
    """

    reason: str = ""
    looks: int = 0
    since: float | None = None

    @property
    def confirmed(self) -> bool:
        """Whether it is a drift, and no blink."""
        return self.looks >= LOOKS

    def looked(self, reason: str, now: float) -> Drift:
        """Return the state after another look; "" is a look that found all well."""
        if not reason:
            return Drift()
        return Drift(reason, self.looks + 1, now if self.since is None else self.since)


def is_judged(*, done: bool, user: NodeAvailability, monitored: bool = True, busy: bool = False) -> bool:
    """Tell whether a node is judged for drift, and repaired.

    Parameters
    ----------
    done : it was done in some version.
    user : its user state: only nodes that are to be up are judged (rule 51).
    monitored : neither it nor its group says `monitor: false`.
    busy : an action works on it.
    """
    return done and monitored and not busy and user is NodeAvailability.UP


def drift_status(drift: Drift, since: str) -> tuple[Status, str]:
    """Return the status of a node that was a success, and its message.

    Parameters
    ----------
    drift : what was found.
    since : time of the drift, in words.
    """
    return (Status.ERROR, f"{DRIFTED}{drift.reason}, since {since}") if drift.confirmed else (Status.SUCCESS, "")
