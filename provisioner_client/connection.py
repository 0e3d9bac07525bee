"""A connection to a provisioner as plain values, and how a backend reads the fields of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

from provisioner_client.shared_lists import UNSHARED, Locks, SharedLists

Fields = TypeVar("Fields")
LONGEST: Final = 315_360_000.0
"""Ten years, in seconds: as far as times can be counted with."""


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
    locks : gives the locks of all processes that share a store; None: there is no store.
    lists : has long lists asked for by one of these processes at a time.
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
    locks: Locks | None = field(default=None, repr=False, compare=False)
    lists: SharedLists = field(default=UNSHARED, repr=False, compare=False)

    @property
    def url(self) -> str:
        """The provisioner's URL, however host, schema and port say it; empty when there is no host."""
        host = self.host.strip()
        if not host:
            return ""
        url = host if "://" in host else f"{self.schema or 'http'}://{host}"
        return f"{url.rstrip('/')}:{self.port}" if self.port else url


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
