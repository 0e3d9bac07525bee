"""Drydock's JSON, odd as the real one writes it, as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provisioner_client.drydock.task_tree import evidence_from
from provisioner_client.drydock.wire import (
    nodes_from,
    selected_from,
    task_from,
    tasks_with_reference,
)
from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.protocol import ACTIONS, TaskMessage, TaskResult, TaskState
from strategy_lib.node_condition import NodeCondition, condition_of
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase

TaskJson = Callable[..., dict[str, Any]]


@pytest.fixture
def partial(task_json: TaskJson) -> dict[str, Any]:
    """The partially failed prepare of three nodes of the reference, shortened."""
    started = ("Started subtask 1db25876 for action prepare_nodes", False, None, "2026-11-21 01:06:54.921961")
    failed = ("Node ctl02 failed commissioning", True, "ctl02", "2026-11-21 01:06:57.686481")
    earlier = ("Node ctl02 power cycle slow", True, "ctl02", "2026-11-21 01:06:55.000000")
    children = {
        "c-1": task_json("c-1", parent="root", successes=["ctl01"]),
        "c-2": task_json("c-2", parent="root", result="failure", successes=["ctl02"], failures=["ctl02"]),
        "c-3": task_json("c-3", parent="root", successes=["cmp01"]),
        "l-1": task_json("l-1", parent="c-2", action="configure_hardware", failures=["ctl02"], messages=[failed]),
    }
    root = task_json(
        "root",
        result="partial_success",
        successes=["ctl02", "ctl01", "cmp01"],
        failures=["ctl02"],
        messages=[started],
        subtask_id_list=["c-1", "c-2", "c-3"],
    )
    wrong = {**task_json("l-0", messages=[earlier])["result"], "task_id": "l-0"}
    return {"init_task_id": "root", "root": root, **children, "subtask_errors": {"l-0": wrong}}


def test_a_task_is_read_with_all_its_oddities(task_json: TaskJson) -> None:
    raw = task_json(
        "t-1",
        status="complete",
        result="partial_success",
        successes=["n2", "n1"],
        failures=["n1"],
        messages=[("Node n1\nfailed", True, "n1", "2026-11-21 01:06:57"), ("Started", False, None, None)],
        node_filter={"x_client_ref": "slipway-a-1", "filter_set": []},
        unknown_field={"from": "a later Drydock"},
    )
    task = task_from(raw)
    assert (task.task_id, task.action, task.state) == ("t-1", "prepare_nodes", TaskState.COMPLETE)
    assert (task.result, task.reference) == ("partial_success", "slipway-a-1")
    assert (task.successes, task.failures) == (frozenset({"n1", "n2"}), frozenset({"n1"}))
    assert task.messages == (
        TaskMessage("Node n1 failed", True, "n1", "2026-11-21 01:06:57"),
        TaskMessage("Started", False, None, None),
    )


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("requested", TaskState.QUEUED),
        ("queued", TaskState.QUEUED),
        ("running", TaskState.RUNNING),
        ("terminating", TaskState.RUNNING),
        ("complete", TaskState.COMPLETE),
        ("terminated", TaskState.COMPLETE),
    ],
)
def test_statuses(task_json: TaskJson, status: str, state: TaskState) -> None:
    assert task_from(task_json(status=status)).state is state


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"status": "dreaming"}, id="unknown status"),
        pytest.param({"status": None}, id="no status"),
        pytest.param({"task_id": None}, id="no id"),
        pytest.param({"result": "success"}, id="result is no mapping"),
        pytest.param({"result": {"successes": "n1"}}, id="successes is no list"),
        pytest.param({"result": {"failures": [{"n": 1}]}}, id="failures are no names"),
    ],
)
def test_what_is_no_task_is_refused_and_not_guessed(task_json: TaskJson, change: dict[str, Any]) -> None:
    with pytest.raises(ProvisionerProtocolError):
        task_from({**task_json(), **change})


@pytest.mark.parametrize("data", [None, [], "task", 5])
def test_what_is_not_even_a_mapping_is_refused(data: object) -> None:
    with pytest.raises(ProvisionerProtocolError):
        task_from(data)


def test_trap_10_subtasks_and_strays_that_inherit_the_reference_are_not_it(task_json: TaskJson) -> None:
    ours = {"x_client_ref": "ref", "filter_set": []}
    listed = [
        task_json("stray", action="apply_node_storage", node_filter=ours, created="2026-11-21 01:00:00"),
        task_json("child", parent="root", node_filter=ours, created="2026-11-21 01:00:00"),
        task_json("other", node_filter={"x_client_ref": "ref2"}),
        task_json("none", node_filter=None),
        task_json("odd", node_filter="all"),
        task_json("second", node_filter=ours, created="2026-11-21 03:00:00"),
        task_json("root", node_filter=ours, created="2026-11-21 02:00:00"),
        "not a task",
    ]
    assert [task.task_id for task in tasks_with_reference(listed, "ref")] == ["root", "second"]


def test_a_list_of_tasks_that_is_none_is_refused() -> None:
    with pytest.raises(ProvisionerProtocolError):
        tasks_with_reference({}, "ref")


def test_rule_13_evidence_of_a_partial_prepare(partial: dict[str, Any]) -> None:
    root, evidence = evidence_from(partial, "root", ["ctl01", "ctl02", "cmp01"])
    assert root.result == "partial_success"
    assert evidence.over
    assert evidence.reported_success == {"ctl01", "ctl02", "cmp01"}
    assert evidence.reported_failure == {"ctl02"}
    assert evidence.child_success == {"ctl01", "cmp01"}
    assert evidence.child_failure == {"ctl02"}
    assert evidence.messages == {"ctl02": "Node ctl02 failed commissioning"}
    assert evidence.condition == {}


def test_trap_4_a_node_in_both_lists_failed(partial: dict[str, Any]) -> None:
    _, evidence = evidence_from(partial, "root", ["ctl01", "ctl02", "cmp01"])
    outcome = judge(Phase.PREPARE, ["ctl01", "ctl02", "cmp01"], evidence)
    assert outcome.succeeded == {"ctl01", "cmp01"}
    assert outcome.failed == {"ctl02"}


@pytest.mark.parametrize(
    ("leaf", "failed"),
    [
        pytest.param({"successes": ["n2"], "failures": ["n2"]}, {"n2"}, id="deleted though it was not released"),
        pytest.param({"successes": [], "failures": ["n2"]}, set(), id="failed, and its retry went well"),
    ],
)
def test_rule_25_a_leaf_that_deleted_what_it_could_not_release_outweighs_the_report_of_its_retry(
    task_json: TaskJson, leaf: dict[str, list[str]], failed: set[str]
) -> None:
    late = ("Node n2 release timed out", True, "n2", "2026-11-21 01:06:55")
    error = task_json("l-1", action="destroy_node", result="partial_success", messages=[late], **leaf)["result"]
    tree = {
        "init_task_id": "root",
        "root": task_json("root", action="destroy_nodes", successes=["n1", "n2"]),
        "d-1": task_json("d-1", parent="root", action="destroy_node", successes=["n1", "n2"]),
        "subtask_errors": {"l-1": {**error, "task_id": "l-1"}},
    }
    outcome = judge(Phase.DESTROY, ["n1", "n2"], evidence_from(tree, "root", ["n1", "n2"])[1])
    assert outcome.succeeded == {"n1", "n2"} - failed
    assert outcome.failed == failed
    assert outcome.notes == dict.fromkeys(failed, "failed by its own provisioner task: Node n2 release timed out")


def test_trap_3_children_speak_while_the_root_is_silent(partial: dict[str, Any], task_json: TaskJson) -> None:
    partial["root"] = task_json("root", status="running", result="incomplete")
    partial["c-3"] = task_json("c-3", parent="root", status="running", result="incomplete", successes=["cmp01"])
    _, evidence = evidence_from(partial, "root", ["ctl01", "ctl02", "cmp01"])
    assert not evidence.over
    assert (evidence.reported_success, evidence.reported_failure) == (frozenset(), frozenset())
    assert evidence.child_success == {"ctl01"}
    assert evidence.child_failure == {"ctl02"}


def test_lists_of_a_running_root_are_not_final(task_json: TaskJson) -> None:
    _, evidence = evidence_from(task_json("root", status="running", successes=["n1"]), "root", ["n1"])
    assert evidence.reported_success == frozenset()


def test_rule_13_a_task_of_one_node_has_no_child_for_it(task_json: TaskJson) -> None:
    steps = {
        "s-1": task_json("s-1", parent="root", action="set_node_boot", successes=["n1"]),
        "s-2": task_json("s-2", parent="root", action="configure_hardware", status="running"),
    }
    tree = {"init_task_id": "root", "root": task_json("root", status="running"), **steps}
    _, running = evidence_from(tree, "root", ["n1"])
    assert running.child_success == frozenset()
    _, over = evidence_from({**tree, "root": task_json("root", successes=["n1"])}, "root", ["n1"])
    assert over.reported_success == {"n1"}


def test_a_grandchild_proves_nothing_about_the_whole(task_json: TaskJson) -> None:
    tree = {
        "root": task_json("root", status="running"),
        "c-1": task_json("c-1", parent="root", status="running"),
        "g-1": task_json("g-1", parent="c-1", successes=["n1"]),
    }
    assert evidence_from(tree, "root", ["n1"])[1].child_success == frozenset()


def test_a_child_that_cannot_be_read_is_left_out(task_json: TaskJson) -> None:
    tree = {
        "root": task_json("root", status="running"),
        "c-1": task_json("c-1", parent="root", status="dreaming", successes=["n1"]),
        "c-2": task_json("c-2", parent="root", successes=["n2"]),
    }
    assert evidence_from(tree, "root", ["n1", "n2"])[1].child_success == {"n2"}


def test_trap_2_success_with_empty_lists_proves_nothing(task_json: TaskJson) -> None:
    tree = {"root": task_json("root", result="success"), "c-1": task_json("c-1", parent="root", result="success")}
    outcome = judge(Phase.DEPLOY, ["n1"], evidence_from(tree, "root", ["n1"])[1])
    assert outcome.unknown == {"n1"}


def test_messages_are_of_nodes_that_were_sent_and_of_errors(task_json: TaskJson) -> None:
    messages = [
        ("fine", False, "n1", "1"),
        ("about a task", True, None, "2"),
        ("about another", True, "n9", "3"),
    ]
    assert evidence_from(task_json("root", messages=messages), "root", ["n1"])[1].messages == {}


_UNEXPECTED = "Unexpected status Failed deployment for node n1, skipping deployment."
_LOCATED = "Located node n1 in MaaS, unknown status Failed deployment. Skipping..."


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        pytest.param(["no disk", _UNEXPECTED, _UNEXPECTED, _UNEXPECTED], "no disk", id="retries echo"),
        pytest.param(["no network", "no disk", _UNEXPECTED], "no disk", id="an earlier stage went well at last"),
        pytest.param(["commissioning failed", "timed out"], "timed out", id="retries that tried"),
        pytest.param([_LOCATED, _UNEXPECTED], _LOCATED, id="nothing but echoes"),
    ],
)
def test_a_failed_node_shows_its_cause_and_not_its_retries_echo(
    task_json: TaskJson, said: list[str], cause: str
) -> None:
    wrong = {
        f"l-{number}": task_json("l", messages=[(text, True, "n1", f"2026-11-21 01:06:5{number}")])["result"]
        for number, text in reversed(list(enumerate(said)))
    }
    tree = {"root": task_json("root", failures=["n1"]), "subtask_errors": wrong}
    assert evidence_from(tree, "root", ["n1"])[1].messages == {"n1": cause}


@pytest.mark.parametrize("data", [[], None, {"init_task_id": "root"}, {"root": "x"}])
def test_a_tree_without_its_root_is_refused(data: object) -> None:
    with pytest.raises(ProvisionerProtocolError):
        evidence_from(data, "root", ["n1"])


def test_a_word_of_maas_is_read_however_it_is_written() -> None:
    assert condition_of("FAILED  Deployment") is NodeCondition.FAILED_DEPLOYMENT
    assert condition_of("") is NodeCondition.OTHER


def test_the_node_list() -> None:
    listed = nodes_from(
        [
            {"hostname": "n1", "status_name": "Ready", "power_state": "on", "memory": 4096, "cpu_count": 2},
            {"hostname": "n2", "status_name": "Failed deployment", "power_state": None, "memory": 0, "cpu_count": "8"},
            {"hostname": None, "status_name": "New"},
            {"hostname": "n3", "status_name": None},
            {"hostname": "twin", "status_name": "Ready"},
            {"hostname": "twin", "status_name": "Deployed"},
        ]
    )
    assert sorted(listed) == ["n1", "n2", "twin"]
    twin = listed["twin"]
    assert (twin.condition, twin.power_state) == (NodeCondition.LISTED_TWICE, None)
    assert twin.status_name == "listed twice, with different states: Deployed, Ready"
    assert (listed["n1"].condition, listed["n1"].status_name, listed["n1"].power_state) == (
        NodeCondition.READY,
        "Ready",
        "on",
    )
    assert listed["n2"].power_state is None
    assert (listed["n1"].cores, listed["n1"].memory) == (2, 4096)
    assert (listed["n2"].cores, listed["n2"].memory) == (None, None), "before MAAS has commissioned it, it says 0"


@pytest.mark.parametrize("data", [None, {}, ["n1"], [None]])
def test_what_is_no_node_list_is_refused(data: object) -> None:
    with pytest.raises(ProvisionerProtocolError):
        nodes_from(data)


@pytest.mark.parametrize("data", [None, {"n1": 1}, "n1", [1], [""]])
def test_what_is_no_selection_is_refused(data: object) -> None:
    with pytest.raises(ProvisionerProtocolError):
        selected_from(data)


def test_drydock_has_a_word_for_each_phase_and_one_for_both_ways_to_destroy() -> None:
    assert set(ACTIONS) == set(Phase) - {Phase.READY}, "whether nodes are ready is not asked of Drydock"
    assert ACTIONS[Phase.RELEASE] == ACTIONS[Phase.DESTROY] == "destroy_nodes"


@pytest.mark.parametrize(
    ("said", "result"),
    [
        *((one.value, one) for one in TaskResult),
        pytest.param("splendid", TaskResult.UNREPORTED, id="a word that is not known"),
        pytest.param(["success"], TaskResult.UNREPORTED, id="no word at all"),
    ],
)
def test_what_is_said_of_a_whole_task(said: object, result: TaskResult) -> None:
    assert task_from({"task_id": "t", "status": "complete", "result": {"status": said}}).result is result
