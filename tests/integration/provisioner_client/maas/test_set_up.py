"""A node whose design says how its disks and interfaces are: set up while it is Ready, and looked at again."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.simulator.maas.simulation import MaasSimulation
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import BOB, NAMES, Admin, Finish, Outcome, acts
from tests.support.maas_calls import MaasCaller, in_process
from tests.support.maas_clients import Killed, Wire, client, design

pytestmark = pytest.mark.usefixtures("wire")

BOTH = "{storage: lvm, network: commissioned}"


@pytest.fixture
def laid_out(run: Outcome) -> DesignSource:
    """A design of three nodes with disks and interfaces of their own, which are prepared."""
    source = design(dict.fromkeys(NAMES, BOTH))
    run(Phase.PREPARE, "slipway-a-1", source=source)
    return source


def one(admin: Admin, name: str = "m0001") -> dict[str, object]:
    return next(dict(node) for node in admin("GET", "nodes") if node["name"] == name)


def test_a_node_with_storage_and_network_is_deployed(
    laid_out: DesignSource, run: Outcome, wire: Wire, admin: Admin
) -> None:
    admin("POST", "nodes/m0001", {"link_mode": "dhcp"})
    wire.seen.clear()
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", source=laid_out)
    assert judged.succeeded == set(NAMES), judged
    seen = one(admin)
    assert (seen["status"], seen["storage_layout"], seen["link_mode"]) == ("Deployed", "lvm", "auto")
    asked = [path.rpartition("op-")[2] for path in wire.changes if "m0001" in path or "machines/" in path]
    assert asked[:4] == ["restore_networking_configuration", "set_storage_layout", "allocate", "deploy"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"storage_layout": "bcache"}, "storage (lvm)", id="its storage"),
        pytest.param({"link_mode": "dhcp"}, "network (commissioned)", id="its network"),
    ],
)
def test_a_machine_that_was_changed_before_it_was_ours_is_released_and_not_deployed(
    laid_out: DesignSource, run: Outcome, wire: Wire, admin: Admin, change: dict[str, str], named: str
) -> None:
    wire.before("op-allocate", lambda: admin("POST", "nodes/m0001", change))
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", source=laid_out)
    assert set(judged.failed) == {"m0001"}
    assert judged.succeeded == {"m0002", "m0003"}
    said = judged.notes["m0001"]
    assert f"somebody else has changed in MAAS what Slipway had set up of m0001: {named}" in said
    assert "m0001 was released again, and nothing was deployed" in said
    assert (one(admin)["status"], one(admin)["owner"], acts(admin, "m0001")[1]) == ("Ready", None, 0)


@pytest.mark.parametrize("operation", ["op-allocate", "op-set_storage_layout"])
def test_a_machine_that_another_has_allocated_in_between_is_left_alone_and_it_is_said_what_was_set(
    laid_out: DesignSource, run: Outcome, wire: Wire, admin: Admin, simulation: MaasSimulation, operation: str
) -> None:
    bob = MaasCaller(in_process(simulation), BOB)
    system_id = bob.machine("m0001")["system_id"]
    wire.before(operation, lambda: bob.post("machines/", "allocate", system_id=system_id))
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", ["m0001"], laid_out)
    assert judged.failed == {"m0001"}
    said = judged.notes["m0001"]
    assert "m0001 is owned by bob in MAAS (Allocated), and is left alone" in said
    assert "Slipway had set up its network (commissioned)" in said
    assert not any("op-deploy" in path or "op-release" in path for path in wire.changes)
    assert (one(admin)["status"], one(admin)["owner"]) == ("Allocated", "bob")


def test_a_process_that_goes_on_compares_with_what_the_first_one_set(
    laid_out: DesignSource, wire: Wire, admin: Admin, finish: Finish
) -> None:
    wire.kill("before", "op-deploy")
    for name, reference in (("m0001", "slipway-a-2"), ("m0002", "slipway-a-3")):
        with pytest.raises(Killed):
            client().submit(Phase.DEPLOY, laid_out, [name], reference)
    wire.heal()
    admin("POST", "nodes/m0002", {"storage_layout": "flat"})
    assert finish(client(), "slipway-a-2", Phase.DEPLOY, laid_out).successes == {"m0001"}
    task = finish(client(), "slipway-a-3", Phase.DEPLOY, laid_out)
    assert task.failures == {"m0002"}
    assert "storage (lvm)" in task.messages[0].text
    assert one(admin, "m0002")["status"] == "Ready"


def test_what_was_allocated_for_this_task_is_released_if_nobody_knows_any_more_how_it_was_set_up(
    laid_out: DesignSource, wire: Wire, admin: Admin, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.kill("before", "op-deploy")
    with pytest.raises(Killed):
        client().submit(Phase.DEPLOY, laid_out, ["m0001"], "slipway-a-2")
    wire.heal()
    monkeypatch.setattr("provisioner_client.maas.tasks.progress.find_set_up", lambda comment: None)
    task = finish(client(), "slipway-a-2", Phase.DEPLOY, laid_out)
    assert task.failures == {"m0001"}
    said = task.messages[0].text
    assert "how m0001 was set up does not stand in the comment of its allocation" in said
    assert "m0001 was released again, and nothing was deployed" in said
    assert (one(admin)["status"], one(admin)["owner"], acts(admin, "m0001")[1]) == ("Ready", None, 0)


@pytest.mark.parametrize("before", ["op-set_storage_layout", "op-allocate"])
def test_a_machine_that_cannot_be_read_after_its_set_up_fails_alone(
    laid_out: DesignSource, run: Outcome, wire: Wire, admin: Admin, simulation: MaasSimulation, before: str
) -> None:
    machine = f"/machines/{MaasCaller(in_process(simulation)).machine('m0001')['system_id']}/"

    def cut(method: str, path: str, number: int) -> str:
        earlier = next((path for method, path in reversed(wire.seen) if method == "POST"), "")
        return "nonsense" if method == "GET" and path.endswith(machine) and earlier.endswith(before) else ""

    wire.cut = cut
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", source=laid_out)
    assert judged.failed == {"m0001"}
    assert judged.succeeded == {"m0002", "m0003"}
    assert "how m0001 is set up cannot be read" in judged.notes["m0001"]
    assert ("m0001 was released again" in judged.notes["m0001"]) is (before == "op-allocate")
    assert (one(admin)["status"], one(admin)["owner"], acts(admin, "m0001")[1]) == ("Ready", None, 0)


def test_what_was_allocated_for_no_task_cannot_be_set_up_and_stays_as_it_is(
    laid_out: DesignSource, run: Outcome, wire: Wire, admin: Admin, simulation: MaasSimulation
) -> None:
    ours = MaasCaller(in_process(simulation))
    ours.post("machines/", "allocate", system_id=ours.machine("m0001")["system_id"])
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", ["m0001"], laid_out)
    assert "release it first" in judged.notes["m0001"]
    assert (one(admin)["status"], acts(admin, "m0001")) == ("Allocated", (1, 0, 0))


def test_a_deploy_that_maas_refuses_before_anything_began_is_released_at_once(run: Outcome, admin: Admin) -> None:
    source = design({"m0001": "{storage: blank}", "m0002": "{}"})
    run(Phase.PREPARE, "slipway-a-1", ["m0001", "m0002"], source)
    admin("POST", "scripts", {"node": "m0002", "phase": "deploy", "behaviour": "no_network"})
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", ["m0001", "m0002"], source)
    assert judged.failed == {"m0001", "m0002"}
    for name, said in (("m0001", "Mount the root '/' filesystem"), ("m0002", "configured to use a network")):
        assert said in judged.notes[name]
        assert f"{name} was released again, and nothing was deployed" in judged.notes[name]
        assert (one(admin, name)["status"], one(admin, name)["owner"]) == ("Ready", None)


def test_a_machine_that_cannot_be_released_then_is_named(run: Outcome, wire: Wire, admin: Admin) -> None:
    source = design({"m0001": "{storage: blank}"})
    run(Phase.PREPARE, "slipway-a-1", ["m0001"], source)
    admin("POST", "scripts", {"node": "m0001", "phase": "destroy", "behaviour": "power"})
    admin("POST", "nodes/m0001", {"power_state": "on"})
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", ["m0001"], source)
    assert "m0001 may be allocated for nothing" in judged.notes["m0001"]
    assert "release it" in judged.notes["m0001"]
    assert "op-release" not in judged.notes["m0001"], "no request is told"


def test_the_first_example_of_the_document_is_deployed_as_it_is_written(
    simulation: MaasSimulation, admin: Admin, finish: Finish
) -> None:
    page = (Path(__file__).parents[4] / "docs" / "machines.md").read_text()
    example = page.partition("```yaml\n")[2].partition("```")[0]
    ours = MaasCaller(in_process(simulation))
    nodes = ["r1-compute-01", "r1-compute-02"]
    for before, name in zip(NAMES, nodes, strict=False):
        ours.call("PUT", f"machines/{ours.machine(before)['system_id']}/", hostname=name)
    source = DesignSource("design:of the document", lambda: example)
    worker = client()
    assert worker.validate_design(source).valid, worker.validate_design(source).messages
    worker.submit(Phase.PREPARE, source, nodes, "slipway-a-1")
    finish(worker, "slipway-a-1", Phase.PREPARE, source)
    worker.submit(Phase.DEPLOY, source, nodes, "slipway-a-2")
    task = finish(worker, "slipway-a-2", Phase.DEPLOY, source)
    assert task.successes == set(nodes), task.messages
    assert one(admin, nodes[0])["storage_layout"] == "lvm"
