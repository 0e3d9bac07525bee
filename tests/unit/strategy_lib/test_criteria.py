"""Rules 16 and 17: criteria in integers, each on its own. Also rule 10's reading of two task rows."""

from __future__ import annotations

import pytest

from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import Phase
from strategy_lib.strategy import SuccessCriteria
from strategy_lib.verdict import evaluate


def met(criteria: SuccessCriteria, total: int, successful: int) -> list[bool]:
    return [result.met for result in evaluate(criteria, Phase.DEPLOY, total, successful)]


@pytest.mark.parametrize(
    ("percent", "total", "successful", "expected"),
    [
        (58, 50, 29, True),  # 29/50*100 is 57.99999999999999 in floating point
        (59, 50, 29, False),
        (75, 4, 3, True),
        (76, 4, 3, False),
        (100, 3, 3, True),
        (100, 3, 2, False),
        (67, 3, 2, False),
        (66, 3, 2, True),
        (0, 3, 0, True),
        (1, 200, 1, False),
        (100, 10**18, 10**18 - 1, False),
    ],
)
def test_rule_16_percent_is_exact(percent: int, total: int, successful: int, expected: bool) -> None:
    (result,) = evaluate(SuccessCriteria(percent_successful_nodes=percent), Phase.DEPLOY, total, successful)
    assert result.met is expected
    assert (result.needed, result.actual) == (percent, f"{successful}/{total}")


def test_rule_16_each_one_is_checked_on_its_own_and_all_are_reported() -> None:
    results = evaluate(SuccessCriteria(90, 3, 1), Phase.PREPARE, 4, 2)
    assert [(result.criterion, result.needed, result.actual, result.met) for result in results] == [
        ("percent_successful_nodes", 90, "2/4", False),
        ("minimum_successful_nodes", 3, 2, False),
        ("maximum_failed_nodes", 1, 2, False),
    ]
    assert {result.phase for result in results} == {Phase.PREPARE}


def test_rule_17_a_group_without_nodes() -> None:
    assert met(SuccessCriteria(percent_successful_nodes=100), 0, 0) == [True]
    assert met(SuccessCriteria(minimum_successful_nodes=1), 0, 0) == [False]
    assert met(SuccessCriteria(maximum_failed_nodes=0), 0, 0) == [True]


def test_rule_17_no_criteria_is_always_met() -> None:
    assert evaluate(None, Phase.DEPLOY, 3, 0) == ()
    assert evaluate(SuccessCriteria(), Phase.DEPLOY, 3, 0) == ()


@pytest.mark.parametrize(
    ("prepare", "deploy", "state"),
    [
        (TaskStatus.PENDING, TaskStatus.PENDING, NodeState.NOT_STARTED),
        (TaskStatus.PROCESSING, TaskStatus.PENDING, NodeState.PREPARING),
        (TaskStatus.SUCCESS, TaskStatus.PENDING, NodeState.PREPARED),
        (TaskStatus.ERROR, TaskStatus.PENDING, NodeState.FAILURE),
        (TaskStatus.UNKNOWN, TaskStatus.PENDING, NodeState.UNKNOWN),
        (TaskStatus.SUCCESS, TaskStatus.PROCESSING, NodeState.DEPLOYING),
        (TaskStatus.SUCCESS, TaskStatus.SUCCESS, NodeState.SUCCESS),
        (TaskStatus.SUCCESS, TaskStatus.ERROR, NodeState.FAILURE),
        (TaskStatus.SUCCESS, TaskStatus.UNKNOWN, NodeState.UNKNOWN),
    ],
)
def test_rule_10_state_of_a_node_from_its_two_phases(prepare: TaskStatus, deploy: TaskStatus, state: NodeState) -> None:
    assert node_state(prepare, deploy) is state
