"""Which nodes are erased: released before they are prepared (rule 11), or destroyed as they left the design.

The second are destroyed each by the design that it was done for (rule 25), dependants first (rule 40).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from design_rendering.design import read_design
from provisioner_client.protocol import ListedNode
from site_engine.designs import read_revision
from site_engine.kinds import Override
from site_engine.log_messages import count, failed_critical, names
from site_engine.parameters import parameters_of
from site_engine.provisioners import handle_in
from site_store import ActionRecord, Operation, PlannedGroup, RevisionRecord, SiteStore
from strategy_lib.groups.group_plan import ReleasePlan, plan_release
from strategy_lib.groups.waves import find_node_cycles
from strategy_lib.node_condition import NodeCondition, left_alone, whose
from strategy_lib.outcome import REFUSED_BY_PREPARE, UNPROVABLE_BY_DEPLOY
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group


def releases_of(
    store: SiteStore, site: str, groups: Iterable[PlannedGroup], listed: Mapping[str, ListedNode]
) -> dict[str, ReleasePlan]:
    """Say of each group which of its nodes it would release first, or refuse, should it send them."""
    stuck = _stuck(listed)
    left = store.nodes.left_undeployed(site, stuck) if stuck else {}
    planned = tuple(groups) if stuck else ()
    kept = nodes_to_keep((one.group, one.nodes) for one in planned)
    found = {}
    for one in planned:
        if seen := {name: stuck[name] for name in one.nodes if name in stuck}:
            found[one.group.name] = _release(site, kept, seen, left)
    return found


def nodes_to_keep(groups: Iterable[tuple[Group, Iterable[str]]]) -> frozenset[str]:
    """Return the nodes of groups with `release_failed: false`: no group of the action releases them."""
    return frozenset(name for group, nodes in groups if not group.release_failed for name in nodes)


def erased_first(nodes: Collection[str]) -> str:
    """Say which nodes would be erased and released before they are prepared; wherever it is said, it is said so."""
    return f"{count(len(nodes), 'node')} would be erased and released first: {names(nodes)}"


def release_of(
    store: SiteStore, site: str, kept: Callable[[], Collection[str]], listed: Mapping[str, ListedNode]
) -> ReleasePlan:
    """Decide which of a group's nodes are released, as the provisioner lists them; refusals name what helps.

    Parameters
    ----------
    kept : gives the nodes that no group of the action releases (`nodes_to_keep`).
    """
    stuck = _stuck(listed)
    return _release(site, kept(), stuck, store.nodes.left_undeployed(site, stuck)) if stuck else ReleasePlan((), {})


def _stuck(listed: Mapping[str, ListedNode]) -> dict[str, ListedNode]:
    return {
        name: node for name, node in listed.items() if node.condition in REFUSED_BY_PREPARE or whose(node.status_name)
    }


def _release(
    site: str, kept: Collection[str], stuck: Mapping[str, ListedNode], left: Mapping[str, NodeCondition]
) -> ReleasePlan:
    theirs = {name: left_alone(node.status_name) for name, node in stuck.items() if whose(node.status_name)}
    conditions = {name: node.condition for name, node in stuck.items() if name not in theirs}
    plan = plan_release(conditions, left, kept)
    command = "slipway create action redeploy_server --param target_nodes={} --site {}"
    refused = {
        name: f"the node list says {stuck[name].status_name}: {why}. `{command.format(name, site)}` releases it and "
        "deploys it"
        for name, why in plan.refused.items()
    }
    return replace(plan, refused={**refused, **theirs})


def deployed_by_failed(
    store: SiteStore, operations: Iterable[Operation], nodes: Collection[str], listed: Mapping[str, ListedNode]
) -> Sequence[str]:
    """Return the nodes that a deploy has failed on and that are listed as deployed: a boot action failed, for example.

    A provisioner does nothing on such a node when it is prepared and deployed again, so that it is destroyed first. A
    node that was deployed before that deploy is not ours to destroy.

    Parameters
    ----------
    operations : those of the attempt.
    nodes : those that are tried again.
    """
    there = {name for name in nodes if name in listed and listed[name].condition is NodeCondition.DEPLOYED}
    ours: set[str] = set()
    for operation in operations:
        if there and operation.phase is Phase.DEPLOY:
            # What the list said right before the newest deploy of each.
            before = store.tasks.found_before(operation.op)
            ours.update(name for name in there if name in before and before[name] not in UNPROVABLE_BY_DEPLOY)
    return sorted(ours)


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
    handles = {ref: handle_in(ref) for ref in sent.values()}
    numbers = {ref: store.revisions.number_of_handle(action.site, handle) for ref, handle in handles.items()}
    records = {record.name: record for record in store.nodes.of_site(action.site)}
    by_revision: defaultdict[int, list[str]] = defaultdict(list)
    for name in nodes:
        number = numbers[sent[name]] if name in sent else records[name].done_revision
        if number is not None:
            by_revision[number].append(name)
    refs, waits = dict(sent), {}
    for number, those in sorted(by_revision.items()):
        revision, documents = read_revision(store, action.site, number)
        edges = read_design(documents).edges
        for name in those:
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
