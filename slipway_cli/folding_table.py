"""Folding for a terminal: a table loses nothing, words stay whole, and so do commands, which are copied.

What of a table does not fit beside the rest stands below its row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_COMMAND = re.compile(r"slipway(?: [^\s`;,]*[^\s`;,:.)?])+")
# In place of the blanks of a command while text is folded; no text has it, as it is not printable.
_GLUE = "\ue000"
_PAPER = Console(width=80)
_GAP = 2
_LEAST = 20
"""Columns of the terminal that a folded column has at least; with fewer it stands below its row."""
_INDENT = 2


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """Return the text on one line with every control character replaced by one that can be seen."""
    return "".join(c if c.isprintable() else " " if c == "\n" else REPLACEMENT for c in text)


class FoldingTable:
    """Rows with headings. Folded columns are folded as far as they can be read; then, and where even the others do not
    fit, columns stand below their rows, each with its heading: the rightmost first, and the first column never.
    """

    def __init__(self, columns: Sequence[str], right: Collection[str] = (), folds: Collection[str] = ()) -> None:
        """The table is empty.

        Parameters
        ----------
        right : columns of numbers.
        folds : columns that are folded when the terminal is too narrow; the others keep their width.
        """
        self._columns = tuple(columns)
        self._right = [column in right for column in columns]
        self._folds = [column in folds for column in columns]
        self._rows: list[tuple[Text, ...]] = []

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def add_row(self, *cells: str | Text) -> None:
        """Add a row; it has a cell for each column. A cell that is a plain text is made `printable`."""
        if len(cells) != len(self._columns):
            raise ValueError(f"{len(cells)} cells for {len(self._columns)} columns")
        self._rows.append(tuple(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths()
        least = self._least(widths, options.max_width)
        if sum(least) + _GAP * len(least) <= options.max_width:
            yield self._table(self._shared(least, widths, options.max_width))
        else:
            yield from self._narrow(console, [least[0], *widths[1:]], options.max_width)

    def _widths(self) -> list[int]:
        cells = zip(*([Text(column) for column in self._columns], *self._rows), strict=True)
        return [max(cell.cell_len for cell in column) for column in cells]

    def _least(self, widths: Sequence[int], width: int) -> list[int]:
        """Return the columns that each needs beside the others: those that are folded keep words and commands whole."""
        least = list(widths)
        for i, folds in enumerate(self._folds):
            if folds:
                words = max((longest_word(row[i], width) for row in self._rows), default=0)
                # What is longer than a whole line is broken in any case.
                least[i] = max(min(widths[i], _LEAST), words if words <= width else 0)
        return least

    def _shared(self, least: Sequence[int], widths: Sequence[int], width: int) -> list[int]:
        """Return how wide each column is: what is left goes to the narrowest of those that would be wider."""
        shared = list(least)
        for _ in range(width - sum(least) - _GAP * len(least)):
            growing = [i for i in range(len(shared)) if shared[i] < widths[i]]
            if not growing:
                break
            shared[min(growing, key=lambda i: shared[i])] += 1
        return shared

    def _table(self, widths: Sequence[int]) -> Table:
        result = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for column, right, folds, width in zip(self._columns, self._right, self._folds, widths, strict=True):
            justify: Literal["left", "right"] = "right" if right else "left"
            result.add_column(column, justify=justify, overflow="fold", no_wrap=not folds, width=width)
        for row in self._rows:
            result.add_row(*(_Folded(cell) if folds else cell for cell, folds in zip(row, self._folds, strict=True)))
        return result

    def _narrow(self, console: Console, widths: Sequence[int], width: int) -> Iterator[Text]:
        """Yield the lines of the table with some of its columns below their rows."""
        first = min(widths[0], width)
        beside, room = [0], width - first
        for i in range(1, len(widths)):
            if self._folds[i]:
                continue
            if widths[i] + _GAP > room:
                break
            beside.append(i)
            room -= widths[i] + _GAP
        first = min(widths[0], first + room)
        below = [i for i in range(len(widths)) if i not in beside]
        heads = tuple(Text(column, "bold") for column in self._columns)
        yield from self._beside(console, heads, beside, [first, *widths[1:]])
        yield Text("─" * width if not console.options.ascii_only else "-" * width)
        for row in self._rows:
            yield from self._beside(console, row, beside, [first, *widths[1:]])
            yield from self._below(row, below, width)

    def _beside(
        self, console: Console, row: Sequence[Text], columns: Sequence[int], widths: Sequence[int]
    ) -> Iterator[Text]:
        folded = row[0].wrap(console, widths[0], overflow="fold") or [Text("")]
        for place, part in enumerate(folded):
            line = part.copy()
            line.rstrip()
            for i in columns[1:] if place == 0 else ():
                gap = widths[0] - line.cell_len if i == columns[1] else 0
                fill = widths[i] - row[i].cell_len
                line.append(" " * (_GAP + gap + (fill if self._right[i] else 0)))
                line.append_text(row[i])
                line.append(" " * (0 if self._right[i] else fill))
            line.rstrip()
            yield line

    def _below(self, row: Sequence[Text], columns: Sequence[int], width: int) -> Iterator[Text]:
        """Yield what stands below a row: several short ones on a line, a long one folded, what is empty not at all."""
        inside = max(width - _INDENT, 1)
        line = Text()
        for i in columns:
            if not row[i].plain:
                continue
            part = Text.assemble((f"{self._columns[i]}: ", "dim"), row[i])
            if line and line.cell_len + _GAP + part.cell_len > inside:
                yield from _indented(line, inside)
                line = Text()
            if line:
                line.append(" " * _GAP)
            line.append_text(part)
        if line:
            yield from _indented(line, inside)


@dataclass(frozen=True, slots=True)
class _Folded:
    """A cell that is folded between words."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from whole_lines(self.text, options.max_width)


def _indented(text: Text, width: int) -> Iterator[Text]:
    for part in whole_lines(text, width):
        line = Text(" " * _INDENT).append_text(part)
        line.rstrip()
        yield line


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
