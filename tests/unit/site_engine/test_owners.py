"""Check-ins are throttled, count the calls meanwhile, and fail no work; the list of owners says whom one affects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from provisioner_client.redacting import CallResult
from site_engine.monitoring.owners import CheckIns, ProvisionerObserver, airflow_owner, list_owners, provisioner_owner
from site_engine.provisioners import ProvisionerConnection
from site_store import CallKey, ExpectedWork, Lease, OwnerCheckIn, SiteStore, StoreUnavailable
from site_store.status.owners import NEVER
from strategy_lib.status.site import Watched

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = provisioner_owner("drydock")
INTERVAL = 60.0


class Owners:
    """A store's owners: what was written, and what is read."""

    def __init__(self) -> None:
        self.written: list[tuple[str, bool, dict[CallKey, int]]] = []
        self.away = False
        self.known: list[OwnerCheckIn] = []
        self.work: list[ExpectedWork] = []

    def check_in(
        self, name: str, _interval: float, calls: Mapping[CallKey, Any], *, alive: bool, detail: str | None
    ) -> None:
        if self.away:
            raise StoreUnavailable("away")
        assert (detail is None) == alive
        self.written.append((name, alive, {key: count.calls for key, count in calls.items()}))

    def all(self) -> tuple[datetime, list[OwnerCheckIn], list[ExpectedWork]]:
        return NOW, self.known, self.work


class Sites:
    """A store's sites: none is committed."""

    def committed(self) -> list[str]:
        return []


class Leases:
    """A store's leases: a controller holds its own."""

    def get(self, name: str) -> Lease:
        return Lease(name, "host:1", 1, NOW + timedelta(seconds=INTERVAL), renewed=NOW)


class Watches:
    """How a store's sites are watched: there is none."""

    def all(self) -> dict[str, Watched]:
        return {}


class Clock:
    """Seconds that the test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def parts() -> tuple[Owners, Clock, CheckIns, SiteStore]:
    owners, clock = Owners(), Clock()
    return (
        owners,
        clock,
        CheckIns(clock),
        cast(
            SiteStore,
            SimpleNamespace(owners=owners, sites=Sites(), leases=Leases(), watches=Watches(), location="here"),
        ),
    )


def ok(count: int, call: str = "task") -> dict[CallKey, int]:
    return {CallKey(call, "ok", 0): count}


def test_a_process_writes_at_most_every_quarter_of_an_interval() -> None:
    owners, clock, check_ins, store = parts()
    for second in range(31):
        clock.seconds = second
        check_ins.called(store, OWNER, INTERVAL, "task", CallResult.OK, 0.01)
    assert owners.written == [(OWNER, True, ok(1)), (OWNER, True, ok(15)), (OWNER, True, ok(15))]


def test_a_change_is_written_at_once() -> None:
    owners, _, check_ins, store = parts()
    for result in (CallResult.OK, CallResult.UNAVAILABLE, CallResult.UNAVAILABLE, CallResult.REFUSED):
        check_ins.called(store, OWNER, INTERVAL, "task", result, 0.01)
    assert [alive for _, alive, _ in owners.written] == [True, False, True]


def test_a_store_that_is_away_loses_no_count_and_fails_nothing() -> None:
    owners, clock, check_ins, store = parts()
    owners.away = True
    check_ins.called(store, OWNER, INTERVAL, "task", CallResult.OK, 0.01)
    owners.away, clock.seconds = False, INTERVAL
    check_ins.called(store, OWNER, INTERVAL, "task", CallResult.OK, 0.01)
    assert owners.written == [(OWNER, True, ok(2))]


def test_at_the_end_of_a_client_what_was_counted_is_written() -> None:
    owners, clock, check_ins, store = parts()
    for second in (0, 1, 6):
        clock.seconds = second
        check_ins.called(store, OWNER, INTERVAL, "task", CallResult.OK, 0.01)
    check_ins.flush(store, OWNER, INTERVAL)
    check_ins.flush(store, OWNER, INTERVAL)
    assert owners.written == [(OWNER, True, ok(1)), (OWNER, True, ok(2))]
    check_ins.flush(store, "provisioner:other", INTERVAL)
    assert len(owners.written) == 2


def test_a_call_for_an_action_is_a_sign_of_life_of_its_dag_also_where_the_provisioner_is_silent() -> None:
    owners, _, check_ins, store = parts()
    connection = cast(ProvisionerConnection, SimpleNamespace(id="drydock", alive_for=INTERVAL))
    observer = ProvisionerObserver(store, connection, "deploy_site", check_ins)
    observer.called("nodes", CallResult.UNAVAILABLE, 0.01)
    assert [(name, alive) for name, alive, _ in owners.written] == [
        (OWNER, False),
        (airflow_owner("deploy_site"), True),
    ]


def test_what_a_provisioner_shows_is_compared_and_a_store_that_is_away_fails_nothing() -> None:
    noted: list[Mapping[str, int]] = []

    def note_shown(newest: Mapping[str, int]) -> None:
        noted.append(newest)
        raise StoreUnavailable("the store is away")

    store = cast(SiteStore, SimpleNamespace(home=SimpleNamespace(note_shown=note_shown)))
    connection = cast(ProvisionerConnection, SimpleNamespace(id="drydock", alive_for=INTERVAL))
    ProvisionerObserver(store, connection).shown({"mystore1": 7})
    assert noted == [{"mystore1": 7}]


def test_an_owner_is_listed_with_what_it_affects() -> None:
    owners, _, _, store = parts()
    seen = NOW - timedelta(seconds=61)
    owners.known = [
        OwnerCheckIn(OWNER, seen, 60.0, "no answer", NOW),
        OwnerCheckIn("provisioner:never", NEVER, 0.0),
        OwnerCheckIn("provisioner:unused", seen, 60.0),
        OwnerCheckIn("provisioner:well", NOW, 60.0),
    ]
    owners.work = [
        ExpectedWork("airflow:deploy_site", "a"),
        ExpectedWork("provisioner:never", "a"),
        ExpectedWork("provisioner:well", "a"),
        ExpectedWork(OWNER, "a"),
        ExpectedWork(OWNER, "b", "01ACTION"),
    ]
    found = {view.name: view.to_data() for view in list_owners(store).owners}
    assert {name: data["alive"] for name, data in found.items()} == {
        "airflow:deploy_site": False,
        "controller": True,
        OWNER: False,
        "provisioner:never": False,
        "provisioner:unused": True,
        "provisioner:well": True,
    }
    assert (found[OWNER]["sites"], found[OWNER]["actions"]) == (["a", "b"], ["01ACTION"])
    assert (found[OWNER]["status"], found[OWNER]["detail"]) == ("unresponsive", "no answer")
    assert found["provisioner:never"]["last_seen"] is found["airflow:deploy_site"]["last_seen"] is None
    first = list_owners(store, limit=2)
    assert [view.name for view in first.owners] == sorted(found)[:2]
    rest = list_owners(store, after=first.after, limit=4)
    assert ([view.name for view in rest.owners], rest.after) == (sorted(found)[2:], None)
