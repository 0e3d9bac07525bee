"""The group graph as one SVG file that needs no font, program or style sheet; and as Graphviz's DOT or Mermaid."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from slipway_cli.output import printable
from slipway_cli.terminal.plan_table import PlannedGroup
from strategy_lib.drawing import Place, picture, shortened, text_width

MERMAID_ENTITIES = str.maketrans({"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;"})


def to_dot(boxes: Sequence[PlannedGroup], title: str) -> str:
    """Return the graph in Graphviz's DOT language, boxes in the order of processing."""
    lines = [
        "digraph strategy {",
        f"  label={_dot(title)};",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded", fontname="sans-serif"];',
    ]
    for box in boxes:
        label = "\n".join(filter(None, (f"{box.position}. {box.name}", box.facts, box.words)))
        style = ', style="rounded,bold", color="#bc4c00"' if box.critical else ""
        lines.append(f"  {_dot(box.name)} [label={_dot(label)}{style}];")
    lines += [f"  {_dot(parent)} -> {_dot(box.name)};" for box in boxes for parent in box.depends_on]
    return "\n".join([*lines, "}", ""])


def to_mermaid(boxes: Sequence[PlannedGroup], title: str) -> str:
    """Return the graph as a Mermaid flowchart, which GitHub and GitLab draw inside Markdown."""
    number = {box.name: box.position for box in boxes}
    lines = ["flowchart LR", f"  %% {printable(title)}"]
    for box in boxes:
        parts = (f"{box.position}. {box.name}", box.facts, box.words)
        label = "<br/>".join(_mermaid(part) for part in parts if part)
        lines.append(f'  g{box.position}["{label}"]{":::critical" if box.critical else ""}')
    lines += [f"  g{number[parent]} --> g{box.position}" for box in boxes for parent in box.depends_on]
    if any(box.critical for box in boxes):
        lines.append("  classDef critical stroke:#bc4c00,stroke-width:3px")
    return "\n".join([*lines, ""])


def _dot(text: str) -> str:
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'


def _mermaid(text: str) -> str:
    return printable(text).translate(MERMAID_ENTITIES)


NAME_SIZE, FACT_SIZE = 14, 12
PADDING, BAR, BADGE = 16, 6, 22
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


def to_svg(boxes: Sequence[PlannedGroup], title: str) -> str:
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
    sizes = {box.name: (_box_width(box), float(_height(box))) for box in boxes}
    drawn = picture({box.name: box.depends_on for box in boxes}, sizes, MARGIN)
    top = MARGIN + HEADING
    width = round(max(drawn.right, text_width(title, 17) + MARGIN, 360) + MARGIN)
    height = round(top + drawn.bottom + LEGEND + MARGIN / 2)
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
        *(f'<path class="edge" marker-end="url(#arrow)" d="{path}"/>' for path in drawn.edges.values()),
    ]
    by_name = {box.name: box for box in boxes}
    for name in sorted(by_name, key=lambda name: (drawn.boxes[name].x, drawn.boxes[name].centre)):
        parts += _box(by_name[name], drawn.boxes[name])
    parts += ["</g>", *_legend(height), "</svg>", ""]
    return "\n".join(parts)


def _box(box: PlannedGroup, place: Place) -> list[str]:
    x, width, height = place.x, place.width, place.height
    y = place.centre - height / 2
    kind = "box critical" if box.critical else "box"
    lines = [line for line in (box.facts, box.words) if line]
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
    parts.append(f'<text class="name" x="{text_x:.1f}" y="{y + 23:.1f}">{_text(shortened(box.name))}</text>')
    for number, line in enumerate(lines):
        parts.append(f'<text class="fact" x="{text_x:.1f}" y="{y + 41 + 17 * number:.1f}">{_text(line)}</text>')
    badge_x, badge_y = x + width - BADGE / 2 - 8, y + 18.5
    parts += [
        f'<circle class="badge" cx="{badge_x:.1f}" cy="{badge_y:.1f}" r="{BADGE / 2}"/>',
        f'<text class="number" x="{badge_x:.1f}" y="{badge_y + 4:.1f}">{box.position}</text>',
        "</g>",
    ]
    return parts


def _legend(height: int) -> list[str]:
    y = height - MARGIN / 2 - 8
    return [
        f'<rect class="bar" x="{MARGIN}" y="{y - 10:.1f}" width="{BAR - 1}" height="12" rx="2.5"/>',
        f'<text class="fact" x="{MARGIN + 12}" y="{y:.1f}">critical group</text>',
        f'<circle class="badge" cx="{MARGIN + 128}" cy="{y - 4:.1f}" r="8"/>',
        f'<text class="number" x="{MARGIN + 128}" y="{y:.1f}">n</text>',
        f'<text class="fact" x="{MARGIN + 144}" y="{y:.1f}">order of processing</text>',
    ]


def _height(box: PlannedGroup) -> int:
    return 36 + (17 if box.facts else 0) + (17 if box.words else 0)


def _box_width(box: PlannedGroup) -> float:
    name = text_width(shortened(box.name), NAME_SIZE, bold=True) + BADGE + 12
    facts = max(text_width(box.facts, FACT_SIZE), text_width(box.words, FACT_SIZE))
    return max(150.0, name, facts) + 2 * PADDING + BAR / 2


def _sentence(box: PlannedGroup) -> str:
    words = [f"{box.position}. {box.name}", box.facts, box.words]
    if box.depends_on:
        words.append(f"after {', '.join(box.depends_on)}")
    return "; ".join(word for word in words if word)


def _description(boxes: Sequence[PlannedGroup]) -> str:
    return "Groups in order of processing. " + " | ".join(_sentence(box) for box in boxes)


def _text(text: str) -> str:
    return escape(printable(text))
