"""How many nodes have which status, as one bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

from slipway_api.pages.wording import number
from strategy_lib.status.serves import Part, Serves, Serving, parts_of
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
    """A part of a bar: the name of its colour, where it begins, and how wide it is."""

    look: str
    x: float
    width: float


def segments(counts: Mapping[Status, int], serving: Serving | None = None) -> Sequence[Segment]:
    """Return the parts of the bar, the done first. One failed node among 100,000 can still be seen."""
    total = sum(counts.values())
    if not total:
        return []
    widths = {part.look: max(_LEAST, part.number / total * WHOLE) for part in legend(counts, serving)}
    scale = WHOLE / sum(widths.values())
    found, x = [], 0.0
    for look, width in widths.items():
        found.append(Segment(look, x, width * scale))
        x += width * scale
    return found


def legend(counts: Mapping[Status, int], serving: Serving | None = None) -> Sequence[Part]:
    """Return the counts in the order of the bar, without those that are zero.

    Parameters
    ----------
    serving : what the nodes serve: pending ones that serve something are a part of their own, beside what is done.
    """
    parts = parts_of(counts, {} if serving is None else serving.pending, _ORDER)
    done = [part for part in parts if part.status is Status.SUCCESS]
    meanwhile = [part for part in parts if part.serves is not Serves.NOTHING]
    return [*done, *meanwhile, *(part for part in parts if part not in (*done, *meanwhile))]


def count_words(counts: Mapping[Status, int], not_started: int = 0, serving: Serving | None = None) -> str:
    """Return the counts in words: `3 success, 1 error, 2 not started`.

    Parameters
    ----------
    not_started : how many of the errors are nodes whose next phase never began.
    serving : as for `legend`.
    """
    words = []
    for part in legend(counts, serving):
        never = min(not_started, part.number) if part.status is Status.ERROR else 0
        words += [f"{number(part.number - never)} {part.words}"] if part.number > never else []
        words += [f"{number(never)} not started"] if never else []
    return ", ".join(words) or "no nodes"


def bar(counts: Mapping[Status, int], not_started: int = 0, serving: Serving | None = None) -> Markup:
    """Return the bar as SVG; its words are those of `count_words`."""
    pending = () if serving is None else tuple(serving.pending.items())
    return _bar(tuple(counts.items()), not_started, pending)


@lru_cache(maxsize=4096)
def _bar(items: tuple[tuple[Status, int], ...], not_started: int, pending: tuple[tuple[Serves, int], ...]) -> Markup:
    counts, serving = dict(items), Serving(pending=dict(pending))
    parts = "".join(
        f'<rect class="f-{part.look}" x="{part.x:.0f}" width="{part.width:.0f}" height="10"/>'
        for part in segments(counts, serving)
    )
    look = f'viewBox="0 0 {WHOLE:.0f} 10" preserveAspectRatio="none"'
    words = count_words(counts, not_started, serving)
    return Markup(f'<svg class="bar" {look} role="img" aria-label="{words}">{parts}</svg>')  # noqa: S704
