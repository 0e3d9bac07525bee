"""Folding text for a terminal: words stay whole, and so do commands, which are copied. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

_COMMAND = re.compile(r"slipway(?: [^\s`;,]*[^\s`;,:.)?])+")
# In place of the blanks of a command while text is folded; no text has it, as it is not printable.
_GLUE = "\ue000"
_PAPER = Console(width=80)


def longest_word(text: Text, most: int) -> int:
    """Return the columns of the longest word, or of the longest command that has at most `most`."""
    return max((Text(word).cell_len for word in _glued(text.plain, most).split()), default=0)


def whole_lines(text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text that have at most `width` columns; what is longer than a line alone is broken.

    Further lines of a line that is indented are indented a little more.
    """
    for line in text.split("\n", allow_blank=True):
        if line.cell_len <= width:
            yield line
            continue
        blank = len(line.plain) - len(line.plain.lstrip(" "))
        indent = blank + 2 if 0 < blank < width // 2 else 0
        line.plain = _glued(line.plain, width - indent)
        for place, part in enumerate(line[blank:].wrap(_PAPER, max(width - max(indent, blank), 1), overflow="fold")):
            part.rstrip()
            part.plain = part.plain.replace(_GLUE, " ")
            yield Text(" " * (indent if place else blank)).append_text(part)


def _glued(plain: str, most: int) -> str:
    """Return a text of the same length in which each command that has room in a line is one word."""

    def glue(found: re.Match[str]) -> str:
        return found[0].replace(" ", _GLUE) if len(found[0]) <= most else found[0]

    return _COMMAND.sub(glue, plain)
