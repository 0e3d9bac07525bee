"""The notes of long-lived processes: who runs in which version, with which settings, for the doctor and for upgrades.

A note is one small write when a process begins, and again every `EVERY` seconds, in a thread of its own: nothing of
Slipway's runs again and again in a scheduler. What goes wrong is logged once, and is no failure of the process.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
import os
import platform
import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from site_engine.version import version
from site_store import ProcessNote, Role, SiteStore, StoreError
from site_store.sql.fence import CURRENT
from site_store.sql.sealing import fingerprint, read_keys
from strategy_lib.actors import Actor
from strategy_lib.settings import SLIPWAY_STORE_KEYS_FILE

log = logging.getLogger(__name__)

EVERY: Final = 30.0
"""Seconds between two notes of a process."""
SILENT: Final = 3 * EVERY
"""Seconds without a note after which a process is frozen or gone."""
KEPT: Final = 86_400.0
"""Seconds after which the controller forgets a process that is silent."""
_LONGEST_HOLD: Final = 1.0
"""Seconds that a fork, or the end of a process, waits for a note at most."""
_PACKAGES: Final = ("apache-airflow", "celery", "apache-airflow-providers-celery", "apache-airflow-providers-fab")

Digest = Callable[[str, str], str]
"""Returns a digest of a secret by the name of its setting and its value, for this installation alone."""
Describe = Callable[[Digest, SiteStore], Mapping[str, Any]]
"""Returns what a process says of its environment; may ask the store."""

_writing = threading.Lock()
_forking = threading.local()


def _before_fork() -> None:
    # A child has neither the thread nor what that holds: the database's connection, or the resolver's lock.
    _forking.holds = _writing.acquire(timeout=_LONGEST_HOLD)


def _after_fork() -> None:
    # In the parent and in the child it is the thread that forked.
    if _forking.holds:
        _forking.holds = False
        _writing.release()


# Once: each registration would take the lock anew.
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def digest_with(salt: str) -> Digest:
    """Return what makes digests of keys: the same key has the same digest in this installation, and in no other."""
    return lambda name, value: fingerprint(salt, value, name)


def common_environment(folders: Iterable[Path]) -> dict[str, Any]:
    """Return what every process can say of where it runs.

    Parameters
    ----------
    folders : whose disks count: their free and whole space in MB is noted, as the machine's memory is.
    """
    packages = {}
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    disks = {}
    for folder in folders:
        with suppress(OSError):
            usage = shutil.disk_usage(folder)
            disks[str(folder)] = [usage.free // 1_000_000, usage.total // 1_000_000]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000
    return {"python": platform.python_version(), "packages": packages, "disks": disks, "memory": memory}


def files_digest(folders: Iterable[Path]) -> str | None:
    """Return a digest of the DAG files in folders, by name and content; None where they cannot be read."""
    made = hashlib.sha256()
    try:
        for path in sorted(path for folder in folders for path in folder.glob("*.py")):
            made.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return None
    return made.hexdigest()[:32]


def make_note(role: Role, store: SiteStore, describe: Describe, process_id: str, every: float | None) -> ProcessNote:
    """Return what this process says of itself now."""
    digest = digest_with(store.processes.salt())
    said = dict(describe(digest, store))
    # Whichever they are: those of a setting, of a home, or Airflow's.
    name = SLIPWAY_STORE_KEYS_FILE.name
    said["keys"] = {**said.get("keys", {}), name: [digest(name, key) for key in read_keys()]}
    return ProcessNote(process_id, role, version(), CURRENT, socket.gethostname(), os.getpid(), every, said)


def note_worker(store: SiteStore, describe: Describe) -> None:
    """Note the machine of a task, in the task's process; that it fails is no failure of the task."""
    process_id = f"{Role.WORKER}:{socket.gethostname()}"
    try:
        store.processes.note(make_note(Role.WORKER, store, describe, process_id, None))
    except Exception as error:  # noqa: BLE001 - as it says above
        log.warning("The note of this worker could not be kept: %s", error)


class ProcessNotes:
    """The notes of this process, from `begin` to `end`.

    Parameters
    ----------
    role : finds out what the process is; None: it is not known yet, and asked again.
    describe : called for each note.
    delay : seconds until the first note: who starts has better things to do.
    """

    def __init__(self, role: Callable[[], Role | None], describe: Describe, delay: float = 2.0) -> None:
        self._role, self._describe, self._delay = role, describe, delay
        self._id = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._pid = os.getpid()
        self._ended = threading.Event()
        self._noted: str | None = None
        self._has_failed = False

    def begin(self) -> None:
        """Note this process from now on."""
        threading.Thread(target=self._run, name="process note", daemon=True).start()

    def end(self) -> None:
        """Note it no more, and forget it: it ends as it was told to."""
        if self._ended.is_set() or os.getpid() != self._pid:
            return
        self._ended.set()
        # Where a note is waiting for a silent store, the end does not wait with it.
        if self._noted is None or not _writing.acquire(timeout=_LONGEST_HOLD):
            return
        try:
            with suppress(StoreError), SiteStore.open(actor=Actor.STEP) as store:
                store.processes.forget(self._noted)
        finally:
            _writing.release()

    def _run(self) -> None:
        pause = self._delay
        while not self._ended.wait(pause):
            role = self._role()
            pause = EVERY if role is not None else self._delay
            if role is not None:
                self.note(role)

    def note(self, role: Role) -> None:
        """Write one note. The store is opened for it alone: no connection is kept for it."""
        process_id = f"{role}:{self._id}"
        try:
            with _writing:
                if self._ended.is_set():
                    return
                with SiteStore.open(actor=Actor.STEP) as store:
                    store.processes.note(make_note(role, store, self._describe, process_id, EVERY))
            self._noted, self._has_failed = process_id, False
        except Exception as error:  # noqa: BLE001 - whatever it is, the process goes on working
            self._noted = None
            if not self._has_failed:
                log.warning("This process could not be noted in the store, and works on: %s", error)
            self._has_failed = True
