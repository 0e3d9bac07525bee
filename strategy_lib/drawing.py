"""A layered layout of an acyclic graph: boxes in columns, edges from left to right. Geometry only, no drawing.

The steps are those of Sugiyama, Tagawa and Toda (1981): columns by longest path, bends for edges that cross columns,
rows ordered by barycentre sweeps, and positions that are pulled towards the neighbours. Each pull is a least-squares
problem with a least distance between rows, solved exactly by pooling adjacent violators.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

ORDER_SWEEPS, POSITION_SWEEPS = 12, 24
FULL_EFFORT = 3_000  # items; above it the sweeps get fewer, so that drawing thousands of groups ends as well
BEND_PULL = 4.0  # bends are kept straight first: a crooked long edge is worse than a box off centre


@dataclass(frozen=True, slots=True)
class Bend:
    """The place where an edge from `source` to `target` passes through a column between them."""

    source: str
    target: str
    column: int


Item = str | Bend


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is: `columns` from left to right, each from top to bottom; `centre` is the y of each item."""

    columns: tuple[tuple[Item, ...], ...]
    centre: Mapping[Item, float]
    routes: Mapping[tuple[str, str], tuple[Item, ...]]

    def column_of(self) -> dict[Item, int]:
        """Return the column of each box and bend."""
        return {item: number for number, column in enumerate(self.columns) for item in column}


def layered_layout(
    names: Sequence[str], edges: Iterable[tuple[str, str]], heights: Mapping[str, float], gap: float, lane: float
) -> Layout:
    """Lay out boxes so that every edge runs to a later column.

    Parameters
    ----------
    names : boxes, parents before children; boxes without a better reason stay in this order.
    edges : iterable of (parent, child)
    heights : height of each box.
    gap, lane : least free space between two boxes; height kept free for an edge that passes a column.

    Returns
    -------
    Layout
        The topmost edge of the topmost item is at y = 0.
    """
    column_of = _columns(names, parents := _parents(names, edges))
    rows: list[list[Item]] = [[] for _ in range(max(column_of.values(), default=-1) + 1)]
    for name in names:
        rows[column_of[name]].append(name)
    routes: dict[tuple[str, str], tuple[Item, ...]] = {}
    before: dict[Item, list[Item]] = {name: [] for name in names}
    after: dict[Item, list[Item]] = {name: [] for name in names}
    for child in names:
        for parent in parents[child]:
            bends = [Bend(parent, child, column) for column in range(column_of[parent] + 1, column_of[child])]
            for bend in bends:
                rows[bend.column].append(bend)
                before[bend], after[bend] = [], []
            route: tuple[Item, ...] = (parent, *bends, child)
            routes[parent, child] = route
            for left, right in pairwise(route):
                after[left].append(right)
                before[right].append(left)
    effort = min(1.0, FULL_EFFORT / max(1, len(before)))
    rows = _ordered(rows, before, after, max(2, round(ORDER_SWEEPS * effort)))
    centre = _positions(rows, before, after, heights, gap, lane, max(4, round(POSITION_SWEEPS * effort)))
    return Layout(tuple(tuple(row) for row in rows), centre, routes)


def _parents(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent, child in edges:
        parents[child].append(parent)
    return parents


def _columns(names: Sequence[str], parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    columns: dict[str, int] = {}
    for name in names:
        columns[name] = max((columns[parent] + 1 for parent in parents[name]), default=0)
    return columns


def _ordered(
    rows: list[list[Item]],
    before: Mapping[Item, Sequence[Item]],
    after: Mapping[Item, Sequence[Item]],
    sweeps: int,
) -> list[list[Item]]:
    """Return the ordering with the fewest crossings that the sweeps came across."""
    best, fewest = [list(row) for row in rows], _crossings(rows, after)
    for sweep in range(sweeps):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        neighbours = before if forward else after
        for number in range(1, len(rows)) if forward else range(len(rows) - 2, -1, -1):
            fixed = _index(rows[number - 1 if forward else number + 1])
            own = _index(rows[number])
            keys = {item: _mean([fixed[other] for other in neighbours[item]], own[item]) for item in rows[number]}
            rows[number] = sorted(rows[number], key=keys.__getitem__)
        crossings = _crossings(rows, after)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _crossings(rows: Sequence[Sequence[Item]], after: Mapping[Item, Sequence[Item]]) -> int:
    """Count pairs of edges that cross between neighbouring columns (inversions, by insertion into a sorted list)."""
    total = 0
    for left, right in pairwise(rows):
        place = _index(right)
        seen: list[int] = []
        for item in left:
            ends = sorted(place[other] for other in after[item])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _positions(
    rows: Sequence[Sequence[Item]],
    before: Mapping[Item, Sequence[Item]],
    after: Mapping[Item, Sequence[Item]],
    heights: Mapping[str, float],
    gap: float,
    lane: float,
    sweeps: int,
) -> dict[Item, float]:
    def half(item: Item) -> float:
        return (lane if isinstance(item, Bend) else heights[item] + gap) / 2

    centre: dict[Item, float] = {}
    for row in rows:
        place = 0.0
        for item in row:
            centre[item] = place + half(item)
            place += 2 * half(item)
        for item in row:
            centre[item] -= place / 2
    for sweep in range(sweeps):
        last = sweep >= sweeps - 2
        for row in rows if sweep % 2 == 0 else reversed(rows):
            sides = (before, after) if last else (before,) if sweep % 2 == 0 else (after,)
            wishes, weights = [], []
            for item in row:
                pulls = [centre[other] for side in sides for other in side[item]]
                wishes.append(_mean(pulls, centre[item]))
                weights.append((BEND_PULL if isinstance(item, Bend) else 1.0) if pulls else 0.1)
            distances = [half(upper) + half(lower) for upper, lower in pairwise(row)]
            for item, position in zip(row, spread(wishes, weights, distances), strict=True):
                centre[item] = position
    top = min((position - half(item) for item, position in centre.items()), default=0.0)
    return {item: position - top - gap / 2 for item, position in centre.items()}


def spread(wishes: Sequence[float], weights: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Return the positions nearest to the wishes (weighted least squares) that keep order and distances.

    Parameters
    ----------
    wishes, weights : wanted position and importance of each item, in order.
    distances : least distance between neighbours; one shorter than `wishes`.
    """
    if not wishes:
        return []
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    blocks: list[tuple[float, float, int]] = []  # mean wish without offsets, weight, number of items
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        mean, total, count = wish - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            other_mean, other_total, other_count = blocks.pop()
            mean = (mean * total + other_mean * other_total) / (total + other_total)
            total, count = total + other_total, count + other_count
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _index(row: Sequence[Item]) -> dict[Item, int]:
    return {item: place for place, item in enumerate(row)}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


ROW_GAP, LANE = 26, 18
COLUMN_GAP, WIDEST_GAP, STEEPNESS = 72.0, 200.0, 8.0  # edges that climb far get more room to do so
LONGEST_NAME = 44


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box is: its left side, the middle of its height, and how wide and high it is."""

    x: float
    centre: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes by name, the path of each edge (parent, child) as SVG has it, and how far to the right and down it goes."""

    boxes: Mapping[str, Place]
    edges: Mapping[tuple[str, str], str]
    right: float
    bottom: float


def picture(
    parents: Mapping[str, Sequence[str]], sizes: Mapping[str, tuple[float, float]], left_margin: float
) -> Picture:
    """Place boxes from left to right, in columns by the depth of their dependencies.

    Parameters
    ----------
    parents : of each box, in the order of processing, so that parents come before children.
    sizes : width and height of each box.
    left_margin : where the first column begins; the topmost box begins at 0.
    """
    names = list(parents)
    heights = {name: sizes[name][1] for name in names}
    edges = [(parent, name) for name in names for parent in parents[name]]
    layout = layered_layout(names, edges, heights, ROW_GAP, LANE)
    left, widths = _column_sides(layout, sizes, left_margin)
    column_of = layout.column_of()
    boxes = {
        name: Place(left[column_of[name]], layout.centre[name], widths[column_of[name]], heights[name])
        for name in names
    }
    bottom = max((layout.centre[name] + heights[name] / 2 for name in names), default=0.0)
    bottom = max([bottom, *(y for item, y in layout.centre.items() if isinstance(item, Bend))])
    return Picture(boxes, _paths(layout, heights, left, widths), left[-1] + widths[-1] if left else 0.0, bottom)


def _column_sides(
    layout: Layout, sizes: Mapping[str, tuple[float, float]], left_margin: float
) -> tuple[list[float], list[float]]:
    """Return the left side and the width of each column; a column is as wide as its widest box."""
    column_of = layout.column_of()
    climb = [0.0] * len(layout.columns)
    for route in layout.routes.values():
        for item, following in pairwise(route):
            column = column_of[item]
            climb[column] = max(climb[column], abs(layout.centre[item] - layout.centre[following]))
    left: list[float] = []
    widths: list[float] = []
    place = float(left_margin)
    for number, column_items in enumerate(layout.columns):
        widths.append(max(sizes[item][0] for item in column_items if not isinstance(item, Bend)))
        left.append(place)
        place += widths[-1] + min(max(climb[number] / STEEPNESS, COLUMN_GAP), WIDEST_GAP)
    return left, widths


def _paths(
    layout: Layout, heights: Mapping[str, float], left: Sequence[float], widths: Sequence[float]
) -> dict[tuple[str, str], str]:
    """Return one smooth path per dependency; ends are spread along the side of a box, in the order of their routes."""
    column_of = layout.column_of()
    leaving: dict[Item, list[Item]] = {}
    arriving: dict[Item, list[Item]] = {}
    for route in layout.routes.values():
        leaving.setdefault(route[0], []).append(route[1])
        arriving.setdefault(route[-1], []).append(route[-2])
    for ends in (*leaving.values(), *arriving.values()):
        ends.sort(key=lambda item: layout.centre[item])

    def port(box: Item, ends: Sequence[Item], end: Item) -> float:
        room = heights[str(box)] - 24
        step = min(12.0, room / max(len(ends) - 1, 1))
        return layout.centre[box] + (ends.index(end) - (len(ends) - 1) / 2) * step

    paths = {}
    for edge, route in layout.routes.items():
        x = left[column_of[route[0]]] + widths[column_of[route[0]]]
        y = port(route[0], leaving[route[0]], route[1])
        path = f"M{x:.1f} {y:.1f}"
        for item in route[1:]:
            column = column_of[item]
            last = item == route[-1]
            next_x = left[column] - (1 if last else 0)
            next_y = port(item, arriving[item], route[-2]) if last else layout.centre[item]
            middle = (next_x - x) / 2
            path += f" C{x + middle:.1f} {y:.1f} {next_x - middle:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}"
            x, y = next_x, next_y
            if not last:
                x = left[column] + widths[column]
                path += f" H{x:.1f}"
        paths[edge] = path
    return paths


def text_width(text: str, size: int, *, bold: bool = False) -> float:
    """Return an upper estimate of the width in pixels, for we do not know the reader's font."""
    em = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            em += 1.0
        elif character in "iljtfrI.,:;|!'()[]-· ":
            em += 0.4
        elif character in "mwMW@%":
            em += 0.95
        else:
            em += 0.7 if character.isupper() else 0.61
    return em * size * (1.06 if bold else 1.0)


def shortened(name: str) -> str:
    """Cut a very long name in the middle: names of one family differ at their ends."""
    if len(name) <= LONGEST_NAME:
        return name
    half = (LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
