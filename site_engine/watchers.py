"""What a watcher is, and what it is told: for packages that register one as an entry point of `slipway.watchers`.

Watchers are told of changes of objects that they name, in any order, once at most; their errors touch no status
(rules 41 and 42). Who tells them is `controller/notifications.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from site_store import ObjectChange, SiteStore


@dataclass(frozen=True, slots=True)
class Told:
    """What a watcher is told: changes of one commit or touch in a site, those alone that it watches.

    Attributes
    ----------
    event : the id of this; several may belong to one revision.
    user, revision : who has changed it, and in which revision; None: nodes were asked for again (`touch`).
    store : reads all, and writes nothing but `store.wishes.touch(site, nodes, user)` of what the watcher names.
    """

    event: str
    site: str
    user: str
    revision: int | None
    changes: tuple[ObjectChange, ...]
    store: SiteStore


@dataclass(frozen=True, slots=True)
class DesignWatcher:
    """Something that is told of changes: what is registered as an entry point of `slipway.watchers`.

    Attributes
    ----------
    tell : is called with what has changed, in a thread of its own. What it raises is logged and counted.
    watches : of which objects: kinds (`node`, `host_profile`), or single ones (`node/gw01`).
    touches : which nodes it may ask for again: `node` for all, or `node/gw01`.
    """

    tell: Callable[[Told], object]
    watches: Collection[str]
    touches: Collection[str] = ()
