"""What a node says of itself: its words, and for how long the last one holds when it says nothing any more.

It may lower the state of a node, and never raises it (`reported.lower_of`). It is no drift, and nothing is repaired
for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from strategy_lib.node_states.generated import REPORTED, NodeAvailability
from strategy_lib.node_states.reported import Reported

LONGEST_REASON = 200
"""Characters of a node's reason that are kept: it is told to everybody."""
_WORDS = {state.value: state for state in NodeAvailability if state in REPORTED}


@dataclass(frozen=True, slots=True)
class Hearing:
    """The last word of a node.

    Attributes
    ----------
    word : what it said.
    silent_since : when it first did not answer after that; None: it answers, or was not asked since. Seconds.
    """

    word: Reported
    silent_since: float | None = None

    def silent(self, now: float) -> Hearing:
        """Return it after the node did not answer."""
        return self if self.silent_since is not None else replace(self, silent_since=now)

    def holds(self, now: float, transition_time: float) -> bool:
        """Tell whether the word holds still: of a node that does not answer for the transition time, as a restart may.

        After that it is as if the node said nothing: the provisioner's list alone decides.
        """
        return self.silent_since is None or now < self.silent_since + transition_time


def read_word(data: object) -> Reported:
    """Return what a node's answer says. Raises `ValueError`: it is none that this version knows."""
    said = data if isinstance(data, Mapping) else {}
    state = said.get("state")
    if not isinstance(state, str) or state not in _WORDS:
        raise ValueError(f"state must be {', '.join(_WORDS)}")
    reason = said.get("reason")
    printable = "".join(sign if sign.isprintable() else " " for sign in reason) if isinstance(reason, str) else ""
    return Reported(_WORDS[state], " ".join(printable.split())[:LONGEST_REASON])


def said_by(reported: Reported, provisioner: Reported) -> str:
    """Return what the node says, where it is that which lowers its state; "" where the provisioner's word decides."""
    return reported.reason if reported.state is not provisioner.state else ""


def reason_with(reason: str, said: str) -> str:
    """Return the reason of a published state, with what the node says of itself."""
    return f"{reason}; the node says: {said}" if said else reason
