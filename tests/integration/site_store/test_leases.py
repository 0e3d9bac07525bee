"""Leases on the database's clock, and what only the owner of one may write. Real threads, a real kill."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import Connection, select, text

from site_store import LeaseLost, SiteStore
from site_store.status.leases import require_lease
from site_store.tables import check_result, lease
from tests.integration.site_store.racing import CALLERS, at_once
from tests.integration.site_store.scenario import FakeClock, some
from tests.support.processes import wait_until

NAME = "controller"


def test_one_has_it_and_prolongs_it(store: SiteStore, clock: FakeClock) -> None:
    held = some(store.leases.take(NAME, "one", 30))
    assert (held.epoch, held.expires_at) == (int(clock.time.timestamp()), clock.time + timedelta(seconds=30))
    clock.move(20)
    assert store.leases.take(NAME, "two", 30) is None
    renewed = store.leases.renew(held, 30)
    assert (renewed.epoch, renewed.expires_at) == (held.epoch, clock.time + timedelta(seconds=30))
    again = store.leases.take(NAME, "one", 40)
    assert (again, store.leases.get(NAME)) == (again, again)
    assert again is not None
    assert (again.epoch, again.expires_at) == (held.epoch, clock.time + timedelta(seconds=40))


def test_rule_55_who_took_it_alone_knows_its_secret_and_the_store_keeps_a_hash(
    store: SiteStore, clock: FakeClock
) -> None:
    held = some(store.leases.take(NAME, "one", 30))
    assert len(held.secret) >= 32
    assert held.secret not in repr(held)
    found = some(store.leases.get(NAME))
    assert found.secret == ""
    row = store._database.read(lambda tx: tx.execute(select(lease)).one())
    assert held.secret not in str(row)
    assert hashlib.sha256(held.secret.encode()).hexdigest() in row

    holds = store.leases.holds
    assert holds(NAME, held.epoch, held.secret)
    assert not any(holds(NAME, held.epoch, wrong) for wrong in ("", "one", held.secret[:-1], f"{held.secret} "))
    assert not holds(NAME, held.epoch + 1, held.secret)
    assert not holds("another", held.epoch, held.secret)
    renewed = store.leases.renew(held, 30)
    renewed = store.leases.renew_all([renewed], 30)[NAME]
    assert holds(NAME, renewed.epoch, renewed.secret)
    clock.move(30)
    assert not holds(NAME, held.epoch, held.secret), "it has run out"
    taken = some(store.leases.take(NAME, "one", 30))
    assert not holds(NAME, taken.epoch, held.secret)
    assert holds(NAME, taken.epoch, taken.secret)


def test_what_has_run_out_is_taken_over_with_a_higher_epoch(store: SiteStore, clock: FakeClock) -> None:
    held = some(store.leases.take(NAME, "one", 30))
    clock.move(30)
    taken = some(store.leases.take(NAME, "two", 30))
    assert (taken.owner, taken.epoch) == ("two", held.epoch + 30)
    with pytest.raises(LeaseLost, match=rf"one \(epoch {held.epoch}\)"):
        store.leases.renew(held, 30)
    assert store.leases.give_up(held) is False
    assert store.leases.get(NAME) == taken


def test_who_let_it_run_out_has_lost_it_even_to_nobody(store: SiteStore, clock: FakeClock) -> None:
    held = some(store.leases.take(NAME, "one", 30))
    clock.move(30)
    with pytest.raises(LeaseLost):
        store.leases.renew(held, 30)
    again = some(store.leases.take(NAME, "one", 30))
    assert again.epoch > held.epoch


def test_many_are_prolonged_at_once_and_those_that_are_lost_are_not(store: SiteStore, clock: FakeClock) -> None:
    held = [store.leases.take(f"site:{name}", "one", 30) for name in ("a", "b", "c")]
    mine = [one for one in held if one is not None]
    assert len(mine) == 3
    clock.move(20)
    assert store.leases.give_up(mine[2])
    other = store.leases.take("site:c", "two", 30)
    renewed = store.leases.renew_all(mine, 30)
    assert set(renewed) == {"site:a", "site:b"}
    assert {one.expires_at for one in renewed.values()} == {clock.time + timedelta(seconds=30)}
    assert store.leases.get("site:a") == renewed["site:a"]
    assert store.leases.get("site:c") == other, "its new owner's is as it was"
    clock.move(30)
    assert store.leases.renew_all(mine, 30) == {}, "what has run out is lost, even to nobody"
    assert store.leases.renew_all([], 30) == {}


def test_a_renewal_waits_for_a_long_write_under_the_lease_and_counts_from_its_end(
    stores: list[SiteStore], clock: FakeClock
) -> None:
    held = some(stores[0].leases.take(NAME, "one", 30))
    begun, goes_on = threading.Event(), threading.Event()

    def write(tx: Connection) -> None:
        require_lease(tx, held, clock())
        begun.set()
        assert goes_on.wait(30)

    def waits() -> bool:
        query = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(stores[2]._database.read(lambda tx: tx.scalar(query)))

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(stores[0]._database.write, write)
        assert begun.wait(30)
        clock.move(29)
        renewing = threads.submit(stores[1].leases.renew, held, 30)
        wait_until(waits, "the renewal waits")
        clock.move(20)
        goes_on.set()
        writing.result()
        assert renewing.result().expires_at == clock() + timedelta(seconds=30)
    assert stores[3].leases.take(NAME, "two", 30) is None


def test_what_was_given_up_is_free_at_once(store: SiteStore) -> None:
    held = some(store.leases.take(NAME, "one", 30))
    assert store.leases.give_up(held) is True
    taken = some(store.leases.take(NAME, "two", 30))
    assert (taken.owner, taken.epoch) == ("two", held.epoch + 1), "within the same second"


def test_those_of_others_are_known_without_asking_for_them(store: SiteStore, clock: FakeClock) -> None:
    for name, owner, seconds in (("a", "one", 30), ("b", "two", 30), ("c", "two", 10)):
        assert store.leases.take(name, owner, seconds) is not None
    assert store.leases.of_others("one") == {"b", "c"}
    clock.move(10)
    assert store.leases.of_others("one") == {"b"}, "what has run out is free"


def test_of_many_who_want_it_one_gets_it(stores: list[SiteStore], clock: FakeClock) -> None:
    for _ in range(3):
        wants = [partial(store.leases.take, NAME, f"p{number}", 30) for number, store in enumerate(stores)]
        taken = [held for held in at_once(wants) if held is not None]
        assert [held.epoch for held in taken] == [int(clock.time.timestamp())]
        clock.move(30)


def test_of_an_owner_that_is_late_and_a_new_one_only_one_goes_on(stores: list[SiteStore], clock: FakeClock) -> None:
    held = some(stores[0].leases.take(NAME, "late", 30))
    clock.move(30)

    def renew() -> bool:
        try:
            stores[0].leases.renew(held, 30)
        except LeaseLost:
            return False
        return True

    def take(store: SiteStore, owner: str) -> bool:
        return store.leases.take(NAME, owner, 30) is not None

    takers: list[Callable[[], bool]] = [partial(take, store, f"p{number}") for number, store in enumerate(stores[1:])]
    assert sorted(at_once([renew, *takers])) == [False] * (CALLERS - 1) + [True]


def test_a_check_says_since_when_it_is_as_it_is(store: SiteStore, clock: FakeClock) -> None:
    held = some(store.leases.take(NAME, "one", 3600))
    began = clock.time
    found = []
    for problem in (None, None, "away", "away", None):
        store.checks.record(held, "airflow", problem)
        check = store._database.read(lambda tx: tx.execute(select(check_result)).one())
        found.append((check.problem, (check.since - began).seconds, (check.checked_at - began).seconds))
        clock.move(10)
    assert found == [(None, 0, 0), (None, 0, 10), ("away", 20, 20), ("away", 20, 30), (None, 40, 40)]


_TAKE_AND_DIE = """
import os, signal, sys
from site_store import SiteStore
store = SiteStore.open(sys.argv[1])
held = store.leases.take("controller", "killed", float(sys.argv[2]))
print(held.epoch, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.endurance
def test_the_lease_of_a_process_that_was_killed_runs_out_by_the_databases_clock(url: str) -> None:
    def killed(seconds: float) -> str:
        command = [sys.executable, "-c", _TAKE_AND_DIE, url, str(seconds)]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout

    with SiteStore.open(url) as store:
        # Run out already when it is taken: nobody has to wait in a test.
        first = int(killed(0))
        taken = some(store.leases.take(NAME, "next", 0))
        assert first < taken.epoch < int(killed(3600))
        assert store.leases.take(NAME, "next", 30) is None


def test_the_clock_of_leases_is_the_databases_and_not_this_machines(
    open_store: Callable[[], SiteStore], url: str, clock: FakeClock
) -> None:
    clock.time = datetime(2100, 1, 1, tzinfo=UTC)
    with SiteStore.open(url) as store:
        held = store.leases.take(NAME, "one", 0)
    assert held is not None
    assert abs(held.expires_at - datetime.now(UTC)) < timedelta(hours=1)
