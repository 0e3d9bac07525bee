"""What a task looks like over the wire, in each of its states, and what its tree tells. Facts: docs/simulator.md."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path

import pytest

from tests.integration.provisioner_client.simulator.conftest import StartSimulator
from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, names_filter, write_design
from tests.support.simulators import Simulator

TASK_KEYS = {
    *("kind", "apiVersion", "task_id", "action", "parent_task_id", "design_ref", "status", "result", "node_filter"),
    *("subtask_id_list", "created", "created_by", "updated", "terminated", "terminated_by", "terminate", "retry"),
}
RESULT_KEYS = {
    *("kind", "apiVersion", "metadata", "message", "reason", "status", "successes", "failures", "links", "details"),
}


def test_a_new_task_is_queued_and_echoes_its_filter(drydock: Drydock, design_ref: str) -> None:
    wanted = {**names_filter(["n1"], "slipway-A-1"), "unknown_key": [1]}
    answer = drydock.post("tasks", {"action": "prepare_nodes", "design_ref": design_ref, "node_filter": wanted})
    task = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v1.0/tasks/{task['task_id']}"
    assert uuid.UUID(answer.headers["X-Drydock-Req"])
    assert uuid.UUID(task["task_id"]).version == 4
    assert set(task) == TASK_KEYS
    assert set(task["result"]) == RESULT_KEYS
    assert (task["status"], task["result"]["status"], task["created_by"]) == ("queued", "incomplete", "noauth")
    assert task["node_filter"] == wanted


def test_times_have_a_zone_in_the_answer_to_the_post_only(drydock: Drydock, design_ref: str) -> None:
    body = {"action": "verify_site", "design_ref": design_ref}
    posted = drydock.post("tasks", body).json()
    read = drydock.task(posted["task_id"])
    assert posted["created"].endswith("+00:00")
    assert posted["created"] == read["created"] + "+00:00"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", read["created"])


def test_both_lists_are_empty_until_the_end_while_children_tell(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    simulator.script("n2", "prepare", "stuck")
    task_id = drydock.submit("prepare_nodes", design_ref, names_filter(["n1", "n2"]))
    tree = drydock.wait_for(
        lambda: drydock.task(task_id, "?layers=2"),
        lambda seen: "complete" in [t["status"] for t in list(seen.values())[1:]],
    )
    root = tree[task_id]
    assert (root["status"], root["result"]["status"]) == ("running", "incomplete")
    assert root["result"]["successes"] == root["result"]["failures"] == []
    children = [task for key, task in tree.items() if key not in ("init_task_id", task_id)]
    assert {(t["status"], *t["result"]["successes"]) for t in children} == {("complete", "n1"), ("running",)}
    assert {t["parent_task_id"] for t in children} == {task_id}


def test_a_failed_prepare_is_in_both_lists_and_the_root_counts_no_error(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    simulator.script("n2", "prepare", "fail")
    task = drydock.run("prepare_nodes", design_ref, ["n1", "n2", "n3"])
    assert task["result"]["status"] == "partial_success"
    assert sorted(task["result"]["successes"]) == ["n1", "n2", "n3"]
    assert task["result"]["failures"] == ["n2"]
    assert task["result"]["details"]["errorCount"] == 0
    assert drydock.statuses()["n2"] == "Failed commissioning"


def test_the_tree_holds_one_failing_leaf_per_attempt(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    simulator.script("n2", "prepare", "fail")
    task_id = drydock.run("prepare_nodes", design_ref, ["n1", "n2"])["task_id"]
    answer = drydock.task(task_id, "?layers=-1&subtaskerrors=true")
    errors = answer["subtask_errors"]
    leaves = [answer[key] for key in errors]
    assert answer["init_task_id"] == task_id
    assert [leaf["retry"] for leaf in leaves] == [0, 1, 2, 3]
    assert {leaf["action"] for leaf in leaves} == {"configure_hardware"}
    message = leaves[0]["result"]["details"]["messageList"][0]
    assert message | {"ts": ""} == {
        "message": "Node n2 failed commissioning",
        "error": True,
        "context_type": "node",
        "context": "n2",
        "ts": "",
        "extra": "{}",
    }
    assert {errors[key]["task_id"] for key in errors} == set(errors)


@pytest.mark.parametrize(
    ("layers", "size"),
    [
        pytest.param("1", 2, id="root-only"),
        pytest.param("2", 4, id="one-child-per-node"),
        pytest.param("3", 10, id="and-three-stages-each"),
        pytest.param("-1", 16, id="and-a-leaf-each"),
        pytest.param("0", None, id="plain-task"),
        pytest.param("many", None, id="garbage-is-a-plain-task"),
    ],
)
def test_layers(drydock: Drydock, design_ref: str, layers: str, size: int | None) -> None:
    task_id = drydock.run("prepare_nodes", design_ref, ["n1", "n2"])["task_id"]
    answer = drydock.task(task_id, f"?layers={layers}")
    assert (set(answer) == TASK_KEYS) if size is None else (len(answer) == size)


def test_a_single_node_has_no_child_of_its_own(drydock: Drydock, design_ref: str) -> None:
    task_id = drydock.run("prepare_nodes", design_ref, ["n1"])["task_id"]
    tree = drydock.task(task_id, "?layers=2")
    actions = [task["action"] for key, task in tree.items() if key not in ("init_task_id", task_id)]
    assert actions == ["set_node_boot", "power_cycle_node", "configure_hardware"]
    assert len(tree[task_id]["subtask_id_list"]) == 3


@pytest.mark.parametrize(("names", "carried"), [(["n1"], "slipway-a-1"), (["n1", "n2"], None)], ids=["one", "several"])
def test_identify_node_has_no_parent_and_carries_the_reference_when_it_is_about_one_node(
    drydock: Drydock, design_ref: str, names: list[str], carried: str | None
) -> None:
    drydock.run("prepare_nodes", design_ref, names, "slipway-a-1")
    found = [task for task in drydock.get("tasks").json() if task["action"] == "identify_node"]
    stages = [task for task in found if task["parent_task_id"] is None]
    assert len(stages) == len(names)
    assert {task["node_filter"].get("x_client_ref") for task in stages} == {carried}
    leaves = {task["parent_task_id"]: task for task in found if task["parent_task_id"] is not None}
    tree = drydock.task(stages[0]["task_id"], "?layers=-1")
    assert tree[leaves[stages[0]["task_id"]]["task_id"]] == leaves[stages[0]["task_id"]]


def test_every_task_of_a_tree_can_be_asked_for(drydock: Drydock, design_ref: str) -> None:
    task_id = drydock.run("deploy_nodes", design_ref, ["n1", "n2"])["task_id"]
    tree = drydock.task(task_id, "?layers=-1")
    del tree["init_task_id"]
    assert {key: drydock.task(key) for key in tree} == tree


def test_the_list_of_tasks_holds_all_subtasks_and_those_without_a_parent(drydock: Drydock, design_ref: str) -> None:
    drydock.run("prepare_nodes", design_ref, ["n1", "n2"])
    drydock.run("deploy_nodes", design_ref, ["n1", "n2"])
    tasks = drydock.get("tasks").json()
    parentless = sorted(task["action"] for task in tasks if task["parent_task_id"] is None)
    apart = ["apply_node_storage", "apply_node_storage", "identify_node", "identify_node"]
    assert parentless == sorted([*apart, "deploy_nodes", "prepare_nodes"])
    assert len(tasks) == (1 + 2 + 8 + 8) * 2 + 2


@pytest.mark.parametrize(
    ("behaviour", "action"),
    [pytest.param("unreported", "configure_hardware", id="a crash"), pytest.param("power", "set_node_boot", id="IPMI")],
)
def test_a_crashed_leaf_runs_on_below_a_complete_task(
    drydock: Drydock, simulator: Simulator, design_ref: str, behaviour: str, action: str
) -> None:
    simulator.script("n1", "prepare", behaviour)
    task = drydock.run("prepare_nodes", design_ref, ["n1", "n2"])
    tree = drydock.task(task["task_id"], "?layers=-1")
    del tree["init_task_id"]
    running = [one for one in tree.values() if one["status"] == "running"]
    assert [one["action"] for one in running] == [action]
    assert (task["result"]["status"], task["result"]["successes"]) == ("success", ["n2"])


def test_messages_are_cut_at_127_characters(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    simulator.script("n1", "prepare", "fail", message="x" * 300)
    task_id = drydock.run("prepare_nodes", design_ref, ["n1"])["task_id"]
    errors = drydock.task(task_id, "?subtaskerrors=true")["subtask_errors"]
    texts = {m["message"] for error in errors.values() for m in error["details"]["messageList"]}
    assert texts == {"x" * 127}


def test_a_hostname_over_32_characters_is_reported_nowhere(drydock: Drydock, tmp_path: Path) -> None:
    long = "n" * 33
    task = drydock.run("prepare_nodes", write_design(tmp_path, [long]), [long])
    assert (task["result"]["status"], task["result"]["successes"], task["result"]["failures"]) == ("success", [], [])


def test_list_orders_mean_nothing_and_are_the_same_for_a_seed(drydock: Drydock, tmp_path: Path) -> None:
    names = [f"n{i:02}" for i in range(20)]
    reference = write_design(tmp_path, names)
    first = drydock.run("prepare_nodes", reference, names)["result"]["successes"]
    assert first != names
    assert sorted(first) == names


def test_health_leaves_a_task_behind_and_versions_does_not(drydock: Drydock) -> None:
    versions = drydock.session.get(f"{drydock.simulator.url}/versions", timeout=5).json()
    assert versions == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}
    assert drydock.get("health").status_code == 204
    assert [task["action"] for task in drydock.get("tasks").json()] == ["noop"]


@pytest.mark.parametrize(
    ("action", "result", "successes"),
    [
        pytest.param("validate_design", "failure", [], id="validate_design-always-fails-as-a-task"),
        pytest.param("verify_site", "success", [], id="verify_site"),
        pytest.param("prepare_site", "success", ["oob"], id="prepare_site-names-networks"),
        pytest.param("verify_nodes", "success", [], id="verify_nodes-names-nobody"),
        pytest.param("relabel_nodes", "success", ["n1", "n2", "n3"], id="relabel_nodes"),
    ],
)
def test_other_actions(drydock: Drydock, design_ref: str, action: str, result: str, successes: list[str]) -> None:
    task = drydock.finish(drydock.submit(action, design_ref))
    assert (task["result"]["status"], sorted(task["result"]["successes"])) == (result, successes)


@pytest.mark.parametrize(
    ("action", "leaf", "attempts"), [("destroy_nodes", "destroy_node", 4), ("relabel_nodes", "relabel_node", 1)]
)
def test_one_driver_task_destroys_or_relabels_all_nodes(
    drydock: Drydock, simulator: Simulator, design_ref: str, action: str, leaf: str, attempts: int
) -> None:
    drydock.run("prepare_nodes", design_ref, ["n1", "n2"])
    drydock.run("deploy_nodes", design_ref, ["n1", "n2"])
    simulator.script("n2", action.removesuffix("_nodes"), "fail")
    task_id = drydock.run(action, design_ref, ["n1", "n2"])["task_id"]
    answer = drydock.task(task_id, "?layers=2&subtaskerrors=true")
    (driver,) = (answer[one] for one in answer[task_id]["subtask_id_list"])
    assert set(answer) == {"init_task_id", task_id, driver["task_id"], "subtask_errors"}
    assert (driver["action"], driver["status"], driver["parent_task_id"]) == (leaf, "complete", task_id)
    assert (driver["result"]["successes"], driver["result"]["failures"]) == (["n1"], ["n2"])
    assert len(driver["subtask_id_list"]) == 1 + attempts
    errors = [error["details"]["messageList"][0] for error in answer["subtask_errors"].values()]
    assert [(error["context_type"], error["context"]) for error in errors] == [("node", "n2")] * attempts
    one = drydock.task(driver["subtask_id_list"][0])
    assert (one["action"], one["result"]["successes"], one["parent_task_id"]) == (leaf, ["n1"], driver["task_id"])


def test_purging_forgets_complete_tasks(drydock: Drydock, design_ref: str) -> None:
    task = drydock.run("prepare_nodes", design_ref, ["n1"])
    answer = drydock.session.delete(f"{drydock.simulator.url}/api/v1.0/tasks?days=0", timeout=5)
    assert (answer.status_code, answer.text) == (200, "Tables purged successfully.")
    assert drydock.get(f"tasks/{task['task_id']}").status_code == 404
    assert json.loads(drydock.get("tasks").text) == []


NODES = [f"n{i:04}" for i in range(2000)]


@pytest.mark.endurance
def test_two_thousand_nodes(start_simulator: StartSimulator, tmp_path: Path) -> None:
    reference = write_design(tmp_path, NODES)
    simulator = start_simulator("--fan-out", "500", speed=20_000)
    with (drydock := Drydock(simulator)).session:
        task = drydock.finish(drydock.submit("prepare_nodes", reference, names_filter(NODES)))
    assert sorted(task["result"]["successes"]) == NODES
    assert simulator.get("state")["max_in_flight"] == 500


def test_fan_out_limits_what_is_worked_on_at_once(start_simulator: StartSimulator, tmp_path: Path) -> None:
    names = NODES[:6]
    reference = write_design(tmp_path, names)
    simulator = start_simulator("--fan-out", "2", "--fail", "prepare:n0002:stuck", "--fail", "prepare:n0003:stuck")
    with (drydock := Drydock(simulator)).session:
        task_id = drydock.submit("prepare_nodes", reference, names_filter(names))
        seen = drydock.wait_for(drydock.statuses, lambda seen: list(seen.values()).count("Commissioning") == 2)
        drydock.wait_for(
            drydock.statuses,
            lambda seen: (
                (seen.get("n0002"), seen["n0003"]) == ("Commissioning", "Commissioning") and seen["n0000"] == "Ready"
            ),
        )
        assert [drydock.statuses()[name] for name in ("n0004", "n0005")] == ["New", "New"]
        assert sorted(simulator.post("release")["released"]) == ["n0002", "n0003"]
        assert sorted(drydock.finish(task_id)["result"]["successes"]) == names
    assert seen
