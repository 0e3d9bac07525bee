"""Lost requests: until when each may still take effect, how often it was sent, and what is said of it to a person."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from provisioner_client.errors import ProvisionerError, ProvisionerUnavailable

SENDINGS: Final = 2
"""How often a request is sent at most whose answer was lost, and which was not taken once it is settled."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A lost request about a machine: until when it may take effect, how often it was sent, and that for a person."""

    until: float
    sendings: int
    said: str
    status: int | None

    @property
    def is_last(self) -> bool:
        """Whether it is not sent again."""
        return self.sendings >= SENDINGS


class Doubts:
    """The newest lost request of each machine of each task.

    Parameters
    ----------
    settle : seconds for which a request may still take effect after its answer was lost.
    now : seconds since any moment.
    """

    def __init__(self, settle: float, now: Callable[[], float]) -> None:
        self._settle, self._now = settle, now
        self._known: dict[tuple[str, str], Doubt] = {}

    def of(self, reference: str, name: str) -> Doubt | None:
        """Return the doubt about a machine of a task, open or not; None: there never was one."""
        return self._known.get((reference, name))

    def note(self, reference: str, name: str, said: str, status: int | None) -> None:
        """Note that an answer was lost just now."""
        before = self.of(reference, name)
        sendings = before.sendings + 1 if before is not None else 1
        self._known[reference, name] = Doubt(self._now() + self._settle, sendings, said, status)

    def forget(self, reference: str, name: str) -> None:
        """Forget a doubt: the request was taken, and what comes next is another one."""
        self._known.pop((reference, name), None)

    def is_open(self, reference: str, name: str) -> bool:
        """Whether a lost request about this machine may still take effect."""
        doubt = self.of(reference, name)
        return doubt is not None and self._now() < doubt.until

    def has_other(self, reference: str, names: Collection[str]) -> bool:
        """Whether a lost request may still take effect of another task, or about one of these machines of this one."""
        lost = (key for key, doubt in self._known.items() if self._now() < doubt.until)
        return any(task != reference or name in names for task, name in lost)

    def seconds(self, reference: str, names: Collection[str], after: float) -> float | None:
        """Return after how many seconds the next is settled of these machines; None: all were, by that moment."""
        ends = [
            doubt.until
            for (task, name), doubt in self._known.items()
            if task == reference and name in names and doubt.until > after
        ]
        return max(0.0, min(ends) - self._now()) if ends else None


def said_of(trouble: ProvisionerError, said: str) -> str:
    """Return the server's words, given here, or what became of its answer where it has none."""
    if said:
        return said
    if trouble.status is not None:
        return f"its answer was HTTP {trouble.status}, without a word"
    if isinstance(trouble, ProvisionerUnavailable) and trouble.timed_out:
        return "its answer did not come in time"
    return "its answer was lost on the way"
