"""Asking for nodes again (`touch`), and taking over nodes that are deployed already (`adopt`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from site_engine.admission import set_up_command
from site_engine.errors import EngineError
from site_engine.node_states.overrides import require_known
from strategy_lib.outcome import NodeCondition
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status

if TYPE_CHECKING:
    from site_engine.node_lists import NodeList
    from site_store import SiteStore


class NodesOutOfUse(EngineError):
    """Nodes are named that an administrator has taken out of use: set them up first, or name others."""


class CausedByAction(EngineError):
    """A running action asked to change what is wanted: no work changes its own goal (rule 42)."""


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
    NodesOutOfUse : an administrator has taken some of them out of use, which no override lifts; none is touched.
    site_store.VersionChanged : a record has another version by now; none is touched.
    """
    wanted = {record.name for record in store.nodes.of_site(site) if record.wanted_digest is not None}
    require_known(f"the design of site {site} has no node", nodes, wanted)
    require_in_use(store, site, nodes)
    return store.wishes.touch(site, nodes, user, versions)


def require_in_use(store: SiteStore, site: str, nodes: Collection[str]) -> None:
    """Raise `NodesOutOfUse` where an administrator has taken some of these nodes out of use (rule 51)."""
    out_of_use = store.user_states.left_out(site, "update_site")
    named = sorted(out_of_use.keys() & frozenset(nodes))
    if named:
        raise NodesOutOfUse(f"node {named[0]} is {out_of_use[named[0]]}; {set_up_command(named, site)} comes first")


def refuse_running_action(store: SiteStore, action_id: str | None) -> None:
    """Refuse a change of what is wanted that is made on behalf of a running action (rule 42).

    Raises `CausedByAction`, which names it; `NotFound`: there is no such action.
    """
    if action_id is None:
        return
    action = store.actions.get(action_id)
    if not action.state.is_end:
        raise CausedByAction(
            f"action {action_id} ({action.kind} of site {action.site}) is running: "
            "what is wanted is not changed by work on it; repeat this when it is over"
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
