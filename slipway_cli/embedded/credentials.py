"""Secrets and passwords of the embedded Airflow: made once, kept in files that only their owner can read."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from provisioner_client.private_files import write_private
from slipway_cli import SlipwayCliError
from strategy_lib.settings import (
    SLIPWAY_ADMIN_PASSWORD,
    SLIPWAY_SERVICE_PASSWORD,
    SLIPWAY_SERVICE_USER,
    SLIPWAY_VIEWER_PASSWORD,
)

PASSWORDS = {"admin": SLIPWAY_ADMIN_PASSWORD, "viewer": SLIPWAY_VIEWER_PASSWORD}
"""Of the users that are people, each named as its role in Airflow: the setting with the password."""
SERVICE_ROLE = "user"
"""The role of Slipway's own account: it reads, and starts runs of the DAG `notify`, which a viewer may not."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets shared by the components, and the passwords of the users.

    `given` names the users whose password came from the environment and is therefore not to be printed.
    `service_password` is that of Slipway's own account, which no person uses.
    """

    jwt_secret: str
    api_secret_key: str
    fernet_key: str
    passwords: Mapping[str, str]
    given: frozenset[str]
    service_password: str

    def __repr__(self) -> str:
        return f"Credentials(users={sorted(self.passwords)})"


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8") or "{}")
    except ValueError:
        data = None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise SlipwayCliError(f"{path} is damaged; remove it, and new values are made at the next start")
    return data


def load_or_create(secrets_file: Path, passwords_file: Path, environ: Mapping[str, str]) -> Credentials:
    """Read both files and make what is missing.

    A password from SLIPWAY_ADMIN_PASSWORD, SLIPWAY_VIEWER_PASSWORD or SLIPWAY_SERVICE_PASSWORD replaces the one in
    the file.

    Raises `SlipwayCliError`: a file is damaged.
    """
    keys = _read(secrets_file)
    made = {
        "jwt_secret": secrets.token_urlsafe(64),
        "api_secret_key": secrets.token_urlsafe(32),
        "fernet_key": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
    } | keys
    if made != keys:
        write_private(secrets_file, json.dumps(made, indent=1))
    kept = _read(passwords_file)
    passwords = {user: kept.get(user) or secrets.token_urlsafe(9) for user in PASSWORDS}
    given = set()
    for user, setting in PASSWORDS.items():
        if password := setting.read(environ):
            passwords[user] = password
            given.add(user)
    own = SLIPWAY_SERVICE_USER.default
    service = SLIPWAY_SERVICE_PASSWORD.read(environ) or kept.get(own) or secrets.token_urlsafe(32)
    # Always rewritten: Airflow itself opens the file for appending, and a file made by others might not be private.
    write_private(passwords_file, json.dumps(passwords | {own: service}))
    return Credentials(**made, passwords=passwords, given=frozenset(given), service_password=service)
