"""What each behaviour of a script makes a task and MAAS say; and how phases begin on machines in every status."""

from __future__ import annotations

import pytest
import requests

from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, names_filter
from tests.support.simulators import Simulator

N1, NONE = ["n1"], list[str]()

# (behaviour, more fields): phase -> (successes, failures, MAAS's status)
BEHAVIOURS: dict[str, tuple[dict[str, object], dict[str, tuple[list[str], list[str], str]]]] = {
    "ok": ({}, {"prepare": (N1, NONE, "Ready"), "deploy": (N1, NONE, "Deployed")}),
    "slow": ({"factor": 2}, {"prepare": (N1, NONE, "Ready"), "deploy": (N1, NONE, "Deployed")}),
    "fail": ({}, {"prepare": (N1, N1, "Failed commissioning"), "deploy": (NONE, N1, "Failed deployment")}),
    "power": ({}, {"prepare": (NONE, NONE, "New"), "deploy": (NONE, N1, "Ready")}),
    "both_lists": ({}, {"prepare": (N1, N1, "Failed commissioning"), "deploy": (N1, N1, "Failed deployment")}),
    "false_success": ({}, {"prepare": (N1, NONE, "Failed commissioning"), "deploy": (N1, NONE, "Failed deployment")}),
    "taken_for_done": ({"factor": 9999}, {"prepare": (N1, NONE, "Commissioning"), "deploy": (N1, NONE, "Deploying")}),
    "unreported": ({}, {"prepare": (NONE, NONE, "New"), "deploy": (NONE, NONE, "Ready")}),
    "unreported_done": ({}, {"prepare": (NONE, NONE, "Ready"), "deploy": (NONE, NONE, "Deployed")}),
    "flaky": ({"times": 1}, {"prepare": (N1, N1, "Failed commissioning"), "deploy": (NONE, N1, "Failed deployment")}),
}


@pytest.mark.parametrize("phase", ["prepare", "deploy"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_behaviour(drydock: Drydock, simulator: Simulator, design_ref: str, behaviour: str, phase: str) -> None:
    fields, expected = BEHAVIOURS[behaviour]
    drydock.post("validatedesign", {"href": design_ref})
    if phase == "deploy":
        simulator.post("nodes/n1", {"status": "Ready"})
    simulator.script("n1", phase, behaviour, **fields)
    result = drydock.run(f"{phase}_nodes", design_ref, ["n1"])["result"]
    assert (result["successes"], result["failures"], drydock.statuses()["n1"]) == expected[phase]


@pytest.mark.parametrize(
    ("phase", "status", "stage", "skipped"),
    [
        ("prepare", "New", "configure_hardware", "Node n1 already being commissioned, skipping"),
        ("deploy", "Ready", "deploy_node", "Node n1 already deployed or deploying, skipping"),
    ],
)
def test_a_retry_takes_what_maas_is_still_at_for_done(
    drydock: Drydock, simulator: Simulator, design_ref: str, phase: str, status: str, stage: str, skipped: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": status})
    simulator.script("n1", phase, "taken_for_done", factor=200)
    task = drydock.run(f"{phase}_nodes", design_ref, ["n1"])
    at_work = {"prepare": "Commissioning", "deploy": "Deploying"}[phase]
    assert drydock.statuses()["n1"] == at_work
    tree = drydock.get(f"tasks/{task['task_id']}?layers=-1").json().values()
    leaves = [one for one in tree if isinstance(one, dict) and one["action"] == stage and not one["subtask_id_list"]]
    said = {
        one["retry"]: (one["result"]["status"], one["result"]["details"]["messageList"][0]["message"]) for one in leaves
    }
    assert said == {0: ("failure", f"Node n1 timed out in {at_work}"), 1: ("success", skipped)}
    done = {"prepare": "Ready", "deploy": "Deployed"}[phase]
    assert drydock.wait_for(drydock.statuses, lambda seen: seen["n1"] == done)["n1"] == done


# The same for what is done to a deployed machine; None: MAAS lists it no more.
AFTERWARDS: dict[str, dict[str, tuple[list[str], list[str], str | None]]] = {
    "ok": {"destroy": (N1, NONE, None), "relabel": (N1, NONE, "Deployed")},
    "fail": {"destroy": (NONE, N1, "Releasing failed"), "relabel": (NONE, N1, "Deployed")},
    "both_lists": {"destroy": (N1, N1, "Releasing failed"), "relabel": (N1, N1, "Deployed")},
    "false_success": {"destroy": (N1, NONE, "Deployed"), "relabel": (N1, NONE, "Deployed")},
    "unreported": {"destroy": (NONE, NONE, "Deployed"), "relabel": (NONE, NONE, "Deployed")},
    "unreported_done": {"destroy": (NONE, NONE, None), "relabel": (NONE, NONE, "Deployed")},
    "flaky": {"destroy": (NONE, N1, "Releasing failed"), "relabel": (NONE, N1, "Deployed")},
    "power": {"destroy": (NONE, N1, "Deployed"), "relabel": (NONE, N1, "Deployed")},
}


@pytest.mark.parametrize("phase", ["destroy", "relabel"])
@pytest.mark.parametrize("behaviour", AFTERWARDS)
def test_behaviour_afterwards(
    drydock: Drydock, simulator: Simulator, design_ref: str, behaviour: str, phase: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": "Deployed"})
    simulator.script("n1", phase, behaviour)
    result = drydock.run(f"{phase}_nodes", design_ref, ["n1"])["result"]
    assert (result["successes"], result["failures"], drydock.statuses().get("n1")) == AFTERWARDS[behaviour][phase]


def test_a_machine_whose_release_runs_out_of_time_is_deleted_and_reported_as_a_success(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": "Deployed"})
    simulator.script("n1", "destroy", "taken_for_done")
    task = drydock.run("destroy_nodes", design_ref, ["n1"])
    assert (task["result"]["successes"], task["result"]["failures"]) == (N1, NONE)
    assert "n1" not in drydock.statuses()
    answer = drydock.task(task["task_id"], "?layers=-1&subtaskerrors=true")
    errors = answer.pop("subtask_errors")
    leaves = {one["retry"]: one for one in answer.values() if isinstance(one, dict) and not one["subtask_id_list"]}
    said = {retry: one["result"]["details"]["messageList"][0]["message"] for retry, one in leaves.items()}
    assert said == {0: "Node n1 release timed out", 1: "Could not locate machine for node n1"}
    assert {retry: one["result"]["status"] for retry, one in leaves.items()} == {0: "partial_success", 1: "success"}
    (error,) = errors.values()
    assert (error["task_id"], error["successes"], error["failures"]) == (leaves[0]["task_id"], N1, N1)


def test_a_stuck_destroy_keeps_those_behind_it_waiting(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    for name in ("n1", "n2", "n3"):
        simulator.post(f"nodes/{name}", {"status": "Deployed"})
    simulator.script("n2", "destroy", "stuck")
    task_id = drydock.submit("destroy_nodes", design_ref, names_filter(["n1", "n2", "n3"]))
    expected = {"n2": "Releasing", "n3": "Deployed"}
    assert drydock.wait_for(drydock.statuses, lambda seen: seen == expected) == expected
    simulator.post("release")
    assert sorted(drydock.finish(task_id)["result"]["successes"]) == ["n1", "n2", "n3"]
    assert drydock.statuses() == {}


@pytest.mark.parametrize("status", ["Ready", "Failed commissioning", "Failed deployment", "Broken"])
def test_a_machine_that_is_not_deployed_is_destroyed_too(
    drydock: Drydock, simulator: Simulator, design_ref: str, status: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": status})
    assert drydock.run("destroy_nodes", design_ref, ["n1"])["result"]["successes"] == ["n1"]
    assert "n1" not in drydock.statuses()


def test_flaky_fails_the_given_times_and_then_succeeds(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    simulator.script("n1", "prepare", "flaky", times=2)
    seen = [drydock.run("prepare_nodes", design_ref, ["n1"])["result"]["status"] for _ in range(3)]
    assert seen == ["partial_success", "partial_success", "success"]


def test_stuck_blocks_the_queue_until_released(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    simulator.script("n2", "prepare", "stuck")
    first = drydock.submit("prepare_nodes", design_ref, names_filter(["n1", "n2"]))
    second = drydock.submit("verify_site", design_ref)
    drydock.wait_for(drydock.statuses, lambda seen: seen.get("n1") == "Ready" and seen["n2"] == "Commissioning")
    assert [drydock.task(one)["status"] for one in (first, second)] == ["running", "queued"]
    assert simulator.post("release", {"node": "n1"}) == {"released": []}
    assert simulator.post("release", {"node": "n2"}) == {"released": ["n2"]}
    assert sorted(drydock.finish(first)["result"]["successes"]) == ["n1", "n2"]
    assert drydock.statuses()["n2"] == "Ready"
    drydock.finish(second)


def test_a_given_attempt_beats_none_and_a_name_beats_a_glob(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    simulator.script("n*", "prepare", "fail")
    simulator.script("n1", "prepare", "ok")
    simulator.script("n1", "prepare", "fail", attempt=2, stage="set_node_boot")
    drydock.post("validatedesign", {"href": design_ref})
    for names, successes in ((["n1"], ["n1"]), (["n1"], []), (["n2"], ["n2"])):
        simulator.post("nodes/n1", {"status": "New"})
        result = drydock.run("prepare_nodes", design_ref, names)["result"]
        assert (result["successes"], bool(result["failures"])) == (successes, names != ["n1"] or not successes)


def test_a_failing_stage_after_the_machine_is_done_leaves_it_deployed(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    drydock.run("prepare_nodes", design_ref, ["n1"])
    simulator.script("n1", "deploy", "fail", stage="bootaction_report")
    assert drydock.run("deploy_nodes", design_ref, ["n1"])["result"]["failures"] == ["n1"]
    assert drydock.statuses()["n1"] == "Deployed"


@pytest.mark.parametrize(
    ("phase", "status", "succeeds", "after"),
    [
        ("prepare", "Commissioning", True, "Commissioning"),
        ("prepare", "Failed commissioning", True, "Ready"),
        ("prepare", "Broken", True, "Ready"),
        ("prepare", "Allocated", True, "Allocated"),
        ("prepare", "Failed deployment", False, "Failed deployment"),
        ("prepare", "Rescue mode", False, "Rescue mode"),
        ("deploy", "Failed deployment", False, "Failed deployment"),
        ("deploy", "Allocated", False, "Allocated"),
        ("deploy", "Deploying", False, "Deploying"),
        ("deploy", "New", False, "New"),
    ],
)
def test_phases_on_machines_as_they_are(
    drydock: Drydock, simulator: Simulator, design_ref: str, phase: str, status: str, succeeds: bool, after: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": status})
    result = drydock.run(f"{phase}_nodes", design_ref, ["n1"])["result"]
    # A prepare that is refused got through its first stages, which puts the node into both lists.
    refused = (N1 if phase == "prepare" else NONE, N1)
    assert (result["successes"], result["failures"]) == ((N1, NONE) if succeeds else refused)
    assert drydock.statuses()["n1"] == after


@pytest.mark.parametrize(("phase", "status"), [("prepare", "Ready"), ("prepare", "Deployed"), ("deploy", "Deployed")])
def test_what_is_done_already_is_a_success_that_touches_no_machine(
    drydock: Drydock, simulator: Simulator, design_ref: str, phase: str, status: str
) -> None:
    """No look at any time may show the machine in another state; stuck ones would show what it was in between."""
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": status, "power_state": "marked"})
    result = drydock.run(f"{phase}_nodes", design_ref, ["n1"])["result"]
    assert (result["successes"], result["failures"]) == (N1, NONE)
    (machine,) = (one for one in simulator.get("nodes") if one["name"] == "n1")
    # Whatever MAAS does to a machine sets its power state as well.
    assert (machine["status"], machine["power_state"]) == (status, "marked")


def test_the_retries_of_a_failed_deploy_only_echo_what_the_first_left_behind(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    simulator.post("nodes/n1", {"status": "Ready"})
    simulator.script("n1", "deploy", "fail", message="no disk with the serial number 42")
    task_id = drydock.submit("deploy_nodes", design_ref, names_filter(N1))
    drydock.finish(task_id)
    tree = drydock.task(task_id, "?layers=-1")
    leaves = [one for one in tree.values() if isinstance(one, dict) and one["result"]["details"]["errorCount"]]
    leaves.sort(key=lambda leaf: int(leaf["retry"]))
    said = [leaf["result"]["details"]["messageList"][0]["message"] for leaf in leaves]
    echo = "Unexpected status Failed deployment for node n1, skipping deployment."
    assert said == ["no disk with the serial number 42", echo, echo, echo]


def test_a_change_behind_its_back_drops_what_maas_was_doing(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    simulator.script("n1", "prepare", "slow", factor=60)
    task_id = drydock.submit("prepare_nodes", design_ref, names_filter(["n1"]))
    drydock.wait_for(drydock.statuses, lambda seen: seen.get("n1") == "Commissioning")
    changed = simulator.post("nodes/n1", {"status": "Broken", "power_state": "unknown"})
    assert (changed["status"], changed["power_state"]) == ("Broken", "unknown")
    drydock.finish(task_id)
    assert drydock.statuses()["n1"] == "Broken"
    simulator.post("nodes/n1", {"hidden": True})
    assert "n1" not in drydock.statuses()


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("scripts", {"node": "n1", "phase": "verify", "behaviour": "ok"}, "phase 'verify' is none of prepare, deploy"),
        ("scripts", {"node": "n1", "phase": "deploy", "behaviour": "sulk"}, "behaviour 'sulk' is none of"),
        ("scripts", {"node": "n1", "phase": "deploy", "behaviour": "ok", "atempt": 1}, "unknown field of a script"),
        ("scripts", {"node": "n1", "phase": "deploy", "behaviour": "ok", "attempt": 0}, "attempt is a number from 1"),
        ("scripts", {"node": "n1", "phase": "deploy", "behaviour": "fail", "stage": "x"}, "stage 'x' is none of"),
        (
            "scripts",
            {"node": "n1", "phase": "deploy", "behaviour": "slow", "factor": 1e300},
            "factor is a number above 0, 1000000 at most",
        ),
        ("faults", {"path": "*", "kind": "timeout", "seconds": 1e300}, "seconds is a number from 0 to 1000000000"),
        ("faults", {"path": "*", "kind": "flood"}, "kind 'flood' is none of"),
        ("faults", {"path": "*", "kind": "status", "shape": "z"}, "shape 'z' is none of a, b, c, d"),
        ("nodes/n1", {"status": "Happy"}, "'Happy' is no status of MAAS"),
    ],
)
def test_wrong_input_is_a_400_with_a_sentence(
    drydock: Drydock, simulator: Simulator, design_ref: str, path: str, body: object, message: str
) -> None:
    drydock.post("validatedesign", {"href": design_ref})
    answer = requests.post(f"{simulator.url}/_sim/{path}", json=body, timeout=5)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
