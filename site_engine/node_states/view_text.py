"""The text of a version: every node with its state, the reason and its capacity, in the order of names.

Of very many nodes few differ from one version to the next: the text of each other one is kept as it was made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from strategy_lib.node_states.availability import PublishedState

_NOTHING: Final[Mapping[str, Any]] = {}
_CAPACITY: Final = ("cores", "memory", "rack")


class ViewText:
    """The texts of the versions of one site, one after the other."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[PublishedState, Mapping[str, Any], str]] = {}
        self._order: list[str] = []

    def text(
        self,
        site: str,
        state: PublishedState,
        states: Mapping[str, PublishedState],
        listed: Mapping[str, Mapping[str, Any]],
    ) -> str:
        """Return what readers of a version get, but for its number and time, as one JSON object.

        Parameters
        ----------
        state : of the site as a whole.
        states : of each node. What is the same object as at the last time is taken to be unchanged, here and below.
        listed : what the provisioner says of each node: its capacity is part of the version.
        """
        before, made = self._made, self._made
        if states.keys() != before.keys():
            made = {name: known for name, known in before.items() if name in states}
            self._order = sorted(states)
        for name, found in states.items():
            said = listed.get(name, _NOTHING)
            known = made.get(name)
            if known is None or known[0] is not found or known[1] is not said:
                made[name] = (found, said, _text_of(name, found, said))
        self._made = made
        head = _json({"site": site, "state": str(state.state), "reason": state.reason})
        return f'{head[:-1]},"nodes":{{{",".join([made[name][2] for name in self._order])}}}}}'


def _text_of(name: str, state: PublishedState, said: Mapping[str, Any]) -> str:
    facts: dict[str, Any] = {"state": str(state.state)}
    if state.reason:
        facts["reason"] = state.reason
    facts |= {size: said[size] for size in _CAPACITY if said.get(size) is not None}
    return f"{_json(name)}:{_json(facts)}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
