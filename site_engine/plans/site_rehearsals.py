"""What an action would submit if every node succeeded: of an update from goals alone, where clean nodes only count."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType

from design_rendering.design import KeyedDesign
from site_engine.admission import Refusal, judge_redeploys
from site_engine.kinds import ActionKind, Override, kind_of
from site_engine.node_lists import nodes_of
from site_engine.parameters import ActionParameters
from site_engine.plans.differences import NodeDifference, left_to_others
from site_engine.plans.erasures import releases_of
from site_engine.plans.planning import Known, Plan, idle_groups, judge_deployed, plan_groups, redeployable_nodes
from site_store import GroupGoal, PlannedGroup, SiteGoals, SiteStore
from site_store.trees.plan_facts import PlanFacts
from strategy_lib.deployment import Deployment
from strategy_lib.goals.update import TO_DO
from strategy_lib.groups import group_run
from strategy_lib.groups.batch_words import announcements
from strategy_lib.groups.group_plan import ReleasePlan
from strategy_lib.node import NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import REFUSED_BY_PREPARE
from strategy_lib.phase import Finished, GroupState, Phase, Reason
from strategy_lib.reports.report import Submission
from strategy_lib.strategy import Group
from strategy_lib.verdict import Judgement, evaluate, verdict_on


@dataclass(frozen=True)
class DryRun:
    """What a dry run finds: the submissions, and the verdict if every node succeeds.

    `kept` are nodes that would not be sent because of the bounds of groups or of other nodes, each with the reason;
    `failing` are groups that would fail, each with the reason. `released` are nodes that are erased and released before
    they are prepared, `refused` those that cannot be prepared as they are, each with the reason (rule 11).
    """

    submissions: tuple[Submission, ...]
    judgement: Judgement
    kept: Mapping[str, str] = field(default_factory=dict)
    failing: Mapping[str, Reason | None] = field(default_factory=dict)
    released: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def submitted(self) -> frozenset[str]:
        """The nodes that would be submitted."""
        return frozenset(name for submission in self.submissions for name in submission.nodes)

    @cached_property
    def submitting(self) -> frozenset[str]:
        """The groups that have something to submit."""
        return frozenset(one.group for one in self.submissions if one.group is not None and one.nodes)


def simulate_plan(
    groups: Sequence[PlannedGroup],
    states: Mapping[str, NodeState],
    step: Phase | None = None,
    targets: Sequence[str] = (),
    withheld: Collection[str] = (),
    *,
    releases: Mapping[str, ReleasePlan] = MappingProxyType({}),
    below_criteria: bool = False,
    remove: Sequence[str] = (),
) -> DryRun:
    """Return every provisioner task that would be submitted, in order, then the groups without any.

    ``step`` is done to the ``targets`` before any group; ``withheld`` nodes are never submitted. ``releases`` say of
    groups which nodes they release first, and which they refuse: the group that would send a node decides.
    ``below_criteria`` is the override of the action. ``remove`` are nodes that left the design, and are destroyed after
    the groups.
    """
    deployment = Deployment(
        [planned.group for planned in groups],
        {planned.group.name: planned.nodes for planned in groups},
        states,
        known=group_run.Known(withheld=frozenset(withheld), below_criteria=below_criteria),
        plans={planned.group.name: planned.plan for planned in groups},
    )
    submissions = [Submission(None, step.value, tuple(targets))] if step is not None and targets else []
    released: set[str] = set()
    refused: dict[str, str] = {}
    while not isinstance(due := deployment.next(), Finished):
        failed: set[str] = set()
        if due.phase is Phase.PREPARE and (release := releases.get(due.group)) is not None:
            released.update(name for name in due.nodes if name in release.release)
            failed.update(name for name in due.nodes if name in release.refused)
            refused.update((name, release.refused[name]) for name in failed)
        if sent := tuple(name for name in due.nodes if name not in failed):
            submissions.append(Submission(due.group, due.phase.value, sent))
        deployment.record(due, sent, failed)
    if remove:
        submissions.append(Submission(None, Phase.DESTROY.value, tuple(remove)))
    submitted = {submission.group for submission in submissions}
    views = deployment.groups
    idle = [view.name for view in views if view.name not in submitted]
    kept: dict[str, str] = {}
    for view in views:
        kept.update({**view.held, **view.kept})
    failing = {view.name: view.reason for view in views if view.state is GroupState.FAILURE}
    every = (*submissions, *(Submission(name, None) for name in idle))
    return DryRun(every, verdict_on(views), kept, failing, frozenset(released), refused)


UPDATE = "update_site"
REFUSED = "the whole update is refused"
NO_RUN = DryRun((), verdict_on(()))
"""Nothing would be submitted."""


@dataclass(frozen=True, slots=True)
class SiteRehearsal:
    """What an action would do if every node succeeded.

    Attributes
    ----------
    run : all that would be submitted, in order, and the verdict.
    groups : those of the plan, in processing order; only those with something to do where nothing else is known.
    kept : nodes with something to do that are not submitted, each with the reason, except those that no plan takes.
    redeploy : deployed nodes that would be brought to another design.
    released : nodes among the submitted that would be erased and released before they are prepared (rule 11).
    refusals : that it takes down more nodes than the settings of the site allow, unless it is told to.
    stays : deployed nodes that stay as they are without `allow_redeploy`, but are not merely without power.
    takes_many : to redeploy them, with those of groups that allow it, takes `many_redeploys`.
    mapped : how many groups would get a task of Airflow.
    out_of_use : nodes that an administrator has taken out of use.
    deployed : nodes that the provisioner lists as deployed, of those with something to do.
    """

    run: DryRun = NO_RUN
    groups: tuple[PlannedGroup, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    redeploy: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()
    refusals: tuple[Refusal, ...] = ()
    stays: frozenset[str] = frozenset()
    takes_many: bool = False
    mapped: int = 0
    out_of_use: frozenset[str] = frozenset()
    deployed: frozenset[str] = frozenset()

    @property
    def submitted(self) -> frozenset[str]:
        """The nodes that groups would submit."""
        return frozenset(name for one in self.run.submissions if one.group is not None for name in one.nodes)

    @property
    def failing(self) -> dict[str, str]:
        """The groups that would fail even if every submitted node succeeded, each with the reason."""
        return {name: str(reason or "failure") for name, reason in self.run.failing.items()}

    @property
    def gates(self) -> tuple[str, ...]:
        """What is said of groups with something to submit that go in batches (rule 59), or ask a person."""
        sizes = ((planned.group, len(planned.nodes)) for planned in self.groups)
        asking = (one.group for one in self.groups if one.group.name in self.run.submitting)
        asked = (group.approval.announcement(group.name) for group in asking if group.approval is not None)
        return (*announcements(sizes, self.run.submissions), *asked)


NOTHING = SiteRehearsal()


def rehearse_update(
    store: SiteStore,
    site: str,
    goals: SiteGoals,
    found: Mapping[str, NodeDifference],
    conditions: Mapping[str, NodeCondition],
    facts: PlanFacts,
) -> SiteRehearsal:
    """Say which nodes an update of a whole site would submit, from the goals that the store knows.

    Parameters
    ----------
    found : what has to be done to each node that is not among the clean ones; of nodes that an administrator has taken
        out of use it says so.
    conditions : what the provisioner says of nodes.
    facts : what the plan uses beside these.
    """
    out_of_use = frozenset(facts.out_of_use)
    to_do = frozenset(name for name, each in found.items() if each.change in TO_DO)
    if not to_do and found.keys().isdisjoint(out_of_use):
        return NOTHING
    groups = [_group(goal) for goal in goals.groups if goal.definition is not None]
    stand_ins = {goal.name: _stand_ins(goal) for goal in goals.groups}
    members = {goal.name: (*goal.nodes, *stand_ins[goal.name]) for goal in goals.groups}
    clean = frozenset(name for names in stand_ins.values() for name in names)
    kind, parameters = kind_of(UPDATE), ActionParameters()
    deployed = judge_deployed(found)
    theirs = frozenset(left_to_others(goals.records.values()))
    there = frozenset(name for name in found if conditions.get(name) is NodeCondition.DEPLOYED)
    known = Known(
        replace(deployed, as_wanted=deployed.as_wanted | clean),
        goals.edges,
        frozenset(name for name in frozenset[str]().union(*goals.edges.values()) if name in goals.clean),
        redeployable_nodes(kind, parameters, found, conditions).difference(out_of_use, theirs),
        serving=clean | there,
        theirs=theirs,
    )
    plan = plan_groups(groups, members, known)
    redeploy = plan.redeploy
    may = frozenset(chain.from_iterable(members.values())) - redeploy
    stays = frozenset(name for name in known.redeployable & may if not found[name].lacks_power)
    serving = [*goals.clean, *there]
    judged = SiteRehearsal(
        redeploy=redeploy,
        refusals=tuple(judge_redeploys(kind, parameters, facts.settings, redeploy, serving)) if redeploy else (),
        stays=stays,
        takes_many=bool(judge_redeploys(kind, parameters, facts.settings, redeploy | stays, serving)),
        out_of_use=out_of_use,
        deployed=there,
    )
    if judged.refusals:
        return replace(judged, kept=dict.fromkeys(to_do, REFUSED))
    stuck = frozenset(name for name in to_do if conditions.get(name) in REFUSED_BY_PREPARE)
    listed = nodes_of(facts.listed, facts.left) if stuck and facts.listed is not None else {}
    releases = releases_of(store, site, plan.groups, {name: listed[name] for name in stuck & listed.keys()})
    states = dict.fromkeys(plan.done, NodeState.SUCCESS)
    run = simulate_plan(plan.groups, states, withheld=plan.withheld, releases=releases)
    kept = kept_nodes(run, {goal.name: goal.nodes for goal in goals.groups}, to_do)
    return replace(judged, run=run, groups=plan.groups, kept=kept, released=run.released)


def rehearse_action(
    kind: ActionKind,
    parameters: ActionParameters,
    design: KeyedDesign,
    plan: Plan,
    releases: Mapping[str, ReleasePlan],
    conditions: Mapping[str, NodeCondition],
) -> SiteRehearsal:
    """Say what an action would do if every node succeeded, by its plan.

    Parameters
    ----------
    releases : group to those of its nodes that it releases first, and those that cannot be prepared as they are.
    conditions : what the provisioner says of nodes.
    """
    if kind.node_step is not None:
        groups = plan.groups if kind.has_groups else ()
        targets = tuple(sorted(frozenset(parameters.target_nodes or ())))
        run = simulate_plan(groups, {}, kind.node_step, targets, plan.withheld)
        deployed = deployed_of(conditions)
        redeploy, released = erased_targets(kind, targets, deployed)
        return SiteRehearsal(run, groups, redeploy=redeploy, released=released, mapped=len(groups), deployed=deployed)
    run = simulate_plan(
        plan.groups,
        dict.fromkeys(plan.done, NodeState.SUCCESS),
        Phase.RELABEL,
        plan.relabel,
        withheld=plan.withheld,
        releases=releases,
        below_criteria=parameters.allows(Override.BELOW_CRITERIA),
        remove=plan.remove,
    )
    members = {planned.group.name: planned.nodes for planned in plan.groups}
    to_do = frozenset(name for name, each in plan.differences.items() if each.change in TO_DO)
    serving = [name for name in design.digests if conditions.get(name) is NodeCondition.DEPLOYED]
    grouped = frozenset(chain.from_iterable(members.values()))
    may = redeployable_nodes(kind, parameters, plan.differences, conditions).difference(plan.out_of_use) & grouped
    dark = frozenset(name for name in may if plan.differences[name].lacks_power)
    return SiteRehearsal(
        run,
        plan.groups,
        kept_nodes(run, members, to_do),
        plan.redeploy,
        run.released,
        tuple(judge_redeploys(kind, parameters, design.settings, plan.redeploy, serving, plan.remove)),
        stays=may - plan.redeploy - dark,
        mapped=len(plan.groups) - len(idle_groups(plan.groups, plan.done, plan.settled)),
        out_of_use=frozenset(plan.out_of_use),
        deployed=deployed_of(conditions),
    )


def erased_targets(
    kind: ActionKind, targets: Collection[str], deployed: Collection[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return which nodes are deployed anew, and which are released first: all that an action destroys before."""
    if not kind.is_destructive:
        return frozenset(), frozenset()
    return frozenset(targets).intersection(deployed), frozenset(targets).difference(deployed)


def deployed_of(conditions: Mapping[str, NodeCondition]) -> frozenset[str]:
    """Return the nodes that the provisioner lists as deployed."""
    return frozenset(name for name, condition in conditions.items() if condition is NodeCondition.DEPLOYED)


def kept_nodes(rehearsed: DryRun, members: Mapping[str, Collection[str]], to_do: Collection[str]) -> dict[str, str]:
    """Return why nodes of groups that have something to do would not be submitted.

    Parameters
    ----------
    members : group to its nodes.
    """
    kept = {}
    for group, nodes in members.items():
        for name in nodes:
            if name not in to_do or name in rehearsed.submitted:
                continue
            if (why := rehearsed.refused.get(name) or rehearsed.kept.get(name)) is not None:
                kept[name] = why
            elif group in rehearsed.failing:
                kept.setdefault(name, f"group {group} would fail ({rehearsed.failing[group]})")
    return kept


def _group(goal: GroupGoal) -> Group:
    """Return a group; one of which every node is as wanted needs no criteria, where its nodes are enough for them."""
    assert goal.definition is not None
    every = evaluate(goal.definition.criteria, Phase.DEPLOY, goal.total, goal.total)
    if not goal.nodes and all(result.met for result in every):
        return replace(goal.definition, criteria=None)
    return goal.definition


def _stand_ins(goal: GroupGoal) -> tuple[str, ...]:
    """Return names that stand for those nodes of a group that are as wanted; no node has such a name."""
    if not goal.nodes:
        return ()
    return tuple(f"/{goal.name}/{number}" for number in range(goal.total - len(goal.nodes)))
