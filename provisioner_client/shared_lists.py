"""Long lists of a server that all processes share: one asks, and its answer serves all that needed it before that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias


class SharedLists(Protocol):
    """Has lists asked for. Backends name them; who has a store shares them (`site_engine.shared_lists`)."""

    def read(self, name: str, ask: Callable[[float], str], timeout: float, age: float = 0.0) -> str:
        """Return a list that was asked for after this call, by this process or another one.

        Parameters
        ----------
        name : which list of which server. It is the same for all who get the same answer.
        ask : asks the server once, given the seconds to wait for the answer, and returns it as a text.
        timeout : the seconds to wait for an answer at least; more where the last one took long.
        age : one that was asked for so many seconds before this call serves, too.

        Raises
        ------
        ProvisionerError : what `ask` has raised, also in another process; or the list ran out of time a moment ago.
        """
        ...

    def from_now(self) -> SharedLists:
        """Return the same for needs that arise with each call, also where they arose before for others."""
        ...


class Unshared:
    """Asks at once: there is no store."""

    def read(self, name: str, ask: Callable[[float], str], timeout: float, age: float = 0.0) -> str:
        """Return what the server answers."""
        return ask(timeout)

    def from_now(self) -> SharedLists:
        """Return itself."""
        return self


UNSHARED: Final = Unshared()


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


@dataclass(frozen=True, slots=True)
class Shared:
    """What a client shares with those of other processes.

    `locks`: None: there is no store. `lists`: has long lists asked for by one of these processes at a time.
    """

    locks: Locks | None = None
    lists: SharedLists = UNSHARED


NOT_SHARED: Final = Shared()
