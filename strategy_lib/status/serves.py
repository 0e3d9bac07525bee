"""What a node serves, beside how it stands: nothing, an older revision, or the wanted one (rule 27)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Look, ShownWord, Status


class Serves(ShownWord):
    """What a node serves. Of several nodes the oldest that one of them serves; nothing where none does.

    It is shown in place of the status of a pending node.
    """

    NOTHING = "nothing"
    OLDER = "older"
    WANTED = "wanted"

    @property
    def look(self) -> Look:
        """How it is shown."""
        return _LOOKS[self]

    @property
    def words(self) -> str:
        """What is served, as the end of a sentence that begins with "serving"."""
        return _WORDS[self]


_LOOKS = {
    Serves.NOTHING: Status.PENDING.look,
    Serves.OLDER: Look("↑", "^", "cyan"),
    Serves.WANTED: Look("↻", "~", "green"),
}
_WORDS = {Serves.NOTHING: "nothing", Serves.OLDER: "an older revision", Serves.WANTED: "the wanted revision"}


def serves_of(node: NodeRow) -> Serves:
    """Return what a node serves: nothing where it is in doubt, or not as it was left (rule 56)."""
    if node.done_digest is None or node.doubt is not None or node.drift is not None:
        return Serves.NOTHING
    return Serves.WANTED if node.done_digest == node.wanted_digest else Serves.OLDER


def oldest_of(counts: Mapping[Serves, int]) -> Serves:
    """Return the oldest that is served; nothing where nothing is."""
    return next((word for word in (Serves.OLDER, Serves.WANTED) if counts.get(word)), Serves.NOTHING)


@dataclass(frozen=True, slots=True)
class Serving:
    """What nodes serve.

    Attributes
    ----------
    counts : how many nodes serve what.
    pending : the same of those that are pending, without those that serve nothing.
    """

    counts: Mapping[Serves, int] = field(default_factory=dict)
    pending: Mapping[Serves, int] = field(default_factory=dict)

    @property
    def word(self) -> Serves:
        """The oldest that one of them serves."""
        return oldest_of(self.counts)

    def of_status(self, status: Status | None) -> Serves:
        """Return what an entry of this status takes its colour and text from: nothing unless it is pending."""
        return oldest_of(self.pending) if status is Status.PENDING else Serves.NOTHING


def serving_of_node(word: Serves, status: Status) -> Serving:
    """Return what one node serves."""
    return Serving({word: 1}, {word: 1} if status is Status.PENDING and word is not Serves.NOTHING else {})


class Part(NamedTuple):
    """Nodes that are shown alike: by their status, and where they are pending by what they serve."""

    status: Status
    serves: Serves
    number: int

    @property
    def _word(self) -> ShownWord:
        return self.status if self.serves is Serves.NOTHING else self.serves

    @property
    def symbol(self) -> str:
        """The character that stands for them."""
        return self._word.symbol

    @property
    def ascii_symbol(self) -> str:
        """The same where only ASCII can be shown."""
        return self._word.ascii_symbol

    @property
    def look(self) -> str:
        """The name of their colour on a page."""
        return self.status.value if self.serves is Serves.NOTHING else f"serves-{self.serves.value}"

    @property
    def words(self) -> str:
        """Their status, and what they serve: `pending (serving an older revision)`."""
        return words_of(self.status, self.serves)


def words_of(status: Status, serves: Serves) -> str:
    """Return a status in words, of a pending node or entry also what is served meanwhile."""
    return status.value if serves is Serves.NOTHING else f"{status.value} (serving {serves.words})"


def parts_of(counts: Mapping[Status, int], pending: Mapping[Serves, int], order: Sequence[Status]) -> list[Part]:
    """Return counts as parts that are shown alike, without those of nothing.

    Parameters
    ----------
    pending : how many of the pending nodes serve what.
    order : of the statuses. Pending nodes that serve stand before those that do not.
    """
    found: list[Part] = []
    for status in order:
        left = counts.get(status, 0)
        if status is Status.PENDING:
            for word in (Serves.WANTED, Serves.OLDER):
                number = min(pending.get(word, 0), left)
                left -= number
                found += [Part(status, word, number)] if number else []
        found += [Part(status, Serves.NOTHING, left)] if left else []
    return found
