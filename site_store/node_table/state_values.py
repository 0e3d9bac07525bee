"""A node with its three states, and what was noted of them, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from strategy_lib.node_states.generated import NodeAvailability

_DOWN: Final = str(NodeAvailability.DOWN)


@dataclass(frozen=True, slots=True)
class NodeStateRow:
    """A node with its three states. Times of what is reported and published are in seconds, of the database's clock.

    Attributes
    ----------
    reported, state : None: no controller has seen it yet.
    word, power : what the provisioner's list said.
    user : what is in force; `set_by`, `set_at` and `until` are None where nobody has set anything.
    """

    node: str
    rack: str | None
    reported: str | None
    word: str | None
    power: str | None
    reported_since: float | None
    crashes: int
    user: str
    user_reason: str
    set_by: str | None
    set_at: datetime | None
    until: datetime | None
    state: str | None
    reason: str
    since: float | None

    def taken_down(self, by: Mapping[str, str]) -> NodeStateRow:
        """Return the same where groups have taken nodes down: these, each with the reason."""
        why = by.get(self.node)
        return self if why is None else replace(self, state=_DOWN, reason=why)


@dataclass(frozen=True, slots=True)
class StateNote:
    """What was noted of the states of a node: a published change, or what an administrator set."""

    at: datetime
    was_set: bool
    message: str
