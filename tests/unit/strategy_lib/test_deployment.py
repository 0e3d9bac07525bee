"""Rules 8-19 on the state machine itself: what it sends, when it judges, and how it resumes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from strategy_lib.deployment import Deployment
from strategy_lib.groups.group_run import Round
from strategy_lib.node import NodeState
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step, Verdict
from strategy_lib.strategy import Group, SuccessCriteria
from strategy_lib.verdict import GroupCounts, counts_of, verdict_on


def group(name: str, *depends_on: str, critical: bool = True, percent: int | None = None, **more: int) -> Group:
    criteria = SuccessCriteria(percent, **more) if percent is not None or more else None
    return Group(name, critical, depends_on, criteria=criteria)


def prepare(group: str, *nodes: str) -> Step:
    return Step(group, Phase.PREPARE, nodes)


def deploy(group: str, *nodes: str) -> Step:
    return Step(group, Phase.DEPLOY, nodes)


def run(
    deployment: Deployment,
    failing: Mapping[Phase, Collection[str]] | None = None,
    lost: Mapping[Phase, Collection[str]] | None = None,
) -> list[Step]:
    """Carry everything out; return what was sent."""
    sent: list[Step] = []
    while not isinstance(step := deployment.next(), Finished):
        sent.append(step)
        failed = set((failing or {}).get(step.phase, ()))
        gone = set((lost or {}).get(step.phase, ()))
        deployment.record(step, set(step.nodes) - failed - gone, failed & set(step.nodes))
    return sent


def test_rule_08_groups_must_be_given_in_order() -> None:
    with pytest.raises(ValueError, match="'b' stands before 'a'"):
        Deployment([group("b", "a"), group("a")], {})
    Deployment([group("b", "a")], {}, verdicts={"a": GroupState.SUCCESS})
    with pytest.raises(ValueError, match="'b' stands before 'a'"):
        Deployment([group("b", "a")], {}, verdicts={"a": GroupState.RUNNING})


def test_rule_08_prepare_then_deploy_group_by_group() -> None:
    deployment = Deployment([group("a"), group("b", "a")], {"a": ["n2", "n1"], "b": ["n3"]})
    assert run(deployment) == [
        prepare("a", "n1", "n2"),
        deploy("a", "n1", "n2"),
        prepare("b", "n3"),
        deploy("b", "n3"),
    ]
    assert deployment.next() == Finished()
    assert deployment.verdict is Verdict.SUCCESS


def test_rule_08_next_gives_the_same_step_until_it_is_recorded() -> None:
    deployment = Deployment([group("a")], {"a": ["n1"]})
    step = deployment.next()
    assert deployment.next() == step == prepare("a", "n1")
    with pytest.raises(ValueError, match="not the step"):
        deployment.record(deploy("a", "n1"), ["n1"], [])
    deployment.record(prepare("a", "n1"), ["n1"], [])
    with pytest.raises(ValueError, match="not the step"):
        deployment.record(prepare("a", "n1"), ["n1"], [])


def test_rule_10_states_of_a_node_on_its_way() -> None:
    deployment = Deployment([group("a")], {"a": ["n1"]})
    seen = [deployment.state_of("n1")]
    while not isinstance(step := deployment.next(), Finished):
        deployment.record(step, ["n1"], [])
        seen.append(deployment.state_of("n1"))
    assert seen == ["not_started", "prepared", "success"]


def test_rule_11_only_nodes_that_are_not_started_or_prepared_at_that_moment_are_sent() -> None:
    # b shares n2 (deployed by a), n3 (failed in a) and n4 (prepared by a, whose deploy was skipped).
    groups = [group("a", percent=100), group("b")]
    members = {"a": ["n2", "n3", "n4"], "b": ["n2", "n3", "n4", "n5"]}
    deployment = Deployment(groups, members, states={"n2": NodeState.SUCCESS})
    assert run(deployment, failing={Phase.PREPARE: ["n3"]}) == [
        prepare("a", "n3", "n4"),
        prepare("b", "n5"),
        deploy("b", "n4", "n5"),
    ]


def test_rule_13_failed_wins_silence_is_unknown_strangers_are_ignored() -> None:
    deployment = Deployment([group("a")], {"a": ["n1", "n2", "n3"]})
    step = deployment.next()
    assert isinstance(step, Step)
    deployment.record(step, ["n1", "n2", "stranger"], ["n2", "other"])
    assert [deployment.state_of(name) for name in ("n1", "n2", "n3")] == ["prepared", "failure", "unknown"]
    assert deployment.state_of("stranger") is NodeState.NOT_STARTED


def test_rule_15_prepare_counts_later_states_that_prove_it() -> None:
    states = {"n1": NodeState.SUCCESS, "n2": NodeState.PREPARED}
    deployment = Deployment([group("a", minimum_successful_nodes=3)], {"a": ["n1", "n2", "n3"]}, states)
    assert run(deployment) == [prepare("a", "n3"), deploy("a", "n2", "n3")]
    assert [(result.phase, result.actual) for result in deployment.group("a").criteria] == [
        (Phase.PREPARE, 3),
        (Phase.DEPLOY, 3),
    ]


def test_rule_19_there_is_no_verdict_before_the_end() -> None:
    assert Deployment([group("a")], {"a": ["n1"]}).verdict is None


def test_rule_19_a_critical_group_fails_the_whole_by_its_dependency_too() -> None:
    groups = [group("a", critical=False, percent=100), group("b", "a")]
    deployment = Deployment(groups, {"a": ["n1"], "b": ["n2"]})
    run(deployment, failing={Phase.PREPARE: ["n1"]})
    assert (deployment.verdict, verdict_on(deployment.groups).critical) == (Verdict.FAILURE, ("b",))


def test_rule_20_counts_of_a_group() -> None:
    members = ["n1", "n2", "n3", "n4", "n5"]
    deployment = Deployment([group("a", percent=10)], {"a": members}, {"n5": NodeState.SUCCESS})
    run(deployment, failing={Phase.PREPARE: ["n1"]}, lost={Phase.DEPLOY: ["n2"]})
    counts = deployment.group("a").counts
    assert (counts.total, counts.prepared, counts.succeeded, counts.failed, counts.unknown) == (5, 4, 3, 1, 1)


def test_rule_23_prepare_under_way_is_joined_again_with_its_nodes_only() -> None:
    states = {"n1": NodeState.PREPARING, "n2": NodeState.PREPARING, "n3": NodeState.SUCCESS}
    deployment = Deployment([group("a", "dep")], {"a": ["n1", "n2", "n3"]}, states, {"dep": GroupState.SUCCESS})
    assert run(deployment) == [prepare("a", "n1", "n2"), deploy("a", "n1", "n2")]


def test_rule_23_deploy_under_way_is_joined_and_prepare_is_not_judged_again() -> None:
    # n2 was prepared and has failed to deploy since: prepare criteria would no longer be met.
    states = {"n1": NodeState.DEPLOYING, "n2": NodeState.FAILURE}
    deployment = Deployment(
        [group("a", percent=100)],
        {"a": ["n1", "n2"]},
        states,
        rounds=[Round(Phase.PREPARE, ("n1", "n2")), Round(Phase.DEPLOY, ("n1",), ended=False)],
    )
    assert run(deployment) == [deploy("a", "n1")]
    assert deployment.group("a").reason is Reason.DEPLOY_CRITERIA


def test_rule_23_prepare_over_is_judged_and_deploy_follows() -> None:
    states = {"n1": NodeState.PREPARED, "n2": NodeState.FAILURE}
    good = Deployment(
        [group("a", percent=50)], {"a": ["n1", "n2"]}, states, rounds=[Round(Phase.PREPARE, ("n1", "n2"))]
    )
    assert run(good) == [deploy("a", "n1")]
    bad = Deployment([group("a", percent=51)], {"a": ["n1", "n2"]}, states, rounds=[Round(Phase.PREPARE, ("n1", "n2"))])
    assert bad.next() == Finished()
    assert bad.group("a").reason is Reason.PREPARE_CRITERIA


def test_rule_23_both_phases_over_leaves_only_the_verdict() -> None:
    states = {"n1": NodeState.SUCCESS, "n2": NodeState.FAILURE}
    deployment = Deployment(
        [group("a", percent=51)],
        {"a": ["n1", "n2"]},
        states,
        rounds=[Round(Phase.PREPARE, ("n1", "n2")), Round(Phase.DEPLOY, ("n1", "n2"))],
    )
    assert deployment.next() == Finished()
    assert deployment.group("a").reason is Reason.DEPLOY_CRITERIA


def test_rule_23_a_failed_dependency_fails_the_group_at_once() -> None:
    deployment = Deployment([group("a", "dep")], {"a": ["n1"]}, verdicts={"dep": GroupState.FAILURE})
    assert deployment.next() == Finished()
    assert deployment.group("a").reason is Reason.DEPENDENCY


def test_rule_23_a_whole_deployment_resumes_where_it_was() -> None:
    groups = [group("a"), group("b", "a"), group("c", "b")]
    members = {"a": ["n1"], "b": ["n1", "n2"], "c": ["n3"]}
    states = {"n1": NodeState.SUCCESS, "n2": NodeState.PREPARED}
    deployment = Deployment(groups, members, states, {"a": GroupState.SUCCESS}, rounds=[Round(Phase.PREPARE, ("n2",))])
    assert run(deployment) == [
        deploy("b", "n2"),
        prepare("c", "n3"),
        deploy("c", "n3"),
    ]
    assert deployment.verdict is Verdict.SUCCESS


def test_rule_20_counts_of_a_group_from_the_states_of_its_nodes() -> None:
    # A different number of nodes in each state, so that no two can be mistaken for each other.
    states = [state for times, state in enumerate(NodeState, start=1) for _ in range(times)]
    assert counts_of(iter(states)) == GroupCounts(
        total=28, prepared=3 + 4 + 5, succeeded=5, failed=6, unknown=7, not_started=1
    )
    deployment = Deployment(
        [group("a")], {"a": [f"n{i}" for i in range(28)]}, {f"n{i}": s for i, s in enumerate(states)}
    )
    assert deployment.group("a").counts == counts_of(states)
    assert counts_of(()) == GroupCounts(total=0, prepared=0, succeeded=0, failed=0, unknown=0, not_started=0)
