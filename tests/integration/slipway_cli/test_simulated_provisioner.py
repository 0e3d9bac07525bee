"""A simulated provisioner as a process of its own, and the site of a demo in the store."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import pytest
import requests

from site_store import SiteStore
from slipway_cli import SlipwayCliError
from slipway_cli.demo import provisioner_process
from slipway_cli.demo.order import GIVEN_UP_AFTER, STOPPED, demo_store, remove_site, watched
from slipway_cli.demo.simulated_provisioner import SimulatedProvisioner, embedded_provisioner
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.integration.site_store.scenario import FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import new_store


def settings(home: Path) -> EmbeddedSettings:
    return EmbeddedSettings.from_environment(home, 0, {})


def test_a_simulator_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        SimulatedProvisioner(settings(tmp_path), "simulator", 100, ["nonsense"]).start() as simulated,
        pytest.raises(SlipwayCliError, match="nonsense"),
    ):
        simulated.wait_ready()


def test_a_busy_port_is_reported_by_name_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("SLIPWAY_SIMULATOR_PORT", str(port))
        with pytest.raises(SlipwayCliError, match=rf"port {port} \(the simulated Drydock, SLIPWAY_SIMULATOR_PORT"):
            SimulatedProvisioner(settings(tmp_path), "simulator", 100)


def test_the_demos_simulator_listens_on_loopback_only(tmp_path: Path) -> None:
    with SimulatedProvisioner(settings(tmp_path), "simulator", 100).start() as simulated:
        url = simulated.wait_ready()
        connections = psutil.Process(simulated.pid).net_connections(kind="inet")
        listening = [(c.laddr.ip, c.laddr.port) for c in connections if c.status == psutil.CONN_LISTEN]
    assert [f"http://{ip}:{port}" for ip, port in listening] == [url]
    assert url.startswith("http://127.0.0.1:")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_one_that_dies_is_started_again_at_its_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisioner_process, "_PAUSE", 0.0)
    said: list[str] = []
    with SimulatedProvisioner(settings(tmp_path), "simulator", 100).start() as drydock:
        assert drydock.wait_ready() == drydock.address
        drydock.look_after(said.append)
        assert said == []
        os.kill(drydock.pid, signal.SIGKILL)
        wait_for(lambda: not drydock.is_running())
        drydock.look_after(said.append)
        assert drydock.wait_ready() == drydock.address
        assert requests.get(f"{drydock.address}/_sim/tasks", timeout=5).json() == []
    assert len(said) == 1
    assert not drydock.is_running()


def test_its_machines_are_asked_with_a_key_that_it_keeps_unless_others_are(tmp_path: Path) -> None:
    with SimulatedProvisioner(settings(tmp_path), "simulator", 100).start() as drydock:
        key = drydock.node_key.read_text()
        assert (len(key), drydock.node_key.stat().st_mode & 0o777) == (64, 0o600)
        names = {"SLIPWAY_NODE_KEY_FILE": str(drydock.node_key), "SLIPWAY_NODE_PROXY": drydock.address}
        assert drydock.node_variables({}) == names
        assert drydock.node_variables({"SLIPWAY_NODE_KEY_FILE": "/etc/own.key"}) == {}
    with SimulatedProvisioner(settings(tmp_path), "simulator", 100).start() as drydock:
        assert drydock.node_key.read_text() == key


def test_an_ironic_that_cannot_be_installed_is_a_sentence_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    ironic = embedded_provisioner(settings(tmp_path), "simulator", 100, kind="ironic")
    said: list[str] = []
    with pytest.raises(
        SlipwayCliError, match=r"^Ironic cannot be installed into .*no-python: No such file.*start again$"
    ):
        ironic.start(said.append)
    assert said == ["installing Ironic (once for this home)"]
    assert not ironic.is_running()
    assert not ironic.log.exists()


def test_machines_are_kept_unless_new_ones_are_wanted(tmp_path: Path) -> None:
    def tables() -> set[str]:
        with contextlib.closing(sqlite3.connect(tmp_path / "simulator.db")) as database:
            return {row[0] for row in database.execute("select name from sqlite_master")}

    for anew, kept in ((False, True), (True, False)):
        with contextlib.closing(sqlite3.connect(tmp_path / "simulator.db")) as database:
            database.execute("create table if not exists of_the_test (x)")
        with SimulatedProvisioner(settings(tmp_path), "simulator", 100, anew=anew).start() as drydock:
            drydock.wait_ready()
        assert ("of_the_test" in tables()) is kept


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[SiteStore]:
    with new_store() as url, SiteStore.open(url, clock) as store:
        for name in ("example", "north"):
            commit_design(store, name, site([node("n1")], [group("g", ["n1"])], region=name))
        yield store


def test_the_site_of_a_demo_is_watched_while_it_lives_and_stopped_afterwards(store: SiteStore) -> None:
    with watched(store, "example"):
        assert store.site_stops.of_sites() == {"example": "", "north": ""}
    assert store.site_stops.of_sites() == {"example": STOPPED, "north": ""}
    with watched(store, "example"):
        assert store.site_stops.of_sites() == {"example": "", "north": ""}


def test_a_demo_that_is_interrupted_leaves_its_site_stopped(store: SiteStore) -> None:
    with pytest.raises(KeyboardInterrupt), watched(store, "example"):
        raise KeyboardInterrupt
    assert store.site_stops.of_sites() == {"example": STOPPED, "north": ""}


def test_a_demo_that_lives_puts_off_the_stop_and_a_killed_one_does_not(
    store: SiteStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, said = store.site_stops.put, threading.Event()

    def note(*given: object) -> None:
        put(*given)  # type: ignore[arg-type]
        said.set()

    monkeypatch.setattr(store.site_stops, "put", note)
    with watched(store, "example", every=0.01):
        clock.move(GIVEN_UP_AFTER - 1)
        said.clear()
        assert said.wait(60)
        said.clear()
        assert said.wait(60)
        clock.move(GIVEN_UP_AFTER - 1)
        assert store.site_stops.of_sites()["example"] == ""
    # As a killed one left it: it had said it when it began, and nothing more.
    put("example", STOPPED, GIVEN_UP_AFTER)
    clock.move(GIVEN_UP_AFTER + 1)
    assert store.site_stops.of_sites() == {"example": STOPPED, "north": ""}


def test_only_the_site_of_a_demo_that_is_over_is_taken_away(store: SiteStore) -> None:
    assert not remove_site(store, "nowhere")
    with pytest.raises(SlipwayCliError, match="site north is watched"):
        remove_site(store, "north")
    with watched(store, "example"), pytest.raises(SlipwayCliError, match="given up after 30 s"):
        remove_site(store, "example")
    assert remove_site(store, "example")
    assert store.sites.known() == ["north"]


def test_the_store_of_a_home_is_found_or_it_is_said_that_there_is_none(tmp_path: Path) -> None:
    settings = EmbeddedSettings.from_environment(tmp_path / "home", 0)
    with pytest.raises(SlipwayCliError, match="store"), demo_store(settings):
        pass
