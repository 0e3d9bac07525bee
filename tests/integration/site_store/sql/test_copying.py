"""A store in a SQLite file is copied into PostgreSQL: all of it or nothing, and it goes on where it was."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, func, select, text

from site_store import ActionState, OperationStatus, SiteStore, StoreNotConfigured
from site_store.errors import CopyRefused
from site_store.sql import copying
from site_store.sql.address import resolve
from site_store.sql.copying import copy_sqlite
from site_store.sql.database import Database
from site_store.tables import event, metadata
from strategy_lib.phase import GroupState, Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario
from tests.integration.site_store.sql import first_schema
from tests.support.processes import tied
from tests.support.revisions import commit_design

pytestmark = pytest.mark.parametrize("engine", ["postgresql"])
DESIGN = "a: ä # one\n"


@pytest.fixture
def old(tmp_path: Path, sqlite_template: Path) -> Path:
    """A file with something in most tables: a finished action, one that is at work, and numbers that were given."""
    file = tmp_path / "slipway.db"
    file.write_bytes(sqlite_template.read_bytes())
    clock = FakeClock()
    with SiteStore.open(f"sqlite:///{file}", now=clock) as store:
        commit_design(store, SITE, DESIGN, [])
        site = Scenario(store, clock)
        done = site.running({"a": ["n1"]})
        record = site.open(done, "a")
        for phase in (Phase.PREPARE, Phase.DEPLOY):
            site.do(record, phase)
        assert store.groups.finish(done.id, "a", record.attempt, GroupState.SUCCESS, None)
        store.reports.save(done.id, {"verdict": "success", "ä": [None, 1]})
        store.actions.close(done.id, ActionState.SUCCESS, "fine")
        busy = site.running({"b": ["n2"]}, run_id="run-2")
        site.submit(site.begin(site.open(busy, "b"), Phase.PREPARE))
        store._database.write(lambda tx: tx.execute(event.delete().where(event.c.id == _newest_event(tx))))
    return file


def _newest_event(tx: Connection) -> int:
    return tx.scalar(select(func.max(event.c.id))) or 0


def _counts(url: str) -> dict[str, int]:
    database = Database(resolve(url))
    try:
        return database.read(
            lambda tx: {t.name: tx.scalar(select(func.count()).select_from(t)) or 0 for t in metadata.sorted_tables}
        )
    finally:
        database.close()


def test_all_of_it_is_there_and_goes_on_counting(old: Path, empty_url: str) -> None:
    before, content = _counts(f"sqlite:///{old}"), hashlib.sha256(old.read_bytes()).digest()
    said = copy_sqlite(old, empty_url)
    assert "rows copied from" in said
    assert "1 actions that were not over are cancelled" in said
    after = _counts(empty_url)
    # The action at work was cancelled.
    changed = {"site_lock", "event", "outbox", "status_count", "task_trouble", "node_error"}
    assert {k: v for k, v in after.items() if k not in changed} == {k: v for k, v in before.items() if k not in changed}
    assert hashlib.sha256(old.read_bytes()).digest() == content, "the file stays as it is"
    with SiteStore.open(f"sqlite:///{old}") as source, SiteStore.open(empty_url) as store:
        assert store.counts.verify().differences == ()
        assert store.counts.verify().compared > 0
        assert store.revisions.get(SITE, 1) == source.revisions.get(SITE, 1)
        done = store.actions.of_run("deploy_site", "run-1")
        busy = store.actions.of_run("deploy_site", "run-2")
        assert done is not None
        assert busy is not None
        assert store.reports.get(done.id) == {"verdict": "success", "ä": [None, 1]}
        assert store.operations.of_action(done.id) == source.operations.of_action(done.id)
        assert (busy.state, store.locks.owner(SITE)) == (ActionState.CANCELLED, None)
        (unfinished,) = store.operations.unfinished(SITE)
        assert unfinished.status is OperationStatus.ABANDONED, "what was submitted is still looked after"
        newest = store._database.read(_newest_event)
        given = source._database.read(
            lambda tx: tx.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'event'"))
        )
        new = commit_design(store, SITE, "b: 1\n", [])
        assert new.number == 2
        store.events.add(SITE, "test", "one more")
        assert store._database.read(_newest_event) > max(newest, given), "no number is given twice"


@pytest.mark.endurance
def test_a_repeated_copy_changes_nothing(old: Path, empty_url: str) -> None:
    copy_sqlite(old, empty_url)
    before = _counts(empty_url)
    assert "was copied into it before" in copy_sqlite(old, empty_url)
    assert _counts(empty_url) == before


@pytest.mark.endurance
def test_an_older_schema_is_brought_up_to_date_on_the_way(tmp_path: Path, empty_url: str) -> None:
    file = tmp_path / "old.db"
    first_schema.make(f"sqlite:///{file}")
    content = hashlib.sha256(file.read_bytes()).digest()
    copy_sqlite(file, empty_url)
    assert hashlib.sha256(file.read_bytes()).digest() == content
    with SiteStore.open(empty_url) as store:
        assert [store.revisions.get("north", n).text for n in (1, 2)] == [first_schema.FIRST, first_schema.SECOND]
        assert store.reports.get("01A") == {"verdict": "success", "nodes": ["ä"]}


_COPY_AND_HANG = """
import sys, time
from pathlib import Path
from site_store.sql import copying
real = copying._go_on_counting
def hang(old, new, table):
    real(old, new, table)
    if table.name == "node":
        print("copied", flush=True)
        time.sleep(600)
copying._go_on_counting = hang
copying.copy_sqlite(Path(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.endurance
def test_a_copy_that_is_killed_is_made_again(old: Path, empty_url: str) -> None:
    with subprocess.Popen(
        tied(sys.executable, "-c", _COPY_AND_HANG, str(old), empty_url), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "copied\n"
        process.send_signal(signal.SIGKILL)
    assert set(_counts(empty_url).values()) == {0}
    assert "rows copied from" in copy_sqlite(old, empty_url)
    assert sorted(path.name for path in old.parent.iterdir() if "copying" in path.name) == []


@pytest.mark.endurance
def test_what_processes_hold_for_the_moment_is_neither_copied_nor_in_the_way(old: Path, empty_url: str) -> None:
    SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        lease = store.leases.take("controller", "one", 60.0)
        assert lease is not None
        store.checks.record(lease, "airflow", None)
    assert "rows copied from" in copy_sqlite(old, empty_url)
    with SiteStore.open(empty_url) as store:
        assert [check.subject for check in store.checks.newest()] == ["airflow"]
        assert store.leases.get("controller") == lease


def test_a_database_with_something_else_in_it_is_left_alone(old: Path, empty_url: str) -> None:
    SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        commit_design(store, "other", DESIGN, [])
    before = _counts(empty_url)
    with pytest.raises(CopyRefused, match="is not empty"):
        copy_sqlite(old, empty_url)
    assert _counts(empty_url) == before


def _lose_a_row(fill: Callable[[Connection, Connection, Table], None]) -> Callable[..., None]:
    def lossy(before: Connection, after: Connection, table: Table) -> None:
        fill(before, after, table)
        if table.name == "event":
            after.execute(event.delete().where(event.c.id == _newest_event(after)))

    return lossy


def test_a_copy_that_is_not_equal_is_not_kept(old: Path, empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_fill", _lose_a_row(copying._fill))
    with pytest.raises(CopyRefused, match="the copy of the table event is not equal in row"):
        copy_sqlite(old, empty_url)
    assert set(_counts(empty_url).values()) == {0}


def test_only_a_sqlite_file_is_copied_and_only_into_postgresql(tmp_path: Path, empty_url: str) -> None:
    file = tmp_path / "notes"
    file.write_text("no database " * 100)
    with pytest.raises(CopyRefused, match="is no SQLite file, or damaged"):
        copy_sqlite(file, empty_url)
    with pytest.raises(StoreNotConfigured, match="into PostgreSQL only"):
        copy_sqlite(file, f"sqlite:///{tmp_path}/other.db")
