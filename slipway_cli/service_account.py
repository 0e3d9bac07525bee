"""Slipway's own account in Airflow, for processes without a caller: who it is, and where its password comes from."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slipway_cli import SlipwayCliError

USER_VARIABLE = "SLIPWAY_SERVICE_USER"
PASSWORD_VARIABLE = "SLIPWAY_SERVICE_PASSWORD"  # noqa: S105 - the name of it
FILE_VARIABLE = "SLIPWAY_SERVICE_PASSWORD_FILE"
DEFAULT_USER = "slipway"

MISSING = (
    f"no service account: set {USER_VARIABLE} and {PASSWORD_VARIABLE} (or {FILE_VARIABLE}, a file of mode 0600), so "
    "that dead actions are closed and provisioners checked without being asked"
)


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A user of Airflow's, with its password."""

    user: str
    password: str = field(repr=False)


def service_account(environ: Mapping[str, str]) -> ServiceAccount | None:
    """Return the account that the environment names; None when it names no password.

    Raises `SlipwayCliError`: the file cannot be read, is empty, or others than its owner may read it.
    """
    user = environ.get(USER_VARIABLE) or DEFAULT_USER
    if environ.get(PASSWORD_VARIABLE):
        return ServiceAccount(user, environ[PASSWORD_VARIABLE])
    if not environ.get(FILE_VARIABLE):
        return None
    file = Path(environ[FILE_VARIABLE])
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise SlipwayCliError(f"{FILE_VARIABLE}: others may read {file}: run chmod 600 {file}")
        password = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SlipwayCliError(f"{FILE_VARIABLE}: {file} cannot be read ({reason})") from error
    if not password:
        raise SlipwayCliError(f"{FILE_VARIABLE}: {file} is empty")
    return ServiceAccount(user, password)
