"""Destroying nodes that left the design: each by the design that it was done for (rule 25), dependants first (40)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from design_rendering.design import read_design
from site_engine.designs import read_revision
from site_engine.kinds import Override
from site_engine.log_messages import failed_critical
from site_engine.parameters import parameters_of
from site_engine.provisioners import token_of_address
from strategy_lib.groups.waves import find_node_cycles
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from site_store import ActionRecord, RevisionRecord, SiteStore


@dataclass(frozen=True, slots=True)
class Removal:
    """How nodes are destroyed that left the design.

    Attributes
    ----------
    design_refs : where the provisioner reads the design that has a node.
    waits_for : node to those of the nodes that it waited for when it was deployed.
    """

    design_refs: Mapping[str, str]
    waits_for: Mapping[str, tuple[str, ...]]


def removal_of(
    store: SiteStore, action: ActionRecord, nodes: Collection[str], address: Callable[[RevisionRecord], str]
) -> Removal:
    """Return how an action destroys nodes that left the design: the same each time, whatever is destroyed by now.

    A node that is proven destroyed is done for nothing any more; which design it was sent with, its operation knows.

    Parameters
    ----------
    address : gives the address of a revision's design.

    Raises
    ------
    StepError, site_store.RevisionNotFound : the design of a node cannot be read.
    """
    sent = {
        name: operation.design_ref
        for operation in store.operations.of_action(action.id)
        if operation.phase is Phase.DESTROY and operation.group is None
        for name in (*operation.nodes, *operation.left_out)
    }
    tokens = {ref: token_of_address(ref) for ref in sent.values()}
    numbers = {ref: store.revisions.number_of_token(action.site, token) for ref, token in tokens.items()}
    records = {record.name: record for record in store.nodes.of_site(action.site)}
    by_revision: defaultdict[int, list[str]] = defaultdict(list)
    for name in nodes:
        number = numbers[sent[name]] if name in sent else records[name].done_revision
        if number is not None:
            by_revision[number].append(name)
    refs, waits = dict(sent), {}
    for number, names in sorted(by_revision.items()):
        revision, documents = read_revision(store, action.site, number)
        edges = read_design(documents).edges
        for name in names:
            refs.setdefault(name, address(revision))
            others = tuple(other for other in edges.get(name, ()) if other in nodes)
            if others:
                waits[name] = others
    # Different revisions may say the opposite of each other; then there is no order.
    return Removal(refs, {} if find_node_cycles(nodes, waits) else waits)


def nodes_to_remove(store: SiteStore, action: ActionRecord) -> tuple[str, ...]:
    """Return the nodes that the action's plan has found to be removed, without those that are wanted again by now."""
    planned = [name for name, _ in store.tasks.of_step(action.id, Phase.DESTROY)]
    if not planned:
        return ()
    sent = {name for one in store.operations.of_action(action.id) if one.group is None for name in one.nodes}
    wanted = {record.name for record in store.nodes.of_site(action.site) if record.wanted_digest is not None}
    kept = [name for name in planned if name in wanted and name not in sent]
    if kept:
        why = "not destroyed: a newer revision has it again"
        store.tasks.explain_pending(action.id, Phase.DESTROY, kept, why)
    return tuple(name for name in planned if name not in kept)


def why_not_asked(action: ActionRecord) -> str | None:
    """Return why an action destroys nothing that left the design, whatever its plan finds; None where it does."""
    if parameters_of(action).allows(Override.PRUNE):
        return None
    return f"nobody asked for it: with {Override.PRUNE} what left the design is destroyed"


def why_no_removal(store: SiteStore, action: ActionRecord, step_states: Mapping[str, str | None]) -> str | None:
    """Return why an action destroys none of the nodes that its plan has found; None where it does.

    Parameters
    ----------
    step_states : Airflow's states of the steps before the groups.
    """
    if why := why_not_asked(action):
        return why
    failed = [step for step, state in step_states.items() if state in ("failed", "upstream_failed")]
    if failed:
        return f"nothing is destroyed: {', '.join(failed)} did not succeed"
    if not nodes_to_remove(store, action):
        return "no node is to be removed"
    said = failed_critical(store.groups.of_action(action.id))
    return f"nothing is destroyed: {said}" if said else None
