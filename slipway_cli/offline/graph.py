"""The group graph as text for other programs: Graphviz's DOT and Mermaid. The picture of our own is in `svg`."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from slipway_cli.output import counted, printable

MERMAID_ENTITIES = str.maketrans({"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;"})


class GraphFormat(StrEnum):
    """The forms in which the group graph can be written."""

    SVG = "svg"
    DOT = "dot"
    MERMAID = "mermaid"


@dataclass(frozen=True, slots=True)
class GroupBox:
    """What a drawing says of one group.

    Attributes
    ----------
    position : place in the order of processing, from 1.
    nodes : number of nodes, None when no nodes are known.
    criteria : success criteria in a few characters each, as `≥ 90 %`.
    """

    name: str
    position: int
    critical: bool
    depends_on: tuple[str, ...]
    nodes: int | None
    criteria: tuple[str, ...]

    @property
    def facts(self) -> str:
        """Return the second line of the box: `critical · 10 nodes`."""
        words = ["critical"] if self.critical else []
        if self.nodes is not None:
            words.append(counted(self.nodes, "node"))
        return " · ".join(words)


def to_dot(boxes: Sequence[GroupBox], title: str) -> str:
    """Return the graph in Graphviz's DOT language, boxes in the order of processing."""
    lines = [
        "digraph strategy {",
        f"  label={_dot(title)};",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded", fontname="sans-serif"];',
    ]
    for box in boxes:
        label = "\n".join(filter(None, (f"{box.position}. {box.name}", box.facts, ", ".join(box.criteria))))
        style = ', style="rounded,bold", color="#bc4c00"' if box.critical else ""
        lines.append(f"  {_dot(box.name)} [label={_dot(label)}{style}];")
    lines += [f"  {_dot(parent)} -> {_dot(box.name)};" for box in boxes for parent in box.depends_on]
    return "\n".join([*lines, "}", ""])


def to_mermaid(boxes: Sequence[GroupBox], title: str) -> str:
    """Return the graph as a Mermaid flowchart, which GitHub and GitLab draw inside Markdown."""
    number = {box.name: box.position for box in boxes}
    lines = ["flowchart LR", f"  %% {printable(title)}"]
    for box in boxes:
        parts = (f"{box.position}. {box.name}", box.facts, ", ".join(box.criteria))
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
