"""What the report says of one node."""

from __future__ import annotations

import pytest

from site_store.records import NodeTasks, TaskRecord
from slipway_airflow.reporting import reported_node
from strategy_lib.task_state import TaskStatus, node_state

S = TaskStatus


@pytest.mark.parametrize(
    ("prepare", "deploy", "message"),
    [
        pytest.param((S.SUCCESS, "proven by the node list"), (S.SUCCESS, None), None, id="deployed: prepare is past"),
        pytest.param((S.SUCCESS, "proven by the node list"), (S.ERROR, "no disk"), "no disk", id="deploy counts more"),
        pytest.param((S.SUCCESS, "proven by the node list"), (S.PENDING, None), "proven by the node list", id="held"),
        pytest.param((S.ERROR, "no power"), (S.PENDING, None), "no power", id="failed to be prepared"),
    ],
)
def test_rule_20_the_message_is_that_of_the_phase_that_decides(
    prepare: tuple[TaskStatus, str | None], deploy: tuple[TaskStatus, str | None], message: str | None
) -> None:
    tasks = NodeTasks(
        "n1",
        ("all",),
        TaskRecord(prepare[0], op=1, error=prepare[1]),
        TaskRecord(deploy[0], op=2, error=deploy[1]),
        node_state(prepare[0], deploy[0]),
    )
    assert reported_node(tasks).message == message
