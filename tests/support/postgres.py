"""A PostgreSQL as `slipway up` runs it, without the rest of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slipway_cli.embedded.postgres_cluster import PostgresCluster
from slipway_cli.embedded.postgres_process import PostgresProcess

_PATIENCE = 60.0


def start_server(home: Path) -> tuple[PostgresCluster, PostgresProcess]:
    """Make the cluster if it is not there, start its server, and wait until it answers."""
    cluster, log = PostgresCluster(home), home / "postgres.log"
    if not cluster.exists():
        creation = cluster.begin_creation(log)
        while not creation.is_over():
            time.sleep(0.02)
        cluster.finish_creation()
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
        process.is_running()
        cluster.close()
