"""Who is there: check-ins, what is counted with them, and who is told of one that is not there any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from sqlalchemy import insert

from site_store import ActionState, CallCount, CallKey, ExpectedWork, Lease, SiteStore
from site_store.status.owners import NEVER
from site_store.tables import status_count
from tests.integration.site_store.designs.desk import Desk, yaml
from tests.integration.site_store.racing import at_once
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario

DRYDOCK = "provisioner:slipway_provisioner"
DEPLOY = "airflow:deploy_site"
NODES = CallKey("nodes", "ok", 3)


def alive(store: SiteStore) -> dict[str, bool]:
    now, owners, _ = store.owners.all()
    return {known.name: known.is_alive(now) for known in owners}


@pytest.fixture
def expect(store: SiteStore) -> Iterator[Callable[..., None]]:
    """Have the roll-up say that an owner has nodes of the site; afterwards it is counted anew, since it has none."""

    def work(owner: str, action_id: str = "") -> None:
        cell = {"group_name": "", "phase": "grouped", "serves": "", "part": 0, "records": 2, "status": "pending"}
        store._database.write(
            lambda tx: tx.execute(insert(status_count).values(action_id=action_id, site=SITE, owner=owner, **cell))
        )

    yield work
    store.counts.rebuild()


def told(store: SiteStore) -> list[tuple[str, str]]:
    return [(event.kind, event.data["owner"]) for event in reversed(store.outbox.newest(SITE))]


def test_a_sign_of_life_of_a_while_ago_counts_from_then_and_takes_back_no_newer_one(
    store: SiteStore, clock: FakeClock
) -> None:
    store.owners.check_in(DEPLOY, 30, ago=20)
    store.owners.check_in(DRYDOCK, 11)
    clock.move(10)
    assert alive(store) == {DEPLOY: True, DRYDOCK: True}
    clock.move(1)
    assert alive(store) == {DEPLOY: False, DRYDOCK: True}
    store.owners.check_in(DEPLOY, 30)
    store.owners.check_in(DEPLOY, 30, ago=25)
    clock.move(30)
    assert alive(store) == {DEPLOY: True, DRYDOCK: False}


def test_one_that_gave_no_sign_of_life_is_not_seen_by_that(store: SiteStore, clock: FakeClock) -> None:
    store.owners.check_in(DRYDOCK, 60, {}, alive=False, detail="unavailable")
    assert alive(store) == {}
    store.owners.check_in(DRYDOCK, 60)
    clock.move(61)
    store.owners.check_in(DRYDOCK, 60, alive=False, detail="nodes: unavailable")
    _, (known,), _ = store.owners.all()
    assert (known.detail, alive(store)) == ("nodes: unavailable", {DRYDOCK: False})


def test_calls_add_up_over_processes(stores: list[SiteStore]) -> None:
    results = at_once([partial(one.owners.check_in, DRYDOCK, 60, {NODES: CallCount(2, 0.5)}) for one in stores])
    assert len(results) == len(stores)
    expected = CallCount(2 * len(stores), 0.5 * len(stores))
    assert stores[0].owners.calls() == {(DRYDOCK, NODES): expected}


def test_work_is_expected_of_the_owners_of_nodes_and_of_what_is_to_be_deployed_next(
    store: SiteStore, site: Scenario, expect: Callable[..., None]
) -> None:
    Desk(store).commit_texts({"a": yaml("a", data=1)})
    action = site.action()
    expect(DRYDOCK)
    expect("provisioner:old", action.id)
    found = store.owners.all()[2]
    assert ExpectedWork(DEPLOY, SITE) in found
    assert ExpectedWork(DRYDOCK, SITE) in found
    assert ExpectedWork("provisioner:old", SITE, action.id) in found


def test_of_an_action_that_is_over_nothing_is_expected(
    store: SiteStore, site: Scenario, expect: Callable[..., None]
) -> None:
    action = site.action()
    expect("provisioner:old", action.id)
    store.actions.close(action.id, ActionState.FAILED, "no")
    assert [work for work in store.owners.all()[2] if work.action_id] == []


def test_one_that_is_gone_and_back_is_told_once_each(
    store: SiteStore, clock: FakeClock, held: Lease, expect: Callable[..., None]
) -> None:
    Desk(store).commit_texts({"a": yaml("a", data=1)})
    expect(DRYDOCK)
    since = clock.time
    store.owners.check_in(DRYDOCK, 60)
    store.owners.check_in(DEPLOY, 1000)
    assert store.owners.note_changes(held, since, ()) == store.owners.note_changes(held, since, ())
    clock.move(61)
    changes = store.owners.note_changes(held, since, ())
    assert (changes.unresponsive, changes.back) == ((DRYDOCK,), ())
    assert store.owners.note_changes(held, since, ()).unresponsive == ()
    store.owners.check_in(DRYDOCK, 60)
    assert store.owners.note_changes(held, since, ()).back == (DRYDOCK,)
    assert told(store) == [("owner_unresponsive", DRYDOCK), ("owner_back", DRYDOCK)]
    _, owners, _ = store.owners.all()
    assert [known.unresponsive_since for known in owners] == [None, None]


def test_what_nobody_has_looked_at_for_an_interval_is_not_missed(
    store: SiteStore, clock: FakeClock, held: Lease, expect: Callable[..., None]
) -> None:
    expect(DRYDOCK)
    store.owners.check_in(DRYDOCK, 60)
    clock.move(3600)
    since = clock.time
    assert store.owners.note_changes(held, since, ()).unresponsive == ()
    clock.move(61)
    assert store.owners.note_changes(held, since, ()).unresponsive == (DRYDOCK,)


def test_one_of_whom_nothing_is_expected_is_not_missed(store: SiteStore, clock: FakeClock, held: Lease) -> None:
    since = clock.time
    store.owners.check_in(DRYDOCK, 60)
    clock.move(61)
    assert store.owners.note_changes(held, since, ()).unresponsive == ()


def test_one_that_never_was_seen_is_missed_too(
    store: SiteStore, clock: FakeClock, held: Lease, expect: Callable[..., None]
) -> None:
    Desk(store).commit_texts({"a": yaml("a", data=1)})
    expect(DRYDOCK)
    since = clock.time
    clock.move(1)
    assert store.owners.note_changes(held, since, [DRYDOCK]).unresponsive == (DRYDOCK,)
    _, (known,), _ = store.owners.all()
    assert known.last_seen == NEVER
    (event,) = store.outbox.newest(SITE)
    assert event.data == {"owner": DRYDOCK, "actions": []}
