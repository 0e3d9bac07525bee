"""Commission, allocate, deploy, release, abort: what a real MAAS 3.7.3 was seen to do, and to refuse."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.simulation import MaasSimulation
from tests.integration.provisioner_client.simulator.maas.conftest import ALICE, BOB, Admin
from tests.support.maas_calls import MaasCaller, Reply, in_process


def _ready(maas: MaasCaller, *names: str) -> None:
    for name in names:
        assert maas.act(name, "commission").status == 200
    for name in names:
        maas.wait(name, "Ready")


def _deployed(maas: MaasCaller, name: str) -> None:
    _ready(maas, name)
    assert maas.act(name, "deploy").status == 200
    maas.wait(name, "Deployed")


def _changes(maas: MaasCaller, name: str) -> list[str]:
    said = [text for kind, text in maas.ledger(name) if kind == "Node changed status"]
    return ["New", *(text.split("'")[3] for text in said)]


def test_a_machine_from_new_to_deployed_and_back(maas: MaasCaller) -> None:
    machine = maas.act("m0001", "commission").data
    assert (machine["status_name"], machine["owner"]) == ("Commissioning", "slipway")
    ready = maas.wait("m0001", "Ready")
    assert (ready["owner"], ready["commissioning_status_name"], ready["testing_status_name"]) == (
        None,
        "Passed",
        "Passed",
    )
    system_id = ready["system_id"]
    allocated = maas.post("machines/", "allocate", system_id=system_id, agent_name="slipway-a-1", comment="why").data
    assert (allocated["status_name"], allocated["owner"]) == ("Allocated", "slipway")
    deploying = maas.act("m0001", "deploy", distro_series="noble", comment="slipway-a-1", ephemeral_deploy="true").data
    assert (deploying["status_name"], deploying["distro_series"]) == ("Deploying", "noble")
    deployed = maas.wait("m0001", "Deployed")
    assert (deployed["osystem"], deployed["netboot"], deployed["power_state"]) == ("ubuntu", False, "on")
    assert deployed["ephemeral_deploy"] is True
    assert maas.act("m0001", "release", comment="no more").status == 200
    free = maas.wait("m0001", "Ready")
    assert (free["owner"], free["osystem"], free["netboot"], free["ephemeral_deploy"]) == (None, "", True, False)
    assert _changes(maas, "m0001") == [
        *("New", "Commissioning", "Testing", "Ready", "Allocated"),
        *("Deploying", "Deployed", "Releasing", "Ready"),
    ]
    users = [entry for entry in maas.ledger("m0001") if entry[0].startswith("User")]
    assert users == [
        ("User starting node commissioning", "(slipway)"),
        ("User acquiring node", "(slipway) - why"),
        ("User starting deployment", "(slipway) - slipway-a-1"),
        ("User releasing node", "(slipway) - no more"),
    ]


def test_without_tests_commissioning_ends_at_once_and_its_result_has_a_new_number(maas: MaasCaller) -> None:
    first = maas.act("m0001", "commission", testing_scripts="none").data["current_commissioning_result_id"]
    maas.wait("m0001", "Ready")
    assert _changes(maas, "m0001") == ["New", "Commissioning", "Ready"]
    second = maas.act("m0001", "commission", testing_scripts="none").data["current_commissioning_result_id"]
    assert second > first, "a repeated commission starts again once the first is over"


@pytest.mark.parametrize(
    ("status", "op", "answer"),
    [
        ("Commissioning", "commission", 400),
        ("Deployed", "commission", 400),
        ("Failed testing", "commission", 400),
        ("Failed deployment", "commission", 400),
        ("New", "deploy", 409),
        ("Deploying", "deploy", 409),
        ("Deployed", "deploy", 409),
        ("Failed deployment", "deploy", 409),
        ("Releasing", "deploy", 409),
        ("New", "release", 409),
        ("Commissioning", "release", 409),
        ("Disk erasing", "release", 409),
        ("Deploying", "test", 400),
        ("Releasing", "abort", 409),
        ("Ready", "abort", 409),
        ("Ready", "mark_fixed", 409),
        ("Ready", "lock", 409),
    ],
)
def test_a_wrong_status_is_refused_and_changes_nothing(
    maas: MaasCaller, admin: Admin, status: str, op: str, answer: int
) -> None:
    admin("POST", "nodes/m0001", {"status": status, "owner": "slipway"})
    refused = maas.act("m0001", op)
    assert refused.status == answer
    assert "retry-after" not in refused.headers
    assert ("__all__" in refused.text) is (answer == 400)
    assert maas.machine("m0001")["status_name"] == status
    assert maas.ledger("m0001") == []


@pytest.mark.parametrize("status", ["Ready", "Releasing"])
def test_a_release_of_what_is_released_is_200_and_does_nothing(maas: MaasCaller, admin: Admin, status: str) -> None:
    admin("POST", "nodes/m0001", {"status": status})
    assert maas.act("m0001", "release", comment="x").data["status_name"] == status
    assert maas.ledger("m0001") == []


def test_allocate_is_for_ready_machines_only_and_by_name_it_composes_a_virtual_one(maas: MaasCaller) -> None:
    system_id = maas.machine("m0001")["system_id"]
    refused = maas.post("machines/", "allocate", system_id=system_id)
    assert (refused.status, refused.text) == (409, f"No machine with system ID {system_id} available.")
    composed = maas.post("machines/", "allocate", name="m0001").data
    assert composed["hostname"] != "m0001"
    assert maas.act(composed["hostname"], "release").status == 200
    assert composed["hostname"] not in maas.machines(), "releasing it deletes it"


def test_a_constraint_that_is_not_played_is_refused_and_not_passed_over(maas: MaasCaller) -> None:
    _ready(maas, "m0001")
    refused = maas.post("machines/", "allocate", mem="999999999")
    assert (refused.status, "does not play" in refused.text) == (400, True)


def test_the_agent_name_is_that_of_who_acquired_it(maas: MaasCaller) -> None:
    _ready(maas, "m0001")
    maas.post("machines/", "allocate", system_id=maas.machine("m0001")["system_id"], agent_name="first")
    assert maas.act("m0001", "deploy", agent_name="second").status == 200
    assert (maas.machines(agent_name="first"), maas.machines(agent_name="second")) == (["m0001"], [])


def test_of_several_deploys_of_a_ready_machine_one_wins_and_its_agent_name_is_findable_but_not_shown(
    maas: MaasCaller,
) -> None:
    _ready(maas, "m0001")
    answers = [maas.act("m0001", "deploy", agent_name=f"agent-{n}").status for n in range(4)]
    assert answers == [200, 409, 409, 409]
    assert [len(maas.machines(agent_name=f"agent-{n}")) for n in range(4)] == [1, 0, 0, 0]
    assert "agent-0" not in maas.get("machines/", hostname="m0001").text
    maas.wait("m0001", "Deployed")
    maas.act("m0001", "release")
    assert maas.machines(agent_name="agent-0") == []


def test_an_administrator_deploys_what_somebody_else_has_allocated_and_it_stays_theirs(maas: MaasCaller) -> None:
    _ready(maas, "m0001")
    system_id = maas.machine("m0001")["system_id"]
    maas.as_user(ALICE).post("machines/", "allocate", system_id=system_id)
    assert maas.as_user(BOB).act("m0001", "deploy").status == 403
    assert maas.act("m0001", "deploy").data["owner"] == "alice"


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"distro_series": "warty"}, 400, "distro_series"),
        ({"hwe_kernel": "hwe-99"}, 400, "hwe_kernel"),
        ({"install_kvm": "true"}, 400, "install_kvm"),
        ({"register_vmhost": "true"}, 400, "register_vmhost"),
        ({"install_rackd": "true"}, 400, "install_rackd"),
        ({"user_data": "%% no base64 %%"}, 200, ""),
        ({"distro_series": "ubuntu/noble"}, 200, ""),
    ],
)
def test_a_deploy_that_is_refused_leaves_a_ready_machine_ready(
    maas: MaasCaller, fields: dict[str, str], status: int, said: str
) -> None:
    _ready(maas, "m0001")
    answer = maas.act("m0001", "deploy", **fields)
    assert answer.status == status
    assert said in answer.text
    if status != 200:
        assert (maas.machine("m0001")["status_name"], maas.machine("m0001")["owner"]) == ("Ready", None)


def test_aborting(maas: MaasCaller, script: Admin) -> None:
    script("m000*", "prepare", "stuck", attempt=2)
    script("m000*", "deploy", "stuck")
    _ready(maas, "m0001", "m0002")
    maas.act("m0001", "commission")
    answer = maas.act("m0001", "abort", comment="enough").data
    assert answer["status_name"] == "Commissioning", "the status from before"
    machine = maas.machine("m0001")
    assert (machine["status_name"], machine["owner"]) == ("New", None), "also one that was Ready before"
    maas.act("m0002", "deploy")
    assert maas.act("m0002", "abort").status == 200
    machine = maas.machine("m0002")
    assert (machine["status_name"], machine["owner"]) == ("Allocated", "slipway")
    assert ("User aborting node commissioning", "(slipway) - enough") in maas.ledger("m0001")


def test_tests_that_follow_a_commissioning_are_aborted_and_the_machine_is_ready(
    maas: MaasCaller, script: Admin
) -> None:
    script("m0001", "prepare", "stuck", stage="testing")
    maas.act("m0001", "commission")
    maas.wait("m0001", "Testing")
    assert maas.act("m0001", "abort").status == 200
    machine = maas.machine("m0001")
    assert (machine["status_name"], machine["owner"], machine["testing_status_name"]) == ("Ready", None, "Aborted")


def test_a_locked_machine_is_refused_with_an_empty_body_whatever_is_asked_of_it(maas: MaasCaller) -> None:
    _deployed(maas, "m0001")
    assert maas.act("m0001", "lock").data["locked"] is True
    assert maas.act("m0001", "lock").text == "Machine is already locked"
    before = maas.machine("m0001")
    where = f"machines/{before['system_id']}/"
    operations = ("release", "mark_broken", "abort", "deploy", "commission", "test", "rescue_mode", "power_off")
    answers = [maas.act("m0001", op) for op in operations]
    answers += [maas.act("m0001", "set_owner_data", key="value"), maas.call("DELETE", where)]
    answers += [maas.call("PUT", where, description="x"), maas.post("machines/", "release", machines=[where[9:-1]])]
    assert {(one.status, one.body) for one in answers} == {(403, b"")}
    assert maas.machine("m0001") == before
    assert maas.act("m0001", "unlock").data["locked"] is False
    again = maas.act("m0001", "unlock")
    assert (again.status, again.text) == (409, "Machine is not locked")
    assert maas.act("m0001", "release").status == 200


def test_what_is_marked_broken_is_released_first(maas: MaasCaller) -> None:
    _deployed(maas, "m0001")
    broken = maas.act("m0001", "mark_broken", comment="smoke").data
    assert (broken["status_name"], broken["osystem"], broken["netboot"]) == ("Broken", "", True)
    assert (broken["owner"], broken["power_state"]) == ("slipway", "off")
    fixed = maas.act("m0001", "mark_fixed").data
    assert (fixed["status_name"], fixed["osystem"]) == ("Deployed", ""), "it is what it was, with nothing on it"
    assert _changes(maas, "m0001")[-3:] == ["Releasing", "Broken", "Deployed"]


def test_what_is_off_is_free_once_it_is_marked_broken(maas: MaasCaller, admin: Admin) -> None:
    _deployed(maas, "m0001")
    admin("POST", "nodes/m0001", {"power_state": "off"})
    assert maas.act("m0001", "mark_broken").data["owner"] is None
    assert _changes(maas, "m0001")[-3:] == ["Releasing", "Ready", "Broken"]
    assert maas.act("m0001", "mark_fixed").data["status_name"] == "Deployed"


def test_what_is_allocated_and_powered_on_is_deployed_without_an_operating_system(maas: MaasCaller) -> None:
    _ready(maas, "m0001")
    refused = maas.act("m0001", "power_on")
    assert (refused.status, refused.text) == (409, "Can't start node: it hasn't been allocated.")
    maas.post("machines/", "allocate", system_id=maas.machine("m0001")["system_id"])
    assert maas.act("m0001", "power_on").data["status_name"] == "Deploying"
    assert maas.wait("m0001", "Deployed")["osystem"] == ""


def test_no_event_tells_of_the_power_but_that_a_user_asked_for_it(maas: MaasCaller) -> None:
    _deployed(maas, "m0001")
    for word, state in (("down", "off"), ("up", "on")):
        assert maas.act("m0001", f"power_{state}", comment="why").data["status_name"] == "Deployed"
        maas.wait_for(lambda state=state: maas.machine("m0001")["power_state"] == state, "the power stays")  # type: ignore[misc]
        assert maas.ledger("m0001")[-1] == (f"User powering {word} node", "(slipway) - why")
    assert not [kind for kind, _ in maas.ledger("m0001") if "powered" in kind]


def test_a_lock_is_for_what_is_or_will_be_deployed(maas: MaasCaller) -> None:
    assert maas.act("m0001", "lock").text == "Can't lock, node is not deployed or deploying"


def test_broken_is_said_by_the_owner_alone(maas: MaasCaller) -> None:
    _deployed(maas, "m0001")
    assert maas.as_user(ALICE).act("m0001", "mark_broken").status == 403
    assert maas.act("m0002", "mark_broken").status == 403, "nobody owns it"
    _ready(maas, "m0002")
    maas.post("machines/", "allocate", system_id=maas.machine("m0002")["system_id"])
    assert maas.act("m0002", "mark_broken").data["status_name"] == "Broken"
    assert maas.act("m0002", "mark_fixed").data["status_name"] == "Ready"


@pytest.mark.parametrize("op", ["set_owner_data", "set_workload_annotations"])
def test_annotations_are_the_owners_and_are_wiped_by_a_release(maas: MaasCaller, op: str) -> None:
    refused = maas.act("m0001", op, key="value")
    assert (refused.status, refused.text) == (409, "Cannot set workload annotation: it hasn't been acquired.")
    _deployed(maas, "m0001")
    assert maas.as_user(ALICE).act("m0001", op, key="value").status == 403
    assert maas.act("m0001", op, key="value", other="x").data["owner_data"] == {"key": "value", "other": "x"}
    assert maas.act("m0001", op, other="").status == 200
    assert maas.machine("m0001")["workload_annotations"] == maas.machine("m0001")["owner_data"] == {"key": "value"}
    maas.act("m0001", "release")
    maas.wait("m0001", "Ready")
    assert maas.machine("m0001")["owner_data"] == {}


def test_releasing_many_is_all_or_none_and_erases_nothing(maas: MaasCaller) -> None:
    _ready(maas, "m0001", "m0002")
    for name in ("m0001", "m0002"):
        maas.act(name, "deploy")
        maas.wait(name, "Deployed")
    ids = [maas.machine(name)["system_id"] for name in ("m0001", "m0002", "m0003")]
    assert maas.act("m0003", "release").text == "Machine cannot be released in its current state ('New')."
    refused = maas.post("machines/", "release", machines=ids)
    assert (refused.status, f"{ids[2]} ('New')" in refused.text) == (409, True)
    assert {maas.machine(name)["status_name"] for name in ("m0001", "m0002")} == {"Deployed"}
    assert maas.post("machines/", "release", machines=ids[:2]).data == ids[:2]
    maas.wait("m0001", "Ready")
    assert "Disk erasing" not in _changes(maas, "m0001")


def _erasing(maas: MaasCaller, name: str, comment: str) -> str:
    released = maas.act(name, "release", erase="true", quick_erase="true", comment=comment)
    return str(released.data["status_name"])


def test_erasing_is_asked_for_with_erase(maas: MaasCaller) -> None:
    _deployed(maas, "m0001")
    asked = maas.act("m0001", "release", erase="false", quick_erase="true").data
    assert asked["status_name"] == "Disk erasing", "a kind is a wish"
    maas.wait("m0001", "Ready")
    maas.act("m0001", "deploy")
    maas.wait("m0001", "Deployed")
    assert _erasing(maas, "m0001", "slipway-a-3") == "Disk erasing"
    maas.wait("m0001", "Ready")
    assert _changes(maas, "m0001")[-3:] == ["Disk erasing", "Releasing", "Ready"]
    users = [entry for entry in maas.ledger("m0001") if entry[0].startswith("User")]
    assert users[-2:] == [("User erasing disk", "(slipway) - slipway-a-3"), ("User releasing node", "")]


def test_a_machine_that_is_off_is_released_at_once(maas: MaasCaller) -> None:
    _ready(maas, "m0001")
    maas.post("machines/", "allocate", system_id=maas.machine("m0001")["system_id"], agent_name="x")
    released = maas.act("m0001", "release").data
    assert (released["status_name"], released["owner"]) == ("Ready", None)


def test_a_machine_that_was_never_commissioned_is_new_again(maas: MaasCaller, admin: Admin) -> None:
    admin("POST", "nodes/m0001", {"status": "Allocated", "owner": "slipway"})
    maas.act("m0001", "release")
    assert maas.machine("m0001")["status_name"] == "New"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Deployed", "Deployed"),
        ("Failed commissioning", "New"),
        ("Failed testing", "Ready"),
        ("Broken", "Ready"),
        ("Rescue mode", "Failed testing"),
    ],
)
def test_testing_a_machine_brings_it_back_where_there_is_a_way(
    maas: MaasCaller, admin: Admin, before: str, after: str
) -> None:
    admin("POST", "nodes/m0001", {"status": before, "owner": "slipway"})
    assert maas.act("m0001", "test").data["status_name"] == "Testing"
    maas.wait("m0001", after)
    assert _changes(maas, "m0001")[-2:] == ["Testing", after]


def test_commission_and_release_answer_after_the_power_action_and_deploy_before_it(simulation: MaasSimulation) -> None:
    """How long an answer is held back is read off, and not measured."""
    maas = MaasCaller(in_process(simulation))
    waits = {}

    def send(method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        with simulation._store.transaction():
            answer = simulation._api.handle(Request(method, path, query, headers, body))
            simulation._park.save()
        waits[path.rpartition("/op-")[2]] = answer.delay
        return Reply(answer.status, answer.content_type or "", {}, answer.body)

    held = MaasCaller(send)
    where = f"machines/{maas.machine('m0001')['system_id']}/"
    for op, becomes in (("commission", "Ready"), ("deploy", "Deployed"), ("release", "Ready")):
        assert held.post(where, op).status == 200
        maas.wait("m0001", becomes)
    assert waits == {"commission": 6 / 500_000, "deploy": 0, "release": 6 / 500_000}


def test_power_comes_and_goes_some_time_after_the_answer_and_what_is_under_way_goes_on(
    simulation: MaasSimulation, maas: MaasCaller, script: Admin
) -> None:
    script("m0001", "deploy", "stuck")
    _ready(maas, "m0001")
    maas.act("m0001", "deploy")
    maas.wait_for(lambda: maas.machine("m0001")["power_state"] == "on", "it is not powered on")
    assert maas.act("m0001", "power_off").data["power_state"] == "on"
    machine = simulation._park.named("m0001")
    assert machine is not None
    assert (machine.power_state, machine.steps[0].power) == ("on", "off"), "not yet"
    maas.wait_for(lambda: maas.machine("m0001")["power_state"] == "off", "it is not powered off")
    assert machine.steps[0].at is None, "it is still being deployed"


def test_only_an_administrator_commissions(maas: MaasCaller) -> None:
    for op in ("commission", "test", "override_failed_testing", "rescue_mode", "mark_fixed"):
        refused = maas.as_user(BOB).act("m0001", op)
        assert (refused.status, refused.body) == (403, b"")
    assert maas.as_user(BOB).get("users/", "whoami").data["is_superuser"] is False
    assert maas.get("users/", "whoami").data["is_superuser"] is True
