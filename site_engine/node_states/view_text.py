"""The text of a version: every node with its state, the reason and its capacity, in the order of names.

Of very many nodes few differ from one version to the next: the text of each other one is kept as it was made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from strategy_lib.node_states.same_objects import gone_keys, other_objects

if TYPE_CHECKING:
    from strategy_lib.node_states.publication import PublishedState
    from strategy_lib.node_states.site_states import Capacity

_NOTHING: Final[Mapping[str, Any]] = {}
_CAPACITY: Final = ("cores", "memory", "rack")
# Put together by hand: to set an encoder up takes longer than to write down a node.
_json: Final = json.JSONEncoder(separators=(",", ":")).encode
_quoted: Final = json.encoder.encode_basestring_ascii


def capacity_of(said: Mapping[str, Any]) -> Capacity:
    """Return the capacity of a node from the provisioner's list, or from a version."""
    cores, memory, rack = (said.get(size) for size in _CAPACITY)
    return cores, memory, rack


class ViewText:
    """The texts of the versions of one site, one after the other."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._states: Mapping[str, PublishedState] = {}
        self._listed: Mapping[str, Mapping[str, Any]] = {}

    def text(
        self,
        site: str,
        state: PublishedState,
        states: Mapping[str, PublishedState],
        listed: Mapping[str, Mapping[str, Any]],
    ) -> str:
        """Return what readers of a version get, except its number and time, as one JSON object.

        Parameters
        ----------
        state : of the site as a whole.
        states : of each node. What is the same object as at the last time is taken to be unchanged, here and below.
        listed : what the provisioner says of each node: its capacity is part of the version. It stays as it is.
        """
        texts, other = self._texts, other_objects(self._states, states)
        if gone_keys(self._states, states, other) or any(name not in texts for name in other):
            texts = {name: texts.get(name, "") for name in sorted(states)}
        if listed is not self._listed:
            said = other_objects(self._listed, listed)
            other += [*said, *gone_keys(self._listed, listed, said)]
        for name in other:
            found = states.get(name)
            if found is not None:
                # Each keeps its place in the order.
                texts[name] = _text_of(name, found, listed.get(name, _NOTHING))
        self._texts, self._states, self._listed = texts, dict(states), listed
        head = _json({"site": site, "state": str(state.state), "reason": state.reason})
        return f'{head[:-1]},"nodes":{{{",".join(texts.values())}}}}}'


def _text_of(name: str, state: PublishedState, said: Mapping[str, Any]) -> str:
    facts = [f'{_quoted(name)}:{{"state":{_quoted(state.state)}']
    if state.reason:
        facts.append(f'"reason":{_quoted(state.reason)}')
    for size in _CAPACITY:
        if (value := said.get(size)) is not None:
            facts.append(f'"{size}":{value if type(value) is int else _json(value)}')
    return ",".join(facts) + "}"
