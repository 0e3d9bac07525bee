"""Backups by PostgreSQL's own programs: whole or not there, closed to others, and a copy once restored (rule 61)."""

from __future__ import annotations

import gzip
import os
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from site_store import SiteStore
from site_store.__main__ import main
from site_store.backups import BackupError, _program, back_up, restore
from strategy_lib.phase import Phase
from tests.integration.site_store.designs.test_secret_texts import NEW, OLD, PASSPHRASE, keys, passphrase
from tests.integration.site_store.scenario import SITE, Scenario, want
from tests.support.revisions import commit_design
from tests.support.stores import administer, empty_database

__all__ = ["keys"]

HELD = "run `slipway store restored`"


@pytest.fixture
def backed_up(site: Scenario, url: str, tmp_path: Path) -> Path:
    """Back a store up in the middle of an action."""
    want(site.store, 1, {"n1": "d1", "n2": "d2"})
    _, record = site.opened({"a": ["n1", "n2"]})
    site.submit(site.begin(record, Phase.PREPARE))
    file = tmp_path / "store.backup"
    made = back_up(file, url)
    assert made.size == file.stat().st_size
    return file


def rows(url: str) -> dict[str, int]:
    """Return how many rows each table has."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
        return {
            name: connection.execute(f'SELECT count(*) FROM "{name}"'.encode()).fetchone()[0]  # type: ignore[index]
            for (name,) in tables
        }


def test_rule_61_what_was_backed_up_is_there_again_and_is_a_copy(
    site: Scenario, backed_up: Path, url: str, tmp_path: Path
) -> None:
    assert stat.S_IMODE(backed_up.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [backed_up.name], "nothing is left beside it"
    other = empty_database()
    told = CliRunner().invoke(main, ["restore", str(backed_up), "--url", other])
    assert told.exit_code == 0, told.output
    assert "next: slipway store restored" in told.output
    assert rows(other) == rows(url)
    with SiteStore.open(other) as restored:
        assert HELD in str(restored.home.held())
        (before,) = site.store.operations.unfinished(SITE)
        assert restored.operations.unfinished(SITE) == [before]
        found = restored.restoring.settle()
        assert found.incarnation == site.store.home.incarnation()
        assert restored.home.held() is None


def test_a_database_that_is_not_empty_is_left_alone_unless_that_is_asked_for(
    site: Scenario, backed_up: Path, url: str
) -> None:
    other = empty_database()
    SiteStore.upgrade(other)
    before = rows(other)
    told = CliRunner().invoke(main, ["restore", str(backed_up), "--url", other])
    assert told.exit_code == 1
    assert "is not empty" in told.output
    assert "--replace" in told.output
    assert rows(other) == before
    administer(other, "CREATE TABLE another (id int)")
    with pytest.raises(BackupError, match=r"does not have \(another\)"):
        restore(backed_up, other, replace=True)
    administer(other, "DROP TABLE another")
    restore(backed_up, other, replace=True)
    assert rows(other) == rows(url)
    with SiteStore.open(other) as restored:
        assert HELD in str(restored.home.held())


def test_a_restore_that_fails_changes_nothing(backed_up: Path, tmp_path: Path) -> None:
    other = empty_database()
    whole = backed_up.read_bytes()
    cut = tmp_path / "cut.backup"
    for size in (5, 40, len(whole) // 3, len(whole) - 2000, len(whole) - 1):
        cut.write_bytes(whole[:size])
        with pytest.raises(BackupError, match="damaged or cut off") as caught:
            restore(cut, other)
        assert str(caught.value).startswith(str(cut)), "the sentence is ours, and pg_restore's words stand behind it"
        assert rows(other) == {}, size


def archive(url: str, file: Path, form: str = "custom") -> Path:
    """Dump a database by pg_dump itself."""
    with psycopg.connect(url) as connection:
        program = _program("pg_dump", connection.info.server_version // 10000, None)
    subprocess.run([program, f"--dbname={url}", f"--format={form}", f"--file={file}"], check=True)
    return file


def test_a_file_that_is_no_backup_is_called_what_it_is(
    url: str, site: Scenario, backed_up: Path, tmp_path: Path
) -> None:
    foreign, other = empty_database(), empty_database()
    administer(foreign, "CREATE TABLE dag_run (id int)", "CREATE TABLE invoice (id int)")
    both = empty_database()
    SiteStore.upgrade(both)
    administer(both, "CREATE SCHEMA airflow", "CREATE TABLE airflow.dag_run (id int)")
    files = {
        "no dump of PostgreSQL's": b"no backup",
        "is empty": b"",
        "unpack it (gunzip)": gzip.compress(backed_up.read_bytes()),
        "written by a newer pg_dump": b"PGDMP\x01\x63" + backed_up.read_bytes()[7:],
    }
    for number, content in enumerate(files.values()):
        (tmp_path / str(number)).write_bytes(content)
    found = {words: tmp_path / str(number) for number, words in enumerate(files)}
    found |= {
        "another database than Slipway's: it has the tables dag_run, invoice": archive(foreign, tmp_path / "foreign"),
        "it has no tables": archive(other, tmp_path / "nothing"),
        "is a dump in plain SQL": archive(url, tmp_path / "plain", "plain"),
        "is an archive of tar": archive(url, tmp_path / "tar", "tar"),
        "it has the schemas airflow, public": archive(both, tmp_path / "both"),
    }
    for words, file in found.items():
        with pytest.raises(BackupError) as caught:
            restore(file, other)
        assert str(caught.value).startswith(f"{file} "), caught.value
        assert words in str(caught.value)
        assert rows(other) == {}, words


def test_what_postgresql_refuses_is_said_behind_our_own_sentence(backed_up: Path) -> None:
    other = empty_database()
    administer(other, "CREATE TYPE action AS (id int)")
    with pytest.raises(BackupError, match=r"was not restored into the .*, where nothing has changed: PostgreSQL ref"):
        restore(backed_up, other)
    assert rows(other) == {}


def test_a_backup_that_fails_leaves_the_earlier_one(backed_up: Path, tmp_path: Path) -> None:
    before = backed_up.read_bytes()
    with pytest.raises(BackupError, match="there is nothing to back up"):
        back_up(backed_up, empty_database())
    assert backed_up.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [backed_up.name]


def fake_program(folder: Path, name: str, version: int) -> Path:
    """Write a program of that version, which notes how it is called, and fails."""
    program = folder / name
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{name} (PostgreSQL) {version}.1" && exit\n'
        f'tr "\\0" " " < /proc/$$/cmdline > {folder}/arguments\necho "$PGPASSWORD" > {folder}/password\n'
        "echo half of it\necho 'no room left' >&2\nexit 1\n"
    )
    program.chmod(0o700)
    return program


def test_a_password_is_on_no_command_line(url: str, site: Scenario, tmp_path: Path) -> None:
    with psycopg.connect(url) as connection:
        fake_program(tmp_path, "pg_dump", connection.info.server_version // 10000)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    given = url.replace("postgresql://", "postgresql+psycopg://").replace("postgres:@", "postgres:s3cret@")
    assert "s3cret" in given
    file = tmp_path / "store.backup"
    with pytest.raises(BackupError, match="pg_dump failed, and nothing has changed: no room left"):
        back_up(file, given, environment)
    assert not file.exists()
    assert not list(tmp_path.glob(".store*"))
    assert (tmp_path / "password").read_text() == "s3cret\n"
    assert "s3cret" not in (tmp_path / "arguments").read_text()
    assert " user=postgres " in (tmp_path / "arguments").read_text()


def test_a_program_older_than_the_server_is_passed_over(tmp_path: Path) -> None:
    fake_program(tmp_path, "pg_dump", 9)
    found = _program("pg_dump", 10, {"PATH": str(tmp_path)})
    assert not found.startswith(str(tmp_path))
    with pytest.raises(BackupError, match=r"is of version 9, .* client programs of version 99"):
        _program("pg_dump", 99, {"PATH": str(tmp_path)})


def test_a_backup_names_the_key_of_its_secrets_and_is_restored_where_that_is_at_hand(
    url: str, keys: Path, tmp_path: Path
) -> None:
    with SiteStore.open(url) as store:
        commit_design(store, SITE, passphrase())
        (used,) = store.secret_texts.used()
    file = tmp_path / "store.backup"
    told = CliRunner().invoke(main, ["backup", str(file), "--url", url])
    assert f"the key of fingerprint {used}" in told.output
    other = empty_database()
    keys.write_text(NEW)
    told = CliRunner().invoke(main, ["restore", str(file), "--url", other])
    assert told.exit_code == 1
    assert f"encrypted with the key of fingerprint {used}" in told.output
    assert rows(other) == {}, "it stops before anything is changed"
    keys.write_text(f"{NEW},{OLD}")
    assert restore(file, other).keys == (used,)
    with SiteStore.open(other) as restored:
        restored.secret_texts.require_readable()
        assert PASSPHRASE in str(restored.revisions.secrets(SITE, 1))
