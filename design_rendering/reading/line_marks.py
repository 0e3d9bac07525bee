"""The line of a JSON path in the text of a document. Found when the first problem asks, not while reading."""

from __future__ import annotations

from typing import Any

import yaml

from strategy_lib.errors import Step

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# The lines of a mapping's keys or a list's items, and what is below each: {step: (line, {...})}.
_Lines = dict[Step, tuple[int, Any]]


class LineMarks:
    """The place of one document in a text that has been read before.

    Only the place is kept, for a site has tens of thousands of documents and few of them have problems; the
    document is parsed a second time when a line is asked for.
    """

    __slots__ = ("_column", "_end", "_line", "_lines", "_start", "_text")

    def __init__(self, text: str, start: int, end: int, line: int, column: int) -> None:
        self._text = text
        self._start = start
        self._end = end
        self._line = line
        self._column = column
        self._lines: _Lines | None = None

    @property
    def span(self) -> tuple[int, int]:
        """Where the document begins and ends in the text it was read from, in characters."""
        return self._start, self._end

    @property
    def text(self) -> str:
        """The document as it is written, with its comments, without the `---` above it."""
        # The first line keeps its column, so that the indentation of the lines below still fits.
        return " " * self._column + self._text[self._start : self._end]

    def line_of(self, steps: tuple[Step, ...]) -> int:
        """Return the line (from 1) of the value at these steps, or of its nearest ancestor that is there."""
        if self._lines is None:
            self._lines = self._read()
        line, below = self._line, self._lines
        for step in steps:
            if step not in below:
                break
            line, below = below[step]
        return line

    def _read(self) -> _Lines:
        parser = _Parser(self.text)
        root: _Lines = {}
        # Each open list or mapping: its lines, the next position (-1 for a mapping), the key that waits for its value.
        stack: list[tuple[_Lines, list[Any]]] = []
        try:
            while type(event := parser.get_event()) is not yaml.StreamEndEvent:
                kind = type(event)
                if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                    stack.pop()
                elif kind in (yaml.ScalarEvent, yaml.AliasEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent):
                    below: _Lines = {}
                    opens = kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent
                    if not stack:
                        below = root
                    elif not self._place(stack[-1], event, below):
                        continue
                    if opens:
                        stack.append((below, [-1 if kind is yaml.MappingStartEvent else 0, None]))
        except yaml.YAMLError:
            # The document was read once; only a %TAG directive above it can be missing now. Its own line will do.
            return root
        finally:
            parser.dispose()
        return root

    def _place(self, frame: tuple[_Lines, list[Any]], event: Any, below: _Lines) -> bool:
        """Note the line of a list item or a key; False when the event was itself a key."""
        lines, state = frame
        line = self._line + event.start_mark.line
        if state[0] >= 0:
            lines[state[0]] = (line, below)
            state[0] += 1
            return True
        if state[1] is None:
            state[1] = (getattr(event, "value", ""), line)
            return type(event) is not yaml.ScalarEvent and type(event) is not yaml.AliasEvent
        key, line = state[1]
        state[1] = None
        lines[key] = (line, below)
        return True
