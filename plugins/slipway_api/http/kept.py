"""What was made lately, for all who ask for the same: an answer, a part of a page, a comparison."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """What was made last, by key. Of several who ask for the same at once one makes it, and the others wait for it.

    Parameters
    ----------
    most : so many are kept; of more, those that were asked for last.
    seconds : for how long one is good.
    clock : seconds that only grow.
    """

    def __init__(self, most: int, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._places: OrderedDict[Hashable, _Place[T]] = OrderedDict()

    def get(
        self,
        key: Hashable,
        make: Callable[[], T],
        is_current: Callable[[T], bool] = lambda _: True,
        *,
        refresh: bool = False,
    ) -> T:
        """Return what is kept, else make it. What `make` raises is raised here, and it is called again next time.

        Parameters
        ----------
        key : all that tells one from another.
        is_current : whether what is kept still is as it would be made now; asked when nobody makes it.
        refresh : nothing that is kept will do: all of it is read after the beginning of this call.
        """
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.lock:
            kept = place.kept
            if refresh or kept is None or self._clock() - kept[0] >= self._seconds or not is_current(kept[1]):
                begun = self._clock()
                kept = place.kept = (begun, make())
            return kept[1]


class _Place(Generic[T]):
    """What is kept under one key and since when, and who makes it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: tuple[float, T] | None = None
