"""Batches within a group, and canaries (rule 59): what is sent when, when no more begins, and how it goes on."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest

from strategy_lib.deployment import Deployment, OthersAtWork
from strategy_lib.errors import StrategyError
from strategy_lib.groups.group_plan import NO_PLAN, GroupPlan
from strategy_lib.groups.group_run import Known, Round
from strategy_lib.node import NodeState
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step
from strategy_lib.simulation import RoundDeployment, simulate
from strategy_lib.strategy import Group, Ready, Retries, Share, SuccessCriteria, strategy_to_data

NAMES = tuple(f"n{number}" for number in range(1, 6))
BY_TWO = Group("g", critical=True, max_in_flight=Share(2))
Bad = Mapping[Phase, Collection[str]]
NONE: Bad = {}
ALL_GOOD = SuccessCriteria(percent_successful_nodes=100)
ONE_MAY_FAIL = SuccessCriteria(maximum_failed_nodes=1)


def play(deployment: Deployment, bad: Bad = NONE, unknown: Bad = NONE) -> list[tuple[str, str]]:
    """Take a deployment to its end; return what was sent."""
    sent = []
    while not isinstance(step := deployment.next(), Finished):
        tell(deployment, step, bad, unknown)
        sent.append((step.phase.value, " ".join(step.nodes)))
    return sent


def tell(deployment: Deployment, step: Step, bad: Bad, unknown: Bad = NONE) -> None:
    failed, lost = set(bad.get(step.phase, ())), set(unknown.get(step.phase, ()))
    deployment.record(step, set(step.nodes) - failed - lost, failed.intersection(step.nodes))


def one(group: Group, names: Sequence[str] = NAMES, plan: GroupPlan = NO_PLAN) -> Deployment:
    return Deployment([group], {"g": names}, plans={"g": plan})


def test_both_settings_are_read_and_written() -> None:
    group = {"name": "g", "critical": True, "depends_on": [], "selectors": [], "max_in_flight": "10%", "canary": 2}
    strategy = parse_strategy({"groups": [group]})
    assert (strategy.groups[0].max_in_flight, strategy.groups[0].canary) == (Share(10, is_percent=True), Share(2))
    assert parse_strategy(strategy_to_data(strategy)) == strategy


@pytest.mark.parametrize("setting", ["max_in_flight", "canary"])
@pytest.mark.parametrize("value", [0, -1, "0%", "101%", "two", 1.5, True, None])
def test_a_setting_that_is_no_number_of_nodes_is_refused_with_its_path(setting: str, value: object) -> None:
    group = {"name": "g", "critical": True, "depends_on": [], "selectors": [], setting: value}
    with pytest.raises(StrategyError, match=rf"groups\[0\].{setting}: must be"):
        parse_strategy({"groups": [group]})


@pytest.mark.parametrize(
    ("group", "batches"),
    [
        (BY_TWO, ["n1 n2", "n3 n4", "n5"]),
        (replace(BY_TWO, max_in_flight=Share(40, is_percent=True)), ["n1 n2", "n3 n4", "n5"]),
        (replace(BY_TWO, max_in_flight=Share(1, is_percent=True)), ["n1", "n2", "n3", "n4", "n5"]),
        (replace(BY_TWO, max_in_flight=Share(9)), ["n1 n2 n3 n4 n5"]),
        (replace(BY_TWO, max_in_flight=None, canary=Share(2)), ["n1 n2", "n3 n4 n5"]),
        (replace(BY_TWO, canary=Share(1)), ["n1", "n2 n3", "n4 n5"]),
        (replace(BY_TWO, canary=Share(3)), ["n1 n2", "n3", "n4 n5"]),
        (replace(BY_TWO, max_in_flight=None, canary=Share(20, is_percent=True)), ["n1", "n2 n3 n4 n5"]),
        (replace(BY_TWO, max_in_flight=None, canary=Share(9)), ["n1 n2 n3 n4 n5"]),
    ],
)
def test_rule_59_each_batch_is_prepared_and_deployed_before_the_next(group: Group, batches: list[str]) -> None:
    deployment = one(group)
    assert play(deployment) == [(phase, batch) for batch in batches for phase in ("prepare", "deploy")]
    assert deployment.group("g").state is GroupState.SUCCESS


@pytest.mark.parametrize(
    ("bad", "sent", "reason", "left"),
    [
        # A canary that is not prepared is not deployed, and neither are the other canaries.
        ({Phase.PREPARE: ["n2"]}, ["prepare n1 n2"], "n2 (prepare failed)", "n3 n4 n5"),
        ({Phase.DEPLOY: ["n1", "n2"]}, ["prepare n1 n2", "deploy n1 n2"], "n1 (deploy failed), n2 (deploy fail", "n3"),
    ],
)
def test_rule_59_a_canary_that_fails_leaves_the_rest_alone(bad: Bad, sent: list[str], reason: str, left: str) -> None:
    deployment = one(replace(BY_TWO, max_in_flight=None, canary=Share(2), criteria=ONE_MAY_FAIL))
    assert [f"{phase} {nodes}" for phase, nodes in play(deployment, bad)] == sent
    view = deployment.group("g")
    assert (view.state, view.reason, view.criteria) == (GroupState.FAILURE, Reason.CANARY, ())
    assert view.held["n3"].startswith(f"the canaries failed: {reason}")
    assert set(left.split()) <= {name for name in NAMES if deployment.state_of(name) is NodeState.NOT_STARTED}


def test_rule_59_a_canary_whose_result_is_unknown_has_not_succeeded() -> None:
    deployment = one(replace(BY_TWO, canary=Share(1)))
    play(deployment, unknown={Phase.DEPLOY: ["n1"]})
    assert deployment.group("g").reason is Reason.CANARY


def test_rule_59_a_canary_is_tried_again_before_it_fails() -> None:
    group = replace(BY_TWO, canary=Share(1), retries=Retries(prepare=1, deploy=1))
    assert [nodes for _, nodes in play(one(group), {Phase.DEPLOY: ["n1"]})] == ["n1"] * 4
    assert [nodes for _, nodes in play(one(group), {Phase.PREPARE: ["n1"]})] == ["n1"] * 2


def test_rule_59_a_canary_has_to_be_ready_where_the_group_asks() -> None:
    deployment = one(replace(BY_TWO, canary=Share(1), ready=Ready(5)))
    sent = play(deployment, {Phase.READY: ["n1"]})
    assert sent == [("prepare", "n1"), ("deploy", "n1"), ("ready", "n1")]
    assert deployment.group("g").reason is Reason.CANARY


def test_rule_58_each_batch_is_asked_before_the_next() -> None:
    sent = play(one(replace(BY_TWO, ready=Ready(5)), NAMES[:3]))
    assert sent == [(phase, batch) for batch in ("n1 n2", "n3") for phase in ("prepare", "deploy", "ready")]


@pytest.mark.parametrize(
    ("bad", "last", "reason", "begun"),
    [
        ({Phase.PREPARE: ["n1", "n2"]}, "prepare n1 n2", Reason.PREPARE_CRITERIA, 2),
        ({Phase.PREPARE: ["n1", "n3"]}, "prepare n3 n4", Reason.PREPARE_CRITERIA, 4),
        ({Phase.DEPLOY: ["n1", "n3"]}, "deploy n3 n4", Reason.DEPLOY_CRITERIA, 4),
        # One fails in each phase: the batch goes on to its end.
        ({Phase.DEPLOY: ["n1"], Phase.PREPARE: ["n3"]}, "deploy n4", Reason.DEPLOY_CRITERIA, 4),
        # At the end of the group.
        ({Phase.PREPARE: ["n1"], Phase.DEPLOY: ["n5"]}, "deploy n5", Reason.DEPLOY_CRITERIA, 5),
    ],
)
def test_rule_59_no_more_batches_begin_once_the_criteria_cannot_be_met(
    bad: Bad, last: str, reason: Reason, begun: int
) -> None:
    deployment = one(replace(BY_TWO, criteria=ONE_MAY_FAIL))
    assert " ".join(play(deployment, bad)[-1]) == last
    view = deployment.group("g")
    assert (view.state, view.reason, view.counts.not_started) == (GroupState.FAILURE, reason, 5 - begun)
    assert len(view.held) == 5 - begun
    assert all(
        "criteria can no longer be met: maximum_failed_nodes needs 1, and 2" in why for why in view.held.values()
    )


def test_rule_16_the_criteria_that_stop_a_group_are_reported_with_what_there_was() -> None:
    deployment = one(replace(BY_TWO, criteria=ONE_MAY_FAIL))
    play(deployment, {Phase.PREPARE: ["n1", "n2"]})
    (result,) = deployment.group("g").criteria
    assert (result.phase, result.needed, result.actual, result.met) == (Phase.PREPARE, 1, 5, False)


def test_rule_59_criteria_that_could_never_be_met_begin_nothing() -> None:
    deployment = one(replace(BY_TWO, criteria=SuccessCriteria(minimum_successful_nodes=6)))
    assert play(deployment) == []
    assert deployment.group("g").reason is Reason.PREPARE_CRITERIA


def test_rule_39_nodes_wait_for_others_of_their_batch_or_of_an_earlier_one() -> None:
    plan = GroupPlan(waits_for={"n1": ("n5",), "n2": ("n1",)})
    sent = play(one(BY_TWO, plan=plan))
    assert [nodes for phase, nodes in sent if phase == "prepare"] == ["n3 n4", "n1 n5", "n2"]
    assert [nodes for phase, nodes in sent if phase == "deploy"] == ["n3 n4", "n5", "n1", "n2"]


def test_rule_39_what_waits_for_a_node_that_failed_is_in_no_batch() -> None:
    plan = GroupPlan(waits_for={"n4": ("n1",), "n5": ("n4",)})
    deployment = one(BY_TWO, plan=plan)
    sent = play(deployment, {Phase.DEPLOY: ["n1"]})
    assert [nodes for phase, nodes in sent if phase == "prepare"] == ["n1 n2", "n3"]
    assert set(deployment.group("g").held) == {"n4", "n5"}


SERVING = GroupPlan(redeploy=frozenset(NAMES[1:]), serving=frozenset(NAMES[1:]))


@pytest.mark.parametrize(
    ("unavailable", "in_flight", "sizes"), [(3, 2, [2, 2]), (2, 3, [2, 2]), (1, 3, [1] * 4), (4, 1, [1] * 4)]
)
def test_rule_59_of_two_bounds_the_smaller_one_holds(unavailable: int, in_flight: int, sizes: list[int]) -> None:
    group = replace(BY_TWO, allow_redeploy=True, max_unavailable=Share(unavailable), max_in_flight=Share(in_flight))
    sent = play(one(group, plan=SERVING))
    assert sent[:2] == [("prepare", "n1"), ("deploy", "n1")]
    assert [len(nodes.split()) for phase, nodes in sent if phase == "release"] == sizes


def test_rule_59_canaries_of_a_redeploy_come_back_before_the_rest_goes() -> None:
    group = replace(BY_TWO, max_in_flight=None, canary=Share(2), allow_redeploy=True, max_unavailable=Share(4))
    good = play(one(group, plan=SERVING))
    assert [nodes for phase, nodes in good if phase == "release"] == ["n2", "n3 n4 n5"]
    deployment = one(replace(group, canary=Share(3)), plan=SERVING)
    sent = play(deployment, {Phase.PREPARE: ["n2"]})
    # What was taken away comes back as far as it can.
    assert sent[2:] == [("release", "n2 n3"), ("prepare", "n2 n3"), ("deploy", "n3")]
    view = deployment.group("g")
    assert (view.reason, set(view.kept)) == (Reason.CANARY, {"n4", "n5"})


def test_rule_11_nodes_that_were_prepared_for_another_group_fill_a_batch() -> None:
    states = {"n1": NodeState.PREPARED, "n3": NodeState.PREPARED, "n4": NodeState.SUCCESS, "n5": NodeState.PREPARED}
    deployment = Deployment([BY_TWO], {"g": NAMES}, states)
    assert play(deployment) == [("prepare", "n2"), ("deploy", "n1 n2"), ("deploy", "n3 n5")]


def test_rule_59_nodes_with_nothing_to_do_are_in_no_batch_and_no_canaries() -> None:
    group = replace(BY_TWO, canary=Share(1))
    states = {"n1": NodeState.SUCCESS, "n3": NodeState.FAILURE}
    deployment = Deployment([group], {"g": NAMES}, states, known=Known(withheld=frozenset({"n2"})))
    assert play(deployment) == [("prepare", "n4"), ("deploy", "n4"), ("prepare", "n5"), ("deploy", "n5")]


def test_rule_23_a_cleared_group_starts_with_the_canaries_that_are_not_done() -> None:
    group = replace(BY_TWO, max_in_flight=None, canary=Share(2))
    states = {"n1": NodeState.SUCCESS}
    again = Deployment([group], {"g": NAMES}, states, known=Known(sent_before=frozenset({"n1", "n2"})))
    assert [nodes for phase, nodes in play(again) if phase == "prepare"] == ["n2", "n3 n4 n5"]
    # Another action has canaries of its own.
    assert ("prepare", "n2 n3") in play(Deployment([group], {"g": NAMES}, states))


def test_rule_59_a_canary_that_could_not_be_sent_is_replaced() -> None:
    group = replace(BY_TWO, max_in_flight=None, canary=Share(2))
    rounds = [Round(Phase.PREPARE, ("n2",), left_out=("n1",)), Round(Phase.DEPLOY, ("n2",))]
    deployment = Deployment([group], {"g": NAMES}, {"n2": NodeState.SUCCESS}, rounds=rounds)
    assert [nodes for _, nodes in play(deployment)] == ["n3", "n3", "n4 n5", "n4 n5"]


def test_rule_11_nodes_that_were_released_first_are_prepared_with_their_batch() -> None:
    deployment = Deployment([BY_TWO], {"g": NAMES}, rounds=[Round(Phase.RELEASE, ("n2",))])
    assert play(deployment)[:2] == [("prepare", "n1 n2"), ("deploy", "n1 n2")]


def test_two_groups_side_by_side_keep_their_bounds() -> None:
    groups = [BY_TWO, replace(BY_TWO, name="h", max_in_flight=Share(1), canary=Share(1)), Group("i", critical=False)]
    members = {"g": NAMES[:3], "h": ("n2", "n4", "n5"), "i": NAMES}
    deployment = RoundDeployment(groups, members, 3, ["g", "h", "i"])
    sent = []
    while not isinstance(step := deployment.next(), Finished):
        sent.append((step.group, step.phase, len(step.nodes)))
        deployment.record(step, step.nodes, ())
    assert {view.state for view in deployment.groups} == {GroupState.SUCCESS}
    assert max(number for group, _, number in sent if group == "g") <= 2
    assert max(number for group, _, number in sent if group == "h") == 1


def test_rule_11_a_batch_leaves_alone_what_a_group_beside_has_in_hand_and_waits_for_it_at_the_end() -> None:
    states = {"n1": NodeState.PREPARING}
    deployment = Deployment([BY_TWO], {"g": NAMES[:3]}, states, known=Known(beside={"n1": Phase.PREPARE}))
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        step = deployment.next()
        assert not isinstance(step, Finished)
        assert step.phase is phase
        assert step.nodes == ("n2", "n3")
        deployment.record(step, step.nodes, ())
    with pytest.raises(OthersAtWork, match="n1"):
        deployment.next()


def test_rule_59_a_batch_is_not_over_while_a_group_beside_deploys_a_node_of_it() -> None:
    rounds = [Round(Phase.PREPARE, ("n1", "n2")), Round(Phase.DEPLOY, ("n2",))]
    states = {"n1": NodeState.DEPLOYING, "n2": NodeState.SUCCESS}
    deployment = Deployment([BY_TWO], {"g": NAMES}, states, rounds=rounds, known=Known(beside={"n1": Phase.DEPLOY}))
    with pytest.raises(OthersAtWork, match="n1"):
        deployment.next()


def test_rule_08_groups_in_batches_that_share_no_node_do_the_same_side_by_side() -> None:
    dice = random.Random(59)
    for _ in range(40):
        names = [f"n{number}" for number in range(dice.randint(1, 9))]
        groups = [
            {
                "name": name,
                "critical": dice.random() < 0.5,
                "depends_on": ["a"] if name != "a" and dice.random() < 0.3 else [],
                "selectors": [{"node_names": names[place::3] or ["of no node"]}],
                "max_in_flight": dice.randint(1, 3),
                "canary": dice.randint(1, 2),
                "success_criteria": {"maximum_failed_nodes": dice.randint(0, 2)},
                "retries": {"prepare": dice.randint(0, 1), "deploy": dice.randint(0, 1)},
            }
            for place, name in enumerate("abc")
        ]
        outcomes = {
            phase: {name: dice.choice(["failure", "unknown"]) for name in names if dice.random() < 0.15}
            for phase in ("prepare", "deploy")
        }
        nodes = [{"name": name} for name in names]
        serial = simulate({"groups": groups}, nodes, outcomes)
        beside = simulate({"groups": groups}, nodes, outcomes, max_parallel_groups=3)
        for part in ("verdict", "groups", "nodes"):
            assert serial[part] == beside[part], (groups, outcomes)
