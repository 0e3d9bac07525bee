"""A redeploy in batches, in the state machine: how many are away, in which order, and how it goes on after a crash."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from strategy_lib.deployment import Deployment
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.groups.group_run import Known, Round
from strategy_lib.node import NodeState
from strategy_lib.phase import Finished, GroupState, Phase, Step
from strategy_lib.strategy import Group, Retries, Share, SuccessCriteria

NAMES = tuple(f"n{number:02}" for number in range(20))
PLAN = GroupPlan(redeploy=frozenset(NAMES), serving=frozenset(NAMES))
RACK = Group("rack", critical=True, allow_redeploy=True, max_unavailable=Share(4))


def rack(group: Group = RACK, plan: GroupPlan = PLAN, names: tuple[str, ...] = NAMES) -> Deployment:
    return Deployment([group], {"rack": names}, plans={"rack": plan})


def play(deployment: Deployment, bad: Mapping[Phase, set[str]]) -> list[tuple[str, str]]:
    """Take a deployment to its end; return what was sent."""
    sent = []
    while not isinstance(step := deployment.next(), Finished):
        failed = bad.get(step.phase, set()).intersection(step.nodes)
        deployment.record(step, set(step.nodes) - failed, failed)
        sent.append((step.phase.value, " ".join(step.nodes)))
    return sent


def most_away(sent: list[tuple[str, str]], bad: set[str]) -> int:
    """Return how many nodes were away at once at most."""
    away: set[str] = set()
    most = 0
    for phase, names in sent:
        nodes = set(names.split())
        away = away | nodes if phase == "release" else away
        most = max(most, len(away))
        away = away - (nodes - bad) if phase == "deploy" else away
    return most


def test_a_bad_node_makes_later_batches_smaller() -> None:
    deployment = rack()
    sent = play(deployment, {Phase.DEPLOY: {"n02"}})
    batches = [names.split() for phase, names in sent if phase == "release"]
    assert [len(batch) for batch in batches] == [4, 3, 3, 3, 3, 3, 1]
    assert most_away(sent, {"n02"}) == 4
    assert [phase for phase, _ in sent[:3]] == ["release", "prepare", "deploy"]
    assert deployment.group("rack").counts.succeeded == 19


def test_a_bad_image_stops_after_the_first_batch() -> None:
    deployment = rack(replace(RACK, criteria=SuccessCriteria(percent_successful_nodes=90)))
    sent = play(deployment, {Phase.DEPLOY: set(NAMES)})
    assert [phase for phase, _ in sent] == ["release", "prepare", "deploy"]
    view = deployment.group("rack")
    assert (view.state, view.counts.not_started, len(view.kept)) == (GroupState.FAILURE, 16, 16)
    assert "4 failed (n00, n01, n02, n03)" in view.kept["n04"]


@pytest.mark.parametrize(("below", "released"), [(False, []), (True, ["n00"])])
def test_without_room_in_its_criteria_a_critical_group_is_refused(below: bool, released: list[str]) -> None:
    strict = replace(RACK, max_unavailable=None, criteria=SuccessCriteria(percent_successful_nodes=100))
    deployment = Deployment([strict], {"rack": NAMES}, plans={"rack": PLAN}, known=Known(below_criteria=below))
    sent = play(deployment, {})
    assert [names for phase, names in sent if phase == "release"][:1] == released
    assert bool(deployment.group("rack").kept) is not below


def test_new_nodes_come_first_and_serving_ones_count_as_successful() -> None:
    criteria = SuccessCriteria(percent_successful_nodes=100)
    plan = GroupPlan(redeploy=frozenset({"n01"}), serving=frozenset({"n01"}))
    deployment = rack(replace(RACK, criteria=criteria), plan, ("n00", "n01"))
    assert play(deployment, {}) == [
        ("prepare", "n00"),
        ("deploy", "n00"),
        ("release", "n01"),
        ("prepare", "n01"),
        ("deploy", "n01"),
    ]
    assert deployment.group("rack").state is GroupState.SUCCESS


def test_rule_11_a_redeploy_behind_nodes_that_were_prepared_for_another_group_is_deployed() -> None:
    plan = GroupPlan(redeploy=frozenset({"n01"}), serving=frozenset({"n01"}))
    states = {"n00": NodeState.PREPARED}
    deployment = Deployment([RACK], {"rack": ("n00", "n01")}, states, plans={"rack": plan})
    assert play(deployment, {}) == [("deploy", "n00"), ("release", "n01"), ("prepare", "n01"), ("deploy", "n01")]


WAITING = GroupPlan(
    waits_for={"n01": ("n00",), "n02": ("n00",), "n03": ("n02",)},
    redeploy=frozenset(NAMES[:6]),
    serving=frozenset(NAMES[:6]),
)


def test_rule_40_a_batch_is_released_dependants_first_and_deployed_in_waves() -> None:
    sent = play(rack(plan=WAITING, names=NAMES[:6]), {})
    assert sent[:3] == [("release", "n01 n04 n05"), ("release", "n00"), ("prepare", "n00 n01 n04 n05")]
    assert sent[3:5] == [("deploy", "n00 n04 n05"), ("deploy", "n01")]
    assert sent[5:] == [
        ("release", "n03"),
        ("release", "n02"),
        ("prepare", "n02 n03"),
        ("deploy", "n02"),
        ("deploy", "n03"),
    ]


def test_rule_39_what_waits_for_a_node_that_failed_is_not_taken_away() -> None:
    deployment = rack(plan=WAITING, names=NAMES[:6])
    sent = play(deployment, {Phase.PREPARE: {"n00"}})
    assert not any("n02" in names or "n03" in names for phase, names in sent if phase == "release")
    why = "waits for n00, which failed: prepare failed"
    assert deployment.group("rack").held == {"n01": why, "n02": why, "n03": why}


def test_a_retry_belongs_to_its_batch() -> None:
    deployment = rack(replace(RACK, retries=Retries(deploy=1)), names=NAMES[:6])
    sent = play(deployment, {Phase.DEPLOY: {"n00"}})
    assert [names for _, names in sent[3:5]] == ["n00", "n00"]
    assert [len(names.split()) for phase, names in sent if phase == "release"] == [4, 2]


@pytest.mark.parametrize("seed", range(8))
def test_a_crash_before_any_step_changes_nothing(seed: int) -> None:
    dice = random.Random(seed)
    names = NAMES[:9]
    waits_for = {
        name: tuple(dice.sample(names[:place], min(place, dice.randint(0, 2)))) for place, name in enumerate(names)
    }
    plan = GroupPlan(
        waits_for={name: others for name, others in waits_for.items() if others},
        redeploy=frozenset(dice.sample(names, 6)),
        serving=frozenset(names),
    )
    group = replace(
        RACK, max_unavailable=Share(3), retries=Retries(prepare=dice.randint(0, 1), deploy=dice.randint(0, 1))
    )
    bad = {phase: set(dice.sample(names, 1)) for phase in (Phase.PREPARE, Phase.DEPLOY)}
    whole = rack(group, plan, names)
    sent = play(whole, bad)
    rounds: list[Round] = []
    states: dict[str, NodeState] = {}
    again: list[tuple[str, str]] = []
    while True:
        deployment = Deployment([group], {"rack": names}, states, plans={"rack": plan}, rounds=rounds)
        step: Step | Finished = deployment.next()
        if isinstance(step, Finished):
            break
        begun = Round(step.phase, step.nodes, ended=False)
        resumed = Deployment([group], {"rack": names}, states, plans={"rack": plan}, rounds=[*rounds, begun])
        assert resumed.next() == step
        assert resumed.round_of(step) == deployment.round_of(step)
        failed = bad.get(step.phase, set()).intersection(step.nodes)
        deployment.record(step, set(step.nodes) - failed, failed)
        states = {name: deployment.state_of(name) for name in names}
        rounds.append(replace(begun, ended=True))
        again.append((step.phase.value, " ".join(step.nodes)))
    assert again == sent
    assert deployment.group("rack").state is whole.group("rack").state


def test_nodes_that_could_not_be_sent_are_not_due_again() -> None:
    left_out = Round(Phase.RELEASE, (), left_out=("n00", "n01"))
    deployment = Deployment([RACK], {"rack": NAMES[:3]}, plans={"rack": PLAN}, rounds=[left_out])
    assert [names for _, names in play(deployment, {})] == ["n02"] * 3
