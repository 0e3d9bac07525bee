"""What is done to machines and what is left alone, and what is told of it: against a simulated MAAS in this process."""

from __future__ import annotations

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    TaskNotFound,
)
from provisioner_client.protocol import TaskRef, TaskState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import BOB, NAMES, Admin, Finish, Outcome, acts
from tests.support.maas_clients import Wire, client

pytestmark = pytest.mark.usefixtures("wire")


def test_a_machine_from_new_to_deployed_and_back(run: Outcome, admin: Admin) -> None:
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.RELABEL, Phase.DESTROY)):
        judged, task = run(phase, f"slipway-a-{number}")
        assert judged.succeeded == set(NAMES), phase
        assert (task.result, task.successes) == ("success", set(NAMES))
    assert acts(admin, "m0001") == (1, 1, 1)
    assert {one.condition for one in client().nodes().values()} == {NodeCondition.READY}


def test_the_list_of_nodes_says_what_a_machine_has(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    node = client().nodes()["m0001"]
    assert (node.status_name, node.power_state) == ("Ready", "off")
    assert (node.cores or 0, node.memory or 0) > (0, 0)


def test_rule_57_a_deployed_machine_that_is_off_is_powered_on_and_no_other(run: Outcome, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2", ["m0001"])
    run(Phase.DEPLOY, "slipway-b-1", ["m0002"], key=BOB)
    assert not client().nodes()["m0001"].can_power_on, "it is on"
    for name in ("m0001", "m0002"):
        admin("POST", f"nodes/{name}", {"power_state": "off"})
    admin("POST", "nodes/m0001", {"locked": True})
    assert client().power_on(["m0001"]) == {"m0001": "it is locked in MAAS: unlock it there"}
    admin("POST", "nodes/m0001", {"locked": False})
    listed = client().nodes()
    assert {name: node.can_power_on for name, node in listed.items()} == {"m0001": True, "m0002": False, "m0003": False}
    refused = client().power_on([*NAMES, "m0009"])
    assert refused == {
        "m0002": "it is bob's in MAAS",
        "m0003": "it is Ready, power off",
        "m0009": "MAAS has 0 machines of this name in pool default",
    }
    powers = {name: node.power_state for name, node in client().nodes().items()}
    assert powers == {"m0001": "on", "m0002": "off", "m0003": "off"}
    assert acts(admin, "m0001") == (1, 1, 0), "what runs on it stays"
    assert client().power_on(["m0001"]) == {"m0001": "it is Deployed, power on"}


def test_a_machine_is_looked_at_right_before_it_is_powered_on(run: Outcome, admin: Admin, wire: Wire) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2", NAMES[:2])
    for name in NAMES[:2]:
        admin("POST", f"nodes/{name}", {"power_state": "off"})
    wire.before("op-power_on", lambda: admin("POST", "nodes/m0002", {"owner": "bob"}))
    assert client().power_on(NAMES[:2]) == {"m0002": "it is bob's in MAAS"}


def test_a_machine_that_is_locked_right_before_it_is_powered_on_says_so(run: Outcome, admin: Admin, wire: Wire) -> None:
    """MAAS's 403 has no words."""
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2", NAMES[:1])
    admin("POST", "nodes/m0001", {"power_state": "off"})
    wire.before("op-power_on", lambda: admin("POST", "nodes/m0001", {"locked": True}), once=False)
    said = "MAAS refuses to power on m0001: it is locked there, or somebody else has it by now: unlock it in MAAS"
    assert client().power_on(NAMES[:1]) == {"m0001": said}


def test_one_that_is_refused_does_not_stop_the_others(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1", ["m0001", "m0003"])
    judged, task = run(Phase.DEPLOY, "slipway-a-2")
    assert (judged.succeeded, judged.failed) == ({"m0001", "m0003"}, {"m0002"})
    assert task.result == "partial_success"
    assert "m0002 is New in MAAS and cannot be deployed" in judged.notes["m0002"]


def test_ready_machines_can_be_left_alone(run: Outcome, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1", ["m0001"])
    judged, _ = run(Phase.PREPARE, "slipway-a-2", recommission=False)
    assert judged.succeeded == set(NAMES)
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 1]


def test_what_a_person_has_set_up_stays_when_a_machine_is_commissioned_again(run: Outcome, wire: Wire) -> None:
    for number in range(2):
        run(Phase.PREPARE, f"slipway-a-{number}", ["m0001"])
    forms = [form for path, form in wire.forms if path.endswith("op-commission")]
    assert forms == [
        {},
        {"skip_networking": ["1"], "skip_storage": ["1"]},
    ]


def test_tags_of_earlier_tasks_are_deleted_when_the_next_is_submitted(run: Outcome) -> None:
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY)):
        run(phase, f"slipway-a-{number}")
    tags = {one["name"] for one in client()._api.http.get("/api/2.0/tags/").data if one["name"].startswith("slipway-")}
    assert tags == {"slipway-a-2"}
    with pytest.raises(TaskNotFound):
        client().task(TaskRef("slipway-a-1"))


def test_a_task_whose_tag_was_deleted_is_gone_and_the_machines_still_tell(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    client()._api.delete_tag("slipway-a-1")
    worker = client()
    assert worker.find("slipway-a-1") is None
    with pytest.raises(TaskNotFound):
        worker.task(TaskRef("slipway-a-1"))
    evidence = worker.evidence(TaskRef("slipway-a-1"), NAMES)
    assert evidence.over
    assert judge(Phase.PREPARE, NAMES, evidence).succeeded == set(NAMES)


def test_a_machine_that_maas_deletes_with_its_release_is_destroyed(
    run: Outcome, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    """Machines that MAAS has composed by itself go so. One that was moved elsewhere is not taken for such a one."""
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    for name in NAMES[:2]:
        admin("POST", "scripts", {"node": name, "phase": "destroy", "behaviour": "stuck"})
    now = [0.0]
    worker = client(clock=lambda: now[0])
    worker.submit(Phase.DESTROY, three, NAMES[:2], "slipway-a-3")
    (machine,) = worker._api.machines_of("hostname", ["m0001"])
    worker._api.http.form(f"/api/2.0/machines/{machine.system_id}/", method="DELETE")
    admin("POST", "nodes/m0002", {"pool": "others"})
    now[0] += 61.0
    task = worker.task(TaskRef("slipway-a-3"))
    assert task.state is TaskState.COMPLETE
    assert task.successes == {"m0001"}
    assert task.failures == {"m0002"}
    for one in (worker, client()):
        evidence = one.evidence(TaskRef("slipway-a-3"), NAMES[:2])
        assert evidence.over, "other processes know it, too"
        assert judge(Phase.DESTROY, NAMES[:2], evidence).succeeded == {"m0001"}


def test_rule_61_tags_of_another_store_are_left_alone(run: Outcome) -> None:
    """Those of the own store, and of Slipway 0.9.0, are deleted once their tasks are over."""
    action = "01M8J7TQMDR5E8R7BAVGWE91JH"
    theirs, ours, older = f"slipway-theirs22-{action}-1", f"slipway-mystore1-{action}-2", f"slipway-{action}-3"
    for reference in (theirs, older, ours):
        run(Phase.PREPARE, reference, ["m0001"])
    newest = f"slipway-mystore1-{action}-4"
    run(Phase.DEPLOY, newest, ["m0001"])
    tags = {one["name"] for one in client()._api.http.get("/api/2.0/tags/").data if one["name"].startswith("slipway-")}
    assert tags == {theirs, newest}
