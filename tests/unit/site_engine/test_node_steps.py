"""The verdict of a step on nodes (rule 25)."""

from __future__ import annotations

import pytest

from site_engine.actions.node_steps import judge_node_step
from site_store import TaskRecord
from strategy_lib.node import TaskStatus
from strategy_lib.phase import Phase

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
    verdict = judge_node_step(Phase.DESTROY, ("a", "b"), tasks)
    assert verdict.failure == (f"destroy_nodes: {failure}" if failure else "")
    assert verdict.criterion.met is not bool(failure)


def test_rule_25_of_many_nodes_the_first_are_named() -> None:
    verdict = judge_node_step(Phase.RELABEL, tuple("abcdefg"), {})
    assert verdict.failure.startswith("relabel_nodes: 7 nodes not proven done: a: not submitted; b: ")
    assert verdict.failure.endswith("; e: not submitted; and 2 more")
