"""How many nodes have which status, as one bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

from slipway_api.pages.wording import number
from strategy_lib.status.words import Status

WHOLE = 1000.0
"""The width of a bar."""
_LEAST = 8.0
# What is done stands left, what went wrong right of it, what is to come last.
_ORDER = (
    Status.SUCCESS,
    Status.DELETED,
    Status.PROCESSING,
    Status.UNRESPONSIVE,
    Status.ERROR,
    Status.UNDEFINED,
    Status.PENDING,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar: where it begins, and how wide it is."""

    status: str
    x: float
    width: float


def segments(counts: Mapping[Status, int]) -> Sequence[Segment]:
    """Return the parts of the bar, the done first. One failed node among 100,000 can still be seen."""
    total = sum(counts.values())
    if not total:
        return []
    widths = {status: max(_LEAST, counts[status] / total * WHOLE) for status in _ORDER if counts.get(status)}
    scale = WHOLE / sum(widths.values())
    found, x = [], 0.0
    for status, width in widths.items():
        found.append(Segment(status.value, x, width * scale))
        x += width * scale
    return found


def legend(counts: Mapping[Status, int]) -> Sequence[tuple[Status, int]]:
    """Return the counts in the order of the bar, without those that are zero."""
    return [(status, counts[status]) for status in _ORDER if counts.get(status)]


def count_words(counts: Mapping[Status, int], not_started: int = 0) -> str:
    """Return the counts in words: `3 success, 1 error, 2 not started`.

    Parameters
    ----------
    not_started : how many of the errors are nodes whose next phase never began.
    """
    words = []
    for status, count in legend(counts):
        never = min(not_started, count) if status is Status.ERROR else 0
        words += [f"{number(count - never)} {status.value}"] if count > never else []
        words += [f"{number(never)} not started"] if never else []
    return ", ".join(words) or "no nodes"


def bar(counts: Mapping[Status, int], not_started: int = 0) -> Markup:
    """Return the bar as SVG; its words are those of `count_words`."""
    return _bar(tuple(counts.items()), not_started)


@lru_cache(maxsize=4096)
def _bar(items: tuple[tuple[Status, int], ...], not_started: int) -> Markup:
    counts = dict(items)
    parts = "".join(
        f'<rect class="f-{part.status}" x="{part.x:.0f}" width="{part.width:.0f}" height="10"/>'
        for part in segments(counts)
    )
    look = f'viewBox="0 0 {WHOLE:.0f} 10" preserveAspectRatio="none"'
    return Markup(f'<svg class="bar" {look} role="img" aria-label="{count_words(counts, not_started)}">{parts}</svg>')  # noqa: S704
