"""A PostgreSQL as `slipway up` runs it, without the rest of it."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from slipway_cli.embedded.postgres import _SETTINGS, INITDB, PostgresCluster, PostgresProcess
from tests.support.processes import free_port

_PATIENCE = 60.0


def make_cluster(home: Path) -> PostgresCluster:
    """Make a home's files as `slipway up` does; but nobody waits until they are on the disk."""
    cluster = PostgresCluster(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slipway_cli.embedded.postgres.INITDB", (*INITDB, "--no-sync"))
        creation = cluster.begin_creation(home / "postgres.log")
    while not creation.is_over():
        time.sleep(0.02)
    cluster.finish_creation()
    return cluster


@functools.cache
def _template() -> Path:
    """Such files, made once: to copy them takes a tenth of the time."""
    home = Path(tempfile.mkdtemp(prefix="slipway-pg-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return make_cluster(home).folder


def with_files(home: Path) -> PostgresCluster:
    """Return a home's server that does not run, with new files unless it has some."""
    cluster = PostgresCluster(home)
    if not cluster.exists():
        subprocess.run(["cp", "-a", _template(), cluster.folder], check=True)
    return cluster


def start_server(home: Path) -> tuple[PostgresCluster, PostgresProcess]:
    """Start a home's server, with new files unless it has some, and wait until it answers."""
    cluster, log = with_files(home), home / "postgres.log"
    cluster.open()
    process = PostgresProcess(cluster, log)
    process.start()
    end = time.monotonic() + _PATIENCE
    while not process.answers():
        assert process.is_running(), log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.02)
    process.make_databases()
    return cluster, process


@contextmanager
def running_server(home: Path) -> Iterator[tuple[PostgresCluster, PostgresProcess]]:
    """Run a home's server for the time of the context."""
    cluster, process = start_server(home)
    try:
        yield cluster, process
    finally:
        process.kill_rest()
        cluster.close()


def _administer(host: Path, port: int) -> psycopg.Connection:
    """Return a connection of the server's administrator, once it can be had."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return psycopg.connect(host=str(host), port=port, user="postgres", autocommit=True)
        except psycopg.OperationalError:
            assert time.monotonic() < end
            time.sleep(0.02)


@contextmanager
def server_on_port(home: Path) -> Iterator[tuple[str, Callable[[Sequence[str]], None]]]:
    """Run a server that is reached by TCP and with a password.

    Yields its host and port, and what carries out statements as its administrator.
    """
    cluster, port = with_files(home), free_port()
    with (cluster.data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 127.0.0.1/32 scram-sha-256\n")
    cluster.open()
    with pytest.MonkeyPatch.context() as patch:
        for setting, value in (("listen_addresses", "127.0.0.1"), ("port", str(port))):
            patch.setitem(_SETTINGS, setting, value)
        process = PostgresProcess(cluster, home / "postgres.log")

    def execute(statements: Sequence[str]) -> None:
        with _administer(cluster.host, port) as server:
            for statement in statements:
                server.execute(statement.encode())

    process.start()
    try:
        yield f"127.0.0.1:{port}", execute
    finally:
        process.kill_rest()
        cluster.close()
