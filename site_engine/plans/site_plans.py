"""What an update of a site would do now, from what the store knows: node by node, group by group, in which order.

It reads the newest revision's goals and the provisioner's list that was read last. No design is rendered and nobody is
asked; `planning.plan_action` comes to the same for the newest design and the same list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from site_engine.plans.design_changes import DesignUnreadable, documents_between
from site_engine.plans.differences import NodeDifference, node_difference, why_kept
from site_engine.plans.node_lists import conditions_of
from site_engine.plans.planned_differences import leave_out
from site_engine.plans.schedules import WaitingGroup, rounds_of
from site_engine.plans.site_rehearsals import UPDATE, changes_of, rehearse_update
from strategy_lib.goals.update import Change
from strategy_lib.groups.waves import find_node_cycles, order_between_groups, used_edges, waves
from strategy_lib.outcome import NodeCondition
from strategy_lib.status.node_row import NodeRow

if TYPE_CHECKING:
    from datetime import datetime

    from design_rendering.changes.document_changes import DocumentChange
    from site_engine.plans.site_rehearsals import SiteRehearsal
    from site_store import GroupGoal, SiteGoals, SiteStore
    from strategy_lib.phase import Phase

MOST_EXPLAINED = 2000
"""Of so many nodes at most it is said which documents and fields differ."""
_MOST_REVISIONS = 5


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node with something to do.

    Attributes
    ----------
    groups : those that it is in, in processing order.
    documents : what differs between the design that it was done for and the wanted one; None where that is not said.
    is_submitted : whether an update would submit it.
    kept : why it would not, though it has something to do.
    """

    difference: NodeDifference
    groups: tuple[str, ...] = ()
    documents: tuple[DocumentChange, ...] | None = None
    is_submitted: bool = False
    kept: str | None = None

    @property
    def withheld(self) -> str | None:
        """Why an update leaves it alone; None where it does not, or no group has it."""
        return self.difference.withheld or self.kept


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """What an update has to do in a group: how many of its nodes it would add, change, …; all others are as wanted.

    `failing`: why the group would fail even if every submitted node succeeded; None where it would not.
    """

    name: str
    critical: bool
    depends_on: tuple[str, ...]
    total: int
    counts: Mapping[Change, int]
    submitted: int
    failing: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the order that is used: `later` waits for `earlier`; both are groups, or both are nodes."""

    kind: str
    later: str
    earlier: str


@dataclass(frozen=True, slots=True)
class SitePlan:
    """What an update would do.

    Attributes
    ----------
    revision : the newest; None before the first commit.
    listed_at : when the provisioner's list was read that it uses; None where none was, and nothing counts as
        deployed.
    nodes : those with something to do, by name.
    unchanged : those that are as wanted, by name: the version and the revision that each was done for.
    groups : in processing order.
    order : waves of nodes that would be submitted: each waits for those before.
    edges : by which edges groups and nodes with something to submit wait for each other, also through others.
    refusal : why the whole update would be refused; None where it would not.
    max_parallel_groups, waves : how many groups run side by side, and in which rounds.
    batches : what is said of groups whose nodes go in batches (rule 59).
    usual : how many seconds operations on the site took, by phase.
    released : nodes that would be erased and released before they are prepared (rule 11).
    stays : deployed nodes that it leaves as they are without `allow_redeploy`.
    takes_many : to redeploy these, too, takes `many_redeploys`.
    is_known : whether the site has a revision, a buffer or an action.
    """

    site: str
    revision: int | None
    listed_at: datetime | None
    nodes: Mapping[str, PlannedNode] = field(default_factory=dict)
    unchanged: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    groups: tuple[GroupChanges, ...] = ()
    order: tuple[tuple[str, ...], ...] = ()
    edges: tuple[Edge, ...] = ()
    refusal: str | None = None
    max_parallel_groups: int = 1
    waves: tuple[tuple[str, ...], ...] = ()
    batches: tuple[str, ...] = ()
    usual: Mapping[Phase, float] = field(default_factory=dict)
    released: tuple[str, ...] = ()
    stays: frozenset[str] = frozenset()
    takes_many: bool = False
    is_known: bool = True

    @property
    def counts(self) -> Mapping[Change, int]:
        """How many nodes it would add, change, …, each node once."""
        found = Counter(planned.difference.change for planned in self.nodes.values())
        found[Change.NONE] += len(self.unchanged)
        return {change: found[change] for change in Change}


def plan_site(store: SiteStore, site: str, *, explained: int = MOST_EXPLAINED) -> SitePlan:
    """Say what an update of a site would do now: by three statements, and some more for what they do not settle.

    Parameters
    ----------
    explained : of so many nodes it is said which documents and fields differ.
    """
    facts = store.plan_facts.get(site, UPDATE)
    conditions = {} if facts.listed is None else conditions_of(facts.listed, facts.left)
    deployed = {name for name, condition in conditions.items() if condition is NodeCondition.DEPLOYED}
    goals = store.goals.of_site(site, deployed)
    differences = {name: _of_update(record, conditions.get(name)) for name, record in goals.records.items()}
    found = leave_out(differences, facts.out_of_use)
    rehearsal = rehearse_update(store, site, goals, found, conditions, facts)
    plan = explain(
        store,
        site,
        goals,
        found,
        None if facts.listed is None else facts.listed.read_at,
        rehearsal,
        explained=explained,
        at_once=facts.settings.max_parallel_groups,
        usual=facts.usual,
    )
    return replace(plan, is_known=facts.is_known)


def _of_update(record: NodeRow, condition: NodeCondition | None) -> NodeDifference:
    """Return what an update has to do to a node: it gives new labels in place, and removes nothing unasked."""
    found = node_difference(record.name, record.wanted_digest, record, condition)
    if found.change is Change.RELABEL:
        return replace(found, withheld=None)
    return replace(found, withheld=why_kept(record, asked=False)) if found.change is Change.REMOVE else found


def _is_done_aside(each: NodeDifference, *, in_a_group: bool) -> bool:
    """Whether something is done to a node beside the groups: new labels in place, a removal."""
    aside = each.change is Change.REMOVE or (each.change is Change.RELABEL and in_a_group)
    return aside and each.withheld is None


def explain(
    store: SiteStore,
    site: str,
    goals: SiteGoals,
    found: Mapping[str, NodeDifference],
    listed_at: datetime | None,
    rehearsal: SiteRehearsal,
    *,
    explained: int = MOST_EXPLAINED,
    at_once: int = 1,
    usual: Mapping[Phase, float] = MappingProxyType({}),
) -> SitePlan:
    """Say group by group, in which order, and by which documents and fields, what follows from differences of nodes.

    Parameters
    ----------
    goals : what is wanted: its `clean` nodes are as wanted, whatever `found` says of others.
    found : of each other node what has to be done to it.
    rehearsal : what would be submitted.
    at_once : how many groups run side by side.
    usual : how many seconds operations on the site took.
    """
    changed = changes_of(found, rehearsal.redeploy)
    groups_of: dict[str, list[str]] = {}
    for group in goals.groups:
        for name in group.nodes:
            groups_of.setdefault(name, []).append(group.name)
    documents = _documents(store, site, goals, changed, explained)
    nodes = {
        name: PlannedNode(
            each,
            tuple(groups_of.get(name, ())),
            documents.get(name),
            name in rehearsal.submitted or _is_done_aside(each, in_a_group=name in groups_of),
            rehearsal.kept.get(name),
        )
        for name, each in changed.items()
    }
    as_wanted = {name: (each.done_version, each.done_revision) for name, each in found.items() if name not in changed}
    groups = tuple(_of_group(group, nodes, rehearsal.failing.get(group.name)) for group in goals.groups)
    return SitePlan(
        site,
        goals.revision,
        listed_at,
        nodes,
        {**goals.clean, **as_wanted} if as_wanted else goals.clean,
        groups,
        *_order(goals, nodes),
        rehearsal.refusal,
        at_once,
        _waves(goals, groups, at_once),
        rehearsal.batches,
        usual,
        rehearsal.released,
        rehearsal.stays,
        rehearsal.takes_many,
    )


def _waves(goals: SiteGoals, groups: tuple[GroupChanges, ...], at_once: int) -> tuple[tuple[str, ...], ...]:
    """Return the rounds of the groups that have something to submit."""
    members = {group.name: group.nodes for group in goals.groups}
    after = order_between_groups(members, goals.edges) if goals.edges else {}
    waiting = [
        WaitingGroup(
            group.name, group.depends_on, after.get(group.name, ()), group.submitted > 0, group.failing is not None
        )
        for group in groups
    ]
    return rounds_of(waiting, at_once)


def _of_group(group: GroupGoal, nodes: Mapping[str, PlannedNode], failing: str | None) -> GroupChanges:
    its = [nodes[name] for name in group.nodes if name in nodes]
    counts = Counter(planned.difference.change for planned in its)
    counts[Change.NONE] = group.total - len(its)
    return GroupChanges(
        group.name,
        group.critical,
        group.depends_on,
        group.total,
        {change: counts[change] for change in Change},
        sum(1 for planned in its if planned.is_submitted),
        failing,
    )


def _order(goals: SiteGoals, nodes: Mapping[str, PlannedNode]) -> tuple[tuple[tuple[str, ...], ...], tuple[Edge, ...]]:
    """Return the waves of nodes that would be submitted, and the edges between groups and nodes that lead to them."""
    doing = frozenset(name for name, planned in nodes.items() if planned.is_submitted)
    active = [group.name for group in goals.groups if not doing.isdisjoint(group.nodes)]
    groups = {group.name: group.depends_on for group in goals.groups}
    edges = [Edge("group", later, earlier) for later, earlier in used_edges(groups, active)]
    edges += [Edge("node", later, earlier) for later, earlier in used_edges(goals.edges, doing)]
    # What has nothing to do passes the order on.
    all_nodes = doing.union(goals.edges, *frozenset(goals.edges.values()))
    # A commit refuses cycles; one that was forced has no order.
    ordered = [] if find_node_cycles(all_nodes, goals.edges) else waves(all_nodes, doing, goals.edges)
    return tuple(map(tuple, ordered)), tuple(edges)


def _documents(
    store: SiteStore, site: str, goals: SiteGoals, changed: Mapping[str, NodeDifference], most: int
) -> dict[str, tuple[DocumentChange, ...]]:
    """Return what differs for nodes that were done for another design, of the first of them."""
    since: dict[int, list[str]] = {}
    for name, each in changed.items():
        if each.change in (Change.CHANGE, Change.RELABEL) and each.done_revision is not None and most > 0:
            since.setdefault(each.done_revision, []).append(name)
            most -= 1
    found: dict[str, tuple[DocumentChange, ...]] = {}
    for number, names in sorted(since.items(), reverse=True)[:_MOST_REVISIONS]:
        if goals.revision is not None:
            # What was rendered by an older version, or forced, may not be readable any more.
            with suppress(DesignUnreadable):
                found.update(documents_between(store, site, number, goals.revision, names))
    return found
