"""What scripts make of machines: failures of every kind by their status, MAAS's own time limits, and broken BMCs."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.integration.provisioner_client.simulator.maas.conftest import Admin
from tests.support.maas_calls import MaasCaller


def _ready(maas: MaasCaller, name: str = "m0001") -> None:
    maas.act(name, "commission", testing_scripts="none")
    maas.wait(name, "Ready")


def _deployed(maas: MaasCaller) -> None:
    _ready(maas)
    maas.act("m0001", "deploy")
    maas.wait("m0001", "Deployed")


def _reasons(maas: MaasCaller) -> list[str]:
    return [text for kind, text in maas.ledger("m0001") if kind == "Marking node failed"]


@pytest.mark.parametrize(
    ("stage", "status", "testing", "script_name"),
    [
        ("commissioning", "Failed commissioning", "Aborted", "50-maas-01-commissioning"),
        ("testing", "Failed testing", "Failed", "smartctl-validate"),
    ],
)
def test_commissioning_and_tests_fail(
    maas: MaasCaller, script: Admin, stage: str, status: str, testing: str, script_name: str
) -> None:
    script("m0001", "prepare", "fail", stage=stage, message="the disk is dead")
    maas.act("m0001", "commission")
    machine = maas.wait("m0001", status)
    assert (machine["owner"], machine["testing_status_name"]) == ("slipway", testing)
    assert _reasons(maas) == [], "MAAS names the script that failed, and no cause"
    told = maas.events("m0001")[-3:]
    assert [(one["level"], one["type"]) for one in told[:2]] == [("INFO", "Script"), ("INFO", status)]
    assert told[0]["description"] == f"{script_name} failed"
    where = f"nodes/{machine['system_id']}/results/"
    (run,) = maas.get(where, type=stage, include_output="true").data
    failed = [one for one in run["results"] if one["status_name"] == "Failed"]
    assert [base64.b64decode(one["output"]).decode() for one in failed] == ["the disk is dead"]
    assert maas.get(f"{where}current-{stage}/").data["status_name"] == "Failed"
    (told,) = [one for one in maas.get("installation-results/").data if one["script_result"]]
    assert base64.b64decode(told["data"]).decode() == "the disk is dead"


def test_all_runs_of_a_machine_are_listed_in_no_order(maas: MaasCaller) -> None:
    for _ in range(4):
        _ready(maas)
    where = f"nodes/{maas.machine('m0001')['system_id']}/results/"
    ids = [one["id"] for one in maas.get(where, type="commissioning").data]
    assert sorted(ids) == [1, 2, 3, 4] != ids
    answer = maas.get(f"{where}current-installation/")
    assert (answer.status, answer.text) == (400, "No current installation script set exists for this node.")


def test_a_script_about_tests_changes_nothing_where_none_are_run(maas: MaasCaller, script: Admin) -> None:
    script("m0001", "prepare", "fail", stage="testing")
    _ready(maas)


def test_a_failed_deployment_stays_failed_though_the_machine_phones_home(maas: MaasCaller, script: Admin) -> None:
    script("m0001", "deploy", "fail", message="no space left")
    _ready(maas)
    maas.act("m0001", "deploy", agent_name="slipway-a-1")
    maas.wait_for(lambda: any("phoned home" in text for _, text in maas.ledger("m0001")), "it does not phone home")
    machine = maas.machine("m0001")
    assert (machine["status_name"], machine["owner"], machine["osystem"]) == ("Failed deployment", "slipway", "ubuntu")
    assert _reasons(maas) == ["no space left"]
    assert maas.machines(agent_name="slipway-a-1") == ["m0001"]


@pytest.mark.parametrize(
    ("form", "stage", "status"),
    [
        ({}, None, "Releasing failed"),
        ({"erase": "true"}, None, "Failed disk erasing"),
        ({"erase": "true"}, "releasing", "Releasing failed"),
    ],
)
def test_releases_fail(maas: MaasCaller, script: Admin, form: dict[str, str], stage: str | None, status: str) -> None:
    script("m0001", "destroy", "flaky", **({"stage": stage} if stage else {}))
    _deployed(maas)
    maas.act("m0001", "release", **form)
    machine = maas.wait("m0001", status)
    assert machine["owner"] == "slipway"
    maas.act("m0001", "release")
    free = maas.wait("m0001", "Ready")
    assert free["owner"] is None
    assert free["error_description"] == machine["error_description"] != "", "it is left, and says nothing of now"


@pytest.mark.parametrize(
    ("phase", "form", "stage", "becomes", "minutes"),
    [
        ("prepare", {}, None, "Failed commissioning", 30),
        ("prepare", {}, "testing", "Failed testing", 30),
        ("deploy", {}, None, "Failed deployment", 60),
        ("destroy", {}, None, "Releasing failed", 5),
    ],
)
def test_maas_itself_fails_a_machine_that_says_nothing(
    maas: MaasCaller, script: Admin, phase: str, form: dict[str, str], stage: str | None, becomes: str, minutes: int
) -> None:
    if phase != "prepare":
        _ready(maas)
    if phase == "destroy":
        maas.act("m0001", "deploy")
        maas.wait("m0001", "Deployed")
    script("m0001", phase, "silent", **({"stage": stage} if stage else {}))
    maas.act("m0001", {"prepare": "commission", "destroy": "release"}.get(phase, phase), **form)
    maas.wait("m0001", becomes)
    (reason,) = _reasons(maas)
    assert reason.endswith(f"timed out after {minutes} minutes.")


def test_disk_erasing_has_no_time_limit(maas: MaasCaller, admin: Admin, script: Admin) -> None:
    script("m0001", "destroy", "silent")
    _deployed(maas)
    maas.act("m0001", "release", erase="true")
    maas.wait_for(lambda: admin("POST", "release") == {"released": ["m0001"]}, "it is not stuck")
    maas.wait("m0001", "Ready")


@pytest.mark.parametrize("factor", [5, 100])
def test_a_slow_machine_is_late_and_a_very_slow_one_is_failed_by_maas(
    maas: MaasCaller, script: Admin, factor: int
) -> None:
    script("m0001", "prepare", "slow", factor=factor)
    maas.act("m0001", "commission")
    maas.wait("m0001", "Ready" if factor == 5 else "Failed commissioning")


@pytest.mark.parametrize(
    ("phase", "during", "after"), [("prepare", "Commissioning", "Ready"), ("deploy", "Deploying", "Deployed")]
)
def test_a_stuck_machine_goes_on_when_it_is_let_go(
    maas: MaasCaller, admin: Admin, script: Admin, phase: str, during: str, after: str
) -> None:
    if phase == "deploy":
        _ready(maas)
    script("m0001", phase, "stuck")
    maas.act("m0001", "commission" if phase == "prepare" else "deploy")
    assert maas.machine("m0001")["status_name"] == during
    maas.wait_for(lambda: maas.machine("m0001")["power_state"] == "on", "it stays off")
    assert maas.machine("m0001")["status_name"] == during
    assert admin("POST", "release", {"node": "m0002"}) == {"released": []}
    assert admin("POST", "release") == {"released": ["m0001"]}
    maas.wait("m0001", after)


@pytest.mark.parametrize("before", ["New", "Ready", "Failed commissioning", "Broken"])
def test_a_bmc_that_fails_a_commission_leaves_a_machine_as_it_was_with_an_owner(
    maas: MaasCaller, admin: Admin, script: Admin, before: str
) -> None:
    admin("POST", "nodes/m0001", {"status": before})
    script("m0001", "prepare", "power")
    answer = maas.act("m0001", "commission")
    assert answer.status == 500
    machine = maas.machine("m0001")
    assert (machine["status_name"], machine["owner"], machine["power_state"]) == (before, "slipway", "error")
    assert (machine["commissioning_status_name"], machine["testing_status_name"]) == ("Aborted", "Aborted")
    assert ("User starting node commissioning", "(slipway)") in maas.ledger("m0001")
    (told,) = [one for one in maas.events("m0001") if one["level"] == "WARNING"]
    assert told["type"] == "Failed to query node's BMC"
    reverted = f"Aborting COMMISSIONING and reverting to {before.upper().replace(' ', '_')}"
    assert told["description"].startswith(f"(slipway) - {reverted}. Unable to power control the node.")


def test_a_bmc_that_fails_a_release_leaves_it_half_released(maas: MaasCaller, admin: Admin, script: Admin) -> None:
    script("m0001", "destroy", "power", attempt=1)
    _deployed(maas)
    maas.act("m0001", "set_owner_data", key="value")
    told = len(maas.events("m0001"))
    assert maas.act("m0001", "release", comment="slipway-a-9").status == 500
    assert maas.ledger("m0001")[told:] == [
        ("User releasing node", "(slipway) - slipway-a-9"),
        ("Node changed status", "From 'Deployed' to 'Releasing'"),
        ("Node changed status", "From 'Releasing' to 'Deployed'"),
    ], "the cause stands in the answer alone"
    machine = maas.machine("m0001")
    assert (machine["status_name"], machine["osystem"], machine["netboot"]) == ("Deployed", "", True)
    assert machine["owner"] == "slipway"
    assert maas.act("m0001", "release").status == 200
    maas.wait("m0001", "Ready")
    assert admin("GET", "double-submissions")["repeated"] == [], "the first one began nothing"


def test_a_bmc_that_fails_an_erasing_is_a_wrong_change_and_has_changed_the_machine(
    maas: MaasCaller, script: Admin
) -> None:
    script("m0001", "destroy", "power")
    _deployed(maas)
    told = len(maas.events("m0001"))
    answer = maas.act("m0001", "release", erase="true", quick_erase="true", comment="slipway-a-9")
    assert (answer.status, answer.text) == (409, "Invalid transition: Disk erasing -> Deployed.")
    assert "retry-after" not in {name.lower() for name in answer.headers}
    machine = maas.machine("m0001")
    assert (machine["status_name"], machine["osystem"]) == ("Failed disk erasing", "ubuntu")
    assert machine["owner"] == "slipway"
    assert maas.ledger("m0001")[told:] == [
        ("User erasing disk", "(slipway) - slipway-a-9"),
        ("Node changed status", "From 'Deployed' to 'Disk erasing'"),
        ("Node changed status", "From 'Disk erasing' to 'Failed disk erasing'"),
    ], "the cause stands nowhere"
    again = maas.act("m0001", "release", erase="true")
    assert (again.status, maas.machine("m0001")["status_name"]) == (500, "Failed disk erasing")
    assert "Aborting DISK_ERASING and reverting to FAILED_DISK_ERASING" in maas.ledger("m0001")[-2][1]


def test_a_bmc_is_not_asked_to_release_a_machine_that_is_off(maas: MaasCaller, admin: Admin, script: Admin) -> None:
    script("m0001", "destroy", "power")
    admin("POST", "nodes/m0001", {"status": "Failed deployment", "owner": "slipway", "power_state": "off"})
    assert maas.act("m0001", "release").data["owner"] is None


def test_a_bmc_that_fails_the_release_of_a_machine_that_is_being_deployed_does_not_bring_it_back(
    maas: MaasCaller, script: Admin
) -> None:
    script("m0001", "destroy", "power")
    script("m0001", "deploy", "stuck")
    _ready(maas)
    maas.act("m0001", "deploy")
    assert maas.act("m0001", "release").status == 500
    assert maas.machine("m0001")["status_name"] == "Releasing failed"


def test_a_bmc_that_fails_a_deployment_shows_later(maas: MaasCaller, script: Admin) -> None:
    script("m0001", "deploy", "power")
    _ready(maas)
    assert maas.act("m0001", "deploy").data["status_name"] == "Deploying"
    assert maas.wait("m0001", "Failed deployment")["power_state"] == "error"
    assert "BMC" in _reasons(maas)[0]
    assert [one["type"] for one in maas.events("m0001") if one["level"] == "ERROR"] == ["Marking node failed"]


@pytest.mark.parametrize(("behaviour", "status"), [("no_network", 400), ("no_addresses", 503)])
def test_a_machine_that_has_no_network_or_gets_no_address(
    maas: MaasCaller, script: Admin, behaviour: str, status: int
) -> None:
    script("m0001", "deploy", behaviour)
    _ready(maas)
    assert maas.act("m0001", "deploy").status == status
    assert maas.machine("m0001")["status_name"] == "Ready"


def test_a_machine_is_changed_behind_everybodys_back(maas: MaasCaller, admin: Admin) -> None:
    told = admin("POST", "nodes/m0001", {"status": "Deployed", "owner": "alice", "osystem": "ubuntu", "locked": True})
    assert (told["status"], told["owner"], told["locked"]) == ("Deployed", "alice", True)
    assert maas.events() == []
    machine: dict[str, Any] = maas.machine("m0001")
    assert (machine["status"], machine["osystem"], machine["locked"]) == (6, "ubuntu", True)
    admin("POST", "nodes/m0001", {"pool": "others"})
    assert maas.machines(pool="others") == ["m0001"]
    for wrong in ({"status": "Tired"}, {"colour": "red"}, {"owner": 7}, {"pool": None}):
        with pytest.raises(AssertionError, match="is no"):
            admin("POST", "nodes/m0001", wrong)


def test_the_way_into_rescue_mode_and_back(maas: MaasCaller) -> None:
    _deployed(maas)
    assert maas.act("m0001", "rescue_mode").data["status_name"] == "Entering rescue mode"
    maas.wait("m0001", "Rescue mode")
    assert maas.act("m0001", "release").status == 409
    assert maas.act("m0001", "rescue_mode").status == 409
    assert maas.act("m0001", "exit_rescue_mode").data["status_name"] == "Exiting rescue mode"
    maas.wait("m0001", "Deployed")
    assert len(maas.events("m0001")) > 0


def test_there_is_no_way_into_rescue_mode_from_a_failure_to_leave_it(maas: MaasCaller, admin: Admin) -> None:
    admin("POST", "nodes/m0001", {"status": "Failed to exit rescue mode"})
    assert maas.act("m0001", "rescue_mode").status == 409


@pytest.mark.parametrize("op", ["set_storage_layout", "restore_networking_configuration"])
def test_disks_and_network_are_laid_out_of_a_ready_machine_only(maas: MaasCaller, op: str) -> None:
    form = {"storage_layout": "lvm"} if op == "set_storage_layout" else {}
    assert maas.act("m0001", op, **form).status == 409
    _ready(maas)
    assert maas.act("m0001", op, **form).status == 200
    if form:
        assert maas.act("m0001", op, storage_layout="pile").status == 400
    maas.post("machines/", "allocate", system_id=maas.machine("m0001")["system_id"])
    refused = maas.act("m0001", op, **form)
    assert refused.status == 409, "MAAS refuses it of an allocated one"
    assert not form or refused.text == "Cannot change the storage layout on a machine that is not Ready."
    maas.act("m0001", "deploy")
    maas.wait("m0001", "Deployed")
    assert maas.act("m0001", op, **form).status == 409


def test_what_was_laid_out_is_shown_and_a_commission_lays_it_out_anew_unless_it_is_told_not_to(
    maas: MaasCaller, admin: Admin
) -> None:
    def seen() -> tuple[bool, str]:
        machine = maas.machine("m0001")
        return bool(machine["volume_groups"]), machine["interface_set"][0]["links"][0]["mode"]

    _ready(maas)
    assert maas.act("m0001", "set_storage_layout", storage_layout="lvm").data["volume_groups"]
    admin("POST", "nodes/m0001", {"link_mode": "dhcp"})
    maas.act("m0001", "commission", skip_networking="1", skip_storage="1")
    maas.wait("m0001", "Ready")
    assert seen() == (True, "dhcp")
    maas.act("m0001", "restore_networking_configuration")
    assert seen() == (True, "auto")
    maas.act("m0001", "commission")
    maas.wait("m0001", "Ready")
    assert seen() == (False, "auto")


def test_a_machine_without_a_root_file_system_is_not_deployed_and_stays_allocated(maas: MaasCaller) -> None:
    _ready(maas)
    maas.act("m0001", "set_storage_layout", storage_layout="blank")
    maas.post("machines/", "allocate", system_id=maas.machine("m0001")["system_id"])
    refused = maas.act("m0001", "deploy")
    assert (refused.status, "Mount the root '/' filesystem" in refused.text) == (400, True)
    assert maas.machine("m0001")["status_name"] == "Allocated"
    assert maas.act("m0001", "deploy", ephemeral_deploy="true").status == 200
