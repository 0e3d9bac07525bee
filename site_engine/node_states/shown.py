"""What a page shows of the published view of a site: who leads it, its log of versions, what groups have taken down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from site_store.user_states import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import Version

if TYPE_CHECKING:
    from site_store import SiteStore
    from site_store.site_views import SiteViewRecord

CHANGES_SHOWN: Final = 20
"""Nodes of one version that are named."""
_BY_GROUP: Final = "group "


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
class LoggedVersion:
    """One version in the log: how many nodes went from which state to which, and the first of them by name."""

    version: Version
    published_at: datetime
    owner: str
    moves: Sequence[tuple[str | None, str | None, int]]
    changes: Sequence[NodeChange]
    nodes: int


@dataclass(frozen=True, slots=True)
class ShownView:
    """The newest version of a site and who leads it; `older`: the log has versions before those of `log`."""

    newest: SiteViewRecord | None
    leader: Leadership | None
    log: Sequence[LoggedVersion]
    older: Version | None


def shown_view(store: SiteStore, site: str, versions: int, before: Version | None = None) -> ShownView:
    """Return what is shown of a site's view, with so many versions of its log, or of those before one."""
    found = store.site_views.log(site, versions + 1, before)
    log = []
    for one in found[:versions]:
        moves, changes, nodes = _summary(store, site, one.version)
        log.append(LoggedVersion(one.version, one.published_at, one.owner, moves, changes, nodes))
    older = log[-1].version if len(found) > versions else None
    return ShownView(store.site_views.published(site), leadership(store, site), log, older)


def leadership(store: SiteStore, site: str) -> Leadership | None:
    """Return who leads a site now, None while nobody does."""
    held, now = store.leases.get(lease_of(site)), store.now()
    if held is None or held.expires_at <= now:
        return None
    since = datetime.fromtimestamp(held.epoch, UTC) if 0 < held.epoch <= now.timestamp() else None
    return Leadership(held.owner, held.epoch, since)


def taken_down_by_groups(store: SiteStore, site: str) -> Mapping[str, str]:
    """Return the nodes that their group has taken down in the newest version, with the reason (rule 53)."""
    if not store.revisions.settings(site).min_available_percent:
        return {}
    published = store.site_views.published(site)
    return {} if published is None else _of_groups(store, site, published.version)


@lru_cache(maxsize=8)
def _of_groups(store: SiteStore, site: str, _version: Version) -> Mapping[str, str]:
    found = store.site_views.body(site)
    nodes = {} if found is None else json.loads(found[1])["nodes"]
    down = ((name, one.get("reason", "")) for name, one in nodes.items() if one["state"] == NodeAvailability.DOWN)
    return {name: why for name, why in down if why.startswith(_BY_GROUP)}


# What a version changed stays as it is.
@lru_cache(maxsize=512)
def _summary(
    store: SiteStore, site: str, version: Version
) -> tuple[Sequence[tuple[str | None, str | None, int]], Sequence[NodeChange], int]:
    changes = store.site_views.changes_of(site, version)
    moves = Counter((before, after) for before, after, _ in changes.values())
    first = [NodeChange(name, *changes[name]) for name in sorted(changes)[:CHANGES_SHOWN]]
    return [(before, after, count) for (before, after), count in moves.most_common()], first, len(changes)
