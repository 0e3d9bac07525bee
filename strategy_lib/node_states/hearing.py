"""What a node says of itself: it may lower the state of a node, and never raises it (`reported.lower_of`)."""

from __future__ import annotations

from collections.abc import Mapping

from strategy_lib.node_states.generated import REPORTED, NodeAvailability
from strategy_lib.node_states.reported import Reported

LONGEST_REASON = 200
"""Characters of a node's reason that are kept: it is told to everybody."""
_WORDS = {state.value: state for state in NodeAvailability if state in REPORTED}


def read_word(data: object) -> Reported:
    """Return what a node's answer says. Raises `ValueError`: it is none that this version knows."""
    said = data if isinstance(data, Mapping) else {}
    state = said.get("state")
    if not isinstance(state, str) or state not in _WORDS:
        raise ValueError(f"state must be {', '.join(_WORDS)}")
    reason = said.get("reason")
    printable = "".join(sign if sign.isprintable() else " " for sign in reason) if isinstance(reason, str) else ""
    return Reported(_WORDS[state], " ".join(printable.split())[:LONGEST_REASON])
