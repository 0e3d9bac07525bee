"""Lists of a Drydock that answers slowly, under a given clock: how many requests it gets, and who has its answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.connection import ConnectionValues
from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import nothing_is_secret
from site_engine.errors import TaskStopped
from site_engine.process import Stopping
from site_engine.provisioners import ProvisionerConnection
from site_engine.shared_lists import ALIVE_SECONDS, PAUSES, StoreLists, shared_by
from site_store import SiteStore, StoreUnavailable
from tests.integration.site_store.scenario import FakeClock
from tests.support.simulators import MaasSimulator, Simulator, SimulatorProcess
from tests.support.stores import new_store

READERS = 12
THREADS = 4
SLOW = 0.6
"""Real seconds that the slow Drydock takes for a list."""


@pytest.fixture
def ticking() -> FakeClock:
    return FakeClock()


@pytest.fixture
def url() -> Iterator[str]:
    with new_store() as url:
        yield url


@pytest.fixture
def shared(url: str, ticking: FakeClock) -> Iterator[SiteStore]:
    with SiteStore.open(url, ticking) as store:
        yield store


@pytest.fixture(scope="module")
def drydock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """Start one that has as few threads as a real one."""
    started = Simulator(tmp_path_factory.mktemp("simulator"), "--threads", str(THREADS), speed=20_000)
    yield started
    started.stop()


class Readers:
    """Clients of many processes."""

    def __init__(self, store: SiteStore, drydock: SimulatorProcess, clock: FakeClock, read_timeout: float) -> None:
        drydock.post("reset")
        self.drydock, self.clock, self.store = drydock, clock, store
        values = ConnectionValues("drydock", "c", drydock.url, extra={"read_timeout": read_timeout})
        self.connection = ProvisionerConnection(values)
        self.pool = ThreadPoolExecutor(READERS)

    def starts(self, look: Callable[[Provisioner], Any], number: int = 1) -> list[Future[Any]]:
        """Have so many need a list from this moment on."""
        self.clock.move(1)
        need = self.clock.time

        def read() -> Any:
            client = self.connection.connect(nothing_is_secret, shared=shared_by(self.store, need))
            try:
                return look(client)
            finally:
                client.close()

        return [self.pool.submit(read) for _ in range(number)]

    def requests(self, path: str) -> int:
        found = self.drydock.get("journal", method="GET")
        return len([one for one in found if one["path"] == f"/api/v1.0/{path}"])

    def waits_for(self, path: str, number: int) -> None:
        while self.requests(path) < number:
            time.sleep(0.02)


@pytest.fixture
def readers(shared: SiteStore, drydock: Simulator, ticking: FakeClock) -> Iterator[Readers]:
    made = Readers(shared, drydock, ticking, 30.0)
    yield made
    made.pool.shutdown()


LOOKS: dict[str, Callable[[Provisioner], Any]] = {
    "nodes": lambda client: client.nodes(),
    "tasks": lambda client: client.is_dead("t-1"),
}


@pytest.mark.parametrize("path", LOOKS)
def test_many_who_need_a_slow_list_have_it_asked_for_once_more_and_leave_threads_to_others(
    readers: Readers, path: str
) -> None:
    readers.drydock.fault("GET", path, "latency", seconds=SLOW, count=100)
    first = readers.starts(LOOKS[path])
    readers.waits_for(path, 1)
    others = readers.starts(LOOKS[path], READERS - 1)
    readers.clock.move(1)
    began = time.monotonic()
    assert readers.connection.connect(nothing_is_secret).check(), "what is no list gets through"
    took = time.monotonic() - began
    assert not others[0].done()
    assert took < SLOW
    assert [one.result(30) for one in (*first, *others)] == [first[0].result()] * READERS
    assert readers.requests(path) == 2, "the first one was asked for before the others needed it"


def test_a_list_that_ran_out_of_time_is_repeated_by_nobody_and_is_then_given_more_time(
    shared: SiteStore, drydock: Simulator, ticking: FakeClock
) -> None:
    readers = Readers(shared, drydock, ticking, read_timeout=SLOW / 2)
    drydock.fault("GET", "nodes", "latency", seconds=SLOW, count=100)
    first = readers.starts(LOOKS["nodes"])
    readers.waits_for("nodes", 1)
    # They needed it before, and are told what the first one is told.
    waiting = [readers.pool.submit(StoreLists(shared).read, name_of(drydock), lambda _: "", 1.0) for _ in range(3)]
    with pytest.raises(ProvisionerUnavailable, match="no answer in time") as caught:
        first[0].result(30)
    assert caught.value.timed_out
    for one in (*waiting, *readers.starts(LOOKS["nodes"], 3)):
        with pytest.raises(ProvisionerUnavailable, match=r"in time.*asked for that list again in \d s") as said:
            one.result(30)
        assert said.value.retry_after is not None
    assert readers.requests("nodes") == 1
    ticking.move(PAUSES[-1])
    assert readers.starts(LOOKS["nodes"])[0].result(30) == {}
    assert readers.requests("nodes") == 2
    readers.pool.shutdown()


def name_of(drydock: Simulator) -> str:
    return f"list of nodes of Drydock at {drydock.url.removeprefix('http://')}"


def test_two_connections_to_one_server_share_its_lists(readers: Readers, shared: SiteStore) -> None:
    readers.drydock.fault("GET", "nodes", "latency", seconds=SLOW, count=100)
    first = readers.starts(LOOKS["nodes"])
    readers.waits_for("nodes", 1)
    host, port = readers.drydock.url.removeprefix("http://").split(":")
    values = ConnectionValues("http", "other", host.upper(), "http", int(port))
    readers.connection = ProvisionerConnection(values)
    others = readers.starts(LOOKS["nodes"], 4)
    readers.clock.move(1)
    for one in (*first, *others):
        one.result(30)
    assert readers.requests("nodes") == 2


def test_the_list_of_all_machines_of_a_maas_is_shared_by_those_who_see_the_same_part_of_it(
    shared: SiteStore, ticking: FakeClock, tmp_path: Path
) -> None:
    maas = MaasSimulator(tmp_path, "--machines", "3")
    try:
        readers = Readers(shared, maas, ticking, 30.0)
        extra = {"pool": "default"}
        values = ConnectionValues("maas", "c", f"{maas.url}/MAAS", password=maas.key, extra=extra)
        readers.connection = ProvisionerConnection(values)
        maas.fault("GET", "machines/", "latency", seconds=SLOW, count=100)
        first = readers.starts(LOOKS["nodes"])
        while not _machine_lists(maas):
            time.sleep(0.02)
        others = readers.starts(lambda client: client.observe(None, {}).nodes, 4)
        # Their need arises with the call, as the events that they go on from are read right before.
        time.sleep(SLOW / 2)
        ticking.move(1)
        assert {len(one.result(30)) for one in (*first, *others)} == {3}
        assert _machine_lists(maas) == 2
        readers.pool.shutdown()
    finally:
        maas.stop()


def _machine_lists(maas: MaasSimulator) -> int:
    return len([one for one in maas.get("journal", method="GET") if one["path"].endswith("/machines/")])


class Server:
    """A server whose answer takes a time of the given clock; the test says what happens meanwhile."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.takes = clock, 1.0
        self.given: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def ask(self, timeout: float) -> str:
        self.given.append(timeout)
        self.meanwhile()
        if self.takes > timeout:
            self.clock.move(timeout)
            raise ProvisionerUnavailable("GET /nodes: no answer in time", timed_out=True)
        self.clock.move(self.takes)
        return json.dumps(len(self.given))


@pytest.fixture
def server(ticking: FakeClock) -> Server:
    return Server(ticking)


def lists(store: SiteStore, clock: FakeClock, **more: Any) -> StoreLists:
    return StoreLists(store, sleep=clock.move, monotonic=lambda: clock().timestamp(), **more)


def test_the_time_for_a_list_grows_to_five_minutes_and_comes_back(
    shared: SiteStore, ticking: FakeClock, server: Server
) -> None:
    server.takes = 250
    readings = lists(shared, ticking)
    for pause in (20, 60, 60):
        with pytest.raises(ProvisionerUnavailable):
            readings.read("list", server.ask, 20.0)
        ticking.move(pause)
    assert readings.read("list", server.ask, 20.0) == "4"
    server.takes = 1
    for _ in range(2):
        readings.read("list", server.ask, 20.0)
    assert server.given == [20, 60, 180, 300, 300, 20]


def test_a_list_whose_process_was_killed_is_asked_for_when_it_gave_no_sign_of_life(
    shared: SiteStore, ticking: FakeClock, server: Server
) -> None:
    shared.shared_lists.begin("list", "of one that was killed", ALIVE_SECONDS, ticking.time)
    before = ticking.time
    assert lists(shared, ticking).read("list", server.ask, 20.0) == "1"
    waited = (ticking.time - before).total_seconds() - server.takes
    assert ALIVE_SECONDS <= waited < ALIVE_SECONDS + 2


def test_who_has_no_more_patience_is_told_so_and_asks_nobody(
    shared: SiteStore, ticking: FakeClock, server: Server
) -> None:
    shared.shared_lists.begin("list", "of one that is alive", 1000, ticking.time)
    with pytest.raises(ProvisionerUnavailable, match="another process asks for the list, and has no answer for 8 s"):
        lists(shared, ticking, patience=8.0).read("list", server.ask, 20.0)
    assert server.given == []


def test_a_task_that_is_told_to_stop_waits_no_longer_for_another_ones_answer(
    shared: SiteStore, ticking: FakeClock, server: Server
) -> None:
    shared.shared_lists.begin("list", "of one that is alive", 1000, ticking.time)
    stopping, began = Stopping(), ticking.time

    def sleep(seconds: float) -> None:
        ticking.move(seconds)
        stopping.told = ticking.time - began > timedelta(seconds=20)

    of_task = shared_by(shared, stopping=stopping).lists
    assert isinstance(of_task, StoreLists)
    waits = replace(of_task, sleep=sleep, monotonic=lambda: ticking().timestamp())
    with pytest.raises(TaskStopped):
        waits.read("list", server.ask, 20.0)
    assert ticking.time - began < timedelta(seconds=25)
    assert server.given == []


def test_what_is_wrong_with_one_client_alone_is_told_to_no_other(
    shared: SiteStore, ticking: FakeClock, server: Server
) -> None:
    def wrong() -> None:
        raise ValueError("the secrets cannot be read")

    server.meanwhile = wrong
    with pytest.raises(ValueError, match="the secrets"):
        lists(shared, ticking).read("list", server.ask, 20.0)
    server.meanwhile = lambda: None
    assert lists(shared, ticking, since=ticking.time).read("list", server.ask, 20.0) == "2"


def test_a_need_that_arose_earlier_is_served_by_what_was_asked_for_since(
    shared: SiteStore, ticking: FakeClock, server: Server
) -> None:
    need = ticking.time
    ticking.move(3)
    assert lists(shared, ticking).read("list", server.ask, 20.0) == "1"
    ticking.move(60)
    assert lists(shared, ticking, since=need).read("list", server.ask, 20.0) == "1"
    assert lists(shared, ticking).read("list", server.ask, 20.0) == "2"


def test_while_the_store_is_away_a_list_is_asked_for_at_once(
    shared: SiteStore, ticking: FakeClock, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(shared._database, "write_at", away)
    assert lists(shared, ticking).read("list", server.ask, 20.0) == "1"
