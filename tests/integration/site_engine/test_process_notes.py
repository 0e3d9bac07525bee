"""A process notes itself by a thread of its own, which neither a fork nor a store that is away disturbs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_engine.monitoring import process_notes
from site_engine.monitoring.process_notes import (
    ProcessNotes,
    common_environment,
    digest_with,
    files_digest,
    note_worker,
)
from site_engine.version import version
from site_store import Role, SiteStore
from site_store.sql.sealing import read_keys
from strategy_lib.settings import SLIPWAY_STORE_KEYS_FILE
from tests.e2e.running import wait_until
from tests.support.stores import new_store


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteStore]:
    with new_store() as url, SiteStore.open(url) as store:
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
        yield store


def notes_of(role: Role | None, delay: float = 0.01) -> ProcessNotes:
    return ProcessNotes(lambda: role, lambda digest, _: {"keys": {"k": [digest("k", "secret")]}}, delay)


def test_a_process_is_there_from_its_begin_to_its_end(store: SiteStore) -> None:
    notes = notes_of(Role.SCHEDULER)
    notes.begin()
    wait_until(lambda: len(store.processes.all()[1]) == 1, "it is noted", 30)
    (found,) = store.processes.all()[1]
    assert (found.role, found.pid, found.version) == (Role.SCHEDULER, os.getpid(), version())
    notes.end()
    assert store.processes.all()[1] == []
    # What was under way meanwhile writes nothing any more.
    notes.note(Role.SCHEDULER)
    assert store.processes.all()[1] == []


def test_a_key_is_noted_as_a_digest_that_says_nothing_elsewhere(store: SiteStore) -> None:
    notes_of(Role.WORKER).note(Role.WORKER)
    (found,) = store.processes.all()[1]
    here, elsewhere = digest_with(store.processes.salt()), digest_with("other")
    assert found.environment["keys"]["k"] == [here("k", "secret")]
    name = SLIPWAY_STORE_KEYS_FILE.name
    assert found.environment["keys"][name] == [here(name, key) for key in read_keys()] != []
    assert len({here("k", "secret"), here("k", "other"), here("j", "secret"), elsewhere("k", "secret")}) == 4


def test_a_store_that_is_away_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, store: SiteStore
) -> None:
    notes, there = notes_of(Role.TRIGGERER), os.environ["SLIPWAY_DATABASE_URL"]
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none?connect_timeout=1")
    notes.note(Role.TRIGGERER)
    notes.note(Role.TRIGGERER)
    assert caplog.text.count("could not be noted in the store, and works on") == 1
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", there)
    notes.note(Role.TRIGGERER)
    assert len(store.processes.all()[1]) == 1


def test_tasks_of_a_machine_share_a_note_and_a_defect_in_it_is_no_failure_of_theirs(
    store: SiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise KeyError("x")

    note_worker(store, lambda *_: {"first": True})
    note_worker(store, lambda *_: {"first": False})
    note_worker(store, broken)
    (found,) = store.processes.all()[1]
    assert (found.environment["first"], found.every_seconds) == (False, None)
    assert "could not be kept" in caplog.text


def test_no_child_is_forked_while_a_note_is_written(store: SiteStore) -> None:
    writes, goes_on = threading.Event(), threading.Event()

    def describe(*_: object) -> dict[str, object]:
        writes.set()
        goes_on.wait(0.5)
        return {}

    notes = ProcessNotes(lambda: Role.SCHEDULER, describe, 0.01)
    notes.begin()
    assert writes.wait(30)
    child = os.fork()
    if child == 0:
        # The child has the lock as one that nobody holds, and no connection of the parent's.
        os._exit(0 if process_notes._writing.acquire(blocking=False) else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(store.processes.all()[1]) == 1
    notes.end()


def test_files_of_dags_have_one_digest_by_name_and_content(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    first = files_digest([tmp_path])
    (tmp_path / "a.py").write_text("2")
    assert first is not None
    assert files_digest([tmp_path]) != first
    assert common_environment([tmp_path])["disks"][str(tmp_path)][1] > 0


def test_an_end_and_a_fork_wait_no_longer_than_a_moment_for_a_note_that_stands_still(
    monkeypatch: pytest.MonkeyPatch, store: SiteStore
) -> None:
    monkeypatch.setattr(process_notes, "_LONGEST_HOLD", 0.05)
    notes, writes, goes_on = notes_of(Role.SCHEDULER), threading.Event(), threading.Event()
    notes.note(Role.SCHEDULER)

    def describe(*_: object) -> dict[str, object]:
        writes.set()
        assert goes_on.wait(30)
        return {}

    stuck = ProcessNotes(lambda: Role.TRIGGERER, describe, 0.01)
    stuck.begin()
    assert writes.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    notes.end()
    assert [found.role for found in store.processes.all()[1]] == [Role.SCHEDULER], "its row is left to age"
    goes_on.set()
    wait_until(lambda: len(store.processes.all()[1]) == 2, "the note goes on", 30)
    stuck.end()
