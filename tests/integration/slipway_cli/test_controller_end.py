"""`slipway controller` is told to end while the API server takes requests and answers none."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from site_engine.controller.controller import NAME
from site_store import SiteStore
from site_store.status.leases import lease_of
from tests.support.processes import signal_another_thread, tied, wait_until
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import newer_code_alone_may_write

SITE = "alpha"
WATCHDOG = 30.0
"""Seconds: the shortest of the controller's hanging requests that holds its process up takes twice as long."""


class Hanging:
    """A server that takes every connection, and says nothing."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        try:
            while True:
                self.taken.append(self._server.accept()[0])
        except OSError:
            return

    def close(self) -> None:
        for one in (self._server, *self.taken):
            one.close()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    server = Hanging()
    yield server
    server.close()


@contextmanager
def controller(hanging: Hanging, store_url: str, store: SiteStore, lease: int) -> Iterator[subprocess.Popen[str]]:
    """Run a controller of a store with one site; kill it at the end if it is still there."""
    commit_design(store, SITE, site([node("n1")], [group("g", ["n1"])]))
    account = {"SLIPWAY_SERVICE_USER": "slipway", "SLIPWAY_SERVICE_PASSWORD": "secret"}
    process = subprocess.Popen(
        tied(sys.executable, "-m", "slipway_cli", "controller", "--url", hanging.url, "--lease", str(lease)),
        env=os.environ | account | {"SLIPWAY_DATABASE_URL": store_url},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_controller_that_is_told_to_end_gives_its_leases_back_though_the_api_server_hangs(
    hanging: Hanging, store_url: str, store: SiteStore
) -> None:
    with controller(hanging, store_url, store, 600) as process:
        # The job that asks Airflow, and the question for the site's list.
        wait_until(lambda: len(hanging.taken) >= 2, "both wait for answers")
        held = [store.leases.get(name) for name in (NAME, lease_of(SITE))]
        assert all(one is not None and one.expires_at > store.now() for one in held)
        signal_another_thread(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=WATCHDOG)
    assert process.returncode == 0, said
    assert said.endswith("Stopped.\n")
    left = [store.leases.get(name) for name in (NAME, lease_of(SITE))]
    assert [one.expires_at <= store.now() for one in left if one is not None] == [True, True]


def test_rule_60_a_controller_ends_with_a_sentence_when_newer_code_alone_may_write(
    hanging: Hanging, store_url: str, store: SiteStore
) -> None:
    with controller(hanging, store_url, store, 6) as process:
        wait_until(lambda: store.leases.get(lease_of(SITE)) is not None, "it leads the site")
        with newer_code_alone_may_write(store_url):
            _, said = process.communicate(timeout=WATCHDOG)
    assert process.returncode == 1
    assert "This controller ends: " in said
    assert "only Slipway of schema 9999 or newer may write there" in said
    assert "defect" not in said
