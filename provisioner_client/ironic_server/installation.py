"""Ironic's environment in a home: installed once, from a lock file with hashes, by uv where there is one, else by pip.

Ironic wants other versions of packages than Airflow, so it cannot share Slipway's environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.resources
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from provisioner_client.private_files import open_private, write_private


class IronicServerError(Exception):
    """Ironic cannot be installed or started here; the message says why and what to do."""


_READY = "installed"
"""A file in an environment that is whole."""
HARDWARE = Path(__file__).with_name("hardware")
"""The folder with the modules that run in Ironic's environment."""
_DISTRIBUTION = {
    "METADATA": "Metadata-Version: 2.1\nName: slipway-hardware\nVersion: 1\n",
    "entry_points.txt": """\
[ironic.hardware.types]
slipway = slipway_hardware:SlipwayHardware
slipway-redfish = slipway_hardware:SlipwayRedfish
[ironic.hardware.interfaces.deploy]
slipway = slipway_hardware:SlipwayDeploy
[ironic.hardware.interfaces.inspect]
slipway = slipway_hardware:SlipwayInspect
[ironic.hardware.interfaces.power]
slipway = slipway_hardware:SlipwayPower
""",
}
# Of the caller's environment these would have Ironic import what is Slipway's, or compile everything at each start.
_FOREIGN = frozenset({"PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONSTARTUP", "VIRTUAL_ENV"})


def lock_file() -> Traversable:
    """The file with the versions and hashes of all that Ironic needs."""
    return importlib.resources.files(__package__) / "ironic.lock"


def with_hardware(folder: Path) -> str:
    """Return the value of PYTHONPATH with which Ironic finds Slipway's hardware type.

    Parameters
    ----------
    folder : where its entry points are written: Ironic knows a hardware type by those of an installed distribution.
    """
    distribution = folder / "slipway_hardware-1.dist-info"
    distribution.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in _DISTRIBUTION.items():
        write_private(distribution / name, text)
    return f"{folder}:{HARDWARE}"


def environment_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a caller's environment without what would lead a Python of another environment astray."""
    return {name: value for name, value in environ.items() if name not in _FOREIGN}


def environment_name(lock: str) -> str:
    """Return the name of the folder for these versions and this Python: another one when either changes."""
    made_of = f"{lock}\n{sys.version}\n{sys.base_prefix}"
    return f"python-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"


def installed(folder: Path, say: Callable[[str], None]) -> Path:
    """Return the Python with Ironic in a home's folder; install it if it is not there.

    Only one process installs at a time. Environments of other versions are removed once the new one is there.

    Parameters
    ----------
    folder : of the home, where environments are kept.
    say : takes a line for the person who waits.

    Raises
    ------
    IronicServerError : it cannot be installed; the message has the installer's own last words.
    """
    lock = lock_file().read_text(encoding="utf-8")
    environment = folder / environment_name(lock)
    python = environment / "bin" / "python"
    with _alone(folder) as lock_number:
        if (environment / _READY).exists() and python.exists():
            return python
        say("installing Ironic (once for this home)")
        shutil.rmtree(environment, ignore_errors=True)
        with importlib.resources.as_file(lock_file()) as file:
            _install(environment, python, file, lock_number)
        (environment / _READY).touch()
        for other in folder.glob("python-*"):
            if other != environment:
                shutil.rmtree(other, ignore_errors=True)
    return python


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[int]:
    with open_private(folder / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def find_uv() -> str | None:
    """The program `uv`: beside the Python that runs this, or on the path; None: there is none."""
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")


def _install(environment: Path, python: Path, lock: Path, alone: int) -> None:
    uv = find_uv()
    said = ""
    if uv is not None:
        sync = [uv, "pip", "sync", "--quiet", "--python", str(python), "--require-hashes", str(lock)]
        said = _run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)], alone) or _run(sync, alone)
        if not said:
            return
        # It knows no index that only pip's own configuration names.
        shutil.rmtree(environment, ignore_errors=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    install = [*pip, "--require-hashes", "-r", str(lock)]
    reason = _run([sys.executable, "-m", "venv", str(environment)], alone) or _run(install, alone)
    if reason:
        shutil.rmtree(environment, ignore_errors=True)
        by_uv = f"; uv said: {said}" if said else ""
        raise IronicServerError(
            f"Ironic cannot be installed into {environment.parent} ({reason}{by_uv}). It is installed once, from a "
            "package index: see that uv, or pip and venv (on Debian: apt-get install python3-venv), are here and "
            "reach one, and start again"
        )


def _run(command: Sequence[str], alone: int) -> str:
    """Run a step; return what it said last if it failed, else "". It holds the lock `alone`, should this be killed."""
    try:
        done = subprocess.run(
            list(command),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            pass_fds=(alone,),
            env=environment_variables(os.environ),
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return " ".join(lines[-3:])[-500:] or f"{Path(command[0]).name} ended with status {done.returncode}"
