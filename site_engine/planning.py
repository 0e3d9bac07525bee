"""From a design and what is known of its nodes to the plan of one action, and what a dry run shows of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from design_rendering.digests import differ_in_labels_alone
from site_engine.actions.kinds import ActionKind, Override
from site_engine.actions.parameters import ActionParameters
from site_store import NodeRecord, PlannedGroup
from strategy_lib.deployment import Deployment, Finished
from strategy_lib.errors import StrategyLibError
from strategy_lib.node import Node
from strategy_lib.ordering import order_groups
from strategy_lib.outcome import NEEDS_REDEPLOY, NodeCondition
from strategy_lib.report import Submission
from strategy_lib.selectors import resolve
from strategy_lib.strategy import Strategy
from strategy_lib.verdict import Judgement, verdict_on

if TYPE_CHECKING:
    from design_rendering.design import Design
    from strategy_lib.node import NodeState
    from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class Plan:
    """What an action will do.

    ``groups`` stand in processing order; ``done`` are nodes that are already as wanted (rule 21); ``withheld`` are
    deployed nodes that are not submitted though they are not as wanted, each with the reason; ``other`` are nodes of
    the site in no group.
    """

    groups: tuple[PlannedGroup, ...]
    done: frozenset[str]
    other: frozenset[str]
    withheld: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deployed:
    """Nodes that the provisioner lists as deployed: those that are ``as_wanted``, and why the others are not."""

    as_wanted: frozenset[str] = frozenset()
    withheld: Mapping[str, str] = field(default_factory=dict)


def make_plan(
    strategy: Strategy, nodes: Sequence[Node], done: Collection[str], withheld: Mapping[str, str] | None = None
) -> Plan:
    """Order the groups and resolve their selectors (rules 5-8)."""
    members = resolve(strategy, nodes)
    groups = tuple(PlannedGroup(strategy.group(name), tuple(sorted(members[name]))) for name in order_groups(strategy))
    grouped = frozenset(name for planned in groups for name in planned.nodes)
    other = frozenset(node.name for node in nodes) - grouped
    return Plan(groups, grouped.intersection(done), other, dict(withheld or {}))


def committed_groups(design: Design) -> tuple[PlannedGroup, ...] | None:
    """Return the groups of a design with their nodes in processing order; None where that cannot be said."""
    try:
        return make_plan(design.strategy, design.nodes, ()).groups
    except StrategyLibError:
        return None


def racks_of(design: Design) -> dict[str, str]:
    """Return the rack of each node that stands in one."""
    return {node.name: node.rack for node in design.nodes if node.rack is not None}


def plan_action(
    kind: ActionKind,
    parameters: ActionParameters,
    design: Design,
    strategy: Strategy,
    records: Iterable[NodeRecord],
    conditions: Mapping[str, NodeCondition],
) -> Plan:
    """Make the plan of an action from what is known of its nodes: the same for a task, a preview and a dry run.

    Parameters
    ----------
    strategy : the design's own, or that of the named nodes.
    records : what the store knows of the site's nodes.
    conditions : what the provisioner says of them.
    """
    deployed = judge_considered(kind, parameters, design.digests, records, conditions)
    return make_plan(strategy, design.nodes, deployed.as_wanted, deployed.withheld)


def judge_considered(
    kind: ActionKind,
    parameters: ActionParameters,
    digests: Mapping[str, str],
    records: Iterable[NodeRecord],
    conditions: Mapping[str, NodeCondition],
) -> Deployed:
    """Tell the deployed nodes that an action leaves alone (`judge_deployed`), of those that it considers.

    There are none where it redoes what is done, or has just destroyed its target nodes (a dry run would have).
    """
    if parameters.allows(Override.REDO_DONE) or kind.is_destructive:
        return Deployed()
    targets = parameters.target_nodes
    wanted = {name: digest for name, digest in digests.items() if targets is None or name in targets}
    return judge_deployed(wanted, records, conditions)


def judge_deployed(
    wanted: Mapping[str, str], records: Iterable[NodeRecord], conditions: Mapping[str, NodeCondition]
) -> Deployed:
    """Tell the nodes that are as wanted from those that only a redeploy would bring to the wanted design (rule 21).

    A provisioner answers a prepare and a deploy of a node that is deployed with success at once, and touches nothing.
    So such a node is as wanted only where it is recorded as done in this very design, beyond doubt.

    Parameters
    ----------
    wanted : the digest of the design of each node that is considered.
    records : what the store knows of the site's nodes.
    conditions : what the provisioner says of them now. What it does not list as deployed is in neither part of the
        result.
    """
    known = {record.name: record for record in records}
    as_wanted: set[str] = set()
    withheld: dict[str, str] = {}
    for name, digest in wanted.items():
        if conditions.get(name) is not NodeCondition.DEPLOYED:
            continue
        reason = _why_not_as_wanted(digest, known.get(name))
        if reason is None:
            as_wanted.add(name)
        else:
            withheld[name] = reason
    return Deployed(frozenset(as_wanted), withheld)


def _why_not_as_wanted(wanted: str, record: NodeRecord | None) -> str | None:
    """Return why a deployed node is not as wanted; None when it is."""
    if record is None or record.done_digest is None:
        return f"deployed already, but no action on record proves its design: it {NEEDS_REDEPLOY}"
    if record.doubt is not None:
        return f"its design is in doubt, {NEEDS_REDEPLOY}: {record.doubt}"
    if differ_in_labels_alone(record.done_digest, wanted):
        return "labels changed: relabel_nodes brings them about"
    if record.done_digest != wanted:
        since = f": it has that of revision {record.done_revision}" if record.done_revision is not None else ""
        return f"design changed, {NEEDS_REDEPLOY}{since}"
    return None


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a dry run finds: the submissions, and the verdict if every node succeeds."""

    submissions: tuple[Submission, ...]
    judgement: Judgement


def simulate_plan(
    groups: Sequence[PlannedGroup],
    states: Mapping[str, NodeState],
    step: Phase | None = None,
    targets: Sequence[str] = (),
    withheld: Collection[str] = (),
) -> DryRun:
    """Return every provisioner task that would be submitted, in order, then the groups without any.

    ``step`` is done to the ``targets`` before any group; ``withheld`` nodes are never submitted.
    """
    deployment = Deployment(
        [planned.group for planned in groups],
        {planned.group.name: planned.nodes for planned in groups},
        states,
        withheld=withheld,
    )
    submissions = [Submission(None, step.value, tuple(targets))] if step is not None else []
    while not isinstance(due := deployment.next(), Finished):
        submissions.append(Submission(due.group, due.phase.value, tuple(due.nodes)))
        deployment.record(due, due.nodes, ())
    submitted = {submission.group for submission in submissions}
    idle = [view.name for view in deployment.groups if view.name not in submitted]
    return DryRun((*submissions, *(Submission(name, None) for name in idle)), verdict_on(deployment.groups))
