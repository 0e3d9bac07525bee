"""What an action would do now: node by node, group by group, in which order, and why.

One type for all who ask: `plan_site` (an update of the newest revision, from the goals that the store knows, without
any design), `plan_request` (any action, as its task `plan_groups` makes its plan) and `plan_of_run` (a dry run of
Airflow, from the plan that it has stored). All three come to the same for the same design and the same list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from design_rendering.changes import DocumentChange
from design_rendering.design import KeyedDesign
from site_engine.designs import RevisionUnreadable, documents_between
from site_engine.kinds import ActionKind, Override, kind_of
from site_engine.node_lists import NodeList, conditions_of, last_conditions
from site_engine.parameters import ActionParameters, parameters_of
from site_engine.plans.differences import (
    LEFT_ALONE,
    NodeDifference,
    leave_out,
    left_to_others,
    node_difference,
    planned_differences,
    why_kept,
)
from site_engine.plans.erasures import releases_of
from site_engine.plans.plan import Edge, GroupChanges, PlannedNode, SitePlan
from site_engine.plans.planning import plan_action, strategy_of
from site_engine.plans.schedules import WaitingGroup, rounds_of
from site_engine.plans.site_rehearsals import (
    UPDATE,
    DryRun,
    SiteRehearsal,
    deployed_of,
    erased_targets,
    kept_nodes,
    rehearse_action,
    rehearse_update,
)
from site_store import ActionRecord, GroupGoal, PlannedGroup, SiteGoals, SiteStore
from site_store.trees.plan_facts import TIMED
from strategy_lib.goals.update import TO_DO, Change, Deed
from strategy_lib.groups.waves import find_node_cycles, order_between_groups, used_edges, waves
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import REFUSED_BY_PREPARE
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow

MOST_EXPLAINED = 2000
"""Of so many nodes at most it is said which documents and fields differ."""
_MOST_REVISIONS = 5
_ASKED = {Phase.DESTROY: Change.REMOVE, Phase.RELABEL: Change.RELABEL}
"""What an action's step on named nodes does to each."""


def plan_site(store: SiteStore, site: str, *, explained: int = MOST_EXPLAINED) -> SitePlan:
    """Say what an update of a site would do now: by three statements, and some more for what they do not settle.

    Parameters
    ----------
    explained : of so many nodes it is said which documents and fields differ.
    """
    facts = store.plan_facts.get(site, UPDATE)
    conditions = {} if facts.listed is None else conditions_of(facts.listed, facts.left)
    goals = store.goals.of_site(site, deployed_of(conditions))
    differences = {name: _of_update(record, conditions.get(name)) for name, record in goals.records.items()}
    found = leave_out(differences, facts.out_of_use)
    rehearsal = rehearse_update(store, site, goals, found, conditions, facts)
    documents = _documents(store, site, goals, found, explained)
    at_once = facts.settings.max_parallel_groups
    plan = explain(site, goals, found, rehearsal, documents, at_once=at_once, usual=facts.usual)
    if facts.listed is not None:
        listed = (facts.listed.connection, len(conditions))
        plan = replace(plan, listed_at=facts.listed.read_at, listed=listed)
    return replace(plan, is_known=facts.is_known)


def plan_request(
    store: SiteStore,
    kind: ActionKind,
    parameters: ActionParameters,
    design: KeyedDesign,
    site: str,
    revision: int,
    listed: NodeList,
) -> SitePlan:
    """Say what an action would do now, as its own task `plan_groups` would plan it (rules 11, 15, 21 and 25)."""
    conditions = {name: node.condition for name, node in listed.nodes.items()}
    records = store.nodes.of_site(site)
    out_of_use = store.user_states.left_out(site, kind.name)
    strategy = strategy_of(kind, parameters, design, records)
    plan = plan_action(kind, parameters, design, strategy, records, conditions, out_of_use=out_of_use)
    used = {name: node for name, node in listed.nodes.items() if name not in plan.out_of_use}
    releases = releases_of(store, site, plan.groups, used)
    rehearsal = rehearse_action(kind, parameters, design, plan, releases, conditions)
    found = plan.differences
    if kind.node_step is not None:
        found = _of_step(kind, parameters, found, records)
    goals = _goals_of_plan(revision, rehearsal.groups, records, found, design.edges)
    at_once = parameters.with_default(kind, design.settings.max_parallel_groups).places
    documents = _documents(store, site, goals, found, MOST_EXPLAINED)
    usual = store.operations.usual_seconds(site, TIMED)
    made = explain(site, goals, found, rehearsal, documents, at_once=at_once, usual=usual)
    return replace(made, kind=kind.name, listed_at=listed.read_at, listed=(listed.connection, len(listed.nodes)))


def plan_of_run(
    store: SiteStore, action: ActionRecord, groups: Sequence[PlannedGroup], run: DryRun, withheld: Mapping[str, str]
) -> SitePlan:
    """Say what a dry run of Airflow would do, by the plan that it has stored.

    Parameters
    ----------
    groups : those of the action's plan, in processing order.
    run : what it would submit.
    withheld : nodes that it would not submit, each with the reason: those too that cannot be prepared as they are.
    """
    kind, parameters = kind_of(action.kind), parameters_of(action)
    records = store.nodes.of_site(action.site)
    # The plan names the digest of each node of its groups; of the others the newest revision's is wanted.
    digests = {record.name: record.wanted_digest for record in records if record.wanted_digest is not None}
    for planned in groups:
        digests.update(store.tasks.digests(action.id, planned.group.name))
    conditions = last_conditions(store, action.site)[0]
    out_of_use = store.user_states.left_out(action.site, kind.name)
    found = planned_differences(kind, parameters, digests, records, conditions, out_of_use=out_of_use)
    to_do = {name for name, each in found.items() if each.change in TO_DO}
    kept = kept_nodes(run, {planned.group.name: planned.nodes for planned in groups}, to_do)
    kept |= {name: why for name, why in withheld.items() if name in to_do}
    redeploy = frozenset[str]().union(*(planned.plan.redeploy for planned in groups))
    released = frozenset(name for name in run.submitted if conditions.get(name) in REFUSED_BY_PREPARE)
    if kind.node_step is not None:
        found = _of_step(kind, parameters, found, records)
        redeploy, released = erased_targets(kind, found, deployed_of(conditions))
    rehearsal = SiteRehearsal(run, tuple(groups), kept, redeploy, released, out_of_use=frozenset(out_of_use))
    goals = _goals_of_plan(action.revision, groups, records, found, {})
    documents = _documents(store, action.site, goals, found, MOST_EXPLAINED)
    return replace(explain(action.site, goals, found, rehearsal, documents), kind=kind.name)


def _goals_of_plan(
    revision: int | None,
    groups: Sequence[PlannedGroup],
    records: Collection[NodeRow],
    found: Collection[str],
    edges: Mapping[str, tuple[str, ...]],
) -> SiteGoals:
    """Return the goals of an action as a site's own are known; no node is left out as clean."""
    return SiteGoals(
        revision,
        {},
        {record.name: record for record in records if record.name in found},
        tuple(
            GroupGoal(one.group.name, one.group.critical, one.group.depends_on, len(one.nodes), one.nodes)
            for one in groups
        ),
        edges,
    )


def _of_step(
    kind: ActionKind, parameters: ActionParameters, found: Mapping[str, NodeDifference], records: Iterable[NodeRow]
) -> dict[str, NodeDifference]:
    """Return what an action with a step on named nodes does to each of them, whatever it was done for.

    What somebody else has is left alone all the same (rule 56).
    """
    assert kind.node_step is not None
    change = Change.REDO if kind.has_groups else _ASKED[kind.node_step]
    targets = sorted(frozenset(parameters.target_nodes or ()))
    known = {name: found.get(name, NodeDifference(name, change, "")) for name in targets}
    why, theirs = f"asked for by {kind.name}", left_to_others(records)
    return {name: replace(each, change=change, reason=why, withheld=theirs.get(name)) for name, each in known.items()}


def _of_update(record: NodeRow, condition: NodeCondition | None) -> NodeDifference:
    """Return what an update has to do to a node: it gives new labels in place, and removes nothing unasked."""
    found = node_difference(record.name, record.wanted_digest, record, condition)
    if found.change is Change.RELABEL:
        return replace(found, withheld=None)
    return replace(found, withheld=why_kept(record, asked=False)) if found.change is Change.REMOVE else found


def explain(
    site: str,
    goals: SiteGoals,
    found: Mapping[str, NodeDifference],
    rehearsal: SiteRehearsal,
    documents: Mapping[str, tuple[DocumentChange, ...]],
    *,
    at_once: int = 1,
    usual: Mapping[Phase, float] = MappingProxyType({}),
) -> SitePlan:
    """Say node by node, group by group and in which order what follows from differences of nodes.

    Parameters
    ----------
    goals : what is wanted: its `clean` nodes are as wanted, whatever `found` says of others.
    found : of each other node what has to be done to it.
    rehearsal : what would be submitted.
    documents : what differs for nodes, where that is known.
    at_once : how many groups run side by side.
    usual : how many seconds operations on the site took.
    """
    groups_of: dict[str, list[str]] = {}
    for group in goals.groups:
        for name in group.nodes:
            groups_of.setdefault(name, []).append(group.name)
    nodes = {}
    submitted = rehearsal.submitted
    for name, each in found.items():
        if each.change is not Change.NONE:
            # One that is redeployed is not withheld.
            taken = replace(each, withheld=None) if name in rehearsal.redeploy else each
            its, kept = tuple(groups_of.get(name, ())), rehearsal.kept.get(name)
            deed = _deed(taken, rehearsal, submitted, in_a_group=bool(its) or not goals.groups)
            allowed = _allowed_by(taken, rehearsal, site) if deed is Deed.WITHHOLD else None
            nodes[name] = PlannedNode(taken, its, documents.get(name), deed, kept, allowed)
    as_wanted = {name: (each.done_version, each.done_revision) for name, each in found.items() if name not in nodes}
    groups = tuple(_of_group(group, nodes, rehearsal.failing.get(group.name)) for group in goals.groups)
    return SitePlan(
        site,
        goals.revision,
        None,
        nodes,
        {**goals.clean, **as_wanted} if as_wanted else goals.clean,
        groups,
        *_order(goals, nodes),
        at_once,
        _waves(goals, groups, at_once),
        usual,
        rehearsal,
    )


def _deed(each: NodeDifference, rehearsal: SiteRehearsal, submitted: Collection[str], *, in_a_group: bool) -> Deed:
    """Return what is done with a node: by its groups, or beside them (new labels in place, a removal).

    Parameters
    ----------
    in_a_group : some group has it, or the action has none.
    """
    if each.name in submitted:
        if each.name in rehearsal.redeploy:
            return Deed.REDEPLOY
        return Deed.RELEASE if each.name in rehearsal.released else Deed.DEPLOY
    if each.withheld is None and each.change is Change.REMOVE:
        return Deed.REMOVE
    if each.withheld is None and each.change is Change.RELABEL and in_a_group:
        return Deed.LABEL
    return Deed.WITHHOLD


def _allowed_by(each: NodeDifference, rehearsal: SiteRehearsal, site: str) -> str | None:
    """Return what lets an action do to a node what it leaves undone; None where nothing does."""
    if each.name in rehearsal.out_of_use:
        return f"slipway set node-state {each.name} up --site {site}"
    override = None
    if any(not one.is_overridden for one in rehearsal.refusals):
        override = Override.MANY_REDEPLOYS
    elif each.name in rehearsal.stays:
        override = Override.ALLOW_REDEPLOY
    elif each.withheld == LEFT_ALONE:
        override = Override.PRUNE
    return None if override is None else f"--{override.value.replace('_', '-')}"


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
    counts = Counter(planned.deed for planned in its)
    counts[Deed.LEAVE] = group.total - len(its)
    return GroupChanges(
        group.name,
        group.critical,
        group.depends_on,
        group.total,
        {deed: counts[deed] for deed in Deed},
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
    store: SiteStore, site: str, goals: SiteGoals, found: Mapping[str, NodeDifference], most: int
) -> dict[str, tuple[DocumentChange, ...]]:
    """Return what differs for nodes that were done for another design, of the first of them."""
    since: dict[int, list[str]] = {}
    for name, each in found.items():
        if each.change in (Change.CHANGE, Change.RELABEL) and each.done_revision is not None and most > 0:
            since.setdefault(each.done_revision, []).append(name)
            most -= 1
    changes: dict[str, tuple[DocumentChange, ...]] = {}
    for number, names in sorted(since.items(), reverse=True)[:_MOST_REVISIONS]:
        if goals.revision is not None:
            # What was rendered by an older version, or forced, may not be readable any more.
            with suppress(RevisionUnreadable):
                changes.update(documents_between(store, site, number, goals.revision, names))
    return changes
