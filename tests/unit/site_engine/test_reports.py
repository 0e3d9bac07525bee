"""What the report says of one node, and of a dry run with nothing to deploy."""

from __future__ import annotations

import pytest

from site_engine.planning import simulate_plan
from site_engine.reports import make_dry_run_report, reported_node
from site_store import PlannedGroup
from site_store.records import GroupRecord, NodeTasks, ReportInput, TaskRecord
from strategy_lib.phase import GroupState, Verdict
from strategy_lib.strategy import Group
from strategy_lib.task_state import TaskStatus, node_state
from tests.unit.site_engine.action_records import CREATED, record

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


@pytest.mark.parametrize(
    ("members", "verdict", "words"),
    [
        pytest.param({"a": (), "b": ()}, Verdict.FAILURE, "no group has a node, so nothing would be", id="empty ones"),
        pytest.param(
            {"a": (), "b": ("n1",)}, Verdict.SUCCESS, "nothing was submitted", id="an empty one beside others"
        ),
    ],
)
def test_rule_19_a_dry_run_without_a_node_is_a_failure(
    members: dict[str, tuple[str, ...]], verdict: Verdict, words: str
) -> None:
    action = record(dry_run=True)
    groups = tuple(
        GroupRecord(action.id, name, position, True, Group(name, critical=True), nodes, GroupState.PENDING)
        for position, (name, nodes) in enumerate(members.items())
    )
    planned = [PlannedGroup(group.definition, group.nodes) for group in groups]
    report = make_dry_run_report(ReportInput(action, groups, (), (), ()), {}, CREATED, simulate_plan(planned, {}))
    assert report.verdict is verdict
    assert words in report.verdict_text
