"""Reports: of a plan's nodes, of a step on nodes, and of a dry run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from site_engine.actions.reports import NodeStepStatus, make_dry_run_report, make_report, reported_node
from site_engine.kinds import STEP_FAILED, kind_of
from site_engine.plans.site_rehearsals import simulate_plan
from site_store import ActionRecord, ActionState, EventRecord, Operation, OperationStatus, PlannedGroup, TaskRecord
from site_store.groups.reports import ReportInput
from site_store.operations.node_tasks import NodeTasks
from site_store.records import GroupRecord
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.phase import NODE_STEPS, GroupState, Phase, Reason, Verdict
from strategy_lib.reports.report import Report
from strategy_lib.strategy import Group, Share
from tests.unit.site_engine.records import CREATED, record

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


def test_rule_59_a_dry_run_says_which_groups_go_in_batches() -> None:
    made = record(dry_run=True)
    group = Group("rack", critical=True, max_in_flight=Share(2), canary=Share(1))
    kept = GroupRecord(made.id, "rack", 0, True, group, ("a", "b", "c", "d"), GroupState.PENDING)
    rehearsal = simulate_plan([PlannedGroup(group, kept.nodes)], {})
    report = make_dry_run_report(ReportInput(made, (kept,), (), (), ()), {}, CREATED, rehearsal)
    assert report.notes == (
        "Group rack goes in 3 batches of at most 2 nodes, first its canaries: a. "
        "If one of them fails, no other node is begun.",
    )


NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
SUCCESS, ERROR, UNKNOWN, PROCESSING = TaskStatus.SUCCESS, TaskStatus.ERROR, TaskStatus.UNKNOWN, TaskStatus.PROCESSING
COMPLETE, ABANDONED = OperationStatus.COMPLETE, OperationStatus.ABANDONED


def action(kind: str) -> ActionRecord:
    return ActionRecord(
        id="01J",
        kind=kind,
        site="alpha",
        revision=1,
        parameters={"target_nodes": ["a", "b"]},
        dag_id=kind,
        run_id="01J",
        user="admin",
        created=NOW,
        started=NOW,
        ended=None,
        state=ActionState.RUNNING,
        verdict=None,
        has_report=False,
        context_marker=None,
        dry_run=False,
        whole_site=False,
        step=None,
        paused=None,
    )


def operation(step: Phase, status: OperationStatus) -> Operation:
    nothing: dict[str, Any] = dict.fromkeys(
        (
            "provisioner_task",
            "lease_owner",
            "lease_until",
            "sending",
            "submitted",
            "running_since",
            "ended",
            "over",
            "result",
        )
    )
    return Operation(
        op=7,
        action_id="01J",
        site="alpha",
        group=None,
        attempt=20,
        phase=step,
        reference="slipway-01J-7",
        nodes=("a", "b"),
        design_ref="",
        created=NOW,
        status=status,
        **nothing,
    )


def tasks(*statuses: TaskStatus) -> list[tuple[str, TaskRecord]]:
    return [
        (name, TaskRecord(status, op=7, error=None if status is SUCCESS else "why", started=NOW, ended=NOW))
        for name, status in zip("ab", statuses, strict=False)
    ]


def report(
    kind: str,
    airflow_state: str | None,
    judged: list[tuple[str, TaskRecord]],
    now: list[tuple[str, TaskRecord]] | None = None,
    ended: OperationStatus = COMPLETE,
) -> Report:
    """Return the report of an action on the nodes a and b whose step on nodes is in this state of Airflow's."""
    step = next(step for step in NODE_STEPS if step.value in kind_of(kind).steps)
    states: dict[str, str | None] = dict.fromkeys(kind_of(kind).steps, "success")
    states[step.value] = airflow_state
    said = EventRecord(1, NOW, "alpha", "01J", None, None, STEP_FAILED, "it failed", {"step": step.value})
    operations = (operation(step, ended),) if judged else ()
    data = ReportInput(action(kind), (), (), operations, (said,))
    return make_report(data, states, NOW, NodeStepStatus(step, airflow_state, judged, judged if now is None else now))


@pytest.mark.parametrize("kind", ["destroy_nodes", "relabel_nodes"])
def test_all_done_is_a_success(kind: str) -> None:
    made = report(kind, "success", tasks(SUCCESS, SUCCESS))
    assert (made.verdict, made.verdict_text) == (Verdict.SUCCESS, "every group succeeded")
    (group,) = made.groups
    assert (group.name, group.critical, group.counts.succeeded, group.attempt) == ("target-group", True, 2, 1)


@pytest.mark.parametrize("status", [ERROR, UNKNOWN])
def test_one_that_is_not_done_fails_the_action_and_says_why(status: TaskStatus) -> None:
    made = report("relabel_nodes", "failed", tasks(SUCCESS, status))
    assert [group.name for group in made.failed_groups if group.critical] == ["target-group"]
    assert made.failed_steps == (), "its nodes say why"
    assert [(node.name, node.message) for node in made.nodes] == [("a", None), ("b", "why")]
    assert [(result.actual, result.met) for result in made.groups[0].criteria] == [("1/2", False)]
    assert made.groups[0].reason is Reason.NODE_STEP


def test_a_node_that_was_never_submitted_is_named_and_counts() -> None:
    made = report("destroy_nodes", "failed", tasks(SUCCESS))
    assert [(node.name, node.state) for node in made.nodes] == [("a", NodeState.SUCCESS), ("b", NodeState.NOT_STARTED)]
    assert made.groups[0].criteria[0].actual == "1/2"


def test_rule_14_what_comes_late_is_told_and_changes_no_verdict() -> None:
    made = report("destroy_nodes", "failed", tasks(SUCCESS, UNKNOWN), tasks(SUCCESS, SUCCESS))
    assert made.verdict is Verdict.FAILURE
    assert [node.state for node in made.nodes] == [NodeState.SUCCESS, NodeState.SUCCESS]
    assert made.groups[0].criteria[0].actual == "1/2", "as it was judged"
    again = report("destroy_nodes", "failed", tasks(SUCCESS, SUCCESS))
    assert again.verdict is Verdict.FAILURE
    assert again.groups[0].criteria == (), "no criterion contradicts the verdict"


@pytest.mark.parametrize("airflow_state", [None, "failed", "skipped"])
def test_a_step_without_a_result_was_interrupted(airflow_state: str | None) -> None:
    made = report("destroy_nodes", airflow_state, tasks(SUCCESS, PROCESSING), ended=ABANDONED)
    assert made.groups[0].reason is Reason.INTERRUPTED
    assert made.nodes[1].state is NodeState.UNKNOWN
    assert [step.step for step in made.failed_steps] == (["destroy_nodes"] if airflow_state == "failed" else [])


def test_a_step_that_never_began_is_a_failed_step() -> None:
    made = report("destroy_nodes", "failed", [])
    assert made.groups == ()
    assert made.verdict_text == "failed before the groups: destroy_nodes"


@pytest.mark.parametrize(("airflow_state", "reason"), [("failed", Reason.NODE_STEP), ("success", Reason.INTERRUPTED)])
def test_a_server_that_was_destroyed_and_not_deployed_is_no_success(airflow_state: str, reason: Reason) -> None:
    made = report("redeploy_server", airflow_state, tasks(SUCCESS, ERROR if airflow_state == "failed" else SUCCESS))
    assert made.verdict is Verdict.FAILURE
    (group,) = made.groups
    assert (group.state, group.reason, group.counts.succeeded) == (GroupState.FAILURE, reason, 0)
    assert (made.nodes[0].state, made.nodes[0].message) == (NodeState.NOT_STARTED, "destroyed, and not deployed again")
    assert len(made.failed_steps) == (1 if airflow_state == "failed" else 0)


@pytest.mark.parametrize("status", [TaskStatus.ERROR, TaskStatus.UNKNOWN])
def test_a_node_whose_prepare_failed_says_so_and_not_what_kept_its_deploy_from_starting(status: TaskStatus) -> None:
    prepare = TaskRecord(status, op=1, error="no answer of its BMC")
    deploy = TaskRecord(TaskStatus.PENDING, error="not started: critical group storage failed")
    state = NodeState.FAILURE if status is TaskStatus.ERROR else NodeState.UNKNOWN
    assert reported_node(NodeTasks("a", ("all",), prepare, deploy, state)).message == "no answer of its BMC"
