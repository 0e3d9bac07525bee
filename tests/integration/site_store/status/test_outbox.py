"""What happened, and what others are told of it: written in the transaction of its event, sent until it arrives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from site_store import ActionState, Lease, NewAction, NotFound, SiteStore
from strategy_lib.phase import GroupState, Reason
from tests.integration.site_store.designs.desk import Desk, yaml
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario
from tests.support.stores import deliveries_of


def test_events_come_back_oldest_first_and_bounded(store: SiteStore) -> None:
    for number in range(5):
        store.events.add(SITE, "note", f"number {number}", action_id="A", group="g", node="n1", data={"n": number})
    store.events.add(SITE, "note", "of nobody")
    assert [event.message for event in store.events.of_action("A", limit=2)] == ["number 3", "number 4"]
    first = store.events.of_action("A")[0]
    assert (first.site, first.group, first.node, first.kind, first.data) == (SITE, "g", "n1", "note", {"n": 0})


def test_old_events_are_pruned_and_nothing_else(store: SiteStore, clock: FakeClock) -> None:
    began = clock.time
    store.events.add(SITE, "note", "old", action_id="A")
    clock.move(100)
    store.events.add(SITE, "note", "new", action_id="A")
    assert store.events.prune(began) == 0
    assert store.events.prune(clock.time) == 1
    assert [(event.message, event.at) for event in store.events.of_action("A")] == [("new", clock.time)]


TARGETS = {
    "targets": [
        {"name": "chat", "webhook": {"connection": "chat_hook"}},
        {"name": "mail", "events": ["verdict"], "notifier": {"name": "smtp"}},
    ]
}


def kinds(store: SiteStore) -> list[str]:
    """What was written, oldest first."""
    return [event.kind for event in reversed(store.outbox.newest(SITE))]


def test_a_verdict_is_written_with_it_once(store: SiteStore, site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    assert kinds(store) == []
    for _ in range(2):
        assert store.actions.close(action.id, ActionState.FAILED, "critical groups failed: a")
    (event,) = store.outbox.newest(SITE)
    assert (event.kind, event.action_id, event.created) == ("verdict", action.id, site.clock.time)
    assert event.data == {
        "kind": "deploy_site",
        "revision": None,
        "user": "ann",
        "state": "failed",
        "verdict": "critical groups failed: a",
        "left_alone": 0,
    }
    assert store.outbox.get(event.event_id) == event


def test_another_verdict_is_news(store: SiteStore, site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    store.actions.close(action.id, ActionState.FAILED, "critical groups failed: a")
    store.actions.close(action.id, ActionState.SUCCESS, "all groups succeeded")
    assert kinds(store) == ["verdict", "verdict"]
    assert len({event.event_id for event in store.outbox.newest(SITE)}) == 2


def test_a_dry_run_is_told_to_nobody(store: SiteStore, site: Scenario) -> None:
    action = store.actions.ensure("deploy_site", "dry", NewAction("deploy_site", SITE, None, {}, "ann", dry_run=True))
    store.actions.close(action.id, ActionState.SUCCESS, "nothing was done")
    assert kinds(store) == []


def test_a_critical_group_that_fails_is_told_with_its_reason(store: SiteStore, site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"], "b": ["n2"]})
    for _ in range(2):
        site.fail(record)
    (event,) = store.outbox.newest(SITE)
    assert (event.kind, event.action_id, event.group) == ("critical_group_failed", action.id, "a")
    assert event.data["reason"] == Reason.DEPLOY_CRITERIA.value


def test_a_group_that_succeeds_is_no_news(store: SiteStore, site: Scenario) -> None:
    action, record = site.opened({"a": ["n1"]})
    assert store.groups.finish(action.id, "a", record.attempt, GroupState.SUCCESS, None)
    assert kinds(store) == []


def test_a_group_that_is_interrupted_is_told_before_the_verdict(store: SiteStore, site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.open(action, "a")
    store.actions.close(action.id, ActionState.CANCELLED, "stopped")
    assert kinds(store) == ["critical_group_failed", "verdict"]
    assert store.outbox.newest(SITE)[1].data == {"reason": "interrupted"}


def test_targets_are_those_of_the_newest_revision(store: SiteStore) -> None:
    desk = Desk(store)
    assert store.outbox.targets(SITE).targets == ()
    desk.commit_texts({"a": yaml("a", data=1)}, notifications=TARGETS)
    assert [target.name for target in store.outbox.targets(SITE).targets] == ["chat", "mail"]
    desk.commit_texts({"a": yaml("a", data=2)}, notifications=None)
    assert [target.name for target in store.outbox.targets(SITE).targets] == ["chat", "mail"]
    desk.commit_texts({"a": yaml("a", data=3)}, notifications={"targets": []})
    assert store.outbox.targets(SITE).targets == ()


def test_an_event_goes_to_those_who_want_its_kind_until_it_is_there(
    store: SiteStore, site: Scenario, clock: FakeClock, held: Lease
) -> None:
    Desk(store).commit_texts({"a": yaml("a", data=1)}, notifications=TARGETS)
    action = site.running({"a": ["n1"]})
    site.fail(site.open(action, "a"))
    store.actions.close(action.id, ActionState.FAILED, "no")
    assert store.outbox.due() == []
    assert (store.outbox.route(held), store.outbox.route(held)) == (2, 0)
    due = [(event.kind, delivery.target) for event, delivery in store.outbox.due()]
    assert due == [("critical_group_failed", "chat"), ("verdict", "chat"), ("verdict", "mail")]
    assert store.outbox.waiting() == {SITE: 3}

    first, second, third = (delivery for _, delivery in store.outbox.due())
    store.outbox.record_attempt(held, first, None)
    store.outbox.record_attempt(held, second, "the receiver answers 503", timedelta(seconds=10))
    store.outbox.record_attempt(held, third, "given up")
    assert (store.outbox.due(), store.outbox.waiting()) == ([], {SITE: 1})
    clock.move(10)
    ((event, again),) = store.outbox.due()
    assert (event.kind, again.attempts, again.error) == ("verdict", 1, "the receiver answers 503")
    store.outbox.record_attempt(held, again, None)
    done = {delivery.target: delivery for delivery in deliveries_of(store, event.id)}
    assert (done["chat"].delivered, done["chat"].attempts, done["chat"].error) == (clock.time, 2, None)
    assert (done["mail"].delivered, done["mail"].error) == (None, "given up")


def test_old_events_are_forgotten_with_their_deliveries(
    store: SiteStore, site: Scenario, clock: FakeClock, held: Lease
) -> None:
    Desk(store).commit_texts({"a": yaml("a", data=1)}, notifications=TARGETS)
    store.actions.close(site.running({"a": ["n1"]}).id, ActionState.FAILED, "no")
    store.outbox.route(held)
    (event,) = store.outbox.newest(SITE)
    assert store.outbox.prune(held, clock.time) == 0
    assert store.outbox.prune(held, clock.time + timedelta(seconds=1)) == 1
    assert deliveries_of(store, event.id) == []
    with pytest.raises(NotFound):
        store.outbox.get(event.event_id)
