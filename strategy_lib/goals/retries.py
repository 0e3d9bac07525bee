"""When a failed node is tried again, within an action and between actions (rule 44)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

FIRST_DELAY = 60.0
LONGEST_DELAY = 8 * 3600.0
JITTER = 0.25
# 60 s doubled this often is above eight hours: from here on the power of two need not be computed.
_DOUBLINGS = 9


def retry_delay(failures: int, jitter: float = 0.0) -> float:
    """Return how long to wait after a failure before a node is tried again.

    Parameters
    ----------
    failures : how often it has failed in a row.
    jitter : from -1 to 1: which part of the 25 % is added or taken away, so that nodes that failed together are not all
        tried again together. It is applied after the cap.

    Returns
    -------
    float
        Seconds: `min(8 h, 60 s x 2^(failures - 1))`, jittered; 0.0 without a failure.

    Raises
    ------
    ValueError : when `failures` is below 0, or `jitter` is not from -1 to 1.

    Examples
    --------
    >>> [retry_delay(n) for n in (0, 1, 2, 100)]
    [0.0, 60.0, 120.0, 28800.0]
    """
    if failures < 0:
        raise ValueError(f"failures is {failures}: a node cannot have failed less than never")
    if not -1 <= jitter <= 1:
        raise ValueError(f"jitter is {jitter}: it is from -1 to 1")
    if failures == 0:
        return 0.0
    delay = LONGEST_DELAY if failures > _DOUBLINGS else min(LONGEST_DELAY, FIRST_DELAY * 2 ** (failures - 1))
    return delay * (1 + JITTER * jitter)


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a node has failed in a row at one wanted version, and when it may be tried next.

    Attributes
    ----------
    version : the wanted version that was tried; None before the first try.
    failures : failures in a row.
    cause : text of the last failure.
    next_time : when it may be tried again, in seconds of the caller's clock; None: at once.
    """

    version: int | None = None
    failures: int = 0
    cause: str = ""
    next_time: float | None = None

    def failed(self, version: int, cause: str, now: float, jitter: float = 0.0) -> Tries:
        """Return the state after a failure: failures of an older version do not count."""
        failures = (self.failures if version == self.version else 0) + 1
        return Tries(version, failures, cause, now + retry_delay(failures, jitter))

    def succeeded(self, version: int) -> Tries:
        """Return the state after a success."""
        return Tries(version)

    def wanted(self, version: int) -> Tries:
        """Return the state when this version is wanted: a new design, or a `touch`, resets it.

        A node that is held for another's failure, or still in progress, has not tried: nothing is recorded of that.
        """
        return self if self.version in (None, version) else Tries(version)

    def may_try(self, now: float) -> bool:
        """Tell whether the delay is over."""
        return self.next_time is None or now >= self.next_time


def nodes_to_retry(failed: Iterable[str], tries: Mapping[str, int], retries: int) -> tuple[str, ...]:
    """Return which failed nodes of a group are tried again in the same phase, sorted.

    Parameters
    ----------
    failed : nodes whose last try of the phase has failed. A node whose outcome is unknown is still in progress, and is
        none.
    tries : how many tries each has had; 1 where it is missing.
    retries : how many more than the first the group allows; 0 by default.
    """
    return tuple(sorted(name for name in set(failed) if tries.get(name, 1) <= retries))
