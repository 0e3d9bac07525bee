"""The embedded PostgreSQL as a component: its process, whether it answers, and its databases."""

from __future__ import annotations

import signal
from pathlib import Path

import psycopg
from psycopg import sql

from slipway_cli.embedded.component import Component
from slipway_cli.embedded.launcher import tied_program
from slipway_cli.embedded.postgres_cluster import (
    AIRFLOW,
    OWN_FOLDER,
    PORT,
    ROLE,
    STORE,
    SUPERUSER,
    PostgresCluster,
    server_environment,
)
from slipway_cli.embedded.processes import kill_found, servers_of

NAME = "postgres"
_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_directories": "../run",
    "unix_socket_permissions": "0700",
    # Each of Airflow's processes may open 15 connections and as many asynchronous ones, each process with a store 22.
    "max_connections": "200",
    # One small machine: little memory, no helpers that nobody needs, and a log that is read.
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "io_method": "sync",
    "jit": "off",
    "log_checkpoints": "off",
    # A statement and the details of its failure may hold secrets of a design.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_timezone": "UTC",
    "TimeZone": "UTC",
}


class PostgresProcess(Component):
    """The server of an opened cluster."""

    # "Fast": it ends transactions and connections, and writes down what is to be kept.
    stop_signal = signal.SIGINT

    def __init__(self, cluster: PostgresCluster, log: Path) -> None:
        options = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        # Should the supervisor die, "immediate": it ends at once, and recovers at the next start.
        command = tied_program(signal.SIGQUIT, cluster.user, cluster.program("postgres"), "-D", OWN_FOLDER, *options)
        super().__init__(NAME, command, server_environment(), log, cluster.data, "PostgreSQL")
        self._cluster = cluster

    def kill_rest(self) -> list[int]:
        """Kill the server's processes: each of them has a session of its own."""
        left = kill_found(lambda: servers_of(self._cluster.data))
        self.reap()
        return left

    def answers(self) -> bool:
        """Whether it can be talked to (it may be recovering from a crash)."""
        try:
            self._administer().close()
        except psycopg.OperationalError:
            return False
        return True

    def make_databases(self) -> None:
        """Make the databases that are not there yet, and the role that owns them, which has no right to more."""
        with self._administer() as server:
            if server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone() is None:
                server.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(ROLE)))
            for name in (AIRFLOW, STORE):
                if server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
                    made = sql.SQL("CREATE DATABASE {} OWNER {}")
                    server.execute(made.format(sql.Identifier(name), sql.Identifier(ROLE)))

    def _administer(self) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self._cluster.host),
            port=PORT,
            user=SUPERUSER,
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
        )
