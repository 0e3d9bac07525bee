"""Verdicts as values: of a step on nodes, and whether a group's stays."""

from __future__ import annotations

import pytest

from site_engine.groups import is_final
from site_engine.node_steps import judge_node_step
from site_store import GroupRecord, TaskRecord
from strategy_lib.phase import GroupState, NodeStep
from strategy_lib.strategy import Group
from strategy_lib.task_state import TaskStatus

DONE = TaskRecord(TaskStatus.SUCCESS)
FAILED = TaskRecord(TaskStatus.ERROR, error="reported failed")
UNKNOWN = TaskRecord(TaskStatus.UNKNOWN)


@pytest.mark.parametrize(
    ("tasks", "failure"),
    [
        pytest.param({"a": DONE, "b": DONE}, "", id="all are done"),
        pytest.param({"a": DONE, "b": DONE, "c": FAILED}, "", id="another node's failure is not counted"),
        pytest.param({"a": DONE, "b": FAILED}, "1 node not proven done: b: reported failed", id="one failed"),
        pytest.param({"a": UNKNOWN, "b": DONE}, "1 node not proven done: a: unknown", id="one is unknown"),
        pytest.param({"b": DONE}, "1 node not proven done: a: not submitted", id="one was not submitted"),
        pytest.param({}, "2 nodes not proven done: a: not submitted; b: not submitted", id="none was submitted"),
    ],
)
def test_rule_25_every_node_must_be_proven_done(tasks: dict[str, TaskRecord], failure: str) -> None:
    verdict = judge_node_step(NodeStep.DESTROY, ("a", "b"), tasks)
    assert verdict.failure == (f"destroy_nodes: {failure}" if failure else "")
    assert verdict.criterion.met is not bool(failure)


def test_rule_25_of_many_nodes_the_first_are_named() -> None:
    verdict = judge_node_step(NodeStep.RELABEL, tuple("abcdefg"), {})
    assert verdict.failure.startswith("relabel_nodes: 7 nodes not proven done: a: not submitted; b: ")
    assert verdict.failure.endswith("; e: not submitted; and 2 more")


@pytest.mark.parametrize(
    ("state", "key", "final"),
    [
        pytest.param(GroupState.SUCCESS, "6", True, id="a success, tried again by Airflow"),
        pytest.param(GroupState.SUCCESS, "8", True, id="a success, cleared by a person"),
        pytest.param(GroupState.FAILURE, "6", True, id="a failure, tried again by Airflow"),
        pytest.param(GroupState.FAILURE, "8", False, id="a failure, cleared by a person"),
        pytest.param(GroupState.RUNNING, "6", False, id="it is at work"),
        pytest.param(GroupState.PENDING, "6", False, id="it has not begun"),
    ],
)
def test_rule_23_a_verdict_stays_unless_a_person_clears_a_failure(state: GroupState, key: str, final: bool) -> None:
    record = GroupRecord("01J", "all", 0, True, Group("all", True), ("a",), state, attempt=1, attempt_key="6")
    assert is_final(record, key) is final
