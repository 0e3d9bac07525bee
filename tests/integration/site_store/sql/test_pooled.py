"""A pooler of transactions before the store, PgBouncer: each transaction may have another of its connections."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, text

from site_store import Lease, LeaseLost, SchemaNotCurrent, SiteStore
from site_store.backups import BackupError, back_up, restore
from tests.support.postgres import server_on_port
from tests.support.processes import free_port, guarded, tied, wait_until
from tests.support.stores import newer_code_alone_may_write

pytestmark = pytest.mark.skipif(
    shutil.which("pgbouncer") is None, reason="pgbouncer, a package of Debian, is not installed"
)
SERVERS = 2
"""Connections that the pooler has to the server, for all of its clients."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Give the URLs of a store, through a pooler and past it."""
    home, port = tmp_path_factory.mktemp("pooled"), free_port()
    with server_on_port(home) as (server, execute):
        execute(["CREATE ROLE ann LOGIN PASSWORD 'word'", "CREATE DATABASE one OWNER ann"])
        host, _, server_port = server.partition(":")
        settings = {
            "listen_addr": host,
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": SERVERS,
        }
        if os.geteuid() == 0:
            settings["user"] = "nobody"
        database = f"[databases]\n* = host={host} port={server_port} user=ann password=word\n[pgbouncer]\n"
        file = home / "pgbouncer.ini"
        file.write_text(database + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        with (home / "pgbouncer.log").open("wb") as log:
            process = subprocess.Popen(tied("pgbouncer", str(file)), stdout=log, stderr=log)
        pooled, own = f"postgresql://ann:word@{host}:{port}/one", f"postgresql://ann:word@{server}/one"
        # Who becomes another user is not tied any more.
        with guarded(process.pid):
            try:
                wait_until(lambda: is_there(pooled), "the pooler answers")
                SiteStore.upgrade(pooled)
                yield pooled, own
            finally:
                process.kill()
                process.wait(timeout=20)


def is_there(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def work(store: SiteStore, owner: str) -> int:
    """Do what each process does, and so often that its driver would prepare it; return how often it led."""
    led = 0
    for number in range(30):
        held = store.leases.take("controller", owner, 0.05)
        if held is not None:
            led += 1
            renew(store, held)
        store.events.add("north", "kind", owner)
        store.home.require_own("north")
        # A read ends by a rollback, behind which the driver begins to count anew.
        if number % 15 == 0:
            with store.at_one_moment() as moment:
                assert moment.sites.committed() == []
            assert store.counts.verify().differences == ()
    return led


def renew(store: SiteStore, held: Lease) -> None:
    try:
        store.checks.record(store.leases.renew(held, 0.05), "a check", held.owner)
    except LeaseLost:
        assert (store.leases.get("controller") or held).owner != held.owner or held.expires_at < store.now()


def test_many_processes_share_two_connections(addresses: tuple[str, str]) -> None:
    pooled, _ = addresses
    with ExitStack() as stack, ThreadPoolExecutor(6) as threads:
        stores = [stack.enter_context(SiteStore.open(pooled)) for _ in range(6)]
        assert stores[0].processes.server().is_pooled
        led = list(threads.map(work, stores, "abcdef"))
    assert sum(led) > 0


def test_rule_60_older_code_is_refused_through_a_pooler(addresses: tuple[str, str]) -> None:
    pooled, own = addresses
    with SiteStore.open(pooled) as store:
        store.events.add("north", "kind", "before")
        with newer_code_alone_may_write(own), pytest.raises(SchemaNotCurrent, match="the store was upgraded"):
            store.events.add("north", "kind", "behind it")
        store.events.add("north", "kind", "again")


def test_the_limits_of_one_process_are_no_limits_of_another(addresses: tuple[str, str]) -> None:
    pooled, _ = addresses
    shown = text("SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')")

    def limits(tx: Connection) -> tuple[str, str]:
        statement, idle = tx.execute(shown).one()
        return statement, idle

    with SiteStore.open(pooled, idle_seconds=5) as controller, SiteStore.open(pooled) as other:
        assert controller._database.read(limits) == ("1min", "5s")
        assert other._database.write(limits) == ("1min", "0")
    with psycopg.connect(pooled) as bare:
        assert bare.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_a_backup_may_come_through_a_pooler_and_a_restore_may_not(addresses: tuple[str, str], tmp_path: Path) -> None:
    pooled, own = addresses
    file = tmp_path / "backup"
    assert back_up(file, pooled).size > 0
    with pytest.raises(BackupError, match="name the server's own address"):
        restore(file, pooled, replace=True)
    restore(file, own, replace=True)
    with SiteStore.open(pooled) as store:
        assert "slipway store restored" in str(store.home.held())
        store.restoring.settle()
