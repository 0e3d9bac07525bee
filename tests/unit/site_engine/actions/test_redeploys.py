"""Which deployed nodes an update redeploys, by which group, in what batches; how many it may, and the override."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from site_engine.admission import Ground, judge_parameters, judge_redeploys
from site_engine.kinds import KINDS, Override
from site_engine.parameters import ActionParameters, parse_parameters
from site_engine.plans.planning import Plan, plan_action
from site_engine.plans.site_rehearsals import simulate_plan
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.node import NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS, SiteSettings
from strategy_lib.status.node_row import NodeRow
from tests.support.sites import KEY, group, node, site

UPDATE = KINDS["update_site"]


def names(number: int) -> list[str]:
    return [f"n{each:02}" for each in range(number)]


@pytest.mark.parametrize(
    ("redeploy", "deployed", "settings", "refused"),
    [
        (0, 0, DEFAULT_SETTINGS, False),
        (5, 5, DEFAULT_SETTINGS, False),
        (6, 30, DEFAULT_SETTINGS, False),
        (6, 29, DEFAULT_SETTINGS, True),
        (20, 100, DEFAULT_SETTINGS, False),
        (21, 100, DEFAULT_SETTINGS, True),
        (1, 20, SiteSettings(redeploy_percent=0, redeploy_nodes=0), True),
        (20, 20, SiteSettings(redeploy_percent=100), False),
    ],
)
def test_rule_37_above_both_bounds_it_is_refused(
    redeploy: int, deployed: int, settings: SiteSettings, refused: bool
) -> None:
    found = judge_redeploys(UPDATE, ActionParameters(), settings, names(redeploy), names(deployed))
    assert [each.ground for each in found] == ([Ground.REDEPLOYS] if refused else [])


def test_rule_37_its_own_override_sets_it_aside_and_force_does_not() -> None:
    def is_overridden(parameters: ActionParameters) -> bool:
        (refusal,) = judge_redeploys(UPDATE, parameters, DEFAULT_SETTINGS, names(20), names(20))
        assert "update_site: it would redeploy 20 of 20 deployed nodes, more than 20 %: n00, n01" in refusal.text
        assert ("repeat this with many_redeploys=true (--many-redeploys)" in refusal.text) != refusal.is_overridden
        return refusal.is_overridden

    assert not is_overridden(ActionParameters())
    assert not is_overridden(ActionParameters(force=True))
    assert not is_overridden(ActionParameters(overrides=frozenset({Override.ALLOW_REDEPLOY})))
    assert is_overridden(ActionParameters(overrides=frozenset({Override.MANY_REDEPLOYS})))


def test_what_is_pruned_counts_too() -> None:
    (refusal,) = judge_redeploys(
        UPDATE, ActionParameters(), DEFAULT_SETTINGS, names(3), names(17), ["old1", "old2", "x"]
    )
    assert "it would redeploy and destroy 6 of 20 deployed nodes, more than 20 %: n00, n01, n02, old1, old2, x" in (
        refusal.text
    )
    (pruned,) = judge_redeploys(
        UPDATE, ActionParameters(), DEFAULT_SETTINGS, [], names(4), ["a", "b", "c", "d", "e", "f"]
    )
    assert "it would destroy 6 of 10" in pruned.text


def test_prune_is_for_whole_sites_alone() -> None:
    prune = frozenset({Override.PRUNE})
    assert judge_parameters(UPDATE, ActionParameters(overrides=prune)) == []
    assert not ActionParameters(force=True).allows(Override.PRUNE), "force destroys nothing"
    (refusal,) = judge_parameters(UPDATE, ActionParameters(overrides=prune, target_nodes=("a",)))
    assert refusal.text == "prune concerns the whole site: leave out target_nodes, or prune"


NAMES = ("a", "b", "c", "d")
ROLLING = {"allow_redeploy": True}


def planned(
    groups: list[dict[str, Any]],
    parameters: dict[str, Any] | None = None,
    *,
    done: str | None = "old",
    theirs: str = "",
) -> Plan:
    """Return the plan of an update where all nodes are deployed; `done` is the digest that they were done in.

    `theirs` are nodes that a stranger has redeployed.
    """
    design = read_design(load_documents(site([node(name) for name in NAMES], groups), "site.yaml")).keyed(KEY)
    digests = design.digests if done == "as wanted" else dict.fromkeys(NAMES, done)
    records = [NodeRow("alpha", name, 1, digests[name], 7, 1, "new", None, "deployed") for name in NAMES]
    words = {name: "Deployed, owned by alice" if name in theirs else "Deployed" for name in NAMES}
    records = [replace(record, provisioner_status=words[record.name]) for record in records]
    return plan_action(
        UPDATE,
        parse_parameters(parameters or {}, UPDATE),
        design,
        design.strategy,
        records if done is not None else [],
        {name: NodeCondition.OTHER if name in theirs else NodeCondition.DEPLOYED for name in NAMES},
    )


def rehearsed(plan: Plan, **more: Any) -> list[tuple[str | None, str | None, str]]:
    """Return what would be submitted, in order."""
    states = dict.fromkeys(plan.done, NodeState.SUCCESS)
    found = simulate_plan(plan.groups, states, withheld=plan.withheld, **more)
    return [(one.group, one.phase, " ".join(one.nodes)) for one in found.submissions]


def rolled(name: str, nodes: str, *, after: str = "") -> list[tuple[str | None, str | None, str]]:
    return [(name, phase, nodes) for phase in ("release", "prepare", "deploy")]


def test_rule_37_a_group_that_does_not_allow_redeploys_takes_no_node() -> None:
    plan = planned(
        [
            group("first", critical=False),
            {**group("rack", after=["first"], percent_successful_nodes=75), **ROLLING, "max_unavailable": 1},
        ]
    )
    first, rack = (each.plan for each in plan.groups)
    assert (first.redeploy, first.later, rack.redeploy) == (frozenset(), frozenset(NAMES), frozenset(NAMES))
    each_alone = [step for name in NAMES for step in rolled("rack", name)]
    assert rehearsed(plan) == [*each_alone, ("first", None, "")]


def test_rule_37_a_batch_keeps_the_bounds_of_every_group_that_allows_it() -> None:
    wide = {**group("wide", critical=False), **ROLLING, "max_unavailable": 3}
    narrow = {**group("narrow", ["b", "c"], after=["wide"], critical=False), **ROLLING, "max_unavailable": 1}
    plan = planned([wide, narrow])
    assert [sorted(each.plan.redeploy) for each in plan.groups] == [list(NAMES), []]
    assert [(one.group, sorted(one.nodes), one.total, one.serving) for one in plan.groups[0].plan.bounds] == [
        ("narrow", ["b", "c"], 2, 2)
    ]
    assert rehearsed(plan) == [*rolled("wide", "a b"), *rolled("wide", "c d"), ("narrow", None, "")]


def test_rule_37_another_group_without_room_keeps_its_nodes_and_no_others() -> None:
    wide = {**group("wide", critical=False), **ROLLING}
    strict = {**group("strict", ["b"], after=["wide"], percent_successful_nodes=100), **ROLLING}
    assert rehearsed(planned([wide, strict])) == [*rolled("wide", "a c d"), ("strict", None, "")]
    assert rehearsed(planned([wide, strict]), below_criteria=True)[0] == ("wide", "release", "a b c d")


def test_rule_56_a_strangers_node_serves_nobody_and_counts_among_those_that_are_away() -> None:
    rack = {**group("rack", critical=False), **ROLLING}
    assert rehearsed(planned([{**rack, "max_unavailable": 2}], theirs="d")) == [
        *rolled("rack", "a"),
        *rolled("rack", "b"),
        *rolled("rack", "c"),
    ]
    plan = planned([{**rack, "max_unavailable": 1}], theirs="d")
    assert (plan.groups[0].plan.serving, plan.groups[0].plan.theirs) == (frozenset("abc"), frozenset("d"))
    assert GroupPlan.from_data(plan.groups[0].plan.to_data()) == plan.groups[0].plan
    kept = simulate_plan(plan.groups, {}, withheld=plan.withheld).kept
    assert kept == dict.fromkeys("abc", "as many nodes are away as may be: somebody else has 1 (d)")
    strict = {**group("rack", percent_successful_nodes=100), **ROLLING}
    plan = planned([strict], theirs="d")
    assert simulate_plan(plan.groups, {}, withheld=plan.withheld).failing.keys() == {"rack"}


def test_rule_56_a_strangers_node_counts_in_another_group_too() -> None:
    wide = {**group("wide", critical=False), **ROLLING}
    narrow = {**group("narrow", ["c", "d"], after=["wide"], critical=False), **ROLLING, "max_unavailable": 1}
    plan = planned([wide, narrow], theirs="d")
    assert plan.groups[0].plan.bounds[0].theirs == {"d"}
    kept = simulate_plan(plan.groups, {}, withheld=plan.withheld).kept
    assert kept["c"] == "group narrow: as many nodes are away as may be: somebody else has 1 (d)"


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([{**group("first", percent_successful_nodes=100), **ROLLING}], id="refused"),
        pytest.param(
            [
                group("gate", ["a"], percent_successful_nodes=100),
                {**group("first", after=["gate"], critical=False), **ROLLING},
            ],
            id="blocked",
        ),
    ],
)
def test_rule_21_what_its_group_does_not_redeploy_no_other_prepares(before: list[dict[str, Any]]) -> None:
    rack = {**group("rack", percent_successful_nodes=75, critical=False), **ROLLING}
    assert not [phase for _, phase, _ in rehearsed(planned([*before, rack])) if phase]


def test_what_is_redeployed_elsewhere_is_kept_with_the_plan() -> None:
    wide = {**group("wide", critical=False, percent_successful_nodes=50), **ROLLING, "max_unavailable": 3}
    narrow = {**group("narrow", ["b", "c"], after=["wide"], minimum_successful_nodes=1), **ROLLING}
    for each in planned([group("first", ["a"], critical=False), wide, narrow]).groups:
        assert GroupPlan.from_data(each.plan.to_data()) == each.plan


@pytest.mark.parametrize("done", ["as wanted", "another", None])
@pytest.mark.parametrize("forced", [{"redo_done": True}, {"force": True}])
def test_with_leave_to_redeploy_what_is_done_again_is_released_first(forced: dict[str, Any], done: str | None) -> None:
    wanted = [{**group("rack", critical=False), **ROLLING}]
    plan = planned(wanted, forced, done=done)
    assert rehearsed(plan) == rolled("rack", "a b c d")
    assert all(each.withheld is None for each in plan.differences.values())
    assert rehearsed(planned([group("rack", critical=False)], {**forced, "allow_redeploy": True}, done=done)) == (
        rolled("rack", "a b c d")
    )


def test_rule_37_live_nodes_of_which_nothing_is_recorded_are_not_destroyed() -> None:
    plan = planned([{**group("rack", critical=False), **ROLLING}], {"allow_redeploy": True}, done=None)
    assert plan.redeploy == frozenset()
    assert rehearsed(plan) == [("rack", None, "")]
    assert plan.withheld.keys() == set(NAMES)
    assert all("`slipway adopt`" in why for why in plan.withheld.values())
