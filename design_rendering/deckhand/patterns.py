"""Patterns of substitutions: in one text, or in every text below a path (`dest.recurse`), by Deckhand's rules.

RE2 does the matching, in time that grows with the text and not beyond. It has no lookaround and no backreferences: a
pattern with them is refused. Plain words, which most patterns are, need no regular expression at all.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from design_rendering.reading.budget import Budget
from design_rendering.reading.nested_data import CONTAINERS, items_of

_PLAIN = re.compile(r"[A-Za-z0-9_ @%&=~:;,<>/#!'\"-]+")
_MEMORY = 2**20
_LONGEST = 1000

# What a list or mapping costs besides what is in it.
_PER_CONTAINER = 10


class Pattern:
    """A regular expression, or a plain word."""

    __slots__ = ("_regex", "_word", "groups", "text")

    def __init__(self, text: str) -> None:
        """Read a pattern.

        Raises `ValueError` when it is no regular expression, or one of a kind that is not supported.
        """
        if len(text) > _LONGEST:
            raise ValueError(f"is longer than {_LONGEST} characters")
        self.text = text
        self._word = text if _PLAIN.fullmatch(text) else None
        self._regex: Any = None
        self.groups = 0
        if self._word is None:
            self._regex = _compiled(text)
            self.groups = self._regex.groups

    @property
    def matches_nothing(self) -> bool:
        """True for a pattern that fits an empty text, so that there is no saying what it would replace."""
        return self._regex is not None and self._regex.fullmatch("") is not None

    def replaced(self, text: str, value: str, budget: Budget) -> tuple[str, int]:
        """Return the text with the value, taken literally, for every match, and how many matches there were."""
        if self._word is not None:
            budget.match(len(text))
            count = text.count(self._word)
            budget.fits(len(text) + count * len(value))
            return text.replace(self._word, value), count
        spans = self._spans(text, budget)
        budget.fits(len(text) + len(spans) * len(value))
        parts: list[str] = []
        position = 0
        for start, end in spans:
            parts += (text[position:start], value)
            position = end
        return "".join([*parts, text[position:]]), len(spans)

    def extracted(self, text: str, group: int, budget: Budget) -> str | None:
        """Return what a group of the first match holds, None where nothing matches."""
        budget.match(len(text))
        if self._word is not None:
            return self._word if self._word in text else None
        match = self._regex.search(text)
        found: str | None = match[group] if match is not None else None
        return found

    def _spans(self, text: str, budget: Budget) -> list[tuple[int, int]]:
        budget.match(len(text))
        spans = []
        for match in self._regex.finditer(text):
            spans.append(match.span())
            # Each search for the next match may look through the rest of the text.
            budget.match(len(text) - match.end())
        return spans


@lru_cache(maxsize=128)
def _compiled(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"is no regular expression that RE2 knows: {reason}") from None
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a lone surrogate)") from None


_Replaced = tuple[Any, dict[Any, Any]]
"""What became of a list or mapping, and a tree of the steps to the texts that were changed, True for each."""


def replaced_below(root: Any, depth: int, pattern: Pattern, value: str, budget: Budget) -> _Replaced:
    """Replace a pattern in the texts of a list or mapping, and of those in it.

    Only texts that hold the pattern as it is written are looked at, as in Deckhand; keys never are. Where nothing fits,
    the very same is returned, and an empty tree; what was shared is still shared.

    Parameters
    ----------
    depth : how many levels of lists and mappings are looked at, the root being the first; -1: all.

    Raises
    ------
    TooMuchError : when it would be too much work, or too large.
    """
    # By identity and the levels left, so that what aliases repeat is looked at once; with the value itself, so that its
    # identity is not used again.
    done: dict[tuple[int, int], tuple[Any, _Replaced]] = {}
    waiting = [(root, depth)]
    size = 0
    while waiting:
        container, left = waiting[-1]
        if (id(container), left) in done:
            waiting.pop()
            continue
        below = left if left < 0 else left - 1
        if left:
            inner = [one for _, one in items_of(container) if isinstance(one, CONTAINERS)]
            ahead = [(one, below) for one in inner if (id(one), below) not in done]
            if ahead:
                waiting.extend(ahead)
                continue
        waiting.pop()
        budget.work(_PER_CONTAINER + len(container))
        changed: dict[Any, Any] = {}
        places: dict[Any, Any] = {}
        for step, one in items_of(container) if left else ():
            if isinstance(one, str):
                if pattern.text in one:
                    changed[step], matches = pattern.replaced(one, value, budget)
                    size += len(changed[step])
                    budget.fits(size)
                    places.update({step: True} if matches else {})
            elif isinstance(one, CONTAINERS):
                inside, inner_places = done[id(one), below][1]
                if inner_places:
                    changed[step], places[step] = inside, inner_places
        copy = container
        if places:
            copy = dict(container) if isinstance(container, dict) else list(container)
            for step, one in changed.items():
                copy[step] = one
        done[id(container), left] = (container, (copy, places))
    return done[id(root), depth][1]
