"""Requests that MAAS refused, or whose answers were lost: what is said of that to a person, in MAAS's words.

Of a lost one: until when it may still take effect, and how often it was sent. Of one client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from provisioner_client.errors import ProvisionerError, ProvisionerUnavailable
from provisioner_client.maas.tasks.next_step import Act

SENDINGS: Final = 2
"""How often a request is sent at most whose answer was lost, and which the ledger does not have once it is settled."""


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


_FORBIDDEN: Final = 403
LOCKED: Final = "it is locked there, or somebody else has it by now: unlock it in MAAS"
"""What MAAS means by a 403 without a word."""
_VERBS: Final[Mapping[Act, str]] = {
    Act.COMMISSION: "commission",
    Act.SET_UP: "set up",
    Act.ALLOCATE: "allocate",
    Act.DEPLOY: "deploy",
    Act.RELEASE: "release",
    Act.RELABEL: "relabel",
    Act.POWER_ON: "power on",
}


def refusal_of(act: Act, name: str, system_id: str, refusal: ProvisionerError) -> str:
    """Say that MAAS refuses to do something with a machine, and why.

    Parameters
    ----------
    name, system_id : the node's name, which stands in MAAS's words where they have its id.
    """
    said = _words(name, system_id, refusal)
    if said:
        return f"MAAS refuses to {_VERBS[act]} {name}: {said}"
    if refusal.status == _FORBIDDEN:
        return f"MAAS refuses to {_VERBS[act]} {name}: {LOCKED}"
    return f"MAAS refuses to {_VERBS[act]} {name}, and does not say why (HTTP {refusal.status})"


def doubt_about(act: Act, name: str, system_id: str, trouble: ProvisionerError) -> str:
    """Say that MAAS did not do something with a machine, as far as its ledger knows, and what came of the request."""
    said = _words(name, system_id, trouble)
    if not said and trouble.status is not None:
        said = f"its answer was HTTP {trouble.status}, without a word"
    elif not said and isinstance(trouble, ProvisionerUnavailable) and trouble.timed_out:
        said = "its answer did not come in time"
    elif not said:
        said = "its answer was lost on the way"
    return f"MAAS did not {_VERBS[act]} {name}: {said}"


def _words(name: str, system_id: str, trouble: ProvisionerError) -> str:
    return trouble.said.replace(f"system ID {system_id}", f"name {name}").replace(system_id, name)
