"""The groups as a graph coloured by status: who waits for whom. Where the boxes are does not change with the status.

And how many nodes have which status, as one bar, in a box and elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from slipway_api.pages.wording import number, symbol, visible
from strategy_lib.drawing import Picture, picture, shortened, text_width
from strategy_lib.status.entry import Entry
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


MARGIN = 20
HEIGHT = 62.0
BAR = 4.0
_NAME, _FACT = 14, 12


@dataclass(frozen=True, slots=True)
class Box:
    """A group as it is drawn."""

    short: str
    link: str
    status: str
    serves: str
    mark: str
    critical: bool
    victim: bool
    fact: str
    sentence: str
    x: float
    y: float
    width: float
    height: float
    bar: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """That a group waits for another; `blocked` where the other has failed it."""

    path: str
    blocked: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """The drawing."""

    width: int
    height: int
    boxes: Sequence[Box]
    edges: Sequence[Edge]


def draw(groups: Sequence[Entry], link: Callable[[str], str]) -> Graph | None:
    """Draw groups.

    Parameters
    ----------
    groups : entries of the tree, in the order of processing. What has no place in the order ("no group") is left out.
    link : returns where a click on a group leads.

    Returns
    -------
    Graph or None
        None where there is nothing to draw.
    """
    shown = [group for group in groups if group.group is not None and group.rolls_up and group.name != "to be removed"]
    if not shown:
        return None
    names = frozenset(group.name for group in shown)
    drawn = _placed(
        tuple(
            (group.name, tuple(other for other in _depends(group) if other in names), _width(group)) for group in shown
        )
    )
    blocked = {group.name for group in shown if group.blame is not None and group.blame.role == "victim"}
    failed = {group.name for group in shown if group.blame is not None}
    edges = [Edge(path, blocked=child in blocked and parent in failed) for (parent, child), path in drawn.edges.items()]
    boxes = [_box(group, drawn, link) for group in shown]
    return Graph(round(drawn.right + MARGIN), round(drawn.bottom + 2 * MARGIN), boxes, edges)


@lru_cache(maxsize=64)
def _placed(groups: tuple[tuple[str, tuple[str, ...], float], ...]) -> Picture:
    parents: Mapping[str, Sequence[str]] = {name: depends_on for name, depends_on, _ in groups}
    return picture(parents, {name: (width, HEIGHT) for name, _, width in groups}, MARGIN)


def _depends(group: Entry) -> tuple[str, ...]:
    return group.group.depends_on if group.group is not None else ()


def _width(group: Entry) -> float:
    """Return a width that stays the same while the group's numbers change."""
    most = number(group.group.nodes if group.group is not None else group.leaves)
    return _room(group.name, f"critical · {most} of {most} · {most} failed · {most} not started")


@lru_cache(maxsize=4096)
def _room(name: str, facts: str) -> float:
    return max(190.0, text_width(shortened(name), _NAME, bold=True) + 34, text_width(facts, _FACT)) + 36


def _box(group: Entry, drawn: Picture, link: Callable[[str], str]) -> Box:
    place = drawn.boxes[group.name]
    details = group.group
    status = "unrecorded" if group.status is None else group.status.value
    total = sum(group.counts.values()) or (details.nodes if details is not None else 0)
    done = group.counts.get(Status.SUCCESS, 0)
    failed = group.counts.get(Status.ERROR, 0) - group.not_started
    words = [f"{number(done)} of {number(total)}"] if total else ["no nodes"]
    victim = group.blame is not None and group.blame.role == "victim"
    older = 0 if group.serving is None else group.serving.pending.get(Serves.OLDER, 0)
    if older:
        words.append(f"{number(older)} serve{'s' if older == 1 else ''} older")
    if failed:
        words.append(f"{number(failed)} failed")
    if group.not_started:
        words.append(f"{number(group.not_started)} {'not run' if victim else 'not started'}")
    # There is no room for all three.
    if (failed > 0) != (group.not_started > 0) and details is not None and details.state == "success":
        words.append("criteria met")
    fact = " · ".join(words)
    sentence = [f"{group.name}: {status}", fact]
    if details is not None and details.critical:
        sentence.insert(1, "critical")
    if details is not None and details.depends_on:
        sentence.append(f"after {', '.join(details.depends_on)}")
    if group.blame is not None:
        sentence.append(group.blame.message)
    width = place.width
    inner, parts = width - 28, segments(group.counts, group.serving)
    serves = Serves.NOTHING if group.serving is None else group.serving.of_status(group.status)
    return Box(
        shortened(group.name),
        link(group.name),
        status,
        serves.value,
        symbol(group.status) if serves is Serves.NOTHING else serves.symbol,
        details is not None and details.critical,
        victim,
        fact,
        "; ".join(sentence),
        place.x,
        place.centre - place.height / 2 + MARGIN,
        width,
        place.height,
        tuple(Segment(one.look, 16 + one.x * inner / 1000, one.width * inner / 1000) for one in parts),
    )


@lru_cache(maxsize=4096)
def drawn_box(box: Box) -> Markup:
    """Return a box as SVG; most of them are as they were when the page was last rendered."""
    bar = "".join(
        f'<rect class="f-{part.look}" x="{part.x:.1f}" y="49" width="{part.width:.1f}" height="4"/>' for part in box.bar
    )
    critical = '<tspan class="crit">critical</tspan> · ' if box.critical else ""
    serves = "" if box.serves == Serves.NOTHING else f" serves-{box.serves}"
    return Markup(  # noqa: S704 - what is not ours is escaped
        f'<a href="{escape(box.link)}" class="group-{box.status}{serves}{" victim" if box.victim else ""}"'
        f' transform="translate({box.x:.1f} {box.y:.1f})"><title>{escape(visible(box.sentence))}</title>'
        f'<rect class="box" width="{box.width:.1f}" height="{box.height:.0f}" rx="8"/>'
        f'<rect class="side" y="8" width="4" height="{box.height - 16:.0f}" rx="2"/>'
        f'<text class="name" x="16" y="22">{escape(visible(box.short))}</text>'
        f'<text class="mark" x="{box.width - 18:.1f}" y="22">{box.mark}</text>'
        f'<text x="16" y="41">{critical}{escape(box.fact)}</text>{bar}</a>'
    )
