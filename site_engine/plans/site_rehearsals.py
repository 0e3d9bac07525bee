"""What an update of a site would submit, from the goals that the store knows. Nodes that are as wanted only count."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from site_engine.actions.admission import judge_redeploys
from site_engine.actions.kinds import kind_of
from site_engine.actions.parameters import ActionParameters
from site_engine.groups.releases import releases_of
from site_engine.plans.differences import left_to_others
from site_engine.plans.node_lists import nodes_of
from site_engine.plans.planning import Known, judge_deployed, plan_groups, redeployable_nodes, simulate_plan
from strategy_lib.goals.update import TO_DO, Change
from strategy_lib.groups.batch_words import announcements
from strategy_lib.node import NodeState
from strategy_lib.outcome import REFUSED_BY_PREPARE, NodeCondition
from strategy_lib.phase import Phase
from strategy_lib.strategy import evaluate

if TYPE_CHECKING:
    from site_engine.plans.differences import NodeDifference
    from site_engine.plans.planning import DryRun
    from site_store import GroupGoal, SiteGoals, SiteStore
    from site_store.trees.plan_facts import PlanFacts
    from strategy_lib.strategy import Group

UPDATE = "update_site"
REFUSED = "the whole update is refused"


@dataclass(frozen=True, slots=True)
class SiteRehearsal:
    """What an update would submit.

    Attributes
    ----------
    submitted : nodes.
    kept : nodes with something to do that are not submitted, each with the reason, except those that no plan takes.
    redeploy : deployed nodes that would be brought to another design.
    refusal : why the whole update is refused; None where it is not.
    failing : groups that would fail even if every submitted node succeeded, each with the reason.
    batches : what is said of groups whose nodes go in batches (rule 59).
    released : nodes among the submitted that would be erased and released first (rule 11); sorted.
    stays : deployed nodes that stay as they are without `allow_redeploy`.
    takes_many : to redeploy them, with those of groups that allow it, takes `many_redeploys`.
    """

    submitted: frozenset[str] = frozenset()
    kept: Mapping[str, str] = field(default_factory=dict)
    redeploy: frozenset[str] = frozenset()
    refusal: str | None = None
    failing: Mapping[str, str] = field(default_factory=dict)
    batches: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    stays: frozenset[str] = frozenset()
    takes_many: bool = False


NOTHING = SiteRehearsal()


def rehearse_update(
    store: SiteStore,
    site: str,
    goals: SiteGoals,
    found: Mapping[str, NodeDifference],
    conditions: Mapping[str, NodeCondition],
    facts: PlanFacts,
) -> SiteRehearsal:
    """Say which nodes an update of a whole site would submit if every node succeeded.

    Parameters
    ----------
    found : what has to be done to each node that is not among the clean ones; of nodes that an administrator has taken
        out of use it says so.
    conditions : what the provisioner says of nodes.
    facts : what the plan uses beside these.
    """
    to_do = frozenset(name for name, each in found.items() if each.change in TO_DO)
    if not to_do and found.keys().isdisjoint(facts.out_of_use):
        return NOTHING
    groups = [_group(goal) for goal in goals.groups if goal.definition is not None]
    stand_ins = {goal.name: _stand_ins(goal) for goal in goals.groups}
    members = {goal.name: (*goal.nodes, *stand_ins[goal.name]) for goal in goals.groups}
    clean = frozenset(name for names in stand_ins.values() for name in names)
    kind, parameters = kind_of(UPDATE), ActionParameters()
    deployed = judge_deployed(found)
    theirs = frozenset(left_to_others(goals.records.values()))
    known = Known(
        replace(deployed, as_wanted=deployed.as_wanted | clean),
        goals.edges,
        frozenset(name for name in frozenset[str]().union(*goals.edges.values()) if name in goals.clean),
        redeployable_nodes(kind, parameters, found, conditions).difference(facts.out_of_use, theirs),
        serving=clean.union(name for name in found if conditions.get(name) is NodeCondition.DEPLOYED),
        theirs=theirs,
    )
    plan = plan_groups(groups, members, known)
    redeploy = plan.redeploy
    stays = known.redeployable.intersection(chain.from_iterable(members.values())) - redeploy
    serving = [*goals.clean, *(name for name in found if conditions.get(name) is NodeCondition.DEPLOYED)]
    takes_many = bool(judge_redeploys(kind, parameters, facts.settings, redeploy | stays, serving))
    refused = judge_redeploys(kind, parameters, facts.settings, redeploy, serving) if redeploy else []
    if refused:
        left = dict.fromkeys(to_do, REFUSED)
        return SiteRehearsal(frozenset(), left, redeploy, str(refused[0]), stays=stays, takes_many=takes_many)
    stuck = frozenset(name for name in to_do if conditions.get(name) in REFUSED_BY_PREPARE)
    listed = nodes_of(facts.listed, facts.left) if stuck and facts.listed is not None else {}
    releases = releases_of(store, site, plan.groups, {name: listed[name] for name in stuck & listed.keys()})
    states = dict.fromkeys(plan.done, NodeState.SUCCESS)
    rehearsed = simulate_plan(plan.groups, states, withheld={**releases.refused, **plan.withheld})
    kept = {**kept_nodes(rehearsed, {goal.name: goal.nodes for goal in goals.groups}, to_do), **releases.refused}
    sizes = ((planned.group, len(planned.nodes)) for planned in plan.groups)
    batches = announcements(sizes, rehearsed.submissions)
    released = tuple(sorted(redeploy.union(releases.release) & rehearsed.submitted))
    failing = failing_groups(rehearsed)
    return SiteRehearsal(
        rehearsed.submitted,
        kept,
        redeploy,
        failing=failing,
        batches=batches,
        released=released,
        stays=stays,
        takes_many=takes_many,
    )


def failing_groups(rehearsed: DryRun) -> dict[str, str]:
    """Return the groups that would fail even if every submitted node succeeded, each with the reason."""
    return {name: str(reason or "failure") for name, reason in rehearsed.failing.items()}


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
            if name in rehearsed.kept:
                kept[name] = rehearsed.kept[name]
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


def changes_of(found: Mapping[str, NodeDifference], redeploy: Collection[str]) -> dict[str, NodeDifference]:
    """Return what has to be done to nodes: those that are redeployed are not withheld."""
    again = frozenset(redeploy)
    return {
        name: replace(each, withheld=None) if name in again else each
        for name, each in found.items()
        if each.change is not Change.NONE
    }
