"""What people ask of nodes: `touch` and `adopt`, and the states that an administrator sets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from site_engine.admission import set_up_command
from site_engine.errors import Conflict, UnknownNodes
from site_engine.node_lists import NodeList
from site_store import SiteStore
from site_store.nodes.user_states import AskedState, UserStateChange
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.node_condition import NodeCondition
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status


@dataclass(frozen=True, slots=True)
class Adoption:
    """Which nodes can be taken over as they are, and why the others cannot."""

    nodes: tuple[str, ...]
    skipped: Mapping[str, str]


def touch_nodes(
    store: SiteStore, site: str, nodes: Collection[str], user: str, versions: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Ask for nodes again; return the new wanted version of each.

    Parameters
    ----------
    versions : the versions that records of nodes are to have, where the caller has seen them.

    Raises
    ------
    UnknownNodes : the design does not have all of them; none is touched.
    Conflict : an administrator has taken some of them out of use, which no override lifts; none is touched.
    site_store.VersionChanged : a record has another version by now; none is touched.
    """
    wanted = {record.name for record in store.nodes.of_site(site) if record.wanted_digest is not None}
    require_known(f"the design of site {site} has no node", nodes, wanted)
    require_in_use(store, site, nodes)
    return store.wishes.touch(site, nodes, user, versions)


def require_in_use(store: SiteStore, site: str, nodes: Collection[str]) -> None:
    """Raise `Conflict` where an administrator has taken some of these nodes out of use (rule 51)."""
    out_of_use = store.user_states.left_out(site, "update_site")
    named = sorted(out_of_use.keys() & frozenset(nodes))
    if named:
        raise Conflict(
            "Out of Use", f"node {named[0]} is {out_of_use[named[0]]}; {set_up_command(named, site)} comes first"
        )


def refuse_running_action(store: SiteStore, action_id: str | None) -> None:
    """Refuse a change of what is wanted that is made on behalf of a running action (rule 42).

    Raises `Conflict`, which names it; `NotFound`: there is no such action.
    """
    if action_id is None:
        return
    action = store.actions.get(action_id)
    if not action.state.is_end:
        raise Conflict(
            "Caused by a running action",
            f"action {action_id} ({action.kind} of site {action.site}) is running: "
            "what is wanted is not changed by work on it; repeat this when it is over",
            retry=True,
        )


def plan_adoption(records: Iterable[NodeRow], listed: NodeList, site: str, named: Collection[str] | None) -> Adoption:
    """Say which nodes can be taken over: those that the provisioner lists as deployed, and nothing is known of.

    Parameters
    ----------
    records : what the store knows of the site's nodes.
    listed : what the provisioner says of them now.
    named : only these; one that was done in another design is taken over only if it is named. None: all.

    Raises
    ------
    UnknownNodes : the design does not have all of those that are named.
    """
    wanted = {record.name: record for record in records if record.wanted_digest is not None}
    if named is not None:
        require_known(f"the design of site {site} has no node", named, wanted)
    adopted = []
    skipped = {}
    for name, record in sorted(wanted.items()):
        if named is None or name in named:
            why = _why_not(record, listed, named=named is not None)
            if why is None:
                adopted.append(name)
            else:
                skipped[name] = why
    return Adoption(tuple(adopted), skipped)


def _why_not(record: NodeRow, listed: NodeList, *, named: bool) -> str | None:
    there = listed.nodes.get(record.name)
    if there is None:
        return "the provisioner does not list it"
    if there.condition is not NodeCondition.DEPLOYED:
        return f"the provisioner does not list it as deployed: {there.status_name}"
    if record.status == Status.PROCESSING:
        return "an operation is under way on it"
    if record.is_up_to_date:
        return f"it is as wanted, since revision {record.done_revision}"
    if record.done_digest is not None and record.doubt is None and not named:
        return f"it was done in revision {record.done_revision}: name it if it is as wanted all the same"
    return None


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
