"""A real Ironic: what is late, busy or locked is waited for, and never asked for beside itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from provisioner_client.errors import SubmissionRefused
from provisioner_client.protocol import TaskRef, TaskState
from strategy_lib.phase import Phase
from tests.support.ironic_sites import IronicTestSite, finish
from tests.support.ironic_way import IronicWay

pytestmark = pytest.mark.endurance

PUT = {"method": "PUT", "path": "/v1/nodes/*/states/provision"}


@pytest.fixture
def way(site: IronicTestSite) -> Iterator[IronicWay]:
    """The way to Ironic, with faults."""
    found = IronicWay(site.ironic.url)
    yield found
    found.stop()


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "reset_after"},
        {"kind": "status", "status": 503, "shape": "c"},
        {"kind": "html", "status": 200},
    ],
    ids=["reset", "a proxy's 503", "a proxy's page"],
)
def test_rule_12_a_deploy_that_takes_effect_late_is_not_done_again_when_it_has_failed(
    site: IronicTestSite, way: IronicWay, fault: dict[str, Any]
) -> None:
    """Ironic takes `active` on `deploy failed`: sent again at once it would fail, and the late one deploy again."""
    name = site.name
    site.ironic.play({"node": name, "phase": "deploy", "behaviour": "fail"})
    site.make_available([name])
    way.fault({**PUT, **fault, "effect_after": 2.0})
    client = site.client(way.url, settle=4.0)
    client.submit(Phase.DEPLOY, site.design([name]), [name], "slipway-a-1")
    assert finish(client, "slipway-a-1").failures == {name}
    time.sleep(2.5)
    assert site.events(name)["deployment_start"] == 1


def test_what_is_never_taken_is_sent_twice_and_then_given_up(site: IronicTestSite, way: IronicWay) -> None:
    name = site.name
    site.make_available([name])
    way.fault({**PUT, "kind": "reset_before", "count": 100})
    client = site.client(way.url, settle=0.5)
    client.submit(Phase.DEPLOY, site.design([name]), [name], "slipway-a-1")
    assert finish(client, "slipway-a-1").failures == {name}
    assert len([one for one in way.journal if one.method == "PUT"]) == 2
    node = site.node(name)
    assert (node["provision_state"], node["instance_uuid"]) == ("available", None), "it is free again"
    told = client.evidence(TaskRef("slipway-a-1", Phase.DEPLOY), [name]).messages[name]
    assert told == f"Ironic did not deploy {name}: its answer was lost on the way"


def test_a_conductor_that_is_busy_is_a_queue(site: IronicTestSite, way: IronicWay) -> None:
    name = site.name
    site.make_available([name])
    for status in (503, 409):
        way.fault({**PUT, "kind": "status", "status": status, "shape": "a", "count": 3})
    client = site.client(way.url, settle=60.0)
    client.submit(Phase.DEPLOY, site.design([name]), [name], "slipway-a-1")
    assert finish(client, "slipway-a-1").successes == {name}
    assert site.events(name)["deployment_start"] == 1


@pytest.mark.parametrize("kind", ["reset_after", "reset_before"])
def test_a_node_is_enrolled_once_though_the_answer_is_lost(site: IronicTestSite, way: IronicWay, kind: str) -> None:
    name = site.name
    way.fault({"method": "POST", "path": "/v1/nodes", "kind": kind})
    client = site.client(way.url)
    client.submit(Phase.PREPARE, site.design([name], enroll=True), [name], "slipway-a-1")
    assert finish(client, "slipway-a-1").successes == {name}
    assert site.events(name)["automated_cleaning_start"] == 1
    assert site.node(name)["resource_class"] == site.name


def test_no_more_than_was_said_are_on_their_way_at_once(site: IronicTestSite) -> None:
    names = [f"{site.name}-{number}" for number in range(5)]
    site.make_available(names)
    site.ironic.play({"node": f"{site.name}-*", "phase": "deploy", "behaviour": "stuck"})
    client, reference = site.client(parallel=2), "slipway-a-1"
    client.submit(Phase.DEPLOY, site.design(names), names, reference)
    for _ in range(3):
        assert client.task(TaskRef(reference)).state is TaskState.RUNNING
    states = [site.node(name)["provision_state"] for name in names]
    assert (states.count("deploying"), states.count("available")) == (2, 3)
    waits = {*client.evidence(TaskRef(reference, Phase.DEPLOY), names).messages.values()}
    limit = "at most 2 nodes are on their way at once"
    assert waits == {f"{name} waits for its turn: {limit}" for name in names[2:]}
    site.ironic.play()
    assert finish(client, reference).successes == set(names)


def test_what_nobody_waits_for_any_more_is_given_up(site: IronicTestSite) -> None:
    names = [f"{site.name}-{number}" for number in range(3)]
    site.ironic.play({"node": names[0], "phase": "deploy", "behaviour": "stuck"})
    site.make_available(names)
    client, reference = site.client(parallel=1, settle=0.2), "slipway-a-1"
    client.submit(Phase.DEPLOY, site.design(names), names, reference)
    assert client.task(TaskRef(reference), left=10.0).state is TaskState.RUNNING
    site.ironic.play()
    task = finish(client, reference)
    assert (task.successes, task.failures) == (frozenset(names[:1]), frozenset(names[1:]))
    assert all(site.events(name)["deployment_start"] == 0 for name in names[1:])
    assert all("its turn had not come" in message.text for message in task.messages if message.context != names[0])


@pytest.fixture
def stranger() -> str:
    """The claim of somebody else; Ironic takes each on one node."""
    return str(uuid.uuid4())


def test_a_strangers_node_is_left_alone(site: IronicTestSite, stranger: str) -> None:
    mine, theirs = f"{site.name}-mine", f"{site.name}-theirs"
    site.make_available([mine, theirs])
    assert site.patch(theirs, instance_uuid=stranger).status_code == 200
    before = site.node(theirs)
    for number, phase in enumerate((Phase.PREPARE, Phase.DEPLOY, Phase.RELABEL, Phase.DESTROY)):
        client, reference = site.client(), f"slipway-a-{number}"
        client.submit(phase, site.design([mine, theirs]), [mine, theirs], reference)
        assert finish(client, reference).successes == {mine}
        evidence = client.evidence(TaskRef(reference, phase), [mine, theirs])
        assert evidence.reported_failure == {theirs}
        assert f"owned by instance {stranger} in Ironic, and is left alone" in evidence.messages[theirs]
        with pytest.raises(SubmissionRefused, match="is left alone"):
            client.submit(phase, site.design([theirs]), [theirs], f"{reference}0")
    assert site.node(theirs) == before


def test_nothing_is_written_on_a_node_that_a_stranger_takes_before_its_turn(
    site: IronicTestSite, stranger: str
) -> None:
    names = [f"{site.name}-{number}" for number in range(2)]
    site.ironic.play({"node": names[0], "phase": "deploy", "behaviour": "stuck"})
    site.make_available(names)
    client = site.client(parallel=1)
    client.submit(Phase.DEPLOY, site.design(names), names, "slipway-a-1")
    site.patch(names[1], instance_uuid=stranger)
    before = site.node(names[1])
    client.task(TaskRef("slipway-a-1"))
    site.ironic.play()
    assert finish(client, "slipway-a-1").failures == {names[1]}
    assert site.node(names[1]) == before


@pytest.mark.parametrize("moment", [1, 2], ids=["before the claim", "before the deploy"])
def test_a_stranger_who_is_faster_keeps_the_node(site: IronicTestSite, stranger: str, moment: int) -> None:
    """He takes it between two of our requests: before our claim it is his, behind it he is refused."""
    name, answers = site.name, []
    site.make_available([name])

    calls: list[int] = []

    def takes_it() -> None:
        calls.append(1)
        if len(calls) == moment:
            answers.append(site.patch(name, instance_uuid=stranger).status_code)

    client = site.client()
    if moment == 1:
        with pytest.raises(SubmissionRefused, match="left alone"):
            client.submit(Phase.DEPLOY, site.design([name]), [name], "slipway-a-1", guard=takes_it)
        assert (answers, site.node(name)["instance_uuid"]) == ([200], stranger)
        assert site.events(name)["deployment_start"] == 0
        return
    client.submit(Phase.DEPLOY, site.design([name]), [name], "slipway-a-1", guard=takes_it)
    assert answers == [409]
    assert finish(client, "slipway-a-1").successes == {name}


def test_a_node_that_a_person_sets_aside_at_the_last_moment_is_not_released(site: IronicTestSite) -> None:
    """Ironic would release it in maintenance, too."""
    name = site.name
    site.make_available([name])
    client, design = site.client(), site.design([name])
    client.submit(Phase.DEPLOY, design, [name], "slipway-a-1")
    finish(client, "slipway-a-1")
    aside = {"reason": "its data is needed"}
    client.submit(
        Phase.DESTROY,
        design,
        [name],
        "slipway-a-2",
        guard=lambda: site.call("PUT", f"nodes/{name}/maintenance", aside).raise_for_status(),
    )
    assert finish(client, "slipway-a-2").failures == {name}
    assert site.node(name)["provision_state"] == "active"


def test_a_lost_request_is_waited_for_though_a_person_sets_the_node_aside(site: IronicTestSite, way: IronicWay) -> None:
    """Ironic takes it later: it would be a failure, and released all the same."""
    name = site.name
    site.make_available([name])
    client, design = site.client(way.url, settle=6.0), site.design([name])
    client.submit(Phase.DEPLOY, design, [name], "slipway-a-1")
    finish(client, "slipway-a-1")
    way.fault({**PUT, "kind": "reset_after", "effect_after": 1.5})
    client.submit(Phase.DESTROY, design, [name], "slipway-a-2")
    site.call("PUT", f"nodes/{name}/maintenance", {"reason": "its fan"})
    assert client.task(TaskRef("slipway-a-2")).state is TaskState.RUNNING
    assert finish(client, "slipway-a-2").successes == {name}


def test_a_machine_that_changed_hands_is_not_ours_any_more(site: IronicTestSite, stranger: str) -> None:
    name = site.name
    site.make_available([name])
    client = site.client()
    client.submit(Phase.DEPLOY, site.design([name]), [name], "slipway-a-1")
    finish(client, "slipway-a-1")
    site.change(name, "deleted")
    site.wait([name], "available")
    assert site.patch(name, instance_uuid=stranger, instance_info=site.node(name)["instance_info"]).status_code == 200
    evidence = client.evidence(TaskRef("slipway-a-1", Phase.DEPLOY), [name])
    assert evidence.reported_failure == {name}
    with pytest.raises(SubmissionRefused, match="left alone"):
        client.submit(Phase.DESTROY, site.design([name]), [name], "slipway-a-2")
    assert site.node(name)["instance_uuid"] == stranger


def test_what_a_failed_release_leaves_behind_can_be_released_again(site: IronicTestSite) -> None:
    name = site.name
    site.ironic.play({"node": name, "phase": "destroy", "behaviour": "fail", "message": "the BMC is silent"})
    site.make_available([name])
    client, design = site.client(), site.design([name])
    for number, phase in enumerate((Phase.DEPLOY, Phase.DESTROY)):
        client.submit(phase, design, [name], f"slipway-a-{number}")
        finish(client, f"slipway-a-{number}")
    told = client.evidence(TaskRef("slipway-a-1", Phase.DESTROY), [name]).messages[name]
    assert told == "error: Failed to tear down: the BMC is silent"
    site.ironic.play()
    client = site.client()
    client.submit(Phase.RELEASE, design, [name], "slipway-a-2")
    assert finish(client, "slipway-a-2").successes == {name}


def test_a_protected_node_is_said_and_stays(site: IronicTestSite) -> None:
    name = site.name
    site.make_available([name])
    client, design = site.client(), site.design([name])
    client.submit(Phase.DEPLOY, design, [name], "slipway-a-1")
    finish(client, "slipway-a-1")
    site.patch(name, protected=True)
    with pytest.raises(SubmissionRefused, match="is active in Ironic and protected, and is left alone"):
        client.submit(Phase.DESTROY, design, [name], "slipway-a-2")
    assert site.node(name)["provision_state"] == "active"


def test_what_ironic_refuses_to_deploy_fails_with_its_words_and_is_free_again(site: IronicTestSite) -> None:
    name = site.name
    site.make_available([name])
    design = site.design([name], image="not-an-image")
    client = site.client()
    client.submit(Phase.DEPLOY, design, [name], "slipway-a-1")
    assert finish(client, "slipway-a-1").failures == {name}
    told = client.evidence(TaskRef("slipway-a-1", Phase.DEPLOY), [name]).messages[name]
    assert told.startswith(f"Ironic did not deploy {name}: ")
    assert "not-an-image" in told
    assert site.node(name)["instance_uuid"] is None
