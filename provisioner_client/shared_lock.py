"""A lock of all processes that send to one provisioner. Backends ask for it by name; who has a store gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias


class SharedLock(Protocol):
    """One lock, as one client sees it. None of its methods raises; in doubt the client does not have it."""

    def take(self, seconds: float) -> bool:
        """Take it for so long, if it is free; whether that was so. A process that is killed has it until then."""
        ...

    def prolong(self, seconds: float) -> bool:
        """Keep it for so long from now; False: it has run out meanwhile, and another may have had it."""
        ...

    def give_up(self) -> None:
        """Let others have it, if this client still has it."""
        ...


Locks: TypeAlias = Callable[[str], SharedLock]
"""Returns the lock of a name."""
