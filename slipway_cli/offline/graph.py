"""The group graph as text for other programs: Graphviz's DOT and Mermaid. The picture of our own is in `svg`."""

from collections.abc import Sequence

from slipway_cli.output import printable
from slipway_cli.terminal.plan_table import PlannedGroup

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
