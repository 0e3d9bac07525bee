"""A terminal's real screen: what is printed into it, and what somebody sees then."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import pyte
from rich.console import Console
from rich.text import Text

WIDTHS = (80, 120, 200)
"""Columns at which terminal output is tried."""


@dataclass
class TerminalScreen:
    """A screen of so many columns and lines; `console` prints into it, and takes it for a terminal."""

    width: int
    height: int = 40
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        self._screen = pyte.Screen(self.width, self.height)
        self._stream = pyte.Stream(self._screen)
        self.console = Console(
            file=self,  # type: ignore[arg-type]
            force_terminal=True,
            width=self.width,
            height=self.height,
            color_system="standard",
            legacy_windows=False,
        )

    def write(self, text: str) -> int:
        """Take what is printed, as a terminal does: it goes to the first column with each new line."""
        self._stream.feed(text.replace("\n", "\r\n"))
        return len(text)

    def flush(self) -> None:
        """Do nothing: all is on the screen at once."""

    @property
    def encoding(self) -> str:
        """The encoding of the terminal."""
        return "utf-8"

    def lines(self) -> list[str]:
        """Return what stands on the screen, without what is blank at the ends."""
        shown = [line.rstrip() for line in self._screen.display]
        while shown and not shown[-1]:
            shown.pop()
        return shown


class TerminalText(io.StringIO):
    """What a command prints, which takes it for a terminal."""

    def isatty(self) -> bool:
        """Say that it is a terminal."""
        return True


def cut_words(text: str, width: int) -> list[str]:
    """Return the words of what was printed that a terminal of so many columns breaks in two, at its right edge."""
    found = []
    for line in (line.rstrip() for line in Text.from_ansi(text).plain.split("\n")):
        for edge in range(width, len(line), width):
            if line[edge - 1] != " " and line[edge] != " ":
                found.append(line[:edge].split(" ")[-1] + "|" + line[edge:].split(" ")[0])
    return found
