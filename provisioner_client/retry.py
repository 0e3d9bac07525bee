"""How long to wait before a request is repeated. Values and arithmetic; whether a repeat is safe is the caller's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


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
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
