"""From a layered layout to pixels: columns and their widths, edges as smooth paths, and estimates of text widths."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from strategy_lib.drawing.layout import Bend, Item, Layout, layered_layout

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
    left, widths = _columns(layout, sizes, left_margin)
    column_of = layout.column_of()
    boxes = {
        name: Place(left[column_of[name]], layout.centre[name], widths[column_of[name]], heights[name])
        for name in names
    }
    bottom = max((layout.centre[name] + heights[name] / 2 for name in names), default=0.0)
    bottom = max([bottom, *(y for item, y in layout.centre.items() if isinstance(item, Bend))])
    return Picture(boxes, _edges(layout, heights, left, widths), left[-1] + widths[-1] if left else 0.0, bottom)


def _columns(
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


def _edges(
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
