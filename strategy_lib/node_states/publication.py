"""When a new version of a site's view is published, and how versions are numbered (rule 55)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from strategy_lib.node_states.generated import NodeAvailability

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
