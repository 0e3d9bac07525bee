"""From a design and what is known of its nodes to the plan of one action. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from design_rendering.design import Design, KeyedDesign
from site_engine.kinds import ActionKind, Override
from site_engine.parameters import ActionParameters
from site_engine.plans.differences import (
    NOBODY,
    NodeDifference,
    is_done_as,
    left_to_others,
    node_differences,
    planned_differences,
)
from site_store import IdleGroup, PlannedGroup
from strategy_lib.deployment import Deployment
from strategy_lib.errors import StrategyLibError
from strategy_lib.goals.update import TO_DO, Change
from strategy_lib.groups import group_run
from strategy_lib.groups.group_plan import bounds_of, plan_of_group
from strategy_lib.groups.waves import order_between_groups, order_through
from strategy_lib.node import Node, NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.ordering import order_groups
from strategy_lib.phase import Finished, GroupState
from strategy_lib.selectors import resolve
from strategy_lib.status.node_row import NodeRow
from strategy_lib.strategy import Group, Selector, Strategy, targeted_strategy


@dataclass(frozen=True, slots=True)
class Plan:
    """What an action will do.

    ``groups`` stand in processing order; ``done`` are nodes that are already as wanted (rule 21); ``withheld`` are
    deployed nodes that are not submitted though they are not as wanted, each with the reason; ``other`` are nodes of
    the site in no group. ``differences`` say of each node that is considered, and of those that left the design, what
    has to be done to it, and why. ``relabel`` are nodes that get new labels in place, before the groups; ``remove`` are
    those that left the design and are destroyed after them, ``left`` those that stay, each with the reason.
    ``out_of_use`` are those among the withheld, the left and the nodes with new labels that an administrator has taken
    out of use, each with its state, the reason and who set it (rule 51).
    """

    groups: tuple[PlannedGroup, ...]
    done: frozenset[str]
    other: frozenset[str]
    withheld: Mapping[str, str] = field(default_factory=dict)
    differences: Mapping[str, NodeDifference] = field(default_factory=dict)
    relabel: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    out_of_use: Mapping[str, str] = field(default_factory=dict)

    @property
    def settled(self) -> Mapping[str, str]:
        """The withheld nodes that stay so: one that is out of use may be used again when its group begins."""
        return {name: why for name, why in self.withheld.items() if name not in self.out_of_use}

    @property
    def redeploy(self) -> frozenset[str]:
        """The nodes that serve in another design, and are destroyed, prepared and deployed, in batches."""
        return frozenset[str]().union(*(planned.plan.redeploy for planned in self.groups))


@dataclass(frozen=True, slots=True)
class Deployed:
    """Nodes that the provisioner lists as deployed: those that are ``as_wanted``, and why the others are not."""

    as_wanted: frozenset[str] = frozenset()
    withheld: Mapping[str, str] = field(default_factory=dict)


NONE_DEPLOYED = Deployed()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of nodes, beyond what their selectors say, when a plan is made.

    Attributes
    ----------
    deployed : those that are as wanted, and those that an action leaves alone.
    edges : node to the nodes that it waits for (rule 39).
    met : nodes that are done as wanted, whether or not the action considers them.
    redeployable : deployed nodes that a redeploy brings to the wanted design, where a group allows it.
    redeploy : they are redeployed in whatever group; else in groups that allow it.
    serving : nodes that the provisioner lists as deployed.
    theirs : nodes that somebody else has there: they serve nobody.
    """

    deployed: Deployed = NONE_DEPLOYED
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    met: frozenset[str] = frozenset()
    redeployable: frozenset[str] = frozenset()
    redeploy: bool = False
    serving: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()


NOTHING_KNOWN = Known()


def make_plan(strategy: Strategy, nodes: Sequence[Node], known: Known = NOTHING_KNOWN) -> Plan:
    """Order the groups, resolve their selectors, and order their nodes (rules 5-8 and 39)."""
    members = resolve(strategy, nodes)
    grouped = frozenset[str]().union(*members.values())
    # Nodes in no group do nothing, and pass the order on.
    known = replace(known, edges=order_through(known.edges, grouped)) if known.edges else known
    order = order_groups(strategy, order_between_groups(members, known.edges))
    plan = plan_groups([strategy.group(name) for name in order], members, known)
    return replace(plan, other=frozenset(node.name for node in nodes) - grouped)


def plan_groups(groups: Sequence[Group], members: Mapping[str, Collection[str]], known: Known = NOTHING_KNOWN) -> Plan:
    """Decide what each group does with its nodes: in which order, and which of them it redeploys (rules 37 and 39).

    Parameters
    ----------
    groups : in processing order.
    members : group to its nodes.
    """
    by_name = {group.name: group for group in groups}
    of_group = {name: frozenset(members[name]) for name in by_name}
    grouped = frozenset[str]().union(*of_group.values())
    met = known.met - grouped
    # A node is redeployed by the first of its groups that allow it; the others of them bound its batches.
    allowing: dict[str, list[str]] = {}
    for name, group in by_name.items():
        if known.redeploy or group.allow_redeploy:
            for node in of_group[name] & known.redeployable:
                allowing.setdefault(node, []).append(name)
    left = set(allowing)
    withheld = {name: why for name, why in known.deployed.withheld.items() if name not in allowing}
    edges = known.edges
    if edges:
        edges = order_through(edges, grouped - known.deployed.as_wanted - withheld.keys())
    before = order_between_groups(of_group, edges) if edges else {}
    planned = []
    for name, group in by_name.items():
        mine = {node for node in of_group[name] & left if allowing[node][0] == name}
        left -= mine
        plan = plan_of_group(of_group[name], edges, met, mine, known.serving, left, known.theirs)
        others = {other for node in mine for other in allowing[node]} - {name}
        bounds = (
            bounds_of(by_name[one], of_group[one], mine, known.serving, known.theirs)
            for one in by_name
            if one in others
        )
        plan = replace(plan, bounds=tuple(bounds)) if others else plan
        plan = replace(plan, after=tuple(sorted(before[name] - {name}))) if name in before else plan
        planned.append(PlannedGroup(group, tuple(sorted(of_group[name])), plan))
    return Plan(tuple(planned), grouped.intersection(known.deployed.as_wanted), frozenset(), withheld)


def committed_groups(design: Design) -> tuple[PlannedGroup, ...] | None:
    """Return the groups of a design with their nodes in processing order; None where that cannot be said."""
    try:
        return make_plan(design.strategy, design.nodes, Known(edges=design.edges)).groups
    except StrategyLibError:
        return None


def strategy_of(
    kind: ActionKind, parameters: ActionParameters, design: KeyedDesign, records: Iterable[NodeRow]
) -> Strategy:
    """Return the groups of an action: those of the design; one of the target nodes; or, of a repair, theirs.

    The groups of repaired nodes are as in the design, without the nodes that need something else: those that are not
    as this design has them, such as nodes that serve another revision than the one that is repaired.
    """
    targets = parameters.target_nodes
    if targets is None:
        return design.strategy
    if not kind.repairs:
        return targeted_strategy(targets)
    good = {record.name for record in records if is_done_as(record, design.digests.get(record.name))}.union(targets)
    members = resolve(design.strategy, design.nodes)
    kept = {name for name, nodes in members.items() if not nodes.isdisjoint(targets)}
    groups = [
        replace(
            group,
            depends_on=tuple(name for name in group.depends_on if name in kept),
            selectors=(Selector(node_names=tuple(sorted(members[group.name] & good))),),
        )
        for group in design.strategy.groups
        if group.name in kept
    ]
    # In no group nothing would be done to them.
    return Strategy(tuple(groups)) if groups else targeted_strategy(targets)


def racks_of(design: Design) -> dict[str, str]:
    """Return the rack of each node that stands in one."""
    return {node.name: node.rack for node in design.nodes if node.rack is not None}


def plan_action(
    kind: ActionKind,
    parameters: ActionParameters,
    design: KeyedDesign,
    strategy: Strategy,
    records: Iterable[NodeRow],
    conditions: Mapping[str, NodeCondition],
    *,
    relabelled: bool = False,
    out_of_use: Mapping[str, str] = NOBODY,
) -> Plan:
    """Make the plan of an action from what is known of its nodes: the same for a task, a preview and a dry run.

    Parameters
    ----------
    strategy : the design's own, or that of the named nodes.
    records : what the store knows of the site's nodes.
    conditions : what the provisioner says of them.
    relabelled : new labels have been given: nodes that still differ by them were not proven to have them. Else they
        count as given, where this kind of action gives them.
    out_of_use : nodes that an administrator has taken out of use, each with the reason (`UserStates.left_out`). They
        are not submitted, and count as not successful unless they are as wanted (rules 15 and 51).
    """
    of_site = list(records)
    differences = planned_differences(
        kind, parameters, design.digests, of_site, conditions, relabelled=relabelled, out_of_use=out_of_use
    )
    theirs = frozenset(left_to_others(of_site))
    known = Known(
        deployed=judge_deployed(differences),
        edges=design.edges,
        met=_done_of(design, of_site, conditions, labels=kind.relabels and not relabelled),
        redeployable=redeployable_nodes(kind, parameters, differences, conditions).difference(out_of_use, theirs),
        redeploy=parameters.allows(Override.ALLOW_REDEPLOY),
        serving=frozenset(name for name, condition in conditions.items() if condition is NodeCondition.DEPLOYED),
        theirs=theirs,
    )
    plan = make_plan(strategy, design.nodes, known)
    allowed = {name: replace(differences[name], withheld=None) for name in plan.redeploy}
    removals = {name: each for name, each in differences.items() if each.change is Change.REMOVE and kind.prunes}
    return replace(
        plan,
        out_of_use={
            name: why
            for name, why in out_of_use.items()
            if name in differences and differences[name].withheld == why and (name in plan.withheld or name in removals)
        },
        differences={**differences, **allowed},
        relabel=tuple(sorted(name for name in plan.done if differences[name].change is Change.RELABEL)),
        remove=tuple(sorted(name for name, each in removals.items() if each.withheld is None)),
        left={name: each.withheld for name, each in sorted(removals.items()) if each.withheld is not None},
    )


def redeployable_nodes(
    kind: ActionKind,
    parameters: ActionParameters,
    differences: Mapping[str, NodeDifference],
    conditions: Mapping[str, NodeCondition],
) -> frozenset[str]:
    """Return the deployed nodes that groups may redeploy, where they allow it.

    A node that no action has done may be another's, or all that was recorded is lost: it is adopted, or redone where
    that is asked for by name.
    """
    if kind.is_destructive:
        return frozenset()  # they are destroyed before
    redo = parameters.allows(Override.REDO_DONE)
    return frozenset(
        name
        for name, each in differences.items()
        if each.change in TO_DO
        and conditions.get(name) is NodeCondition.DEPLOYED
        and (redo or each.change is not Change.ADD)
    )


def _done_of(
    design: KeyedDesign, records: Iterable[NodeRow], conditions: Mapping[str, NodeCondition], *, labels: bool
) -> frozenset[str]:
    """Return the nodes that others wait for, and that are done as wanted: an action may leave them out (rule 39).

    Parameters
    ----------
    labels : those that differ by their labels alone count, too.
    """
    named = frozenset[str]().union(*frozenset(design.edges.values()))
    if not named:
        return frozenset()
    wanted = {name: design.digests[name] for name in named if name in design.digests}
    found = node_differences(wanted, (record for record in records if record.name in named), conditions)
    as_wanted = {Change.NONE, Change.RELABEL} if labels else {Change.NONE}
    return frozenset(name for name in wanted if found[name].change in as_wanted)


def judge_deployed(differences: Mapping[str, NodeDifference]) -> Deployed:
    """Tell the nodes that are as wanted from those that only a redeploy would bring to the wanted design (rule 21).

    A provisioner answers a prepare and a deploy of a node that is deployed with success at once, and touches nothing.
    So such a node is as wanted only where it is recorded as done in this very design, beyond doubt; or differs from it
    by labels alone, which are given in place.
    """
    considered = {name: each for name, each in differences.items() if each.change is not Change.REMOVE}
    good = (Change.NONE, Change.RELABEL)
    return Deployed(
        frozenset(name for name, each in considered.items() if each.change in good and each.withheld is None),
        {name: each.withheld for name, each in considered.items() if each.withheld is not None},
    )


def idle_groups(
    groups: Sequence[PlannedGroup], done: Collection[str], withheld: Collection[str]
) -> tuple[IdleGroup, ...]:
    """Return the groups that have nothing to submit, nor have any that they depend on, with their verdicts.

    Nothing is left to happen to them, so they are judged with the plan. A group that waits for one with something to
    submit is not among them.

    Parameters
    ----------
    groups : in processing order.
    done : nodes that are as wanted: they succeed without being submitted.
    withheld : nodes that are not submitted though they are not as wanted.
    """
    states = dict.fromkeys(done, NodeState.SUCCESS)
    known = group_run.Known(withheld=frozenset(withheld))
    verdicts: dict[str, GroupState] = {}
    found = []
    for planned in groups:
        group, name = planned.group, planned.group.name
        if any(other not in verdicts for other in group.depends_on):
            continue
        alone = Deployment([group], {name: planned.nodes}, states, verdicts, known)
        if isinstance(alone.next(), Finished):
            view = alone.group(name)
            verdicts[name] = view.state
            found.append(IdleGroup(name, view.state, view.reason, view.criteria, asdict(view.counts)))
    return tuple(found)
