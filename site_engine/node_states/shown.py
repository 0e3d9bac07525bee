"""What a page shows of the published view of a site: who leads it, its log of versions, what groups have taken down."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from site_store import SiteStore
from site_store.nodes.site_views import SiteViewRecord
from site_store.records import Lease
from site_store.trees.site_cards import Changes
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import Version

CHANGES_SHOWN: Final = 20
"""Nodes of one version that are named."""
_BY_GROUP: Final = "group "
_MOST_KEPT: Final = 512
"""Versions whose changes are kept in the process."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads a site now.

    Attributes
    ----------
    owner : the controller.
    since : when it took over; None where its epoch is above the clock, and so tells no time.
    """

    owner: str
    epoch: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What one version changed of a node; None where it had or has no state."""

    node: str
    before: str | None
    after: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """What one version changed: how many nodes went from which state to which, the first of them by name, and all."""

    moves: Sequence[tuple[str | None, str | None, int]]
    first: Sequence[NodeChange]
    nodes: int


@dataclass(frozen=True, slots=True)
class LoggedVersion:
    """One version in the log."""

    version: Version
    published_at: datetime
    owner: str
    changes: VersionChanges


@dataclass(frozen=True, slots=True)
class ShownView:
    """The newest version of a site and who leads it; `older`: the log has versions before those of `log`.

    `token` changes whenever anything of the states of its nodes may have. `judging`: the newest version where groups
    may have taken nodes down in it, by the settings of the site.
    """

    token: str
    newest: SiteViewRecord | None
    leader: Leadership | None
    log: Sequence[LoggedVersion]
    older: Version | None
    judging: Version | None


def shown_view(store: SiteStore, site: str, versions: int, before: Version | None = None) -> ShownView | None:
    """Return what is shown of a site's view, with so many versions of its log, or of those before one.

    None where the site does not exist. It takes one statement.
    """
    known = _known_changes(store, site)
    found = store.published_views.get(site, versions + 1, before, known)
    if found is None:
        return None
    read = {version: _summary(changes) for version, changes in found.changes.items()}
    _keep_changes(store, site, read)
    known |= read
    log = [LoggedVersion(one.version, one.published_at, one.owner, known[one.version]) for one in found.log[:versions]]
    older = log[-1].version if len(found.log) > versions else None
    leader = _leadership(found.leader, found.read_at)
    judging = found.newest.version if found.newest is not None and found.groups_take_down else None
    return ShownView(found.token, found.newest, leader, log, older, judging)


def _leadership(held: Lease | None, now: datetime) -> Leadership | None:
    if held is None:
        return None
    since = datetime.fromtimestamp(held.epoch, UTC) if 0 < held.epoch <= now.timestamp() else None
    return Leadership(held.owner, held.epoch, since)


def taken_down_by_groups(store: SiteStore, site: str, version: Version | None) -> Mapping[str, str]:
    """Return the nodes that their group has taken down in a version, with the reason (rule 53).

    Parameters
    ----------
    version : the newest; None: there is none, or no group takes nodes down.
    """
    return {} if version is None else _of_groups(store, site, version)


@lru_cache(maxsize=8)
def _of_groups(store: SiteStore, site: str, _version: Version) -> Mapping[str, str]:
    found = store.site_views.body(site)
    nodes = {} if found is None else json.loads(found[1])["nodes"]
    down = ((name, one.get("reason", "")) for name, one in nodes.items() if one["state"] == NodeAvailability.DOWN)
    return {name: why for name, why in down if why.startswith(_BY_GROUP)}


def _summary(changes: Changes) -> VersionChanges:
    moves = Counter((before, after) for before, after, _ in changes.values())
    first = [NodeChange(name, *changes[name]) for name in sorted(changes)[:CHANGES_SHOWN]]
    return VersionChanges(
        [(before, after, count) for (before, after), count in moves.most_common()], first, len(changes)
    )


# What a version changed stays as it is, and is read once.
_lock = threading.Lock()
_changes: OrderedDict[tuple[SiteStore, str, Version], VersionChanges] = OrderedDict()


def _known_changes(store: SiteStore, site: str) -> dict[Version, VersionChanges]:
    with _lock:
        items = list(_changes.items())
    return {version: found for (where, name, version), found in items if (where, name) == (store, site)}


def _keep_changes(store: SiteStore, site: str, read: Mapping[Version, VersionChanges]) -> None:
    with _lock:
        _changes.update({(store, site, version): found for version, found in read.items()})
        while len(_changes) > _MOST_KEPT:
            _changes.popitem(last=False)
