"""The plan of an action: order, rounds (rule 8), members, what is already done, what is released first (rule 11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from design_rendering.design import KeyedDesign
from design_rendering.kinds.objects import VERSION
from provisioner_client.protocol import ListedNode
from site_engine.admission import judge_named_nodes
from site_engine.kinds import KINDS
from site_engine.parameters import parse_parameters
from site_engine.plans.differences import NOBODY, considered_differences
from site_engine.plans.erasures import releases_of
from site_engine.plans.planning import (
    Deployed,
    Known,
    Plan,
    idle_groups,
    judge_deployed,
    make_plan,
    plan_action,
)
from site_engine.plans.schedules import WaitingGroup, rounds_of
from site_engine.plans.site_rehearsals import simulate_plan
from site_store import PlannedGroup, SiteStore
from strategy_lib import simulate
from strategy_lib.node_condition import NodeCondition
from strategy_lib.parsing.configuration import DeploymentConfiguration
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy
from strategy_lib.phase import Reason
from strategy_lib.status.node_row import NodeRow
from strategy_lib.strategy import Group, SuccessCriteria
from tests.unit.strategy_lib.test_simulation_against_the_rules import nodes, strategies

NODES = nodes_from_inventory(
    [{"name": name, "tags": [], "labels": {}, "rack": rack} for name, rack in (("b", "r1"), ("a", "r1"), ("c", "r2"))]
)
STRATEGY = parse_strategy(
    {
        "groups": [
            {"name": "late", "critical": False, "depends_on": ["early"], "selectors": [{"rack_names": ["r1"]}]},
            {"name": "early", "critical": True, "depends_on": [], "selectors": [{"node_names": ["a"]}]},
        ]
    }
)


def test_rule_08_groups_stand_in_processing_order_with_sorted_nodes() -> None:
    plan = make_plan(STRATEGY, NODES)
    assert [(planned.group.name, planned.nodes) for planned in plan.groups] == [("early", ("a",)), ("late", ("a", "b"))]


def test_nodes_in_no_group_are_kept_for_the_report() -> None:
    assert make_plan(STRATEGY, NODES).other == {"c"}


def test_rule_21_only_nodes_of_groups_count_as_done() -> None:
    assert make_plan(STRATEGY, NODES, Known(Deployed(frozenset({"a", "c"})))).done == {"a"}


def a_group(name: str, nodes: str, after: tuple[str, ...] = (), percent: int | None = 100) -> PlannedGroup:
    criteria = None if percent is None else SuccessCriteria(percent_successful_nodes=percent)
    return PlannedGroup(Group(name, True, after, criteria=criteria), tuple(nodes))


def test_groups_with_nothing_to_submit_are_judged_with_the_plan() -> None:
    groups = [
        a_group("done", "ab"),
        a_group("short", "ac"),
        a_group("works", "ad"),
        a_group("behind a failure", "a", ("done", "short")),
        a_group("behind work", "a", ("works",)),
        a_group("behind both", "a", ("behind work",)),
        a_group("empty", ""),
        a_group("lenient", "abc", percent=60),
    ]
    found = idle_groups(groups, done=["a", "b"], withheld=["c"])
    assert [(group.name, group.state.value, group.reason) for group in found] == [
        ("done", "success", None),
        ("short", "failure", Reason.PREPARE_CRITERIA),
        ("behind a failure", "failure", Reason.DEPENDENCY),
        ("empty", "success", None),
        ("lenient", "success", None),
    ]
    short = found[1]
    assert [(one.actual, one.met) for one in short.criteria] == [("1/2", False)]
    assert (short.counts["succeeded"], short.counts["not_started"]) == (1, 1)


BLUE, RED = f"{VERSION}:disks:blue", f"{VERSION}:disks:red"
DONE = NodeRow("alpha", "a", 2, BLUE, 7, 1, RED, None, "deployed", wanted_version=2, done_version=1)
GONE = NodeRow("alpha", "z", None, None, 8, 1, RED, None, "deployed", wanted_version=1, done_version=1)


def planned_update(
    *records: NodeRow,
    relabelled: bool = False,
    out_of_use: Mapping[str, str] = NOBODY,
    condition: NodeCondition = NodeCondition.DEPLOYED,
    **given: bool,
) -> Plan:
    kind = KINDS["update_site"]
    nodes = tuple(node for node in NODES if node.name in ("a", "b"))
    digests = {"a": BLUE, "b": f"{VERSION}:raid:blue"}
    design = KeyedDesign(DeploymentConfiguration(), STRATEGY, nodes, {}, (), digests=digests)
    conditions = {record.name: condition for record in records}
    return plan_action(
        kind,
        parse_parameters(given, kind),
        design,
        STRATEGY,
        records,
        conditions,
        relabelled=relabelled,
        out_of_use=out_of_use,
    )


def test_rule_21_new_labels_are_given_before_the_groups_and_count_as_wanted() -> None:
    plan = planned_update(DONE)
    assert (plan.relabel, plan.done, dict(plan.withheld)) == (("a",), frozenset("a"), {})
    assert plan.differences["a"].withheld is None
    after = planned_update(replace(DONE, error="no answer"), relabelled=True)
    assert (after.relabel, after.done, after.withheld) == (
        (),
        frozenset(),
        {"a": "its new labels are not proven: no answer"},
    )
    redone = planned_update(DONE, redo_done=True)
    assert (redone.relabel, redone.differences["a"].change) == ((), "redo")


def test_rule_33_what_left_the_design_stays_unless_it_is_asked_for() -> None:
    kept = planned_update(GONE)
    assert (kept.remove, dict(kept.left), kept.withheld) == ((), {"z": "it stays as it is (prune destroys it)"}, {})
    assert planned_update(GONE, prune=True).remove == ("z",)
    wanted = replace(GONE, wanted_digest=RED, wanted_revision=9)
    assert planned_update(wanted, prune=True).left == {"z": "the newest design has it, since revision 9"}
    unknown = planned_update(replace(GONE, done_revision=None), prune=True).left["z"]
    assert unknown.startswith("no revision is known that it was done for")


@pytest.mark.parametrize(
    ("kind", "overrides", "change", "submitted"),
    [
        ("update_site", {}, "none", False),
        ("update_site", {"redo_done": True}, "redo", True),
        ("redeploy_server", {}, "redo", True),
    ],
)
def test_rule_21_a_node_that_is_as_wanted_is_left_alone_unless_it_is_redone(
    kind: str, overrides: dict[str, bool], change: str, submitted: bool
) -> None:
    parameters = parse_parameters({"target_nodes": "a", **overrides}, KINDS[kind])
    record = NodeRow("alpha", "a", 2, "1", 7, 1, "1", None, "deployed")
    found = considered_differences(
        KINDS[kind], parameters, {"a": "1", "b": "1"}, [record], {"a": NodeCondition.DEPLOYED}
    )
    assert {name: each.change for name, each in found.items()} == {"a": change}
    assert (judge_deployed(found) == Deployed()) is submitted


ALICES = "Deployed, owned by alice"
LEFT_TO_ALICE = f"the node list says {ALICES}: it is left alone until alice releases it"


@pytest.mark.parametrize("overrides", [{}, {"redo_done": True}, {"force": True}, {"allow_redeploy": True}])
def test_rule_56_a_node_that_a_stranger_redeployed_is_left_alone_whatever_is_allowed(
    overrides: dict[str, Any],
) -> None:
    record = replace(DONE, done_digest=BLUE, done_version=2, provisioner_status=ALICES)
    plan = planned_update(record, condition=NodeCondition.OTHER, **overrides)
    assert plan.withheld["a"] == LEFT_TO_ALICE
    assert (plan.done, plan.redeploy, plan.relabel) == (frozenset(), frozenset(), ())
    assert not any("a" in one.nodes for one in simulate_plan(plan.groups, {}, withheld=plan.withheld).submissions)


def test_rule_56_a_node_that_left_the_design_and_is_a_strangers_is_not_destroyed() -> None:
    plan = planned_update(replace(GONE, provisioner_status=ALICES), condition=NodeCondition.OTHER, prune=True)
    assert (plan.remove, plan.left) == ((), {"z": LEFT_TO_ALICE})


OUT = {"a": "set to maintenance by ann: new disk", "b": "set to retired by bob", "elsewhere": "set to down by bob"}


def test_rule_51_nodes_out_of_use_are_withheld_and_stay_named_apart() -> None:
    plan = planned_update(DONE, out_of_use=OUT)
    assert (plan.relabel, plan.done) == ((), frozenset()), "they get no new labels either"
    assert plan.withheld == plan.out_of_use == {"a": OUT["a"], "b": OUT["b"]}
    assert plan.settled == {}, "they may be set up before their group begins"
    assert {name: each.withheld for name, each in plan.differences.items()} == plan.out_of_use


@pytest.mark.parametrize("redo", [False, True])
def test_rule_15_a_node_out_of_use_that_is_done_as_wanted_counts_as_successful(redo: bool) -> None:
    plan = planned_update(replace(DONE, done_digest=BLUE, done_version=2), out_of_use=OUT, redo_done=redo)
    assert (plan.done, list(plan.out_of_use)) == (frozenset("a"), ["b"])


def test_rule_51_no_override_lifts_it() -> None:
    deployed = replace(DONE, done_digest=f"{VERSION}:raid:red")
    assert planned_update(deployed, allow_redeploy=True).redeploy == {"a"}
    plan = planned_update(deployed, out_of_use=OUT, allow_redeploy=True, redo_done=True, below_criteria=True)
    assert (plan.redeploy, list(plan.withheld)) == (frozenset(), ["a", "b"])


def test_rule_51_what_left_the_design_and_is_out_of_use_is_not_destroyed() -> None:
    plan = planned_update(GONE, prune=True, out_of_use={"z": OUT["a"]})
    assert (plan.remove, plan.left, plan.out_of_use) == ((), {"z": OUT["a"]}, {"z": OUT["a"]})


@pytest.mark.parametrize(("kind", "named"), [("deploy_site", "a,b"), ("redeploy_server", "a"), ("deploy_site", "")])
def test_rule_51_a_request_for_a_node_out_of_use_is_refused_and_says_what_to_do(kind: str, named: str) -> None:
    given = {"target_nodes": named} if named else {}
    parameters = parse_parameters({**given, "force": True} if kind == "deploy_site" else given, KINDS[kind])
    refusals = judge_named_nodes(KINDS[kind], parameters, "alpha", OUT, {})
    assert bool(refusals) is bool(named), "an action on the whole site leaves them out"
    for refusal in refusals:
        assert not refusal.is_overridden
        assert refusal.details[0] == "a is set to maintenance by ann: new disk"
        assert f"`slipway set node-state {named.replace(',', ' ')} up --site alpha`" in refusal.text


def test_rule_56_a_request_for_a_node_of_somebody_else_is_refused_before_the_others_are_erased() -> None:
    kind = KINDS["redeploy_server"]
    parameters = parse_parameters({"target_nodes": "a,b"}, kind)
    (refusal,) = judge_named_nodes(kind, parameters, "alpha", {}, {"b": "it is Deployed, owned by joe", "c": "-"})
    assert (str(refusal), refusal.is_overridden) == (
        "b: it is Deployed, owned by joe; redeploy_server names 1 node of somebody else, and no override helps: name "
        "others",
        False,
    )


def test_the_first_that_are_ready_run_together() -> None:
    groups = [
        WaitingGroup("a"),
        WaitingGroup("b"),
        WaitingGroup("c", ["a"]),
        WaitingGroup("d"),
        WaitingGroup("e", ["c"]),
    ]
    assert rounds_of(groups, 1) == (("a",), ("b",), ("c",), ("d",), ("e",))
    assert rounds_of(groups, 2) == (("a", "b"), ("c", "d"), ("e",))
    assert rounds_of(groups, 16) == (("a", "b", "d"), ("c",), ("e",))


def test_one_without_anything_to_submit_takes_no_place_and_one_behind_a_failed_one_neither() -> None:
    groups = [
        WaitingGroup("idle", submits=False),
        WaitingGroup("fails", fails=True),
        WaitingGroup("behind", ["fails"]),
        WaitingGroup("far behind", ["behind"]),
        WaitingGroup("after", after=["fails"]),
        WaitingGroup("passed on", ["idle"]),
    ]
    assert rounds_of(groups, 2) == (("fails", "passed on"), ("after",))


def test_what_waits_for_itself_is_in_no_round() -> None:
    assert rounds_of([WaitingGroup("a", after=["b"]), WaitingGroup("b", after=["a"]), WaitingGroup("c")], 2) == (
        ("c",),
    )


@pytest.mark.parametrize("number", [60, pytest.param(2000, marks=pytest.mark.soak)])
def test_rounds_are_those_of_the_rehearsal(number: int) -> None:
    @settings(max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategies(), nodes, st.integers(2, 5))
    def check(strategy: dict[str, Any], site: list[dict[str, Any]], at_once: int) -> None:
        rehearsed = simulate(strategy, site, None, max_parallel_groups=at_once)
        failed = {name for name, group in rehearsed["groups"].items() if group["reason"]}
        # By the document, as the rehearsal does.
        groups = [
            WaitingGroup(group["name"], group["depends_on"], fails=group["name"] in failed)
            for group in strategy["groups"]
        ]
        assert [list(wave) for wave in rounds_of(groups, at_once)] == rehearsed["waves"]

    check()


ALLOCATED, FAILED = NodeCondition.ALLOCATED, NodeCondition.FAILED_DEPLOYMENT


class Nodes:
    """Notes what it is asked for."""

    def __init__(self, **left: NodeCondition) -> None:
        self.asked: list[list[str]] = []
        self.left = left

    def left_undeployed(self, _site: str, nodes: Collection[str]) -> dict[str, NodeCondition]:
        self.asked.append(sorted(nodes))
        return self.left


def store_of(nodes: Nodes) -> SiteStore:
    return cast(SiteStore, SimpleNamespace(nodes=nodes))


def listed(**nodes: tuple[NodeCondition, str]) -> dict[str, ListedNode]:
    return {name: ListedNode(name, condition, word, "on") for name, (condition, word) in nodes.items()}


@pytest.mark.parametrize("release_failed", [True, False])
@pytest.mark.parametrize(("condition", "word"), [(ALLOCATED, "Allocated"), (FAILED, "Failed deployment")])
def test_rule_11_of_a_machine_that_another_has_it_is_said_who_must_release_it(
    condition: NodeCondition, word: str, release_failed: bool
) -> None:
    nodes = listed(a=(condition, f"{word}, owned by alice"))
    planned = PlannedGroup(Group("one", critical=True, release_failed=release_failed), ("a",))
    plan = releases_of(store_of(Nodes(a=condition)), "alpha", [planned], nodes)["one"]
    said = f"the node list says {word}, owned by alice: it is left alone until alice releases it"
    assert (plan.release, plan.refused) == ((), {"a": said})


def test_rule_11_all_groups_of_a_plan_are_looked_up_at_once() -> None:
    nodes = listed(a=(ALLOCATED, "Allocated"), b=(FAILED, "Failed deployment"), c=(NodeCondition.READY, "Ready"))
    known = Nodes(a=ALLOCATED)
    groups = [PlannedGroup(Group(name, critical=True), (name, "a")) for name in "bc"]
    plans = releases_of(store_of(known), "alpha", groups, nodes)
    assert {name: plan.release for name, plan in plans.items()} == {"b": ("a", "b"), "c": ("a",)}
    assert known.asked == [["a", "b"]]
    assert releases_of(store_of(known), "alpha", groups, listed(c=(NodeCondition.READY, "Ready"))) == {}
    assert known.asked == [["a", "b"]], "nothing is asked where no node stands so"
