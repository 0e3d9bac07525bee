"""Names that differ in a number alone, said once: r1-compute-[01-12]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LAST_NUMBER = re.compile(r"(?P<before>.*?)(?P<number>\d+)(?P<after>\D*)", re.DOTALL)
_LEAST = 3
"""Names of which a pattern says less than they do by themselves."""
_LONGEST = 15
"""Digits of a number that may be one of a range."""


def fold_names(names: Iterable[str]) -> list[tuple[str, int]]:
    """Return names, those that differ in their last number alone as one pattern; each with how many it stands for.

    A pattern stands where the first of its names did. Numbers of one length are folded: 8 and 9 apart from 10 and 11.

    Examples
    --------
    >>> fold_names(["r1-c-01", "r1-c-02", "r1-c-03", "r1-c-07", "mon"])
    [('r1-c-[01-03,07]', 4), ('mon', 1)]
    """
    alike: dict[tuple[str, str, int | None], dict[int, str]] = {}
    for place, name in enumerate(dict.fromkeys(names)):
        match = _LAST_NUMBER.fullmatch(name)
        if match is None or len(match["number"]) > _LONGEST:
            # By itself: no other name has this key.
            alike[name, "", None] = {place: name}
            continue
        digits = match["number"]
        alike.setdefault((match["before"], match["after"], len(digits)), {})[int(digits)] = name
    return [folded for key, found in alike.items() for folded in _folded(key, found)]


def _folded(key: tuple[str, str, int | None], names: dict[int, str]) -> Iterator[tuple[str, int]]:
    before, after, width = key
    if width is None or len(names) < _LEAST:
        yield from ((name, 1) for name in names.values())
        return
    parts: list[list[int]] = []
    for number in sorted(names):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    ranges = ",".join(
        f"{part[0]:0{width}}" if len(part) == 1 else f"{part[0]:0{width}}-{part[-1]:0{width}}" for part in parts
    )
    yield f"{before}[{ranges}]{after}", len(names)
