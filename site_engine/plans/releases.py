"""Which nodes are released before they are prepared (rule 11): as the provisioner lists them, and the store knows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from site_engine.log_messages import count, names
from strategy_lib.groups.group_plan import ReleasePlan, plan_release
from strategy_lib.outcome import REFUSED_BY_PREPARE, UNPROVABLE_BY_DEPLOY, NodeCondition, left_alone, whose
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from provisioner_client.protocol import ListedNode
    from site_store import Operation, PlannedGroup, SiteStore
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
