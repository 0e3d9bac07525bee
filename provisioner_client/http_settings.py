"""How requests to a server are sent: to which address, how long each may take, and when it is repeated.

Values and arithmetic; whether a repeat is safe is the caller's.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

from provisioner_client.redacting import Redact, nothing_is_secret

LONGEST_WAIT: Final = 86400.0
"""Seconds for a connection, or between two pieces of an answer, at most."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with jitter.

    Parameters
    ----------
    attempts : how often one request is sent at most, the first time included.
    first_wait, longest_wait : seconds before the second attempt, and before any attempt. Each wait is twice the one
        before.
    longest_retry_after : seconds; a provisioner that asks for more is asked again after this long.
    """

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 15.0
    longest_retry_after: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1")
        if min(self.first_wait, self.longest_wait, self.longest_retry_after) < 0:
            raise ValueError("waits are seconds and cannot be negative")

    def wait(self, attempt: int, retry_after: float | None, chance: float) -> float:
        """Seconds to wait after a failed attempt.

        Parameters
        ----------
        attempt : the attempt that failed, from 1.
        retry_after : what the provisioner asked for. It is never undercut, save by `longest_retry_after`.
        chance : from 0 to 1. Spreads clients that failed together: half of the wait is certain, half is chance.
        """
        backoff = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, 32))
        spread = backoff * (0.5 + chance / 2)
        if retry_after is None:
            return spread
        asked = min(max(retry_after, 0.0), self.longest_retry_after)
        return asked + chance * min(1.0, backoff)


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number of seconds or an HTTP date; None when unreadable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    ahead = seconds_until(text, now)
    return None if ahead is None else max(0.0, ahead)


def seconds_until(date: str, now: datetime) -> float | None:
    """Return the seconds until a date of HTTP; None when unreadable."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, IndexError):
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()


def growing_delays(first: float, seconds: float) -> Iterator[float]:
    """Yield the seconds to wait before each look, twice as long each time; the last comes after so many seconds."""
    while seconds > first:
        yield first
        seconds -= first
        first *= 2
    if seconds > 0:
        yield seconds


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: for the connection, between two pieces of an answer, and for a whole answer."""

    connect: float = 5.0
    read: float = 60.0
    total: float = 300.0

    def __post_init__(self) -> None:
        if not (0 < self.connect <= LONGEST_WAIT and 0 < self.read <= LONGEST_WAIT and self.total > 0):
            raise ValueError("timeouts are seconds, above 0 and at most a day: nothing here may wait for ever")


_PATIENT: Final = Timeouts()
_REPEATS: Final = RetryPolicy()


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How a client sends its requests, whatever they ask for.

    Parameters
    ----------
    retry : for requests that may be repeated.
    verify : check the server's certificate, or the path of the CA file to check it with.
    named_by : what a person finds the address in, for messages: ``Airflow connection 'slipway_provisioner'``. No
        secret.
    redact : takes secrets out of what the server says of an error, before that is shortened. Where it fails, nothing of
        what the server says is shown.
    shown : is given the newest operation of each store whose references stand in an answer to a question (rule 61).
    sleep, chance, clock : wait for so many seconds; a number from 0 to 1; seconds since any moment. Given by tests.
    """

    timeouts: Timeouts = _PATIENT
    retry: RetryPolicy = _REPEATS
    verify: bool | str = True
    named_by: str | None = None
    redact: Redact = nothing_is_secret
    shown: Callable[[Mapping[str, int]], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic


AS_SHIPPED: Final = HttpSettings()


def server_of(url: str) -> str:
    """Give host and port of a URL that `checked_url` has accepted, also where it leaves the port to its scheme."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def checked_url(url: str) -> str:
    """Give the URL without a slash at its end.

    Raises `ValueError` when it is not an http URL with a host, or carries a user, a query or a fragment. The text does
    not repeat it.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise ValueError("the provisioner's URL cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("the provisioner's URL must be like http://host:9000 or https://host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the provisioner's URL must not contain a user or a password: give them as credentials")
    if parts.query or parts.fragment:
        raise ValueError("the provisioner's URL must not have a query or a fragment")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def identity_of(url: str) -> str:
    """Give what is the same for all URLs of one server that `checked_url` has accepted: host, port and path."""
    return server_of(url) + urlsplit(url).path
