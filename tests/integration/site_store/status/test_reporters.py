"""Reporters: a token that is shown once, opens one site, and lets nobody write more than its own leaves."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from site_store import ActionState, NewLeaf, NotFound, ReporterRefused, SiteStore, TooManyReports, ValueRefused
from site_store.status import reporters as module
from site_store.tables import reporter
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, events_of, some

LEAF = NewLeaf("compute/n1", "burn-in", "processing", "3 of 8 hours")


def test_a_token_is_stored_as_its_digest_alone(store: SiteStore) -> None:
    made = store.reporters.create(SITE, "burnin", "ann")
    assert (made.record.owner, made.record.created_by) == ("reporter:burnin", "ann")
    assert store.reporters.of_token(made.token) == made.record
    assert store.reporters.of_token(made.token + "x") is None
    row = store._database.read(lambda tx: tx.execute(select(reporter)).one())
    assert made.token not in repr(row)
    assert made.token not in repr(made.record)
    assert len(made.token) >= 40


def test_a_revoked_token_opens_nothing_and_what_it_reported_ends_with_an_event(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    other, made = (store.reporters.create(SITE, name, "ann") for name in ("other", "burnin"))
    store.reporters.report(other.token, SITE, [LEAF._replace(name="other")], interval=60)
    action = site.action()
    store.reporters.report(made.token, SITE, [LEAF], action.id, interval=60)
    store.actions.close(action.id, ActionState.FAILED, "over", "ann")
    store.reporters.report(made.token, SITE, [LEAF], interval=60)
    clock.move(5)
    revoked = store.reporters.revoke(SITE, made.record.id)
    clock.move(5)
    assert store.reporters.revoke(SITE, made.record.id) == revoked
    assert store.reporters.of_token(made.token) is None
    with pytest.raises(ReporterRefused):
        store.reporters.report(made.token, SITE, [LEAF], interval=60)
    # Of another reporter, and of an action that is over, it stays.
    assert [leaf.name for leaf in store.reporters.reported(SITE)] == ["other"]
    assert [leaf.name for leaf in store.reporters.reported(SITE, action.id)] == ["burn-in"]
    said = "reporter:burnin was revoked, and what it reported ends with it: burn-in (processing)"
    assert events_of(store, SITE, "reporter") == [said]
    assert [one.name for one in store.owners.all()[1]] == [f"reporter:other@{SITE}"]
    assert [one.revoked for one in store.reporters.of_site(SITE)] == [None, revoked.revoked]


def test_what_was_reported_stays_while_another_token_speaks_for_its_owner(store: SiteStore) -> None:
    first, second = (store.reporters.create(SITE, "burnin", "ann") for _ in range(2))
    store.reporters.report(first.token, SITE, [LEAF], interval=60)
    store.reporters.revoke(SITE, first.record.id)
    assert [leaf.name for leaf in store.reporters.reported(SITE)] == ["burn-in"]
    store.reporters.revoke(SITE, second.record.id)
    assert store.reporters.reported(SITE) == []


def test_only_the_site_s_own_reporters_are_revoked(store: SiteStore) -> None:
    made = store.reporters.create(SITE, "burnin", "ann")
    with pytest.raises(NotFound, match="no reporter"):
        store.reporters.revoke("south", made.record.id)
    assert store.reporters.of_token(made.token) is not None


def test_a_token_opens_its_own_site_only(store: SiteStore, site: Scenario) -> None:
    made = store.reporters.create(SITE, "burnin", "ann")
    elsewhere = site.action("run-2", "south")
    with pytest.raises(ReporterRefused):
        store.reporters.report(made.token, "south", [LEAF], interval=60)
    with pytest.raises(ReporterRefused):
        store.reporters.report(made.token, SITE, [LEAF], elsewhere.id, interval=60)
    with pytest.raises(NotFound):
        store.reporters.report(made.token, SITE, [LEAF], "01NONE", interval=60)
    assert store.reporters.reported("south") == []
    assert [one.message for one in store.reporters.reported(SITE)] == [module.NOT_STARTED]


def test_leaves_are_written_again_and_taken_away(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    made = store.reporters.create(SITE, "burnin", "ann")
    action = site.action()
    store.reporters.report(made.token, SITE, [LEAF], action.id, interval=60)
    first = clock.time
    clock.move(2)
    store.reporters.report(made.token, SITE, [LEAF._replace(status="success", message=None)], action.id, interval=60)
    (leaf,) = store.reporters.reported(SITE, action.id)
    assert (leaf.status, leaf.message, leaf.owner) == ("success", None, "reporter:burnin")
    assert (leaf.first_updated, leaf.last_updated) == (first, clock.time)
    assert store.reporters.reported(SITE) == []
    clock.move(2)
    store.reporters.report(made.token, SITE, [], action.id, interval=60, gone=[(LEAF.parent, LEAF.name)])
    assert store.reporters.reported(SITE, action.id) == []


def test_two_reporters_have_leaves_of_one_name_side_by_side(store: SiteStore) -> None:
    for name, status in (("a", "success"), ("b", "error")):
        store.reporters.report(
            store.reporters.create(SITE, name, "ann").token, SITE, [LEAF._replace(status=status)], interval=60
        )
    gone = [(LEAF.parent, LEAF.name)]
    store.reporters.report(store.reporters.create(SITE, "c", "ann").token, SITE, [], interval=60, gone=gone)
    assert [(leaf.owner, leaf.status) for leaf in store.reporters.reported(SITE)] == [
        ("reporter:a", "success"),
        ("reporter:b", "error"),
    ]


def test_writing_is_a_check_in(store: SiteStore, clock: FakeClock) -> None:
    made = store.reporters.create(SITE, "burnin", "ann")
    store.reporters.report(made.token, SITE, [], interval=90)
    now, (known,), _ = store.owners.all()
    assert (known.name, known.last_seen, known.interval_seconds) == (f"reporter:burnin@{SITE}", clock.time, 90)
    assert known.is_alive(now)
    (record,) = store.reporters.of_site(SITE)
    assert record.last_used == clock.time


def test_a_reporter_writes_at_most_once_a_second(store: SiteStore, clock: FakeClock) -> None:
    """Whatever came of the request before: a refused one counts as well."""
    made = store.reporters.create(SITE, "burnin", "ann")
    assert store.reporters.admit(made.token, SITE).owner == "reporter:burnin"
    clock.move(0.5)
    with pytest.raises(TooManyReports) as caught:
        store.reporters.admit(made.token, SITE)
    assert caught.value.retry_after == 1
    clock.move(0.5)
    store.reporters.admit(made.token, SITE)
    with pytest.raises(ReporterRefused):
        store.reporters.admit(made.token, "south")


def test_leaves_of_others_are_found_however_many_there_are(store: SiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LEAVES", 3)
    for name in ("a", "b"):
        leaves = [LEAF._replace(name=f"{name}{number}") for number in range(3)]
        store.reporters.report(store.reporters.create(SITE, name, "ann").token, SITE, leaves, interval=60)
    found = some(store.reporters.foreign(SITE, "", "reporter:a", [(LEAF.parent, "a0"), (LEAF.parent, "b2")]))
    assert (found.name, found.owner) == ("b2", "reporter:b")
    assert store.reporters.foreign(SITE, "", "reporter:a", [(LEAF.parent, "a0"), ("elsewhere", "b2")]) is None


def test_two_sites_have_reporters_of_one_name_that_check_in_apart(store: SiteStore) -> None:
    for site in (SITE, "south"):
        store.reporters.report(store.reporters.create(site, "burnin", "ann").token, site, [], interval=60)
    _, known, _ = store.owners.all()
    assert sorted(one.name for one in known) == sorted(f"reporter:burnin@{site}" for site in (SITE, "south"))


def test_a_reporter_has_a_bound_of_leaves(store: SiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LEAVES", 2)
    made = store.reporters.create(SITE, "burnin", "ann")
    with pytest.raises(TooManyReports, match="at most 2 leaves"):
        store.reporters.report(made.token, SITE, [LEAF._replace(name=str(i)) for i in range(3)], interval=60)
    assert [one.message for one in store.reporters.reported(SITE)] == [module.NOT_STARTED]


@pytest.mark.parametrize(
    "leaf", [LEAF._replace(name="a\0"), LEAF._replace(message="\ud800"), LEAF._replace(parent="\0")]
)
def test_what_cannot_be_stored_is_refused(store: SiteStore, leaf: NewLeaf) -> None:
    made = store.reporters.create(SITE, "burnin", "ann")
    with pytest.raises(ValueRefused):
        store.reporters.report(made.token, SITE, [leaf], interval=60)
