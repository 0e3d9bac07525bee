"""When a failed node is tried again, within an action and between actions (rule 44)."""

from __future__ import annotations

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
    """How often a node failed in a row, and when it may be tried next. The store counts (`site_store/nodes/tries.py`).

    Attributes
    ----------
    failures : failures in a row.
    next_time : when it may be tried again, in seconds of the caller's clock; None: at once.
    """

    failures: int = 0
    next_time: float | None = None

    def may_try(self, now: float) -> bool:
        """Tell whether the delay is over."""
        return self.next_time is None or now >= self.next_time
