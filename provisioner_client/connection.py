"""A connection to a provisioner as plain values: what its backend reads of it, and what of it is secret."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar
from urllib.parse import quote, quote_plus

from design_rendering.redaction import is_secret_key, url_logins
from provisioner_client.http_settings import HttpSettings, RetryPolicy, Timeouts
from provisioner_client.redacting import Redact
from provisioner_client.shared_lists import NOT_SHARED, Shared

Fields = TypeVar("Fields")
LONGEST: Final = 315_360_000.0
"""Ten years, in seconds: as far as times can be counted with."""
_HURRIED: Final = Timeouts(3.0, 8.0)


@dataclass(frozen=True, slots=True)
class ConnectionValues:
    """Where a provisioner is and how to log in.

    Parameters
    ----------
    type : which backend speaks to it: a row of `provisioner_client.factory.FACTORY`.
    id : its name where it is kept.
    host, schema, port, login, password : as a person filled them in; any may be missing. A host may be a whole URL.
    extra : the fields that its backend and Slipway read, see `read_fields`.
    named_by : what it is kept in, for messages: ``Airflow connection 'slipway_provisioner'``. No secret.
    hurried : a person waits for the answer, so each request is sent once and has a time-out of a few seconds.
    shared : with other processes.
    shown : see `HttpSettings`.
    """

    type: str
    id: str
    host: str = ""
    schema: str = ""
    port: int | None = None
    login: str = ""
    password: str = field(default="", repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    named_by: str | None = None
    hurried: bool = False
    shared: Shared = field(default=NOT_SHARED, repr=False, compare=False)
    shown: Callable[[Mapping[str, int]], None] | None = field(default=None, repr=False, compare=False)

    @property
    def url(self) -> str:
        """The provisioner's URL, however host, schema and port say it; empty when there is no host."""
        host = self.host.strip()
        if not host:
            return ""
        url = host if "://" in host else f"{self.schema or 'http'}://{host}"
        return f"{url.rstrip('/')}:{self.port}" if self.port else url


@dataclass(frozen=True, slots=True)
class HttpFields:
    """The fields of a connection's extra that every backend reads; times in seconds."""

    connect_timeout: float = 5.0
    read_timeout: float = 60.0
    verify_tls: bool = True
    ca_bundle: str | None = None

    def settings(self, connection: ConnectionValues, redact: Redact) -> HttpSettings:
        """Return how requests are sent. Raises `ValueError`: a timeout cannot be used."""
        connect, read = self.connect_timeout, self.read_timeout
        if connection.hurried:
            connect, read = min(connect, _HURRIED.connect), min(read, _HURRIED.read)
        return HttpSettings(
            Timeouts(connect, read, max(300.0, 5 * read)),
            RetryPolicy(attempts=1) if connection.hurried else RetryPolicy(),
            (self.ca_bundle or True) if self.verify_tls else False,
            connection.named_by,
            redact,
            connection.shown,
        )


def read_fields(kind: type[Fields], extra: Mapping[str, Any]) -> Fields:
    """Read a dataclass's fields out of a connection's extra; one that is missing, null or empty takes its default.

    A field whose default is a boolean is a switch, one whose default is a float a number of seconds, and any other a
    text.

    Raises `ValueError`: a number is not a number, is negative or too great, a switch is not a boolean, a text is not a
    text. No value is repeated.
    """
    values: dict[str, Any] = {}
    for item in fields(kind):  # type: ignore[arg-type]  # a dataclass, which no annotation can say
        value = extra.get(item.name)
        if value is None or value == "":
            continue
        if isinstance(item.default, bool):
            values[item.name] = _boolean(item.name, value)
        elif isinstance(item.default, float):
            values[item.name] = _seconds(item.name, value)
        elif isinstance(value, str):
            values[item.name] = value
        else:
            raise ValueError(f"connection field {item.name} must be a text")  # noqa: TRY004 - as all that is wrong
    return kind(**values)


def _seconds(name: str, value: object) -> float:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever it is, float() tells
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"connection field {name} must be a number from 0 to {LONGEST:.0f}") from None
    if isinstance(value, bool) or not 0 <= seconds <= LONGEST:
        raise ValueError(f"connection field {name} must be a number from 0 to {LONGEST:.0f}")
    return seconds


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    # Connections given by environment variables are texts.
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise ValueError(f"connection field {name} must be true or false")


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
