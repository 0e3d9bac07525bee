"""Nodes that wait for others, retries within an action, and a redeploy in batches, with a provisioner in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from sqlalchemy import update

from site_engine.trees.nodes import action_nodes, node_history
from site_store import ActionState, SiteStore
from site_store.tables import node as node_table
from strategy_lib.phase import GroupState, Phase, Reason
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

T = TypeVar("T")
NAMES = [f"n{number:02}" for number in range(20)]
SENT = {"destroy_nodes": "destroy", "prepare_nodes": "prepare", "deploy_nodes": "deploy"}


def sent(fake: FakeProvisioner, since: int = 0) -> list[tuple[str, str]]:
    """Return what was submitted."""
    return [(SENT[action], " ".join(nodes)) for action, nodes in fake.submissions()[since:]]


def message(driving: Driving, name: str) -> str | None:
    """Return what is said of the deployment of a node."""
    return next(one.deploy.error for one in driving.store.tasks.of_nodes(driving.action.id) if one.node == name)


GATE = {**group("all", percent_successful_nodes=40), "depends_on_nodes": ["gw"]}
FIVE = [node("gw"), node("a"), node("b"), *[{**node("x"), "metadata": {"name": "x", "depends_on_nodes": ["gw2"]}}]]
FIVE += [node("gw2")]


def test_rule_39_dependants_are_deployed_when_what_they_wait_for_is_done(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site([node("gw"), node("a"), node("b")], [GATE]))
    assert driving.finish().state is GroupState.SUCCESS
    assert sent(fake) == [("prepare", "a b gw"), ("deploy", "gw"), ("deploy", "a b")]
    deploys = [one for one in driving.store.operations.of_action(driving.action.id) if one.phase is Phase.DEPLOY]
    assert [one.round for one in deploys] == [0, 1]
    assert fake.double() == []


def test_rule_39_a_node_that_waits_for_another_says_for_which(
    begin: Begin, fake: FakeProvisioner, monkeypatch: pytest.MonkeyPatch
) -> None:
    driving = begin(site([node("gw"), node("a"), node("b")], [GATE]))
    said: list[dict[str, list[str]]] = []
    begun = driving.store.operations.begin

    def watched(*arguments: Any, **more: Any) -> Any:
        page = action_nodes(driving.store, driving.action.id, phase="deploy")
        said.append({one["name"]: one["messages"] for one in page["nodes"] if one["status"] == "pending"})
        return begun(*arguments, **more)

    monkeypatch.setattr(driving.store.operations, "begin", watched)
    driving.finish()
    first, gateway, rest = said
    assert first == {name: ["waits until it is prepared"] for name in ("a", "b", "gw")}
    assert gateway == {"a": ["waits for gw"], "b": ["waits for gw"], "gw": []}
    assert set(rest) == {"a", "b"}
    assert {name: message(driving, name) for name in ("a", "b")} == {"a": None, "b": None}


def test_rule_39_only_dependants_of_a_failed_node_are_held(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("gw2", "deploy", "fail")
    driving = begin(site(FIVE, [group("all", percent_successful_nodes=100)]))
    record = driving.finish()
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.DEPLOY_CRITERIA)
    assert driving.states() == dict.fromkeys(("a", "b", "gw"), "success") | {"gw2": "failure", "x": "prepared"}
    assert str(message(driving, "x")).startswith("waits for gw2, which failed: ")
    again = driving.finish(key="8")
    assert again.state is GroupState.FAILURE
    assert ("deploy", "gw2") in sent(fake, 2), "a person had it tried again"
    assert fake.double() == []


def test_rule_39_across_groups_the_error_is_told_in_full(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("gw", "deploy", "fail")
    groups = [{**group("workers", ["a", "b"]), "depends_on_nodes": ["gw"]}, group("gateways", ["gw"])]
    driving = begin(site([node("gw"), node("a"), node("b")], groups))
    assert [one.name for one in driving.store.groups.of_action(driving.action.id)] == ["gateways", "workers"]
    driving.finish("gateways")
    assert driving.finish("workers").state is GroupState.SUCCESS, "it has no criteria, and its dependency is no edge"
    failed = message(driving, "gw")
    assert failed
    assert message(driving, "a") == f"waits for gw, which failed: {failed}"
    assert sent(fake)[-1] == ("prepare", "a b")


def test_rule_39_a_node_outside_the_action_is_met_if_it_is_done(begin: Begin, fake: FakeProvisioner) -> None:
    nodes = [node("gw"), node("a"), {**node("b"), "metadata": {"name": "b", "depends_on_nodes": ["gw"]}}]
    first = begin(site(nodes, [group("all", ["gw"])]))
    first.finish()
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    second = begin(site(nodes, [group("all", ["b"])]), "run-2", update={})
    assert second.finish().state is GroupState.SUCCESS
    assert second.states()["b"] == "success"
    second.store.actions.close(second.action.id, ActionState.SUCCESS, "done")
    fake.set_status("gw", "Ready")
    fake.set_status("b", "Ready")
    third = begin(site(nodes, [group("all", ["b"])]), "run-3", update={})
    third.finish()
    assert message(third, "b") == "waits for gw, which is not done as wanted, and not in this action"


def test_rule_44_failed_nodes_are_tried_again_and_say_so(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "deploy", "flaky")
    fake.script("b", "prepare", "flaky")
    retries = {"retries": {"prepare": 1, "deploy": 1}}
    driving = begin(
        site([node("a"), node("b"), node("c")], [{**group("all", percent_successful_nodes=100), **retries}])
    )
    assert driving.finish().state is GroupState.SUCCESS
    assert sent(fake) == [
        ("prepare", "a b c"),
        ("prepare", "b"),
        ("deploy", "a b c"),
        ("destroy", "a"),
        ("prepare", "a"),
        ("deploy", "a"),
    ]
    history = node_history(driving.store, driving.action.site, "a")
    assert history is not None
    (deploy,) = (phase for phase in history["actions"][0]["phases"] if phase["phase"] == "deploy")
    assert (deploy["tries"], deploy["round"]) == (2, 1)
    (failed,) = deploy["failed_tries"]
    assert failed["try"] == 1
    assert failed["error"]
    assert failed["at"] < deploy["ended"]
    assert deploy["fixed"].startswith(failed["error"])
    events = [event.message for event in driving.store.events.of_action(driving.action.id) if event.node in ("a", "b")]
    assert [text.partition(": ")[0] for text in events if text.startswith("try ")] == [
        "try 1 of prepare failed",
        "try 1 of deploy failed",
    ]
    assert fake.double() == []


def test_rule_44_a_node_that_is_deployed_and_failed_is_destroyed_before_it_is_tried_again(
    begin: Begin, fake: FakeProvisioner
) -> None:
    fake.script("a", "deploy", "boot_action", attempt=1)
    fake.script("b", "deploy", "boot_action", attempt=1)
    retried = {**group("all", ["a"], percent_successful_nodes=100), "retries": {"deploy": 1}}
    kept = {**group("kept", ["b"], critical=False), "retries": {"deploy": 1}, "release_failed": False}
    driving = begin(site([node("a"), node("b")], [retried, kept]))
    assert driving.finish().state is GroupState.SUCCESS
    assert [action for action, _ in sent(fake)] == ["prepare", "deploy", "destroy", "prepare", "deploy"]
    driving.finish("kept")
    assert [action for action, names in sent(fake) if names == "b"] == ["prepare", "deploy"]
    assert fake.double() == []


def test_rule_44_a_retry_destroys_nothing_that_was_deployed_before_us(begin: Begin, fake: FakeProvisioner) -> None:
    fake.set_status("a", "Deployed")
    driving = begin(site([node("a")], [{**group("all"), "retries": {"deploy": 1}}]))
    driving.finish(redo_done=True)
    assert "destroy" not in [action for action, _ in sent(fake)]
    assert driving.states() == {"a": "failure"}


def deployed(
    begin: Begin, fake: FakeProvisioner, nodes: list[dict[str, Any]], *rolled: dict[str, Any]
) -> tuple[Driving, int]:
    """Deploy a site, change what makes all its nodes, and begin an update; return it, and how much was submitted."""
    first = begin(site(nodes, [group("all")]))
    first.finish()
    assert set(first.states().values()) == {"success"}
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    changed = [{**one, "data": {**one["data"], "kernel": "new"}} for one in nodes]
    return begin(site(changed, [*rolled]), "run-2", update={}), len(fake.submissions())


RACK = {**group("all", percent_successful_nodes=80), "allow_redeploy": True, "max_unavailable": 4}


WIDE = {**group("wide", after=["first"], critical=False), "allow_redeploy": True, "max_unavailable": 2}
BAD_RACK = {
    **group("rack", ["n01", "n02"], after=["wide"], critical=False),
    "allow_redeploy": True,
    "max_unavailable": 1,
}


def most_away(submissions: list[tuple[str, str]], bad: set[str]) -> int:
    """Return how many nodes were away at once at most, by what was submitted."""
    away: set[str] = set()
    most = 0
    for action, names in submissions:
        nodes = set(names.split())
        away = away | nodes if action == "destroy" else away
        most = max(most, len(away))
        away = away - (nodes - bad) if action == "deploy" else away
    return most


def test_a_rack_is_redeployed_four_at_a_time(begin: Begin, fake: FakeProvisioner) -> None:
    driving, before = deployed(begin, fake, [node(name) for name in NAMES], RACK)
    fake.script("n02", "deploy", "fail")
    assert driving.finish().state is GroupState.SUCCESS
    submissions = sent(fake, before)
    assert most_away(submissions, {"n02"}) == 4
    assert [len(names.split()) for action, names in submissions if action == "destroy"] == [4, 3, 3, 3, 3, 3, 1]
    assert sorted(name for name, state in driving.states().items() if state != "success") == ["n02"]
    assert fake.double() == []


def test_without_leave_a_changed_node_is_not_touched(begin: Begin, fake: FakeProvisioner) -> None:
    driving, before = deployed(begin, fake, [node("a"), node("b")], group("all"))
    driving.finish()
    assert sent(fake, before) == []
    assert all("needs redeploy" in why for why in driving.store.tasks.withheld(driving.action.id).values())


@pytest.mark.parametrize("leave", [False, True], ids=["left alone", "allowed"])
def test_rule_37_a_deployed_node_that_is_asked_for_again_is_redeployed_where_that_is_allowed(
    begin: Begin, fake: FakeProvisioner, leave: bool
) -> None:
    text = site([node("a"), node("b")], [{**group("all", percent_successful_nodes=50), "allow_redeploy": leave}])
    first = begin(text)
    first.finish()
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    first.store.wishes.touch("alpha", ["a"], "bob")
    before = len(fake.submissions())
    driving = begin(text, "run-2", update={})
    driving.finish()
    assert sent(fake, before) == ([("destroy", "a"), ("prepare", "a"), ("deploy", "a")] if leave else [])
    left = driving.store.tasks.withheld(driving.action.id)
    assert left == {} if leave else "asked for again at version 2: it needs redeploy" in left["a"]


def test_rule_37_where_all_feedback_is_lost_nothing_that_serves_is_touched(begin: Begin, fake: FakeProvisioner) -> None:
    nodes = [node("a"), node("b"), node("c")]
    rolling = {**group("all", percent_successful_nodes=30), "allow_redeploy": True}
    first = begin(site(nodes, [rolling]))
    first.finish()
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    declared = ("site", "name", "wanted_revision", "wanted_digest", "wanted_version", "rack")
    feedback = {
        column.name: None
        for column in node_table.c
        if column.name not in declared and column.nullable and column.computed is None
    }
    first.store._database.write(lambda tx: tx.execute(update(node_table).values(feedback)))
    fake.set_status("c", "Ready")
    before = len(fake.submissions())
    second = begin(site(nodes, [rolling]), "run-2", update={"allow_redeploy": True})
    second.finish()
    assert sent(fake, before) == [("prepare", "c"), ("deploy", "c")]
    left = second.store.tasks.withheld(second.action.id)
    assert left.keys() == {"a", "b"}
    assert all("`slipway adopt`" in why for why in left.values())
    second.store.actions.close(second.action.id, ActionState.SUCCESS, "done")
    second.store.wishes.adopt("alpha", ["a", "b"], "ann")
    third = begin(site(nodes, [rolling]), "run-3", update={"allow_redeploy": True})
    assert third.finish().state is GroupState.SUCCESS
    assert len(fake.submissions()) == before + 2
    assert set(third.states().values()) == {"success"}


def test_rule_37_a_rack_keeps_its_bounds_in_a_wider_group(begin: Begin, fake: FakeProvisioner) -> None:
    nodes = [node(name) for name in NAMES[:6]]
    driving, before = deployed(begin, fake, nodes, group("first", critical=False), WIDE, BAD_RACK)
    fake.script("n01", "deploy", "fail")
    for name in ("first", "wide", "rack"):
        driving.finish(name)
    submissions = sent(fake, before)
    assert [names for action, names in submissions if action == "destroy"] == ["n00 n01", "n03", "n04", "n05"]
    left = driving.store.tasks.withheld(driving.action.id)
    assert left.keys() == {"n02"}
    assert left["n02"].endswith("stays as it is: group rack: as many nodes are away as may be: 1 failed (n01)")
    assert fake.double() == []


class Killed(BaseException):
    """The process ends here."""


def killing(monkeypatch: pytest.MonkeyPatch, store: SiteStore, every: int, *, after: bool) -> Callable[[], int]:
    """Have each so manieth write to the store be the last of its process; return how many there were."""
    database, writes = store._database, 0
    write = database.write_at

    def counted(work: Callable[..., T]) -> T:
        nonlocal writes
        writes += 1
        if writes % every:
            return write(work)
        if after:
            write(work)
        raise Killed

    monkeypatch.setattr(database, "write_at", counted)
    return lambda: writes


@pytest.mark.endurance
@pytest.mark.parametrize("after", [False, True], ids=["before a write", "after a write"])
@pytest.mark.parametrize("every", [13, 17])
def test_a_redeploy_goes_on_after_every_crash(
    begin: Begin, fake: FakeProvisioner, monkeypatch: pytest.MonkeyPatch, every: int, after: bool
) -> None:
    nodes = [
        node("gw"),
        *({**node(name), "metadata": {"name": name, "depends_on_nodes": ["gw"]}} for name in NAMES[:4]),
    ]
    driving, before = deployed(begin, fake, nodes, {**RACK, "max_unavailable": 3, "retries": {"deploy": 1}})
    fake.script("n01", "deploy", "fail", attempt=2)
    writes = killing(monkeypatch, driving.store, every, after=after)
    kills = 0
    while True:
        try:
            record = driving.finish()
        except Killed:
            kills += 1
            assert kills < 100
        else:
            break
    assert kills >= 3, writes()
    assert record.state is GroupState.SUCCESS
    assert set(driving.states().values()) == {"success"}
    submissions = sent(fake, before)
    assert most_away(submissions, set()) <= 3
    assert submissions[0][0] == "destroy"
    assert "gw" not in submissions[0][1], "dependants go first (rule 40)"
    assert fake.double() == []
    references = [task.reference for task in fake.shown_tasks()]
    assert len(references) == len(set(references))
