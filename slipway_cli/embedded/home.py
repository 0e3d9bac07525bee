"""The home of an embedded Airflow: a private folder with a lock, and runtime.json that says what runs in it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from provisioner_client.private_files import open_private, write_private
from slipway_cli import SlipwayCliError

STARTING, READY, STOPPING = "starting", "ready", "stopping"


def make_home(home: Path) -> None:
    """Make the folder if it is not there, closed to others; one that is there is left as it is.

    Raises `SlipwayCliError`: it cannot be made, nothing can be written in it, or it is not this user's alone.
    """
    try:
        for folder in reversed(home.parents):
            folder.mkdir(mode=0o755, exist_ok=True)
        home.mkdir(mode=0o700, exist_ok=True)
        _require_own(home, home.stat())
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise _unusable(home, error.strerror or str(error)) from error


def _unusable(home: Path, reason: str, instead: str = "") -> SlipwayCliError:
    """`reason` says what is wrong, `instead` what would also help."""
    also = f", or, if it is yours alone, {instead}" if instead else ""
    return SlipwayCliError(f"{home} cannot be used ({reason}); choose another folder with --home or SLIPWAY_HOME{also}")


def home_in_use(home: Path, detail: str) -> SlipwayCliError:
    """Return the error of a home where another embedded Airflow works; `detail` says which."""
    return SlipwayCliError(
        f"{home} is in use by another embedded Airflow ({detail}); use or stop that one, or set SLIPWAY_HOME"
    )


def _require_own(home: Path, found: os.stat_result) -> None:
    """Refuse a folder where others could put their own files in the place of ours, the passwords say."""
    if found.st_uid != os.geteuid():
        raise _unusable(home, f"it belongs to another user, of the id {found.st_uid}")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise _unusable(home, f"others may write in it: its mode is {mode}", f"run chmod go-w {home}")


@dataclass(slots=True)
class Runtime:
    """Contents of runtime.json.

    Attributes
    ----------
    url, port : of Airflow's API server.
    pid : the supervisor's process; `components` has the process of each component.
    state : starting, ready or stopping.
    started : seconds since 1970.
    """

    home: str
    url: str
    port: int
    pid: int
    state: str
    started: float
    passwords_file: str
    components: dict[str, int] = field(default_factory=dict)

    def write(self) -> None:
        """Replace runtime.json, readable by the owner only."""
        write_private(_runtime_file(Path(self.home)), json.dumps(asdict(self), indent=1))

    def remove(self) -> None:
        _runtime_file(Path(self.home)).unlink(missing_ok=True)

    def password(self, user: str = "admin") -> str:
        """Return a user's password, from the file that only the owner can read."""
        return str(json.loads(Path(self.passwords_file).read_text(encoding="utf-8"))[user])


def _runtime_file(home: Path) -> Path:
    return home / "runtime.json"


def read_runtime(home: Path) -> Runtime | None:
    """Return what runtime.json says, None if it cannot be read. Its process may have been killed."""
    try:
        return Runtime(**json.loads(_runtime_file(home).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def find_running(home: Path) -> Runtime | None:
    """Return the embedded Airflow that works in this home now, in any state; None when there is none."""
    runtime = read_runtime(home)
    return runtime if runtime is not None and _is_locked(home) else None


def _is_locked(home: Path) -> bool:
    try:
        file = (home / "lock").open("rb")
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


class HomeLock:
    """Held by the supervisor and its guard as long as any process of theirs lives in the home."""

    def __init__(self, home: Path, patience: float = 6.0) -> None:
        """Take the lock.

        Parameters
        ----------
        patience : seconds to wait for a predecessor that is already stopping.

        Raises
        ------
        SlipwayCliError : another one holds it; the folder cannot be written, or is not this user's alone.
        """
        make_home(home)
        self._file = open_private(home / "lock")
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                other = read_runtime(home)
                going = other is None or other.state == STOPPING or not Path(f"/proc/{other.pid}").exists()
                if not going or time.monotonic() > end:
                    self._file.close()
                    where = f"process {other.pid}, {other.url}" if other else "its guard is still cleaning up"
                    raise home_in_use(home, where) from None
                time.sleep(0.1)

    def fileno(self) -> int:
        """The open lock file: a process that inherits it holds the lock as well."""
        return self._file.fileno()

    def release(self) -> None:
        """Release the lock; it is free once the guard has released it, too."""
        self._file.close()
