"""Take secrets out of texts, at a cost that does not grow with their number."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"
SHORTEST_SECRET = 5
"""Characters. Shorter secrets would hide ordinary words."""
# A provisioner cuts its messages: of a secret at the end of one, so much at least is recognised.
_RECOGNISED = 8
_URL_LOGIN = re.compile(r"://([^/\s:@]{0,200}):([^/\s@]{1,200})@")


def url_logins(text: str) -> Iterator[tuple[str, str]]:
    """Give user and password of each address in a text, as they stand there, and decoded."""
    if "://" in text:
        for user, password in _URL_LOGIN.findall(text):
            yield user, password
            yield unquote(user), unquote(password)


class Redactor:
    """Hides a fixed set of secrets in any number of texts.

    A text is searched once, whatever the number of secrets: only where the first characters of a secret stand are the
    secrets themselves looked at, by bisection.

    Parameters
    ----------
    secrets : the texts to hide, with passwords of addresses in them; those shorter than `shortest` characters are not
        hidden.
    """

    def __init__(self, secrets: Iterable[str], replacement: str = HIDDEN, shortest: int = SHORTEST_SECRET) -> None:
        self._replacement = replacement
        texts = set(secrets)
        texts |= {password for text in texts for _, password in url_logins(text)}
        self._sorted = sorted(secret for secret in texts if len(secret) >= shortest)
        self._head = shortest
        self._heads = frozenset(secret[:shortest] for secret in self._sorted)
        self._longest = max(map(len, self._sorted), default=0)
        self._shorter = _prefixes(self._sorted)

    def __bool__(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self._sorted)

    def redact(self, text: str) -> str:
        """Return a text without the secrets, nor the beginning of one (8 characters or more) where the text was cut."""
        hidden = list(self._spans(text))
        if not hidden:
            return text
        parts, position = [], 0
        for start, end in hidden:
            parts += [text[position:start], self._replacement]
            position = end
        return "".join([*parts, text[position:]])

    def redact_value(self, value: Any) -> Any:
        """Return a value with every text in it redacted: texts, mappings, lists and tuples; others stay as they are."""
        if not self._sorted:
            return value
        match value:
            case str():
                return self.redact(value)
            case Mapping():
                return {self.redact_value(key): self.redact_value(item) for key, item in value.items()}
            case list():
                return [self.redact_value(item) for item in value]
            case tuple() if type(value) is tuple:
                return tuple(self.redact_value(item) for item in value)
            case _:
                return value

    def redact_exception(self, error: BaseException) -> None:
        """Redact, in place, the texts of an exception and of all that it was raised from; a traceback shows them."""
        seen: set[int] = set()
        waiting: list[BaseException | None] = [error]
        while waiting:
            current = waiting.pop()
            if current is None or id(current) in seen:
                continue
            seen.add(id(current))
            current.args = self.redact_value(current.args)
            notes = getattr(current, "__notes__", None)
            if notes:
                current.__notes__ = self.redact_value(list(notes))
            waiting += [current.__cause__, current.__context__]
            if isinstance(current, BaseExceptionGroup):
                waiting += current.exceptions

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets stand, in order; what overlaps or touches is one."""
        head, heads = self._head, self._heads
        start = end = -1
        for place in [at for at in range(len(text) - head + 1) if text[at : at + head] in heads]:
            reach = self._end_of_secret(text, place)
            if reach <= end or reach == place:
                continue
            if place > end:
                if end > start:
                    yield start, end
                start = place
            end = reach
        if end > start:
            yield start, end

    def _end_of_secret(self, text: str, place: int) -> int:
        """Return where the longest secret that begins at a place ends, a cut one with the text; the place if none."""
        there = text[place : place + self._longest]
        last = bisect_right(self._sorted, there) - 1
        # A secret that `there` begins with sorts before it, and begins everything that sorts between the two.
        while last >= 0 and not there.startswith(self._sorted[last]):
            last = self._shorter[last]
        whole = place + len(self._sorted[last]) if last >= 0 else place
        if place + len(there) == len(text) and len(there) >= _RECOGNISED and whole < len(text):
            following = bisect_left(self._sorted, there)
            if following < len(self._sorted) and self._sorted[following].startswith(there):
                return len(text)
        return whole


def _prefixes(ordered: list[str]) -> list[int]:
    """Return, for each of some sorted texts, the position of the longest other one that it begins with; -1 for none."""
    found: list[int] = []
    for position, text in enumerate(ordered):
        candidate = position - 1
        while candidate >= 0 and not text.startswith(ordered[candidate]):
            candidate = found[candidate]
        found.append(candidate)
    return found
