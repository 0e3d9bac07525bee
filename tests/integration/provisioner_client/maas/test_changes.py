"""What has changed at the machines of a site, by MAAS's events: few requests, and nothing is overlooked for long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from provisioner_client.maas.changes import POWER_EVERY, WHOLE_EVERY, Cursor
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.protocol import ListedNode
from provisioner_client.simulator.maas.simulation import MaasSimulation
from tests.integration.provisioner_client.maas.conftest import NAMES, Admin
from tests.support.maas_calls import MaasCaller, in_process
from tests.support.maas_clients import Wire, client


class Watcher:
    """Who looks again and again, each time with another client; the time is the test's."""

    def __init__(self, wire: Wire, admin: Admin) -> None:
        self.wire, self._admin = wire, admin
        self.now = 1_000_000.0
        self.cursor: str | None = None
        self.known: dict[str, ListedNode] = {}
        self.is_whole = False

    def client(self) -> MaasProvisioner:
        return client(wall_clock=lambda: self.now)

    def look(self, after: float = 5.0) -> set[str]:
        """Look, and return which nodes are told of."""
        self.now += after
        worker = self.client()
        self.wire.seen.clear()
        found = worker.observe(self.cursor, self.known)
        self.cursor, self.is_whole = found.cursor, found.is_whole
        if found.is_whole:
            self.known = {}
        self.known |= found.nodes
        return set(found.nodes)

    @property
    def lists(self) -> int:
        return sum(path.endswith("/machines/") for _, path in self.wire.seen)

    def list_cost(self) -> tuple[int, int]:
        """Return how many lists there were in all, and how many machines in them."""
        cost = self._admin("GET", "cost")["kinds"]["list"]
        return cost["requests"], cost["machines"]


@pytest.fixture
def maas(simulation: MaasSimulation) -> MaasCaller:
    """Somebody else who works with that MAAS."""
    return MaasCaller(in_process(simulation))


@pytest.fixture
def watcher(wire: Wire, admin: Admin) -> Watcher:
    """Who has looked once."""
    made = Watcher(wire, admin)
    assert made.look() == set(NAMES)
    assert made.is_whole
    return made


def ready(maas: MaasCaller, name: str) -> None:
    maas.act(name, "commission")
    maas.wait(name, "Ready")


def deployed(maas: MaasCaller, name: str) -> None:
    ready(maas, name)
    maas.act(name, "deploy")
    maas.wait(name, "Deployed")


def test_where_nothing_happens_one_question_for_events_is_all(watcher: Watcher) -> None:
    for _ in range(3):
        assert watcher.look() == set()
        assert [path for _, path in watcher.wire.seen] == ["/MAAS/api/2.0/events/op-query"]
        assert not watcher.is_whole


def test_only_the_machines_that_events_tell_of_are_read_and_once(watcher: Watcher, maas: MaasCaller) -> None:
    before = watcher.list_cost()
    maas.act("m0002", "commission")
    assert watcher.look() == {"m0002"}
    wait = time.monotonic() + 300
    while watcher.known["m0002"].status_name != "Ready":
        watcher.look()
        assert time.monotonic() < wait
    requests, machines = watcher.list_cost()
    assert machines - before[1] == requests - before[0], "one machine in each list"
    assert watcher.look() == set()
    assert watcher.lists == 0
    assert watcher.known == watcher.client().nodes()


def test_events_of_strangers_read_no_machine(watcher: Watcher, maas: MaasCaller, admin: Admin) -> None:
    admin("POST", "nodes/m0003", {"pool": "elsewhere"})
    watcher.look(WHOLE_EVERY)
    assert set(watcher.known) == {"m0001", "m0002"}
    deployed(maas, "m0003")
    assert watcher.look() == set()
    assert watcher.lists == 0


def test_an_event_that_is_seen_late_under_a_lower_number_is_not_overlooked(
    watcher: Watcher, maas: MaasCaller, admin: Admin
) -> None:
    admin("POST", "events", {"hide": "m0001"})
    ready(maas, "m0001")
    ready(maas, "m0002")
    assert watcher.look() == {"m0002"}
    admin("POST", "events", {"hide": None})
    assert watcher.look() == {"m0001"}
    assert not watcher.is_whole
    assert watcher.look() == set()


def test_a_ledger_that_was_cut_is_noticed_and_the_whole_list_is_read(
    watcher: Watcher, maas: MaasCaller, admin: Admin
) -> None:
    ready(maas, "m0001")
    watcher.look()
    ready(maas, "m0002")
    admin("POST", "events", {"prune": True})
    assert watcher.look() == set(NAMES)
    assert watcher.is_whole
    assert watcher.known["m0002"].status_name == "Ready"
    watcher.look()
    assert not watcher.is_whole


def test_a_deleted_machine_takes_its_events_along_and_the_others_are_known_again(
    watcher: Watcher, maas: MaasCaller
) -> None:
    for name in NAMES:
        ready(maas, name)
    watcher.look()
    maas.call("DELETE", f"machines/{maas.machine('m0001')['system_id']}/")
    watcher.look()
    assert not watcher.is_whole, "events of others are where they were"


def test_power_that_is_gone_or_back_without_an_event_is_seen_after_a_minute(
    watcher: Watcher, maas: MaasCaller, admin: Admin
) -> None:
    deployed(maas, "m0001")
    watcher.look(POWER_EVERY)
    for power, minutes in (("off", 0), ("on", 6)):
        for _ in range(minutes):
            assert watcher.look(POWER_EVERY) == set()
        admin("POST", "nodes/m0001", {"power_state": power})
        assert watcher.look() == set()
        assert watcher.lists == 0
        assert watcher.look(POWER_EVERY) == {"m0001"}
        assert (watcher.known["m0001"].power_state, watcher.is_whole) == (power, False)
    before = watcher.list_cost()
    watcher.look(POWER_EVERY)
    assert watcher.list_cost() == (before[0] + 1, before[1]), "where all have power the list is empty"


def test_a_machine_that_lost_its_power_a_moment_ago_is_read_at_each_look(
    watcher: Watcher, maas: MaasCaller, admin: Admin
) -> None:
    deployed(maas, "m0001")
    admin("POST", "nodes/m0001", {"power_state": "off"})
    assert watcher.look(POWER_EVERY) == {"m0001"}
    before = watcher.list_cost()
    assert watcher.look() == set()
    assert watcher.list_cost() == (before[0] + 1, before[1] + 1)
    admin("POST", "nodes/m0001", {"power_state": "on"})
    assert watcher.look() == {"m0001"}
    assert watcher.look() == set()
    assert watcher.lists == 0


def test_what_no_event_tells_of_is_seen_within_an_hour(watcher: Watcher, admin: Admin) -> None:
    admin("POST", "nodes/m0003", {"status": "Broken"})
    admin("POST", "nodes/m0002", {"pool": "elsewhere"})
    for _ in range(4):
        assert watcher.look(WHOLE_EVERY / 5) == set()
    assert watcher.look(WHOLE_EVERY / 5) == {"m0001", "m0003"}
    assert watcher.is_whole
    assert watcher.known["m0003"].status_name == "Broken"


@pytest.mark.parametrize("change", ["left the pool", "renamed"])
def test_a_machine_that_left_or_has_another_name_is_seen_with_its_next_event(
    watcher: Watcher, maas: MaasCaller, admin: Admin, change: str
) -> None:
    if change == "renamed":
        maas.call("PUT", f"machines/{maas.machine('m0002')['system_id']}/", hostname="other")
        ready(maas, "other")
    else:
        admin("POST", "nodes/m0002", {"pool": "elsewhere"})
        ready(maas, "m0002")
    watcher.look()
    assert watcher.is_whole
    assert set(watcher.known) == {"m0001", "m0003"} | ({"other"} if change == "renamed" else set())


def _other_place(said: list[object]) -> None:
    said[0] = "http://elsewhere pool default"


def _other_ledger(said: list[object]) -> None:
    marks = said[5]
    assert isinstance(marks, dict)
    assert marks
    said[5] = dict.fromkeys(marks, "Fri, 01 Jan. 2021 00:00:00")


def _from_the_future(said: list[object]) -> None:
    said[1] = 2_000_000.0


def _unreadable(said: list[object]) -> None:
    said[3] = "soon"


@pytest.mark.parametrize("spoil", [_other_place, _other_ledger, _from_the_future, _unreadable])
def test_a_cursor_that_does_not_fit_reads_the_whole_list(
    watcher: Watcher, maas: MaasCaller, spoil: Callable[[list[object]], None]
) -> None:
    ready(maas, "m0001")
    watcher.look()
    assert watcher.cursor is not None
    said = json.loads(watcher.cursor)
    spoil(said)
    watcher.cursor = json.dumps(said)
    watcher.look()
    assert watcher.is_whole


def test_a_cursor_that_is_no_text_of_unicode_is_none() -> None:
    assert Cursor.read('["\ud800", 1, 2, 3, [], {}, {}]') is None


def test_a_list_without_the_machines_ids_is_read_anew(watcher: Watcher) -> None:
    watcher.known = {name: ListedNode(name, one.condition, "New", "off") for name, one in watcher.known.items()}
    watcher.look()
    assert watcher.is_whole
