"""What asyncio binds to one event loop, such as a semaphore, made anew for each loop that asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from anyio.lowlevel import RunVar

T = TypeVar("T")


class LoopBound(Generic[T]):
    """One object for each event loop.

    Parameters
    ----------
    name
        Unique in the process.
    make
        Makes the object; called within the loop.
    """

    def __init__(self, name: str, make: Callable[[], T]) -> None:
        self._var: RunVar[T] = RunVar(name)
        self._make = make

    def get(self) -> T:
        """Return the running loop's own."""
        try:
            return self._var.get()
        except LookupError:
            made = self._make()
            self._var.set(made)
            return made
