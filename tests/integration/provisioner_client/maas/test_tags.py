"""Which machines get the tag of a task, when it is taken off, and which tags go again."""

from __future__ import annotations

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.protocol import TaskRef
from provisioner_client.simulator.maas.simulation import MaasSimulation
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import BOB, NAMES, Admin, Finish, Outcome
from tests.support.maas_calls import MaasCaller, in_process
from tests.support.maas_clients import Wire, client

pytestmark = pytest.mark.usefixtures("wire")

OLD, NEW = "slipway-01K9ZZZZZZZZZZZZZZZZZZZZZA", "slipway-01K9ZZZZZZZZZZZZZZZZZZZZZB"


@pytest.fixture
def ours(simulation: MaasSimulation) -> MaasCaller:
    return MaasCaller(in_process(simulation))


def tagged(ours: MaasCaller, reference: str) -> list[str]:
    return ours.machines(tags=reference)


def tags(ours: MaasCaller) -> set[str]:
    return {one["name"] for one in ours.get("tags/").data if one["name"].startswith("slipway-")}


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({"status": "Deployed", "owner": "bob", "osystem": "ubuntu"}, id="a stranger's"),
        pytest.param({"status": "Broken"}, id="Broken"),
        pytest.param({"status": "Deployed", "owner": "slipway", "osystem": "ubuntu", "locked": True}, id="locked"),
    ],
)
@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.DESTROY, Phase.RELABEL])
def test_a_machine_that_is_not_free_or_ours_is_not_tagged(
    three: DesignSource, finish: Finish, admin: Admin, wire: Wire, ours: MaasCaller, theirs: object, phase: Phase
) -> None:
    admin("POST", "nodes/m0002", theirs)
    admin("POST", "nodes/m0001", {"status": "Deployed", "owner": "slipway", "osystem": "ubuntu"})
    names = NAMES[:2] if phase is not Phase.PREPARE else NAMES[1:]
    client().submit(phase, three, names, "slipway-a-1")
    assert tagged(ours, "slipway-a-1") == [name for name in names if name != "m0002"]
    finish(client(), "slipway-a-1", phase)


def test_machines_are_tagged_once_the_task_has_its_tag_and_before_they_are_acted_on(
    three: DesignSource, wire: Wire, ours: MaasCaller
) -> None:
    client().submit(Phase.PREPARE, three, NAMES, "slipway-a-1")
    asked = [path.rpartition("/")[2] or path for path in wire.changes]
    assert asked[:3] == ["tags/", "op-update_nodes", "op-commission"]
    assert asked.count("op-update_nodes") == 1
    assert tagged(ours, "slipway-a-1") == NAMES


def test_a_deploy_that_waits_for_its_place_is_not_tagged_yet(
    run: Outcome, three: DesignSource, admin: Admin, ours: MaasCaller
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    client(parallel=1).submit(Phase.DEPLOY, three, NAMES, "slipway-a-2")
    assert tagged(ours, "slipway-a-2") == ["m0001"]


@pytest.mark.parametrize("operation", ["op-allocate", "op-update_nodes"])
def test_the_tag_is_taken_from_a_machine_that_another_was_faster_to_take(
    run: Outcome, wire: Wire, admin: Admin, ours: MaasCaller, simulation: MaasSimulation, operation: str
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    bob = MaasCaller(in_process(simulation), BOB)
    system_id = bob.machine("m0001")["system_id"]
    wire.before(operation, lambda: bob.post("machines/", "allocate", system_id=system_id))
    judged, _ = run(Phase.DEPLOY, "slipway-a-2")
    assert (judged.failed, judged.succeeded) == ({"m0001"}, {"m0002", "m0003"})
    assert "owned by bob" in judged.notes["m0001"]
    assert tagged(ours, "slipway-a-2") == ["m0002", "m0003"]


def test_the_tag_is_taken_from_a_machine_that_changes_hands_while_the_task_is_at_it(
    run: Outcome, three: DesignSource, wire: Wire, admin: Admin, ours: MaasCaller
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0001", "phase": "deploy", "behaviour": "stuck"})
    now = [0.0]
    worker = client(clock=lambda: now[0])
    worker.submit(Phase.DEPLOY, three, ["m0001"], "slipway-a-2")
    assert tagged(ours, "slipway-a-2") == ["m0001"]
    admin("POST", "nodes/m0001", {"status": "Deployed", "owner": "bob", "osystem": "ubuntu"})
    now[0] += 120
    task = worker.task(TaskRef("slipway-a-2", design=three))
    assert task.failures == {"m0001"}
    assert "the machine is Deployed, owned by bob by now, and is left alone" in task.messages[0].text
    assert tagged(ours, "slipway-a-2") == []


def test_tags_of_tasks_of_the_whole_site_go_with_the_next_one(three: DesignSource, ours: MaasCaller) -> None:
    for reference, phase in (
        (f"{OLD}-9", Phase.VERIFY_SITE),
        (f"{OLD}-10", Phase.PREPARE_SITE),
        (f"{NEW}-11", Phase.VERIFY_SITE),
    ):
        client().submit(phase, three, None, reference)
        assert tags(ours) == {reference}, "of an earlier step, or an earlier action"
    client().submit(Phase.PREPARE_SITE, three, None, f"{OLD}-12")
    assert tags(ours) == {f"{OLD}-12", f"{NEW}-11"}, "a later action may still be at it"


def test_tags_of_other_sites_and_of_strangers_stay(three: DesignSource, ours: MaasCaller) -> None:
    ours.post("tags/", name="lab")
    ours.post("tags/", name=f"{OLD}-1", comment="mine")
    client(tag="lab").submit(Phase.VERIFY_SITE, three, None, f"{OLD}-2")
    client().submit(Phase.VERIFY_SITE, three, None, f"{NEW}-3")
    assert tags(ours) == {f"{OLD}-1", f"{OLD}-2", f"{NEW}-3"}


def test_the_tag_of_a_task_that_acted_on_no_machine_goes_with_a_later_action(
    three: DesignSource, admin: Admin, ours: MaasCaller
) -> None:
    admin("POST", "nodes/m0001", {"status": "Broken"})
    client().submit(Phase.PREPARE, three, ["m0001"], f"{OLD}-2")
    client().submit(Phase.VERIFY_SITE, three, None, f"{OLD}-3")
    assert tags(ours) == {f"{OLD}-2", f"{OLD}-3"}, "its own action may look at it again"
    client().submit(Phase.VERIFY_SITE, three, None, f"{NEW}-4")
    assert tags(ours) == {f"{NEW}-4"}
