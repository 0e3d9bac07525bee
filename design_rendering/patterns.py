"""Regular expressions of substitutions, in time that grows with the text and not beyond.

RE2 does the matching. It has no lookaround and no backreferences, which are what makes a pattern take forever; a
pattern with them is refused. Plain words, which most patterns are, need no regular expression at all.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from design_rendering.budget import Budget

_PLAIN = re.compile(r"[A-Za-z0-9_ @%&=~:;,<>/#!'\"-]+")
_MEMORY = 2**20
_LONGEST = 1000


class PatternError(ValueError):
    """A pattern cannot be used; the message says why."""


class Pattern:
    """A regular expression, or a plain word."""

    __slots__ = ("_regex", "_word", "groups", "text")

    def __init__(self, text: str) -> None:
        """Read a pattern.

        Raises
        ------
        PatternError
            When it is no regular expression, or one of a kind that is not supported.
        """
        if len(text) > _LONGEST:
            raise PatternError(f"is longer than {_LONGEST} characters")
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
        raise PatternError(f"is no regular expression that RE2 knows: {reason}") from None
    except UnicodeEncodeError:
        raise PatternError("holds half a character (a lone surrogate)") from None
