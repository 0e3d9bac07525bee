"""The group graph as a picture: one SVG file that needs no other program, font or style sheet."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from slipway_cli.offline.graph import GroupBox
from slipway_cli.offline.layout import Bend, Item, Layout, layered_layout
from slipway_cli.output import printable

NAME_SIZE, FACT_SIZE = 14, 12
LONGEST_NAME = 44
PADDING, BAR, BADGE = 16, 6, 22
ROW_GAP, LANE = 26, 18
COLUMN_GAP, WIDEST_GAP, STEEPNESS = 72.0, 200.0, 8.0  # edges that climb far get more room to do so
MARGIN, HEADING, LEGEND = 28, 44, 44

STYLE = """
  .slipway-graph .paper { fill: #ffffff }
  .slipway-graph .box { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.2 }
  .slipway-graph .box.critical { stroke: #bc4c00; stroke-width: 2.2 }
  .slipway-graph .bar { fill: #bc4c00 }
  .slipway-graph .edge { fill: none; stroke: #818b98; stroke-width: 1.6 }
  .slipway-graph .arrow { fill: #818b98 }
  .slipway-graph .badge { fill: #ffffff; stroke: #8c959f }
  .slipway-graph text {
    font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; fill: #1f2328;
  }
  .slipway-graph .heading { font-size: 17px; font-weight: 600 }
  .slipway-graph .name { font-size: 14px; font-weight: 600 }
  .slipway-graph .fact, .slipway-graph .number { font-size: 12px; fill: #59636e }
  .slipway-graph .number { text-anchor: middle }
  @media (prefers-color-scheme: dark) {
    .slipway-graph .paper { fill: #0d1117 }
    .slipway-graph .box { fill: #151b23; stroke: #656c76 }
    .slipway-graph .box.critical { stroke: #f0883e }
    .slipway-graph .bar { fill: #f0883e }
    .slipway-graph .edge { stroke: #7d8590 }
    .slipway-graph .arrow { fill: #7d8590 }
    .slipway-graph .badge { fill: #0d1117; stroke: #656c76 }
    .slipway-graph text { fill: #f0f6fc }
    .slipway-graph .fact, .slipway-graph .number { fill: #9198a1 }
  }
"""


def to_svg(boxes: Sequence[GroupBox], title: str) -> str:
    """Draw the groups from left to right, in columns by the depth of their dependencies.

    Parameters
    ----------
    boxes : in the order of processing, so that parents come before children.
    title : heading of the picture and its accessible name.

    Returns
    -------
    str
        A complete SVG document. It follows the reader's light or dark colour scheme, on a ground of its own.
    """
    by_name = {box.name: box for box in boxes}
    heights = {box.name: float(_height(box)) for box in boxes}
    edges = [(parent, box.name) for box in boxes for parent in box.depends_on]
    layout = layered_layout(list(by_name), edges, heights, ROW_GAP, LANE)
    left, widths = _columns(layout, by_name)
    top = MARGIN + HEADING
    bottom = max((layout.centre[name] + heights[name] / 2 for name in by_name), default=0.0)
    bottom = max([bottom, *(y for item, y in layout.centre.items() if isinstance(item, Bend))])
    right = left[-1] + widths[-1] if left else 0.0
    width = round(max(right, _width(title, 17) + MARGIN, 360) + MARGIN)
    height = round(top + bottom + LEGEND + MARGIN / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="slipway-graph" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="graph-title graph-description">',
        f'<title id="graph-title">{_text(title)}</title>',
        f'<desc id="graph-description">{_text(_description(boxes))}</desc>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="arrow" d="M0 0.8 L10 5 L0 9.2 z"/></marker></defs>',
        f'<rect class="paper" width="{width}" height="{height}" rx="10"/>',
        f'<text class="heading" x="{MARGIN}" y="{MARGIN + 14}">{_text(title)}</text>',
        f'<g transform="translate(0 {top})">',
        *_edges(layout, heights, left, widths),
    ]
    for number, column in enumerate(layout.columns):
        for item in column:
            if not isinstance(item, Bend):
                parts += _box(by_name[item], left[number], layout.centre[item], widths[number], heights[item])
    parts += ["</g>", *_legend(height), "</svg>", ""]
    return "\n".join(parts)


def _columns(layout: Layout, by_name: Mapping[str, GroupBox]) -> tuple[list[float], list[float]]:
    """Return the left side and the width of each column; a column is as wide as its widest box."""
    column_of = layout.column_of()
    climb = [0.0] * len(layout.columns)
    for route in layout.routes.values():
        for item, following in pairwise(route):
            column = column_of[item]
            climb[column] = max(climb[column], abs(layout.centre[item] - layout.centre[following]))
    left: list[float] = []
    widths: list[float] = []
    place = float(MARGIN)
    for number, column_items in enumerate(layout.columns):
        widths.append(max(_box_width(by_name[item]) for item in column_items if not isinstance(item, Bend)))
        left.append(place)
        place += widths[-1] + min(max(climb[number] / STEEPNESS, COLUMN_GAP), WIDEST_GAP)
    return left, widths


def _box(box: GroupBox, x: float, centre: float, width: float, height: float) -> list[str]:
    y = centre - height / 2
    kind = "box critical" if box.critical else "box"
    lines = [line for line in (box.facts, ", ".join(box.criteria)) if line]
    parts = [
        f'<g role="listitem" aria-label={quoteattr(printable(_sentence(box)))}>',
        f"<title>{_text(_sentence(box))}</title>",
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="8"/>',
    ]
    if box.critical:
        bar_height = height - 16
        parts.append(
            f'<rect class="bar" x="{x + 6:.1f}" y="{y + 8:.1f}" width="{BAR - 1}" height="{bar_height:.1f}" rx="2.5"/>'
        )
    text_x = x + PADDING + BAR / 2
    parts.append(f'<text class="name" x="{text_x:.1f}" y="{y + 23:.1f}">{_text(_shortened(box.name))}</text>')
    for number, line in enumerate(lines):
        parts.append(f'<text class="fact" x="{text_x:.1f}" y="{y + 41 + 17 * number:.1f}">{_text(line)}</text>')
    badge_x, badge_y = x + width - BADGE / 2 - 8, y + 18.5
    parts += [
        f'<circle class="badge" cx="{badge_x:.1f}" cy="{badge_y:.1f}" r="{BADGE / 2}"/>',
        f'<text class="number" x="{badge_x:.1f}" y="{badge_y + 4:.1f}">{box.position}</text>',
        "</g>",
    ]
    return parts


def _edges(layout: Layout, heights: Mapping[str, float], left: Sequence[float], widths: Sequence[float]) -> list[str]:
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

    paths = []
    for route in layout.routes.values():
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
        paths.append(f'<path class="edge" marker-end="url(#arrow)" d="{path}"/>')
    return paths


def _legend(height: int) -> list[str]:
    y = height - MARGIN / 2 - 8
    return [
        f'<rect class="bar" x="{MARGIN}" y="{y - 10:.1f}" width="{BAR - 1}" height="12" rx="2.5"/>',
        f'<text class="fact" x="{MARGIN + 12}" y="{y:.1f}">critical group</text>',
        f'<circle class="badge" cx="{MARGIN + 128}" cy="{y - 4:.1f}" r="8"/>',
        f'<text class="number" x="{MARGIN + 128}" y="{y:.1f}">n</text>',
        f'<text class="fact" x="{MARGIN + 144}" y="{y:.1f}">order of processing</text>',
    ]


def _height(box: GroupBox) -> int:
    return 36 + (17 if box.facts else 0) + (17 if box.criteria else 0)


def _box_width(box: GroupBox) -> float:
    name = _width(_shortened(box.name), NAME_SIZE, bold=True) + BADGE + 12
    facts = max(_width(box.facts, FACT_SIZE), _width(", ".join(box.criteria), FACT_SIZE))
    return max(150.0, name, facts) + 2 * PADDING + BAR / 2


def _width(text: str, size: int, *, bold: bool = False) -> float:
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


def _shortened(name: str) -> str:
    """Cut a very long name in the middle: names of one family differ at their ends."""
    if len(name) <= LONGEST_NAME:
        return name
    half = (LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _sentence(box: GroupBox) -> str:
    words = [f"{box.position}. {box.name}", box.facts, ", ".join(box.criteria)]
    if box.depends_on:
        words.append(f"after {', '.join(box.depends_on)}")
    return "; ".join(word for word in words if word)


def _description(boxes: Sequence[GroupBox]) -> str:
    return "Groups in order of processing. " + " | ".join(_sentence(box) for box in boxes)


def _text(text: str) -> str:
    return escape(printable(text))
