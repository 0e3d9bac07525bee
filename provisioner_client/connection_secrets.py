"""What of a connection is secret, in all forms in which a provisioner may repeat it. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from design_rendering.redaction import is_secret_key, url_logins

if TYPE_CHECKING:
    from provisioner_client.connection import ConnectionValues


def secrets_of(connection: ConnectionValues) -> frozenset[str]:
    """Return the secrets of a connection and their parts.

    They are its password, with the parts of an API key; the fields of its extra that are secret by their names, such as
    `auth_token`; and passwords within addresses. Each also as it stands in a URL, and as it is sent by basic auth.
    """
    return frozenset(form for user, secret in _logins(connection) for form in _forms(user, secret))


def _logins(connection: ConnectionValues) -> Iterator[tuple[str, str]]:
    password = connection.password.strip()
    yield connection.login, connection.password
    yield connection.login, password
    for part in password.split(":"):
        yield connection.login, part
    yield from url_logins(connection.host)
    for key, value in connection.extra.items():
        if isinstance(value, str):
            yield from url_logins(value)
            if is_secret_key(key):
                yield connection.login, value
                yield connection.login, value.strip()


def _forms(user: str, secret: str) -> Iterator[str]:
    if secret:
        yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
        yield b64encode(f"{user}:{secret}".encode()).decode()
