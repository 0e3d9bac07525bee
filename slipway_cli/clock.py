"""Lines with the seconds since the start: how the demo tells what it is doing."""

from __future__ import annotations

import time

from rich.console import Console
from rich.text import Text

from slipway_cli.printable import printable


class Clock:
    """Prints lines with the seconds since the start."""

    def __init__(self, screen: Console) -> None:
        """Start the clock; lines go to `screen`."""
        self.screen = screen
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line; control characters in it are replaced."""
        seconds = time.monotonic() - self._began
        self.screen.print(Text(f"{seconds:7.1f} s  {printable(text)}"), soft_wrap=True)
