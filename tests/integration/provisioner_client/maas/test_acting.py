"""What is done to machines and what is left alone, and what is told of it: against a simulated MAAS in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    TaskNotFound,
)
from provisioner_client.maas.selection import LabelWords
from provisioner_client.protocol import TaskState
from provisioner_client.simulator.maas.simulation import MaasSimulation
from strategy_lib.outcome import NodeCondition, judge
from strategy_lib.phase import Phase
from strategy_lib.strategy import Label, Selector
from tests.integration.provisioner_client.maas.conftest import BOB, NAMES, Admin, Finish
from tests.support.maas_calls import MaasCaller, in_process
from tests.support.maas_clients import Killed, Wire, body_of, client, design

pytestmark = pytest.mark.usefixtures("wire")
Outcome = Callable[..., tuple[Any, Any]]
BEFORE = {Phase.PREPARE: (), Phase.DEPLOY: (Phase.PREPARE,), Phase.DESTROY: (Phase.PREPARE, Phase.DEPLOY)}


@pytest.fixture
def run(three: DesignSource, finish: Finish) -> Outcome:
    """Carry out a task with a client of its own, and judge what became of its nodes."""

    def carry(
        phase: Phase,
        reference: str,
        names: list[str] | None = None,
        source: DesignSource | None = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        worker = client(**options)
        worker.submit(phase, source or three, names or NAMES, reference)
        task = finish(worker, reference, phase, source)
        evidence = worker.evidence(reference, names or NAMES, phase=phase, reference=reference)
        assert evidence.listed
        assert evidence.over
        return judge(phase, names or NAMES, evidence), task

    return carry


def acts(admin: Admin, name: str) -> tuple[int, int, int]:
    (node,) = [one for one in admin("GET", "nodes") if one["name"] == name]
    return node["prepares"], node["deploys"], node["destroys"]


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
    assert {name: node.can_power_on for name, node in listed.items()} == {"m0001": True, "m0002": True, "m0003": False}
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

    def give_away(method: str, path: str, number: int) -> str:
        if path.endswith("op-power_on"):
            wire.cut = lambda method, path, number: ""
            admin("POST", "nodes/m0002", {"owner": "bob"})
        return ""

    wire.cut = give_away
    assert client().power_on(NAMES[:2]) == {"m0002": "it is bob's in MAAS"}


def test_what_somebody_else_owns_is_left_alone_and_he_is_named(run: Outcome, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-b-1", ["m0002"], key=BOB)
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY, Phase.RELABEL)):
        judged, _ = run(phase, f"slipway-c-{number}", ["m0002"])
        assert judged.failed == {"m0002"}
        assert "owned by bob" in judged.notes["m0002"]
    assert acts(admin, "m0002") == (1, 1, 0)


def test_one_that_is_refused_does_not_stop_the_others(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1", ["m0001", "m0003"])
    judged, task = run(Phase.DEPLOY, "slipway-a-2")
    assert (judged.succeeded, judged.failed) == ({"m0001", "m0003"}, {"m0002"})
    assert task.result == "partial_success"
    assert "m0002 is New in MAAS and cannot be deployed" in judged.notes["m0002"]


def test_a_locked_machine_says_so(run: Outcome, wire: Wire, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    owner = client()
    (machine,) = owner._api.machines_of("hostname", ["m0001"])
    owner._api.act(machine.system_id, "lock", [])
    judged, _ = run(Phase.DESTROY, "slipway-a-3")
    assert (judged.failed, judged.succeeded) == ({"m0001"}, {"m0002", "m0003"})
    assert "locked" in judged.notes["m0001"]
    assert acts(admin, "m0001")[2] == 0


def test_who_aborts_the_tests_after_a_commissioning_has_the_machine_ready(
    simulation: MaasSimulation, three: DesignSource, finish: Finish, admin: Admin
) -> None:
    """MAAS offers that to a person who wants the machine at once, and it is taken for what MAAS says."""
    admin("POST", "scripts", {"node": "m0001", "phase": "prepare", "behaviour": "stuck", "stage": "testing"})
    client().submit(Phase.PREPARE, three, ["m0001"], "slipway-a-1")
    person = MaasCaller(in_process(simulation), BOB)
    person.wait("m0001", "Testing")
    person.act("m0001", "abort", comment="too slow")
    task = finish(client(), "slipway-a-1", Phase.PREPARE)
    assert task.successes == {"m0001"}


def test_a_locked_machine_keeps_no_other_from_its_labels(run: Outcome, wire: Wire, admin: Admin) -> None:
    """MAAS takes annotations of a locked one as little as a release; its tags are no matter of the machine."""
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    owner = client()
    machines = {one.name: one for one in owner._api.machines_of("hostname", ["m0001", "m0002"])}
    owner._api.act(machines["m0001"].system_id, "lock", [])
    labelled = design(dict.fromkeys(machines, "{labels: {role: ctl}}"))
    judged, _ = run(Phase.RELABEL, "slipway-a-3", [*machines], source=labelled)
    assert (judged.failed, judged.succeeded) == ({"m0001"}, {"m0002"})
    assert judged.notes["m0001"] == "m0001 is Deployed and locked in MAAS: unlock it there"


def test_nothing_outside_the_pool_is_shown_or_touched(run: Outcome, wire: Wire, admin: Admin, simulation: Any) -> None:
    foreign = client(pool="elsewhere")
    with pytest.raises(ProvisionerRefused):
        foreign.nodes()
    foreign._api.http.form("/api/2.0/resourcepools/", {"name": "elsewhere"})
    assert foreign.nodes() == {}
    foreign.submit(Phase.PREPARE, design({"m0001": "{}"}), ["m0001"], "slipway-a-1")
    task = foreign.task("slipway-a-1")
    assert task.state is TaskState.COMPLETE
    assert task.failures == {"m0001"}
    assert "no machine m0001 in pool elsewhere" in task.messages[0].text
    assert acts(admin, "m0001") == (0, 0, 0)


def test_every_list_of_machines_is_limited_and_no_filter_is_empty(
    run: Outcome, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    send = wire.send

    def note(request: requests.PreparedRequest) -> requests.Response:
        asked.append(f"{request.method} {request.url}")
        return send(request)

    monkeypatch.setattr(wire, "send", note)
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.RELABEL, Phase.DESTROY)):
        run(phase, f"slipway-a-{number}", default_image="jammy")
    client().nodes()
    lists = [
        parse_qs(urlsplit(one).query, keep_blank_values=True) for one in asked if "GET" in one and "/machines/?" in one
    ]
    assert len(lists) > 5
    for query in lists:
        assert query.get("pool") == ["default"] or (query["status"], query["owner"]) == (["deploying"], ["slipway"])
        assert all(value for values in query.values() for value in values)


def test_so_many_are_deployed_at_once_and_who_asks_sends_the_rest(
    run: Outcome, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    first, second = client(parallel=2), client(parallel=2)
    first.submit(Phase.DEPLOY, three, NAMES[:2], "slipway-a-2")
    second.submit(Phase.DEPLOY, three, NAMES[2:], "slipway-a-3")
    assert [acts(admin, name)[1] for name in NAMES] == [1, 1, 0], "also across tasks"
    waiting = second.task("slipway-a-3", phase=Phase.DEPLOY, design=three)
    assert (waiting.state, acts(admin, NAMES[2])[1]) == (TaskState.QUEUED, 0)
    assert second.evidence("slipway-a-3", NAMES[2:]).condition == {}
    admin("POST", "release")
    finish(first, "slipway-a-2", Phase.DEPLOY)
    third = client(parallel=2)
    assert third.task("slipway-a-3", phase=Phase.DEPLOY, design=three).state is TaskState.RUNNING
    assert acts(admin, NAMES[2])[1] == 1
    admin("POST", "release")
    assert finish(third, "slipway-a-3", Phase.DEPLOY).successes == set(NAMES[2:])


def test_user_data_waits_for_somebody_who_has_the_design(run: Outcome, admin: Admin, three: DesignSource) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0002", "phase": "deploy", "behaviour": "stuck"})
    worker = client(parallel=1)
    worker.submit(Phase.DEPLOY, three, ["m0002"], "slipway-a-2")
    worker.submit(Phase.DEPLOY, three, ["m0001"], "slipway-a-3")
    admin("POST", "release")
    while worker.task("slipway-a-2").state is not TaskState.COMPLETE:
        pass
    assert worker.task("slipway-a-3").state is TaskState.QUEUED
    assert worker.task("slipway-a-3", design=three).state is not TaskState.QUEUED
    assert acts(admin, "m0001")[1] == 1


@pytest.mark.parametrize(
    ("phase", "behaviour", "expected"),
    [
        (Phase.PREPARE, "fail", "1 commissioning script failed: 50-maas-01-commissioning\nscript "),
        (Phase.PREPARE, "power", "New: "),
        (Phase.DEPLOY, "fail", "Failed deployment: Installation failed"),
        (Phase.DEPLOY, "power", "Failed deployment: Node could not be powered on"),
        (Phase.DEPLOY, "no_network", "Node must be configured to use a network"),
        (Phase.DEPLOY, "no_addresses", "No more IPs available"),
        (Phase.DESTROY, "power", "Deployed: "),
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
    tree = client().task_tree("slipway-a-1", "m0002")
    assert any(message.error for one in tree.children for message in one.task.messages)


@pytest.mark.parametrize(("retry_after", "prepared"), [("0", True), (None, False)])
def test_a_conflict_of_transactions_is_repeated_and_a_wrong_state_is_the_answer(
    run: Outcome, wire: Wire, monkeypatch: pytest.MonkeyPatch, retry_after: str | None, prepared: bool
) -> None:
    send = wire.send
    refused: list[str] = []

    def conflict(request: requests.PreparedRequest) -> requests.Response:
        answer = None
        if str(request.url).endswith("op-commission") and not refused:
            refused.append(str(request.url))
            answer = requests.Response()
            answer.status_code, answer.raw = 409, BytesIO(b"Conflict.")
            answer.headers.update({} if retry_after is None else {"Retry-After": retry_after})
        return send(request) if answer is None else answer

    monkeypatch.setattr(wire, "send", conflict)
    judged, _ = run(Phase.PREPARE, "slipway-a-1", ["m0001"])
    assert judged.succeeded == ({"m0001"} if prepared else set())
    assert prepared or "MAAS refuses to commission m0001: Conflict." in judged.notes["m0001"]


def test_a_half_released_machine_is_not_deployed_and_can_be_released_again(run: Outcome, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    admin("POST", "scripts", {"node": "m0001", "phase": "destroy", "behaviour": "power", "attempt": 1})
    run(Phase.DESTROY, "slipway-a-3", ["m0001"])
    node = client().nodes()["m0001"]
    assert (node.condition, node.status_name) == (NodeCondition.FAILED_RELEASE, "Deployed, half released")
    judged, _ = run(Phase.DEPLOY, "slipway-a-4", ["m0001"])
    assert "half released" in judged.notes["m0001"]
    judged, _ = run(Phase.RELEASE, "slipway-a-5", ["m0001"])
    assert judged.succeeded == {"m0001"}


def test_ready_machines_can_be_left_alone(run: Outcome, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1", ["m0001"])
    judged, _ = run(Phase.PREPARE, "slipway-a-2", recommission=False)
    assert judged.succeeded == set(NAMES)
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 1]


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
        worker.task(reference, phase=phase, reference=reference, design=three)
        one_look = sum(spent().values()) - before
        finish(worker, reference, phase)
        # It is looked much more often here than in the time that it takes.
        looked += sum(spent().values()) - before - looks * one_look
        worker.evidence(reference, NAMES)
    acts = sum(spent()[kind] for kind in ("commission", "allocate", "deploy"))
    assert sum(spent().values()) - looked - acts <= acts, spent()


def test_labels_are_tags_of_machines_and_annotations_of_ours(run: Outcome, wire: Wire, finish: Finish) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2", ["m0001"])
    for number, role in enumerate(("control", "compute")):
        source = design({"m0001": f"{{tags: [gpu], labels: {{role: {role}}}}}", "m0002": "{labels: {role: compute}}"})
        worker = client()
        wire.seen.clear()
        worker.submit(Phase.RELABEL, source, ["m0001", "m0002"], f"slipway-b-{number}")
        assert finish(worker, f"slipway-b-{number}", Phase.RELABEL, source).successes == {"m0001", "m0002"}
    assert sum("role__compute/op-update_nodes" in one for one in wire.changes) == 1, "one request per tag"
    machines = {one.name: one for one in client()._api.machines()}
    assert {"gpu", "role__compute"} <= machines["m0001"].tags
    assert "role__control" not in machines["m0001"].tags
    data = client()._api.http.get(f"/api/2.0/machines/{machines['m0001'].system_id}/").data
    assert data["workload_annotations"] == {"role": "compute"}


def test_what_a_person_has_set_up_stays_when_a_machine_is_commissioned_again(
    run: Outcome, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, forms = wire.send, []

    def note(request: requests.PreparedRequest) -> requests.Response:
        if str(request.url).endswith("op-commission"):
            forms.append(parse_qs(body_of(request)))
        return send(request)

    monkeypatch.setattr(wire, "send", note)
    for number in range(2):
        run(Phase.PREPARE, f"slipway-a-{number}", ["m0001"])
    assert forms == [{}, {"skip_networking": ["1"], "skip_storage": ["1"]}]


def test_tags_of_earlier_tasks_are_deleted_when_the_next_is_submitted(run: Outcome) -> None:
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY)):
        run(phase, f"slipway-a-{number}")
    tags = {one["name"] for one in client()._api.http.get("/api/2.0/tags/").data if one["name"].startswith("slipway-")}
    assert tags == {"slipway-a-2"}
    with pytest.raises(TaskNotFound):
        client().task("slipway-a-1")


def test_a_task_whose_tag_was_deleted_is_gone_and_the_machines_still_tell(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    client()._api.delete_tag("slipway-a-1")
    worker = client()
    assert worker.find("slipway-a-1") is None
    with pytest.raises(TaskNotFound):
        worker.task("slipway-a-1")
    evidence = worker.evidence("slipway-a-1", NAMES)
    assert evidence.over
    assert judge(Phase.PREPARE, NAMES, evidence).succeeded == set(NAMES)


def test_no_secret_is_told(
    run: Outcome, wire: Wire, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    comments = [one["comment"] for one in client()._api.http.get("/api/2.0/tags/").data]
    assert not any("cloud-config" in one for one in comments)
    # Told a wrong secret, MAAS answers with the right one.
    with pytest.raises(AuthenticationFailed) as caught:
        client(key="simulator:simulator:canary").check()
    assert "the credentials are refused" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "simulator:" not in str(caught.value)
    assert "&" not in str(caught.value)
    assert "canary" not in caplog.text
    assert "cloud-config" not in caplog.text


def test_nodes_are_selected_by_the_design_and_by_the_tags_of_maas(run: Outcome, finish: Finish) -> None:
    source = design({"m0001": "{labels: {role: control}}", "m0002": "{}"})
    worker = client(words=LabelWords(template="{key}-{value}"))
    worker.submit(Phase.RELABEL, source, ["m0001"], "slipway-a-1")
    finish(worker, "slipway-a-1", Phase.RELABEL, source)
    unlabelled = design({"m0001": "{}", "m0002": "{}", "m0099": "{}"})
    choose = client(words=LabelWords(template="{key}-{value}")).select_nodes
    assert choose(unlabelled, [Selector(node_labels=(Label("role", "control"),))]) == {"m0001"}
    assert choose(unlabelled, [Selector()]) == {"m0001", "m0002"}, "those that MAAS has"


def test_user_data_image_and_kernel_are_sent_with_the_deploy(
    run: Outcome, wire: Wire, monkeypatch: pytest.MonkeyPatch, finish: Finish
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    bodies: dict[str, dict[str, list[str]]] = {}
    send = wire.send

    def note(request: requests.PreparedRequest) -> requests.Response:
        bodies[str(request.url).rpartition("/")[2]] = parse_qs(body_of(request))
        return send(request)

    monkeypatch.setattr(wire, "send", note)
    data = "{image: ubuntu/jammy, kernel: ga-22.04, ephemeral: true, storage: lvm, user_data: secret}"
    source = design({"m0001": data}, "#cloud-config")
    worker = client()
    worker.submit(Phase.DEPLOY, source, ["m0001"], "slipway-a-2")
    task = finish(worker, "slipway-a-2", Phase.DEPLOY, source)
    assert task.successes == {"m0001"}, task.messages
    assert bodies["op-deploy"] == {
        "comment": ["slipway-a-2"],
        "distro_series": ["ubuntu/jammy"],
        "hwe_kernel": ["ga-22.04"],
        "ephemeral_deploy": ["true"],
        "user_data": ["I2Nsb3VkLWNvbmZpZw=="],
    }
    assert bodies["op-set_storage_layout"] == {"storage_layout": ["lvm"]}
    assert bodies["op-allocate"]["agent_name"] == ["slipway-a-2"]


@pytest.mark.parametrize(("seconds", "released"), [(60.0, False), (0.0, True)])
def test_a_machine_is_looked_at_again_if_its_turn_comes_late(
    run: Outcome, wire: Wire, admin: Admin, three: DesignSource, finish: Finish, seconds: float, released: bool
) -> None:
    """To switch off a hundred machines one after the other takes minutes, in which a person frees one for another."""
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    now = [0.0]
    ids = {one.name: one.system_id for one in client()._api.machines()}

    def meanwhile(method: str, path: str, number: int) -> str:
        if path.endswith(f"{ids['m0001']}/op-release") and not now[0]:
            now[0] += seconds or 0.001
            wire.cut = lambda method, path, number: ""
            if seconds:
                admin("POST", "nodes/m0003", {"owner": "bob"})
        return ""

    wire.cut = meanwhile
    worker = client(clock=lambda: now[0])
    worker.submit(Phase.DESTROY, three, NAMES, "slipway-a-3")
    finish(client(), "slipway-a-3", Phase.DESTROY)
    assert [acts(admin, name)[2] for name in NAMES] == [1, 1, int(released)]


def test_while_maas_does_not_answer_no_further_machine_is_tried(
    run: Outcome, wire: Wire, admin: Admin, three: DesignSource, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each machine of a group would fail for a restart of MAAS."""
    send, away, tried = wire.send, [False], []

    def restart(request: requests.PreparedRequest) -> requests.Response:
        if str(request.url).endswith("op-commission"):
            tried.append(request.url)
            away[0] = away[0] or len(tried) == 1
        if not away[0]:
            return send(request)
        answer = requests.Response()
        answer.status_code, answer.raw = 503, BytesIO(b"<html><title>starting</title></html>")
        return answer

    monkeypatch.setattr(wire, "send", restart)
    with pytest.raises(ProvisionerUnavailable):
        client().submit(Phase.PREPARE, three, NAMES, "slipway-a-1")
    assert len(tried) == 1
    away[0] = False
    tried.append("it is back")
    client().submit(Phase.PREPARE, three, NAMES, "slipway-a-1")
    assert finish(client(), "slipway-a-1", Phase.PREPARE).successes == set(NAMES)
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 1]


def test_nothing_is_deployed_of_which_the_design_says_nothing(
    run: Outcome, admin: Admin, wire: Wire, finish: Finish
) -> None:
    """Else it would get whatever image MAAS takes by itself."""
    run(Phase.PREPARE, "slipway-a-1")
    source = design({"m0001": "{}"})
    worker = client()
    worker.submit(Phase.DEPLOY, source, ["m0001", "m0002"], "slipway-a-2")
    task = finish(worker, "slipway-a-2", Phase.DEPLOY, source)
    assert task.successes == {"m0001"}
    assert task.failures == {"m0002"}
    assert "the design has no slipway/Node/v1 m0002" in task.messages[0].text
    with pytest.raises(SubmissionRefused, match=r"not valid.*canary"):
        client().submit(Phase.DEPLOY, design({"m0003": "{image: 7, canary: 1}"}), ["m0003"], "slipway-a-3")
    assert [acts(admin, name)[1] for name in NAMES] == [1, 0, 0]


def test_without_its_user_data_a_machine_is_not_deployed(run: Outcome, admin: Admin, finish: Finish) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0002", "phase": "deploy", "behaviour": "stuck"})
    source = design({"m0001": "{user_data: secret}", "m0002": "{}"}, "#cloud-config")
    worker = client(parallel=1)
    worker.submit(Phase.DEPLOY, source, ["m0002"], "slipway-a-2")
    worker.submit(Phase.DEPLOY, source, ["m0001"], "slipway-a-3")
    admin("POST", "release")
    finish(worker, "slipway-a-2", Phase.DEPLOY, source)
    # Another process reads it, and finds it as no version of Slipway takes it.
    unread = design({"m0001": "{user_data: secret, canary: 1}"}, "#cloud-config")
    task = finish(client(parallel=1), "slipway-a-3", Phase.DEPLOY, unread)
    assert "does not have the user data of m0001 any more" in task.messages[0].text
    assert acts(admin, "m0001")[1] == 0


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


def test_what_nobody_waits_for_any_more_is_not_begun(
    run: Outcome, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    worker = client(parallel=1, settle=60.0)
    worker.submit(Phase.DEPLOY, three, NAMES, "slipway-a-2", sent_ago=None)
    assert [acts(admin, name)[1] for name in NAMES] == [1, 0, 0]
    later = client(parallel=3, settle=60.0)
    assert later.task("slipway-a-2", design=three, left=59.0).messages == (), "something may still be on its way"
    assert [acts(admin, name)[1] for name in NAMES] == [1, 0, 0]
    task = later.task("slipway-a-2", design=three, left=60.0)
    assert task.state is TaskState.RUNNING, "what was begun goes on"
    assert {message.context for message in task.messages if "nothing was done" in message.text} == set(NAMES[1:])
    admin("POST", "release")
    task = finish(client(), "slipway-a-2", Phase.DEPLOY)
    assert task.successes == {"m0001"}
    assert task.failures == {"m0002", "m0003"}
    assert [acts(admin, name)[1] for name in NAMES] == [1, 0, 0]


def test_what_nobody_waits_for_is_not_given_up_while_another_process_deploys(
    run: Outcome, admin: Admin, three: DesignSource
) -> None:
    class Taken:
        def take(self, seconds: float) -> bool:
            return False

        prolong = take

        def give_up(self) -> None:
            """Nobody has it."""

    run(Phase.PREPARE, "slipway-a-1")
    client(parallel=1).submit(Phase.DEPLOY, three, NAMES, "slipway-a-2", sent_ago=None)
    task = client(locks=lambda _: Taken()).task("slipway-a-2", left=60.0)
    assert not any("nothing was done" in message.text for message in task.messages)


def test_scripts_of_a_machine_that_has_left_the_site_are_not_read(run: Outcome, wire: Wire, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0002", "phase": "deploy", "behaviour": "fail"})
    run(Phase.DEPLOY, "slipway-a-2", ["m0002"])
    for said in ({"pool": "others"}, {"pool": "default", "owner": "bob"}):
        admin("POST", "nodes/m0002", said)
        wire.seen.clear()
        evidence = client().evidence("slipway-a-2", ["m0002"])
        assert evidence.reported_failure == {"m0002"}
        assert not any("/results/" in path for _, path in wire.seen), said


def test_the_tree_of_a_task_says_nothing_of_what_others_do_later(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1", ["m0001"])
    (machine,) = client()._api.machines_of("hostname", ["m0001"])
    client(key=BOB)._api.allocate(machine.system_id, "theirs")
    (tree,) = client().task_tree("slipway-a-1").children
    said = [message.text for message in tree.task.messages]
    assert any("Ready" in text for text in said)
    assert not any("bob" in text for text in said)


def test_a_key_that_is_revoked_in_the_middle_stops_all_and_with_it_back_all_goes_on(
    run: Outcome, wire: Wire, admin: Admin, three: DesignSource, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, revoked = wire.send, [False]

    def revoke(request: requests.PreparedRequest) -> requests.Response:
        if revoked[0]:
            answer = requests.Response()
            answer.status_code, answer.raw = 401, BytesIO(b"Invalid API key: simulator")
            return answer
        revoked[0] = str(request.url).endswith("op-commission")
        return send(request)

    monkeypatch.setattr(wire, "send", revoke)
    worker = client()
    with pytest.raises(AuthenticationFailed):
        worker.submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=None)
    for ask in (worker.task, client().find):
        with pytest.raises(AuthenticationFailed):
            ask("slipway-a-1")
    monkeypatch.setattr(wire, "send", send)
    client().submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=0.0)
    assert finish(client(), "slipway-a-1", Phase.PREPARE).successes == set(NAMES)
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 1]


def test_a_limiting_tag_that_is_deleted_in_the_middle_is_named_and_nothing_is_touched(
    run: Outcome, admin: Admin, wire: Wire, three: DesignSource, finish: Finish
) -> None:
    api = client()._api
    api.make_tag("lab", "")
    api.tag_machines("lab", add=[one.system_id for one in api.machines()])
    gone: list[str] = []

    def delete(method: str, path: str, number: int) -> str:
        if path.endswith("op-update_nodes") and not gone:
            gone.append("lab")
            api.delete_tag("lab")
        return ""

    wire.cut = delete
    with pytest.raises(ProvisionerRefused, match="MAAS has no pool default and tag lab"):
        client(tag="lab").submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=None)
    assert [acts(admin, name)[0] for name in NAMES] == [0, 0, 0]
    api.make_tag("lab", "")
    api.tag_machines("lab", add=[one.system_id for one in api.machines()][:2])
    client(tag="lab").submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=0.0)
    task = finish(client(tag="lab"), "slipway-a-1", Phase.PREPARE)
    assert task.successes == set(NAMES[:2])
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 0], "one is not in the site's part any more"


def test_a_relabelling_leaves_the_tag_that_limits_the_site(run: Outcome, finish: Finish, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    api, task = client()._api, "slipway-01HZX7Q3N5V8W9Y0A1B2C3D4E5-7"
    ids = [one.system_id for one in api.machines()]
    for tag in ("site__north", task):
        api.make_tag(tag, "")
        api.tag_machines(tag, add=ids)
    worker = client(tag="site__north", words=LabelWords(template="{key}-{value}"))
    source = design({"m0001": "{labels: {site_: south, slipway: x}}"})
    worker.submit(Phase.RELABEL, source, ["m0001"], "slipway-a-2")
    finish(worker, "slipway-a-2", Phase.RELABEL, source)
    worker = client(tag="site__north")
    source = design({"m0001": "{labels: {site: south}}"})
    worker.submit(Phase.RELABEL, source, ["m0001"], "slipway-a-3")
    assert finish(worker, "slipway-a-3", Phase.RELABEL, source).successes == {"m0001"}
    (machine,) = worker._api.machines_of("hostname", ["m0001"])
    assert {"site__north", "site__south", task} <= machine.tags


def test_a_label_that_maas_does_not_take_fails_its_machine_alone(
    run: Outcome, wire: Wire, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    send, sent = wire.send, []
    ids = {one.name: one.system_id for one in client()._api.machines()}

    def refuse(request: requests.PreparedRequest) -> requests.Response:
        path = str(request.url)
        answer = requests.Response()
        answer.status_code, answer.raw = 403, BytesIO(b"no")
        if path.endswith("op-set_workload_annotations"):
            sent.append(parse_qs(body_of(request)))
            return answer if ids["m0002"] in path else send(request)
        return answer if path.endswith("tags/bad/op-update_nodes") else send(request)

    monkeypatch.setattr(wire, "send", refuse)
    labels = "{labels: {role: compute, op: release}}"
    source = design({"m0001": labels, "m0002": labels, "m0003": "{tags: [bad]}"})
    worker = client()
    worker.submit(Phase.RELABEL, source, NAMES, "slipway-a-3")
    task = finish(worker, "slipway-a-3", Phase.RELABEL, source)
    assert task.successes == {"m0001"}
    assert {message.context: message.text for message in task.messages} == {
        "m0002": "MAAS refuses to relabel m0002: no",
        "m0003": "MAAS refuses the tag bad: no",
    }
    assert sent == [{"role": ["compute"]}] * 2, "`op` would be an operation"


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
    task = worker.task("slipway-a-3")
    assert task.state is TaskState.COMPLETE
    assert task.successes == {"m0001"}
    assert task.failures == {"m0002"}
    for one in (worker, client()):
        evidence = one.evidence("slipway-a-3", NAMES[:2])
        assert evidence.over, "other processes know it, too"
        assert judge(Phase.DESTROY, NAMES[:2], evidence).succeeded == {"m0001"}


def test_a_machine_that_is_deleted_or_moved_while_it_is_deployed_has_failed_for_all_processes(
    run: Outcome, admin: Admin, three: DesignSource
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    now = [0.0]
    worker = client(clock=lambda: now[0])
    worker.submit(Phase.DEPLOY, three, NAMES[:2], "slipway-a-2")
    (machine,) = worker._api.machines_of("hostname", ["m0001"])
    worker._api.http.form(f"/api/2.0/machines/{machine.system_id}/", method="DELETE")
    admin("POST", "nodes/m0002", {"pool": "others"})
    now[0] += 61.0
    assert worker.task("slipway-a-2").state is TaskState.COMPLETE
    assert client().task("slipway-a-2").state is TaskState.COMPLETE
    judged = judge(Phase.DEPLOY, NAMES[:2], client().evidence("slipway-a-2", NAMES[:2]))
    assert judged.failed == set(NAMES[:2])
    assert set(judged.notes.values()) == {"the machine is no longer in the site's part of MAAS"}
