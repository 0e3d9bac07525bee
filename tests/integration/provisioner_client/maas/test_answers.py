"""What MAAS answers to our requests, and what is told of it; and what our requests cost MAAS."""

from __future__ import annotations

import json

import pytest
import requests

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    ProvisionerUnavailable,
)
from provisioner_client.protocol import TaskRef
from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.maas.machines.lifecycle import BMC_TROUBLE
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import NAMES, Admin, Finish, Outcome, acts
from tests.support.maas_clients import Killed, Wire, client

BEFORE = {Phase.PREPARE: (), Phase.DEPLOY: (Phase.PREPARE,), Phase.DESTROY: (Phase.PREPARE, Phase.DEPLOY)}
pytestmark = pytest.mark.usefixtures("wire")


@pytest.mark.parametrize(
    ("phase", "behaviour", "expected"),
    [
        (Phase.PREPARE, "fail", "Failed commissioning: script 50-maas-01-commissioning: Failed (exit status 1)"),
        (Phase.PREPARE, "power", "Failed to query node's BMC: Aborting COMMISSIONING and reverting to NEW. Unable to"),
        (Phase.DEPLOY, "fail", "Failed deployment: Installation failed"),
        (Phase.DEPLOY, "power", "Failed deployment: Could not contact node's BMC: "),
        (Phase.DEPLOY, "no_network", "Node must be configured to use a network"),
        (Phase.DEPLOY, "no_addresses", "No more IPs available"),
        (Phase.DESTROY, "power", "MAAS did not release m0002: Could not contact node's BMC: "),
        (Phase.DESTROY, "fail", "Releasing failed: Failed to power off node"),
    ],
)
def test_why_a_machine_failed_is_told_in_maas_words(
    run: Outcome, admin: Admin, phase: Phase, behaviour: str, expected: str
) -> None:
    for number, earlier in enumerate(BEFORE[phase]):
        run(earlier, f"slipway-b-{number}")
    work = phase.value.removesuffix("_nodes")
    admin("POST", "scripts", {"node": "m0002", "phase": work, "behaviour": behaviour})
    judged, _ = run(phase, "slipway-a-1")
    assert (judged.succeeded, judged.failed) == ({"m0001", "m0003"}, {"m0002"})
    said = f"{judged.notes['m0002']} {judged.texts.get('m0002', '')}"
    assert expected in said
    tree = client().task_tree(TaskRef("slipway-a-1"), "m0002")
    assert any(message.error for one in tree.children for message in one.task.messages)


def test_scripts_that_failed_in_an_earlier_run_are_no_reason_of_this_one(run: Outcome, admin: Admin) -> None:
    """MAAS lists the runs of a machine as far back as it keeps them."""
    admin("POST", "scripts", {"node": "m0002", "phase": "prepare", "behaviour": "fail"})
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0002", "phase": "prepare", "behaviour": "fail", "stage": "testing"})
    judged, _ = run(Phase.PREPARE, "slipway-a-2")
    assert "m0002" not in judged.texts, "it is said once"
    assert judged.notes["m0002"] == "Failed testing: script smartctl-validate: Failed (exit status 1)"


@pytest.mark.parametrize(
    ("erase", "cause", "status"),
    [
        ("none", f"MAAS did not release m0002: {BMC_TROUBLE[:-1]}; the machine is Deployed", "Deployed, half released"),
        (
            "quick",
            "MAAS did not release m0002: Invalid transition: Disk erasing -> Deployed; "
            "the machine is Failed disk erasing",
            "Failed disk erasing",
        ),
    ],
)
def test_a_release_that_the_bmc_failed_is_told_in_the_words_of_the_answer_by_every_process_and_sent_once(
    run: Outcome, admin: Admin, wire: Wire, erase: str, cause: str, status: str
) -> None:
    """No event has the cause; a 409 without Retry-After, which was repeated, would be a second release."""
    for number, earlier in enumerate((Phase.PREPARE, Phase.DEPLOY)):
        run(earlier, f"slipway-b-{number}")
    admin("POST", "scripts", {"node": "m0002", "phase": "destroy", "behaviour": "power"})
    wire.seen.clear()
    judged, _ = run(Phase.DESTROY, "slipway-a-1", erase=erase)
    assert (judged.notes["m0002"], judged.failed) == (cause, {"m0002"})
    assert sum(one.endswith("op-release") for one in wire.changes) == 3
    assert client().evidence(TaskRef("slipway-a-1"), NAMES).messages["m0002"] == cause
    assert client().nodes()["m0002"].status_name == status


def test_a_machine_that_failed_its_tests_before_says_which(run: Outcome, admin: Admin) -> None:
    admin("POST", "scripts", {"node": "m0002", "phase": "prepare", "behaviour": "fail", "stage": "testing"})
    run(Phase.PREPARE, "slipway-a-1")
    judged, _ = run(Phase.PREPARE, "slipway-a-2")
    cause = "MAAS says: script smartctl-validate: Failed (exit status 1)"
    assert judged.notes["m0002"].endswith(cause)
    assert "m0002" not in judged.texts, "it is said once"


def test_scripts_that_never_ran_are_not_named_beside_one_that_failed(run: Outcome, admin: Admin) -> None:
    """MAAS aborts the tests of a machine whose commissioning failed."""
    admin("POST", "scripts", {"node": "m0002", "phase": "prepare", "behaviour": "fail"})
    judged, _ = run(Phase.PREPARE, "slipway-a-1")
    assert judged.notes["m0002"] == "Failed commissioning: script 50-maas-01-commissioning: Failed (exit status 1)"


@pytest.mark.parametrize("before", ["New", "Ready", "Failed commissioning"])
def test_a_machine_whose_bmc_does_not_answer_is_not_prepared_whatever_it_was_before(
    run: Outcome, admin: Admin, before: str
) -> None:
    """MAAS gives it back the status that it had; its scripts, which were all aborted, come behind the cause."""
    admin("POST", "nodes/m0002", {"status": before})
    admin("POST", "scripts", {"node": "m0002", "phase": "prepare", "behaviour": "power"})
    judged, _ = run(Phase.PREPARE, "slipway-a-1")
    assert (judged.succeeded, judged.failed) == ({"m0001", "m0003"}, {"m0002"})
    cause, *scripts = judged.texts["m0002"].splitlines()
    assert cause == judged.notes["m0002"]
    assert cause.startswith("Failed to query node's BMC: Aborting COMMISSIONING and reverting to ")
    assert "Unable to power control the node. Please check power credentials." in cause
    assert scripts
    assert all("Aborted" in one for one in scripts)
    assert client().nodes()["m0002"].status_name == before
    assert acts(admin, "m0002")[0] == 1


def test_a_machine_that_is_ready_as_before_is_not_prepared_though_no_event_says_so(
    run: Outcome, admin: Admin, three: DesignSource, wire: Wire
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0002", "phase": "prepare", "behaviour": "power"})
    wire.kill("after", "op-commission")
    with pytest.raises(Killed):
        client().submit(Phase.PREPARE, three, ["m0002"], "slipway-a-2")
    wire.heal()
    worker = client()
    send, revert = wire.send, b"Aborting COMMISSIONING and reverting"

    def without(request: requests.PreparedRequest) -> requests.Response:
        answer = send(request)
        if revert in answer.content:
            data = json.loads(answer.content)
            data["events"] = [one for one in data["events"] if revert.decode() not in one["description"]]
            data["count"] = len(data["events"])
            answer._content = json.dumps(data).encode()
        return answer

    wire.send = without  # type: ignore[method-assign]
    worker.submit(Phase.PREPARE, three, ["m0002"], "slipway-a-2")
    outcome = judge(Phase.PREPARE, ["m0002"], worker.evidence(TaskRef("slipway-a-2"), ["m0002"]))
    assert outcome.failed == {"m0002"}
    assert "its commissioning was aborted, and it is Ready as it was before" in outcome.notes["m0002"]


@pytest.mark.parametrize(("retry_after", "prepared"), [("0", True), (None, False)])
def test_a_conflict_of_transactions_is_repeated_and_a_wrong_state_is_the_answer(
    run: Outcome, wire: Wire, retry_after: str | None, prepared: bool
) -> None:
    def conflict(_method: str, path: str, _number: int) -> str | Answer:
        if not path.endswith("op-commission"):
            return ""
        wire.heal()
        return Answer(409, b"Conflict.", headers=(() if retry_after is None else (("Retry-After", retry_after),)))

    wire.cut = conflict
    judged, _ = run(Phase.PREPARE, "slipway-a-1", ["m0001"])
    assert judged.succeeded == ({"m0001"} if prepared else set())
    assert prepared or "MAAS refuses to commission m0001: Conflict." in judged.notes["m0001"]


def test_what_slipway_asks_costs_maas_less_than_what_it_does(three: DesignSource, admin: Admin, finish: Finish) -> None:
    """In CPU of the region, with a look every 30 s: MAAS commissions for 5 minutes and deploys for 10."""

    def spent() -> dict[str, float]:
        return {kind: one["cpu_ms"] for kind, one in admin("GET", "cost")["kinds"].items()}

    looked = 0.0
    for number, (phase, looks) in enumerate(((Phase.PREPARE, 10), (Phase.DEPLOY, 20))):
        reference = f"slipway-a-{number}"
        worker = client()
        assert set(worker.nodes(NAMES[:2])) == set(NAMES[:2]), "before it is sent, as the engine does"
        worker.nodes(NAMES)
        worker.submit(phase, three, NAMES, reference, sent_ago=None)
        before = sum(spent().values())
        worker.task(TaskRef(reference, phase=phase, reference=reference, design=three))
        one_look = sum(spent().values()) - before
        finish(worker, reference, phase)
        # It is looked much more often here than in the time that it takes.
        looked += sum(spent().values()) - before - looks * one_look
        worker.evidence(TaskRef(reference), NAMES)
    acts = sum(spent()[kind] for kind in ("commission", "allocate", "deploy"))
    assert sum(spent().values()) - looked - acts <= acts, spent()


def test_while_maas_does_not_answer_no_further_machine_is_tried(
    wire: Wire, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    """Else each machine of a group would fail for a restart of MAAS."""
    tried: list[str] = []

    def restart(_method: str, path: str, _number: int) -> str | Answer:
        tried.extend([path] if path.endswith("op-commission") else [])
        return Answer(503, b"<html><title>starting</title></html>") if tried else ""

    wire.cut = restart
    with pytest.raises(ProvisionerUnavailable):
        client().submit(Phase.PREPARE, three, NAMES, "slipway-a-1")
    assert len(tried) == 1
    wire.heal()
    client().submit(Phase.PREPARE, three, NAMES, "slipway-a-1")
    assert finish(client(), "slipway-a-1", Phase.PREPARE).successes == set(NAMES)
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 1]


def test_a_release_that_may_still_be_on_its_way_is_not_sent_again(
    run: Outcome, wire: Wire, admin: Admin, three: DesignSource, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it was on its way. Late, it would release a machine that was deployed again by then."""
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2", ["m0001"])
    send, late = wire.send, []

    def hold_back(request: requests.PreparedRequest) -> requests.Response:
        if str(request.url).endswith("op-release"):
            late.append(request)
            raise Killed
        return send(request)

    monkeypatch.setattr(wire, "send", hold_back)
    with pytest.raises(Killed):
        client().submit(Phase.DESTROY, three, ["m0001"], "slipway-a-3", sent_ago=None)
    monkeypatch.setattr(wire, "send", send)
    wire.seen.clear()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            send(late[0])

    worker = client(settle=120.0, sleep=sleep)
    worker.submit(Phase.DESTROY, three, ["m0001"], "slipway-a-3", sent_ago=1.0)
    assert finish(worker, "slipway-a-3", Phase.DESTROY).successes == {"m0001"}
    assert sum(one.endswith("op-release") for one in wire.changes) == 1
    assert len(slept) == 3
