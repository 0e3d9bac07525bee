"""The third phase of a group: whether nodes that were deployed are ready (rule 58)."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib import simulate
from strategy_lib.deployment import Deployment
from strategy_lib.errors import StrategyError
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.groups.group_run import Known, Round
from strategy_lib.node import NodeState
from strategy_lib.parsing.strategy_parser import group_from_data, parse_strategy
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step
from strategy_lib.strategy import Group, Ready, Retries, Share, SuccessCriteria, group_to_data

TWO = SuccessCriteria(minimum_successful_nodes=2)


def strategy(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"groups": list(groups)}


def group(name: str, nodes: list[str], ready: Any = None, **more: Any) -> dict[str, Any]:
    data = {"name": name, "critical": True, "depends_on": [], "selectors": [{"node_names": nodes}], **more}
    return data if ready is None else {**data, "ready": ready}


def names(*nodes: str) -> list[dict[str, Any]]:
    return [{"name": node} for node in nodes]


def sent(result: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [(one["group"], one["phase"], one["nodes"]) for one in result["submissions"]]


def test_a_group_says_what_it_asks_for_and_is_read_back() -> None:
    read = parse_strategy(strategy(group("g", ["a"], {"timeout": 600}))).groups[0]
    assert read.ready == Ready(600)
    assert group_from_data(group_to_data(read)) == read


@pytest.mark.parametrize(
    ("ready", "path"),
    [
        ({}, "$.data.groups[0].ready"),
        ({"timeout": 0}, "$.data.groups[0].ready.timeout"),
        ({"timeout": "10m"}, "$.data.groups[0].ready.timeout"),
        ({"timeout": 5, "interval": 1}, "$.data.groups[0].ready.interval"),
        (True, "$.data.groups[0].ready"),
    ],
)
def test_rule_3_what_is_wrong_with_it_is_named(ready: Any, path: str) -> None:
    with pytest.raises(StrategyError) as caught:
        parse_strategy(strategy(group("g", ["a"], ready)))
    assert [problem.path for problem in caught.value.problems] == [path]


def test_rule_58_deployed_nodes_are_asked_and_the_criteria_are_judged_again() -> None:
    asks = group("g", ["a", "b", "c"], {"timeout": 60}, success_criteria={"percent_successful_nodes": 60})
    result = simulate(strategy(asks), names("a", "b", "c"), {"deploy": {"a": "failure"}, "ready": {"b": "failure"}})
    assert sent(result) == [
        ("g", "prepare", ["a", "b", "c"]),
        ("g", "deploy", ["a", "b", "c"]),
        ("g", "ready", ["b", "c"]),
    ]
    assert (result["groups"]["g"]["state"], result["groups"]["g"]["reason"]) == ("failure", "ready_criteria")
    assert result["groups"]["g"]["failed_criteria"] == [
        {"phase": "ready", "criterion": "percent_successful_nodes", "needed": 60, "actual": "1/3"}
    ]
    assert result["nodes"] == {"a": "failure", "b": "failure", "c": "success"}
    assert result["verdict"] == "failure"


def test_rule_58_the_deploy_criteria_count_a_node_that_was_deployed_and_not_ready() -> None:
    asks = group("g", ["a", "b"], {"timeout": 60}, success_criteria={"minimum_successful_nodes": 2})
    result = simulate(strategy(asks), names("a", "b"), {"ready": {"a": "unknown"}})
    assert [each["phase"] for each in result["groups"]["g"]["failed_criteria"]] == ["ready"]
    assert result["nodes"]["a"] == "unknown"
    failed = simulate(strategy(asks), names("a", "b"), {"deploy": {"a": "failure"}, "ready": {"b": "failure"}})
    assert failed["groups"]["g"]["reason"] == "deploy_criteria"


def test_outcomes_of_ready_of_a_group_that_does_not_ask_are_ignored() -> None:
    plain = strategy(group("g", ["a"], success_criteria={"percent_successful_nodes": 100}))
    with_outcome = simulate(plain, names("a"), {"ready": {"a": "failure"}})
    assert with_outcome == simulate(plain, names("a"))
    assert with_outcome["verdict"] == "success"


def test_rule_10_a_node_that_is_not_ready_has_failed_for_groups_behind_it_too() -> None:
    groups = strategy(
        group("first", ["a"], {"timeout": 60}),
        group("second", ["a", "b"], success_criteria={"percent_successful_nodes": 100}),
    )
    result = simulate(groups, names("a", "b"), {"ready": {"a": "failure"}})
    assert result["groups"]["first"]["state"] == "success", "it has no criteria"
    assert result["groups"]["second"]["reason"] == "prepare_criteria"


def test_rule_58_a_group_asks_nodes_that_another_one_deployed() -> None:
    groups = strategy(group("first", ["a", "b"]), group("second", ["a"], {"timeout": 60}))
    result = simulate(groups, names("a", "b"))
    assert sent(result)[-1] == ("second", "ready", ["a"])


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_node_of_two_groups_is_asked_once(at_once: int) -> None:
    groups = strategy(*(group(name, ["a"], {"timeout": 60}) for name in ("x", "y")))
    result = simulate(groups, names("a"), max_parallel_groups=at_once)
    assert [one for one in sent(result) if one[1] == "ready"] == [("x", "ready", ["a"])]
    assert result["verdict"] == "success"


def test_rule_39_a_node_that_others_wait_for_has_to_be_ready_first() -> None:
    asks = group("g", ["a", "b"], {"timeout": 60})
    nodes: list[dict[str, Any]] = [{"name": "a"}, {"name": "b", "depends_on_nodes": ["a"]}]
    good = simulate(strategy(asks), nodes)
    assert [one[1:] for one in sent(good)] == [
        ("prepare", ["a", "b"]),
        ("deploy", ["a"]),
        ("ready", ["a"]),
        ("deploy", ["b"]),
        ("ready", ["b"]),
    ]
    bad = simulate(strategy(asks), nodes, {"ready": {"a": "failure"}})
    assert "waits for a" in bad["held"]["b"]
    assert bad["nodes"]["b"] == "prepared"


def test_rule_44_a_node_that_is_not_ready_is_not_deployed_again() -> None:
    asks = group("g", ["a", "b"], {"timeout": 60}, retries={"prepare": 2, "deploy": 2})
    result = simulate(strategy(asks), names("a", "b"), {"ready": {"a": "failure"}})
    assert [one[1] for one in sent(result)] == ["prepare", "deploy", "ready"]
    # Those that failed to deploy are tried again first, and all are asked together.
    retried = simulate(strategy(asks), names("a", "b"), {"deploy": {"a": "failure"}})
    assert [one[1] for one in sent(retried)] == ["prepare", "deploy", *["prepare", "deploy"] * 2, "ready"]


def rolling(awaited: frozenset[str] = frozenset(), rounds: tuple[Round, ...] = (), **states: NodeState) -> Deployment:
    nodes = ("a", "b", "c")
    plan = GroupPlan(redeploy=frozenset(nodes), serving=frozenset(nodes))
    one = Group("g", critical=True, criteria=TWO, allow_redeploy=True, max_unavailable=Share(1), ready=Ready(60))
    return Deployment([one], {"g": nodes}, states, plans={"g": plan}, rounds=rounds, known=Known(awaited=set(awaited)))


def test_a_batch_of_a_redeploy_is_over_when_its_nodes_are_ready() -> None:
    deployment = rolling()
    seen = []
    while not isinstance(step := deployment.next(), Finished):
        seen.append((step.phase, " ".join(step.nodes)))
        deployment.record(step, step.nodes, ())
    phases = (Phase.RELEASE, Phase.PREPARE, Phase.DEPLOY, Phase.READY)
    assert seen[:5] == [*((phase, "a") for phase in phases), (Phase.RELEASE, "b")]
    assert deployment.group("g").state is GroupState.SUCCESS


def test_a_node_that_is_not_ready_counts_as_away() -> None:
    deployment = rolling()
    while not isinstance(step := deployment.next(), Finished):
        good = step.phase is not Phase.READY
        deployment.record(step, step.nodes if good else (), () if good else step.nodes)
    view = deployment.group("g")
    assert deployment.state_of("a") is NodeState.FAILURE
    assert set(view.kept) == {"b", "c"}, "the next batch is not begun"


def test_rule_23_a_killed_task_goes_on_asking_from_what_the_store_knows() -> None:
    done = Round(Phase.PREPARE, ("a", "b")), Round(Phase.DEPLOY, ("a", "b"))
    one = Group("g", critical=True, criteria=TWO, ready=Ready(60))
    states = dict.fromkeys(("a", "b"), NodeState.SUCCESS)
    begun = Deployment([one], {"g": ("a", "b")}, states, rounds=done, known=Known(awaited={"a", "b"}))
    assert begun.next() == Step("g", Phase.READY, ("a", "b"))
    under_way = Deployment(
        [one],
        {"g": ("a", "b")},
        states,
        rounds=(*done, Round(Phase.READY, ("a", "b"), ended=False)),
        known=Known(awaited={"b"}),
    )
    assert under_way.next() == Step("g", Phase.READY, ("a", "b"))
    over = Deployment(
        [one],
        {"g": ("a", "b")},
        states | {"b": NodeState.FAILURE},
        rounds=(*done, Round(Phase.READY, ("a", "b"))),
        known=Known(not_ready={"b"}),
    )
    assert isinstance(over.next(), Finished)
    assert over.group("g").reason is Reason.READY_CRITERIA
    assert over.group("g").counts.prepared == 2


def test_a_node_that_could_not_be_asked_is_not_successful() -> None:
    one = Group(
        "g", critical=True, criteria=SuccessCriteria(maximum_failed_nodes=0), ready=Ready(60), retries=Retries()
    )
    rounds = (Round(Phase.PREPARE, ("a",)), Round(Phase.DEPLOY, ("a",)), Round(Phase.READY, (), left_out=("a",)))
    held = Deployment([one], {"g": ("a",)}, {"a": NodeState.SUCCESS}, rounds=rounds, known=Known(awaited={"a"}))
    assert isinstance(held.next(), Finished)
    assert held.group("g").reason is Reason.READY_CRITERIA


def test_nodes_that_were_as_wanted_are_not_asked() -> None:
    one = Group("g", critical=True, criteria=TWO, ready=Ready(60))
    idle = Deployment([one], {"g": ("a", "b")}, dict.fromkeys(("a", "b"), NodeState.SUCCESS))
    assert isinstance(idle.next(), Finished)
    assert idle.group("g").state is GroupState.SUCCESS
