"""What a deploy sends, when it is a machine's turn, and what is not deployed."""

from __future__ import annotations

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    SubmissionRefused,
)
from provisioner_client.protocol import TaskRef, TaskState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import NAMES, Admin, Finish, Outcome, acts
from tests.support.maas_clients import Wire, client, design

pytestmark = pytest.mark.usefixtures("wire")


def test_so_many_are_deployed_at_once_and_who_asks_sends_the_rest(
    run: Outcome, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    first, second = client(parallel=2), client(parallel=2)
    first.submit(Phase.DEPLOY, three, NAMES[:2], "slipway-a-2")
    second.submit(Phase.DEPLOY, three, NAMES[2:], "slipway-a-3")
    assert [acts(admin, name)[1] for name in NAMES] == [1, 1, 0], "also across tasks"
    waiting = second.task(TaskRef("slipway-a-3", phase=Phase.DEPLOY, design=three))
    assert (waiting.state, acts(admin, NAMES[2])[1]) == (TaskState.QUEUED, 0)
    assert second.evidence(TaskRef("slipway-a-3"), NAMES[2:]).condition == {}
    admin("POST", "release")
    finish(first, "slipway-a-2", Phase.DEPLOY)
    third = client(parallel=2)
    assert third.task(TaskRef("slipway-a-3", phase=Phase.DEPLOY, design=three)).state is TaskState.RUNNING
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
    while worker.task(TaskRef("slipway-a-2")).state is not TaskState.COMPLETE:
        pass
    assert worker.task(TaskRef("slipway-a-3")).state is TaskState.QUEUED
    assert worker.task(TaskRef("slipway-a-3", design=three)).state is not TaskState.QUEUED
    assert acts(admin, "m0001")[1] == 1


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


def test_user_data_image_and_kernel_are_sent_with_the_deploy(run: Outcome, wire: Wire, finish: Finish) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    data = "{image: ubuntu/jammy, kernel: ga-22.04, ephemeral: true, storage: lvm, user_data: secret}"
    source = design({"m0001": data}, "#cloud-config")
    worker = client()
    worker.submit(Phase.DEPLOY, source, ["m0001"], "slipway-a-2")
    task = finish(worker, "slipway-a-2", Phase.DEPLOY, source)
    assert task.successes == {"m0001"}, task.messages
    bodies = {path.rpartition("/")[2]: form for path, form in wire.forms}
    assert bodies["op-deploy"] == {
        "comment": ["slipway-a-2"],
        "distro_series": ["ubuntu/jammy"],
        "hwe_kernel": ["ga-22.04"],
        "ephemeral_deploy": ["true"],
        "user_data": ["I2Nsb3VkLWNvbmZpZw=="],
    }
    assert bodies["op-set_storage_layout"] == {"storage_layout": ["lvm"]}
    assert bodies["op-allocate"]["agent_name"] == ["slipway-a-2"]


@pytest.mark.parametrize("image", ["site-image", "custom/site-image"])
def test_an_image_is_deployed_by_its_whole_name(run: Outcome, wire: Wire, admin: Admin, image: str) -> None:
    source = design({"m0001": f"{{image: {image}}}"})
    assert client().validate_design(source).valid
    run(Phase.PREPARE, "slipway-a-1", ["m0001"], source)
    judged, _ = run(Phase.DEPLOY, "slipway-a-2", ["m0001"], source)
    assert judged.succeeded == {"m0001"}
    (node,) = [one for one in admin("GET", "nodes") if one["name"] == "m0001"]
    assert (node["osystem"], node["distro_series"]) == ("custom", "site-image")
    task = client()._api.task("slipway-a-2")
    assert task is not None
    assert task.orders["m0001"].image == "custom/site-image"


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
            wire.heal()
            if seconds:
                admin("POST", "nodes/m0003", {"owner": "bob"})
        return ""

    wire.cut = meanwhile
    worker = client(clock=lambda: now[0])
    worker.submit(Phase.DESTROY, three, NAMES, "slipway-a-3")
    finish(client(), "slipway-a-3", Phase.DESTROY)
    assert [acts(admin, name)[2] for name in NAMES] == [1, 1, int(released)]


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


def test_what_nobody_waits_for_any_more_is_not_begun(
    run: Outcome, admin: Admin, three: DesignSource, finish: Finish
) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    admin("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    worker = client(parallel=1, settle=60.0)
    worker.submit(Phase.DEPLOY, three, NAMES, "slipway-a-2", sent_ago=None)
    assert [acts(admin, name)[1] for name in NAMES] == [1, 0, 0]
    later = client(parallel=3, settle=60.0)
    ref = TaskRef("slipway-a-2", design=three)
    assert later.task(ref, left=59.0).messages == (), "something may still be on its way"
    assert [acts(admin, name)[1] for name in NAMES] == [1, 0, 0]
    task = later.task(ref, left=60.0)
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
    task = client(locks=lambda _: Taken()).task(TaskRef("slipway-a-2"), left=60.0)
    assert not any("nothing was done" in message.text for message in task.messages)
