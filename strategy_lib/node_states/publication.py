"""When a new version of a site's view is published, how versions are numbered (rule 55), and their text.

Of very many nodes few differ from one version to the next: they are found without Python code for each, and the text
of each other one is kept as it was made.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from itertools import compress
from operator import is_not, ne
from typing import Any, Final, TypeVar

from strategy_lib.node_states.generated import NodeAvailability

T = TypeVar("T")

_A = NodeAvailability
AVAILABLE_IN_GROUP = frozenset({_A.UP, _A.INITIALIZING, _A.MAINTENANCE})
UP_IN_SITE = frozenset({_A.UP, _A.INITIALIZING, _A.RETIRED})
_TAKEN_DOWN = frozenset({_A.UP, _A.INITIALIZING})


@dataclass(frozen=True, slots=True)
class PublishedState:
    """The state of a node as it is published, and why. A change of either makes a new version (rule 55)."""

    state: NodeAvailability
    reason: str = ""


def take_groups_down(
    states: Mapping[str, PublishedState],
    groups: Mapping[str, Collection[str]],
    min_available_percent: Mapping[str, int],
) -> dict[str, PublishedState]:
    """Return the states after groups with too few available nodes have taken the rest of theirs down.

    All groups are judged by the states given, so that no group falls because another one did.

    Parameters
    ----------
    states : the generated state of each node.
    groups : group to its nodes, in document order: a node of several such groups carries the first one's reason.
    min_available_percent : by group, exact in integers; 0, or a group that is missing: off.
    """
    result = dict(states)
    for group, names in groups.items():
        percent = min_available_percent.get(group, 0)
        if not percent:
            continue
        members = [name for name in names if name in states]
        available = sum(states[name].state in AVAILABLE_IN_GROUP for name in members)
        if available * 100 >= percent * len(members):
            continue
        reason = f"group {group} has {available} of {len(members)} nodes available, {percent} % are needed"
        for name in members:
            if result[name].state in _TAKEN_DOWN:
                result[name] = PublishedState(_A.DOWN, reason)
    return result


def site_state(states: Mapping[str, PublishedState], min_up_nodes: int = 0, min_up_percent: int = 0) -> PublishedState:
    """Return up or down for a site, with the reason; 0 switches a condition off."""
    if not min_up_nodes and not min_up_percent:
        return PublishedState(_A.UP)
    found, total = [one.state for one in states.values()], len(states)
    up = sum(found.count(state) for state in UP_IN_SITE)
    if up < min_up_nodes:
        return PublishedState(_A.DOWN, f"{up} of {total} nodes are up, {min_up_nodes} are needed")
    if up * 100 < min_up_percent * total:
        return PublishedState(_A.DOWN, f"{up} of {total} nodes are up, {min_up_percent} % are needed")
    return PublishedState(_A.UP)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Number of a published view. It only grows; a take-over begins a new epoch, and `number` goes on over epochs."""

    epoch: int
    number: int

    def __str__(self) -> str:
        """Return `<epoch>.<version>`, as it is written everywhere."""
        return f"{self.epoch}.{self.number}"

    def next(self, epoch: int) -> Version:
        """Return the version that this epoch's leader publishes after this one.

        Raises `ValueError`: when the epoch is older than this version's: its leader was replaced, and publishes
        nothing.
        """
        if epoch < self.epoch:
            raise ValueError(f"epoch {epoch} is over: {self} was published since")
        return Version(epoch, self.number + 1)

    def replaces(self, own: Version | None) -> bool:
        """Tell whether a reader that has `own` accepts this version; None: it has none yet."""
        return own is None or self > own


NOTHING_PUBLISHED = Version(0, 0)
"""Stands for the version of a site of which none was published."""


@dataclass(frozen=True, slots=True)
class PublishSettings:
    """When a version may be published; in seconds."""

    min_time_between_versions: float = 5.0
    quiet_time: float = 1.0
    max_quiet: float = 10.0


@dataclass(frozen=True, slots=True)
class Pending:
    """What has changed since the last version.

    Attributes
    ----------
    published : when that was; None: never in this life of the store.
    first_change, last_change : when states first and last changed since then; None: they have not.
    """

    published: float | None = None
    first_change: float | None = None
    last_change: float | None = None

    def changed(self, now: float) -> Pending:
        """Return the state after a change that matters."""
        first = now if self.first_change is None else self.first_change
        return replace(self, first_change=first, last_change=now)

    def done(self, now: float) -> Pending:
        """Return the state after a version was published."""
        return Pending(published=now)


def publish_time(pending: Pending, settings: PublishSettings) -> float | None:
    """Return from when on the changes may be published; None where nothing has changed.

    That is when things have been quiet for `quiet_time`, or `max_quiet` after the first change however busy they are;
    and not before `min_time_between_versions` has passed.
    """
    if pending.first_change is None or pending.last_change is None:
        return None
    settled = min(pending.last_change + settings.quiet_time, pending.first_change + settings.max_quiet)
    if pending.published is None:
        return settled
    return max(settled, pending.published + settings.min_time_between_versions)


def to_publish(pending: Pending, settings: PublishSettings, now: float, *, differs: bool) -> bool:
    """Tell whether a version is published now.

    Parameters
    ----------
    pending, settings : what has changed, and the site's settings.
    now : on the clock of `pending`.
    differs : something differs from what was published. What changed and changed back is nothing to publish; the wait
        of a node that flaps is not begun anew by that.
    """
    time = publish_time(pending, settings)
    return differs and time is not None and now >= time


def changed_states(
    published: Mapping[str, PublishedState], generated: Mapping[str, PublishedState]
) -> dict[str, PublishedState | None]:
    """Return the nodes whose state or reason differs, None for one that is gone."""
    changes: dict[str, PublishedState | None] = {name: None for name in published if name not in generated}
    for name, found in generated.items():
        before = published.get(name)
        if before is not found and before != found:
            changes[name] = found
    return changes


def other_objects(before: Mapping[str, T], after: Mapping[str, T]) -> list[str]:
    """Return the keys of `after` whose value is another object than before, or was not there; None is no value."""
    return list(compress(after, map(is_not, after.values(), map(before.get, after))))


def other_values(before: Mapping[str, T], after: Mapping[str, T]) -> list[str]:
    """Return the keys of `after` whose value is not equal to the one before, or was not there; None is no value."""
    return list(compress(after, map(ne, after.values(), map(before.get, after))))


def gone_keys(before: Mapping[str, T], after: Mapping[str, T], other: Collection[str]) -> Set[str]:
    """Return the keys that `after` has no more; `other`: all those of it that differ, as the functions above say."""
    new = sum(key not in before for key in other)
    return frozenset() if len(after) - new == len(before) else before.keys() - after.keys()


Capacity = tuple[Any, Any, Any]
"""Cores, memory and rack of a node, as they are published; None: not told."""
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
