"""How many machines are deployed at once for one account of MAAS, by processes that share a store and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import NoReturn
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.protocol import TaskRef, TaskState
from provisioner_client.shared_lists import Locks
from provisioner_client.simulator.maas.simulation import MaasSimulation
from site_engine.shared_lists import store_locks
from site_store import SiteStore, StoreUnavailable
from strategy_lib.phase import Phase
from tests.support.fake_clock import FakeClock
from tests.support.maas_clients import URL, Killed, Wire, client, design, wire
from tests.support.maas_in_process import Admin, admin_of, simulated_maas

__all__ = ["wire"]

NAMES = ["m0001", "m0002", "m0003", "m0004"]
DESIGN = design(dict.fromkeys(NAMES, "{}"))
LOCK = f"maas:{URL}:slipway"
LIMIT = 2
PATIENCE = 300


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[MaasSimulation]:
    with simulated_maas(tmp_path, machines=len(NAMES)) as made:
        yield made


@pytest.fixture
def admin(simulation: MaasSimulation, wire: Wire) -> Admin:
    """Ask a MAAS whose machines are prepared; each deploy is stuck until it is let go."""
    worker, told = client(), admin_of(simulation)
    worker.submit(Phase.PREPARE, DESIGN, NAMES, "slipway-a-1")
    finish(worker, "slipway-a-1")
    told("POST", "scripts", {"node": "*", "phase": "deploy", "behaviour": "stuck"})
    return told


def finish(worker: MaasProvisioner, reference: str) -> None:
    until = time.monotonic() + PATIENCE
    while worker.task(TaskRef(reference, design=DESIGN)).state is not TaskState.COMPLETE:
        assert time.monotonic() < until


def deploys(admin: Admin) -> int:
    """Return how many deploys were begun so far."""
    return sum(node["deploys"] for node in admin("GET", "nodes"))


def submit(worker: MaasProvisioner, names: list[str], reference: str) -> str:
    return worker.submit(Phase.DEPLOY, DESIGN, names, reference, sent_ago=None)


def no_answer() -> NoReturn:
    """Lose a request on its way there."""
    raise requests.ReadTimeout("no answer")


@pytest.mark.parametrize(
    ("share", "begun"),
    [
        pytest.param(True, LIMIT, id="processes that share a store"),
        pytest.param(False, 2 * LIMIT, id="without a store each process has the limit for itself"),
    ],
)
def test_two_processes_that_count_at_the_same_moment(
    admin: Admin, wire: Wire, store_url: str, monkeypatch: pytest.MonkeyPatch, share: bool, begun: int
) -> None:
    # Both have counted before either sends. With a lock the other one does not come: it is not waited for long.
    both, send = Barrier(2, timeout=0.2 if share else PATIENCE), wire.send

    def count_together(request: requests.PreparedRequest) -> requests.Response:
        answer = send(request)
        if parse_qs(urlsplit(str(request.url)).query).get("status") == ["deploying"]:
            with suppress(BrokenBarrierError):
                both.wait()
        return answer

    monkeypatch.setattr(wire, "send", count_together)

    def process(names: list[str], reference: str) -> None:
        with SiteStore.open(store_url) as store:
            locks: Locks | None = store_locks(store) if share else None
            submit(
                client(parallel=LIMIT, locks=locks, sleep=lambda seconds: time.sleep(seconds / 20)), names, reference
            )

    with ThreadPoolExecutor(2) as pool:
        works = [pool.submit(process, NAMES[:2], "slipway-a-2"), pool.submit(process, NAMES[2:], "slipway-a-3")]
        for work in works:
            work.result(PATIENCE)
    assert deploys(admin) == begun


def test_all_have_their_turn_and_never_more_at_once(admin: Admin, store: SiteStore) -> None:
    workers = {f"slipway-a-{number}": client(parallel=1, locks=store_locks(store)) for number in (2, 3)}
    for (reference, worker), names in zip(workers.items(), (NAMES[:2], NAMES[2:]), strict=True):
        submit(worker, names, reference)
    until, seen = time.monotonic() + PATIENCE, set()
    open_tasks = set(workers)
    while open_tasks:
        assert time.monotonic() < until
        now = [node["name"] for node in admin("GET", "nodes") if node["status"] == "Deploying"]
        assert len(now) <= 1
        seen.update(now)
        admin("POST", "release")
        over = TaskState.COMPLETE
        open_tasks = {one for one in open_tasks if workers[one].task(TaskRef(one, design=DESIGN)).state is not over}
    assert deploys(admin) == len(NAMES)
    left = store.leases.get(LOCK)
    assert left is not None
    assert left.expires_at <= store.now(), "nobody keeps the turn"


def test_what_a_killed_process_has_sent_is_waited_for_and_then_others_deploy(
    admin: Admin, wire: Wire, store: SiteStore, clock: FakeClock
) -> None:
    wire.kill("after", "op-deploy")
    with pytest.raises(Killed):
        submit(client(locks=store_locks(store)), NAMES[:1], "slipway-a-2")
    wire.heal()
    second = client(locks=store_locks(store), sleep=lambda seconds: None)
    submit(second, NAMES[1:2], "slipway-a-3")
    assert second.task(TaskRef("slipway-a-3", design=DESIGN)).state is TaskState.QUEUED
    assert deploys(admin) == 1
    held = store.leases.get(LOCK)
    assert held is not None
    clock.sleep((held.expires_at - store.now()).total_seconds())
    assert second.task(TaskRef("slipway-a-3", design=DESIGN)).state is TaskState.RUNNING
    assert deploys(admin) == 2


def test_a_lost_deploy_that_never_began_waits_for_a_place_like_any_other(
    admin: Admin, wire: Wire, clock: FakeClock
) -> None:
    """The submission ends: it does not ask MAAS again and again, without a pause, until there is a place."""
    wire.before("op-deploy", no_answer)
    # Somebody with the same key, who takes no turn.
    clock.after(30.0, lambda: submit(client(parallel=1), NAMES[1:2], "slipway-a-3"))
    worker = client(parallel=1, settle=60.0, sleep=clock.sleep, clock=lambda: clock.now().timestamp())
    submit(worker, NAMES[:1], "slipway-a-2")
    assert [node["deploys"] for node in admin("GET", "nodes")] == [0, 1, 0, 0]
    until = time.monotonic() + PATIENCE
    while worker.task(TaskRef("slipway-a-2", design=DESIGN)).state is not TaskState.COMPLETE:
        admin("POST", "release")
        assert time.monotonic() < until
    assert [node["deploys"] for node in admin("GET", "nodes")] == [1, 1, 0, 0]


def test_a_maas_that_is_away_keeps_nobody_from_the_turn(admin: Admin, wire: Wire, store: SiteStore) -> None:
    def nobody() -> NoReturn:
        raise requests.ConnectTimeout("nobody there")

    wire.before("op-allocate", nobody, once=False)
    with pytest.raises(ProvisionerUnavailable):
        submit(client(locks=store_locks(store)), NAMES[:1], "slipway-a-2")
    left = store.leases.get(LOCK)
    assert left is not None
    assert left.expires_at <= store.now()


def test_while_it_is_not_known_whether_a_deploy_begins_no_other_process_counts(
    admin: Admin, wire: Wire, store: SiteStore, clock: FakeClock
) -> None:
    others: list[int] = []

    def another() -> None:
        submit(client(parallel=1, locks=store_locks(store), sleep=lambda _: None), NAMES[1:2], "slipway-a-3")
        others.append(deploys(admin))

    wire.before("op-deploy", no_answer)
    clock.after(30.0, another)
    patient = client(
        parallel=1,
        settle=60.0,
        locks=store_locks(store),
        sleep=clock.sleep,
        clock=lambda: clock.now().timestamp(),
    )
    submit(patient, NAMES[:1], "slipway-a-2")
    assert others == [0], "the first one's may still have begun"
    assert [node["deploys"] for node in admin("GET", "nodes")] == [1, 0, 0, 0], "sent once more, and nothing beside it"


def test_who_has_lost_his_turn_on_the_way_sends_nothing_more(
    admin: Admin, wire: Wire, store: SiteStore, clock: FakeClock
) -> None:
    taken = []

    def steal() -> None:
        """Stand still for a day between two requests; meanwhile another process has begun its turn."""
        clock.sleep(86_400)
        taken.append(store.leases.take(LOCK, "another", 60))

    wire.before("op-allocate", steal, once=False)
    worker = client(locks=store_locks(store), sleep=lambda _: None)
    submit(worker, NAMES[:2], "slipway-a-2")
    assert deploys(admin) == 0
    (other,) = taken
    assert other is not None
    assert store.leases.get(LOCK) == other, "and the other's turn is left alone"
    store.leases.give_up(other)
    wire.heal()
    worker.task(TaskRef("slipway-a-2", design=DESIGN))
    assert deploys(admin) == 2


def test_while_the_store_is_away_nothing_is_deployed(
    admin: Admin, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailable("away")

    worker = client(locks=store_locks(store), sleep=lambda _: None)
    with monkeypatch.context() as broken:
        broken.setattr(store.leases, "take", away)
        submit(worker, NAMES[:1], "slipway-a-2")
    assert deploys(admin) == 0
    worker.task(TaskRef("slipway-a-2", design=DESIGN))
    assert deploys(admin) == 1
