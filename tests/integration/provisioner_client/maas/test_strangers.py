"""What is not the site's, or not ours: nothing of it is shown or touched, and its owner is named."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerRefused,
)
from provisioner_client.protocol import TaskRef, TaskState
from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.maas.simulation import MaasSimulation
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import BOB, NAMES, Admin, Finish, Outcome, acts
from tests.support.maas_calls import MaasCaller, in_process
from tests.support.maas_clients import Wire, client, design

pytestmark = pytest.mark.usefixtures("wire")


def test_what_somebody_else_owns_is_left_alone_and_he_is_named(run: Outcome, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-b-1", ["m0002"], key=BOB)
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY, Phase.RELABEL)):
        judged, _ = run(phase, f"slipway-c-{number}", ["m0002"])
        assert judged.failed == {"m0002"}
        assert "owned by bob" in judged.notes["m0002"]
    assert acts(admin, "m0002") == (1, 1, 0)


def test_what_a_stranger_redeployed_is_no_success_and_does_not_serve(
    run: Outcome, admin: Admin, simulation: MaasSimulation, three: DesignSource
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    ours, bob = MaasCaller(in_process(simulation)), MaasCaller(in_process(simulation), BOB)
    ours.act("m0001", "release")
    ours.wait("m0001", "Ready")
    bob.act("m0001", "deploy")
    bob.wait("m0001", "Deployed")
    admin("POST", "nodes/m0001", {"power_state": "off"})
    node = client().nodes()["m0001"]
    assert (node.condition, node.status_name) == (NodeCondition.OTHER, "Deployed, owned by bob")
    assert not node.can_power_on
    outcome = judge(Phase.DEPLOY, NAMES, client().evidence(TaskRef("slipway-a-2"), NAMES))
    assert outcome.failed == {"m0001"}
    assert outcome.succeeded == {"m0002", "m0003"}
    assert outcome.notes["m0001"] == "m0001 is Deployed, owned by bob by now, and is left alone"
    client()._api.delete_tag("slipway-a-2")
    outcome = judge(Phase.DEPLOY, NAMES, client().evidence(TaskRef("slipway-a-2"), NAMES))
    assert outcome.unknown == {"m0001"}
    assert outcome.succeeded == {"m0002", "m0003"}


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


def test_nothing_outside_the_pool_is_shown_or_touched(run: Outcome, wire: Wire, admin: Admin, simulation: Any) -> None:
    foreign = client(pool="elsewhere")
    with pytest.raises(ProvisionerRefused):
        foreign.nodes()
    foreign._api.http.form("/api/2.0/resourcepools/", {"name": "elsewhere"})
    assert foreign.nodes() == {}
    foreign.submit(Phase.PREPARE, design({"m0001": "{}"}), ["m0001"], "slipway-a-1")
    task = foreign.task(TaskRef("slipway-a-1"))
    assert task.state is TaskState.COMPLETE
    assert task.failures == {"m0001"}
    assert "no machine m0001 in pool elsewhere" in task.messages[0].text
    assert acts(admin, "m0001") == (0, 0, 0)


def test_every_list_of_machines_is_limited_and_no_filter_is_empty(run: Outcome, wire: Wire) -> None:
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.RELABEL, Phase.DESTROY)):
        run(phase, f"slipway-a-{number}", image="jammy")
    client().nodes()
    lists = [query for path, query in wire.forms if path.endswith("/machines/")]
    assert len(lists) > 5
    for query in lists:
        assert query.get("pool") == ["default"] or (query["status"], query["owner"]) == (["deploying"], ["slipway"])
        assert all(value for values in query.values() for value in values)


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
        client(key="demo-consumer:demo-token:canary").check()
    assert "the credentials are refused" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "demo-secret" not in str(caught.value)
    assert "&" not in str(caught.value)
    assert "canary" not in caplog.text
    assert "cloud-config" not in caplog.text


def test_scripts_of_a_machine_that_has_left_the_site_are_not_read(run: Outcome, wire: Wire, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "m0002", "phase": "deploy", "behaviour": "fail"})
    run(Phase.DEPLOY, "slipway-a-2", ["m0002"])
    for said in ({"pool": "others"}, {"pool": "default", "owner": "bob"}):
        admin("POST", "nodes/m0002", said)
        wire.seen.clear()
        evidence = client().evidence(TaskRef("slipway-a-2"), ["m0002"])
        assert evidence.reported_failure == {"m0002"}
        assert not any("/results/" in path for _, path in wire.seen), said


def test_the_tree_of_a_task_says_nothing_of_what_others_do_later(run: Outcome) -> None:
    run(Phase.PREPARE, "slipway-a-1", ["m0001"])
    (machine,) = client()._api.machines_of("hostname", ["m0001"])
    client(key=BOB)._api.allocate(machine.system_id, "theirs")
    (tree,) = client().task_tree(TaskRef("slipway-a-1")).children
    said = [message.text for message in tree.task.messages]
    assert any("Ready" in text for text in said)
    assert not any("bob" in text for text in said)


def test_a_key_that_is_revoked_in_the_middle_stops_all_and_with_it_back_all_goes_on(
    run: Outcome, wire: Wire, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    revoked = [False]

    def revoke(_method: str, path: str, _number: int) -> str | Answer:
        if revoked[0]:
            return Answer(401, b"Invalid API key: simulator")
        revoked[0] = path.endswith("op-commission")
        return ""

    wire.cut = revoke
    worker = client()
    with pytest.raises(AuthenticationFailed):
        worker.submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=None)
    with pytest.raises(AuthenticationFailed):
        worker.task(TaskRef("slipway-a-1"))
    with pytest.raises(AuthenticationFailed):
        client().find("slipway-a-1")
    wire.heal()
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
        if gone == [] and path.endswith("/tags/"):
            gone.append("lab")
            api.delete_tag("lab")
        return ""

    wire.cut = delete
    with pytest.raises(ProvisionerRefused, match="MAAS has no tag lab: correct"):
        client(tag="lab").submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=None)
    assert [acts(admin, name)[0] for name in NAMES] == [0, 0, 0]
    api.make_tag("lab", "")
    api.tag_machines("lab", add=[one.system_id for one in api.machines()][:2])
    client(tag="lab").submit(Phase.PREPARE, three, NAMES, "slipway-a-1", sent_ago=0.0)
    task = finish(client(tag="lab"), "slipway-a-1", Phase.PREPARE)
    assert task.successes == set(NAMES[:2])
    assert [acts(admin, name)[0] for name in NAMES] == [1, 1, 0], "one is not in the site's part any more"


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
    assert worker.task(TaskRef("slipway-a-2")).state is TaskState.COMPLETE
    assert client().task(TaskRef("slipway-a-2")).state is TaskState.COMPLETE
    judged = judge(Phase.DEPLOY, NAMES[:2], client().evidence(TaskRef("slipway-a-2"), NAMES[:2]))
    assert judged.failed == set(NAMES[:2])
    assert set(judged.notes.values()) == {"the machine is no longer in the site's part of MAAS"}
