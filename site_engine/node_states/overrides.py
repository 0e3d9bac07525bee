"""What an administrator sets for nodes: which ones, whether it may be, and whether a published version has it."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from site_engine.errors import UnknownNodes
from strategy_lib.did_you_mean import did_you_mean

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import SiteStore
    from site_store.nodes.user_states import AskedState, UserStateChange


_NAMED: Final = 12
"""An error names all groups, racks or nodes up to this many."""


def named_nodes(
    store: SiteStore, site: str, nodes: Collection[str], group: str | None = None, rack: str | None = None
) -> tuple[str, ...]:
    """Return the nodes that are named by themselves, or as a group, or as a rack.

    Raises `UnknownNodes`: the design has no such node, group or rack.
    """
    records = {record.name: record for record in store.nodes.of_site(site) if record.wanted_digest is not None}
    require_known(f"the design of site {site} has no node", nodes, records)
    found = set(nodes)
    if group is not None:
        groups = store.site_groups.nodes(site)
        require_known(f"the design of site {site} has no group with nodes", [group], groups)
        found.update(groups[group])
    if rack is not None:
        racks = {record.rack for record in records.values() if record.rack is not None}
        require_known(f"the design of site {site} has no rack", [rack], racks)
        found.update(name for name, record in records.items() if record.rack == rack)
    return tuple(sorted(found))


def set_states(
    store: SiteStore, site: str, nodes: Collection[str], wanted: AskedState, user: str, version: str | None = None
) -> UserStateChange:
    """Set the user state of nodes, all of them or none; it holds for claims at once (rule 54).

    Raises `site_store.VersionChanged`: together they have another version than this one.
    """
    most = store.revisions.settings(site).max_groups_in_maintenance
    return store.user_states.change(site, nodes, wanted, user, most_groups=most, version=version)


def not_published(store: SiteStore, site: str, nodes: Collection[str], at: datetime) -> str | None:
    """Return what is missing until a published version has what was set at this time; None where it has it.

    Parameters
    ----------
    nodes : those that were set.
    at : when, by the database's clock.
    """
    if not store.user_states.is_led(site):
        return "no controller leads the site: it is published when one does"
    views = store.site_views.memory(site, nodes)
    waiting = [name for name in nodes if name not in views or views[name].user_since < at.timestamp()]
    if waiting:
        return f"the controller has not taken it in yet for {waiting[0]}"
    newest = store.site_views.body(site)
    published = {} if newest is None else json.loads(newest[1])["nodes"]
    for name in sorted(nodes):
        said = published.get(name, {})
        # Its group may have taken it further down.
        if said.get("state") != views[name].view.state and not said.get("reason", "").startswith("group "):
            return f"the next version is about to be published, with {name} {views[name].view.state}"
    return None


def require_known(what: str, named: Collection[str], known: Collection[str]) -> None:
    """Make sure that what is named is there. Raises `UnknownNodes`: it begins with `what`, and names the nearest."""
    unknown = sorted(set(named).difference(known))
    if unknown:
        few = f"known are {', '.join(sorted(known))}" if len(known) <= _NAMED else f"it has {len(known)} others"
        hint = did_you_mean(unknown[0], sorted(known), few if known else "it has none")
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise UnknownNodes(f"{what} {unknown[0]!r}{more}; {hint}")
