"""Shows how an action goes on, group by group: a live table on a terminal, else a line for each change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live

from api_client.slipway import RunProgress
from slipway_cli.terminal.progress_table import describe, describe_action, table_lines


class ProgressView(Protocol):
    """Takes the progress as often as it is known; shows what is worth showing."""

    def update(self, progress: RunProgress) -> None:
        """Take the latest progress."""


class LineView:
    """Prints a line for each change of a group's description; for logs and pipes."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._shown: dict[str, str] = {}
        self._state: str | None = None

    def update(self, progress: RunProgress) -> None:
        """Print what has changed since the last time; a group appears once it is no longer pending."""
        state = describe_action(progress)
        if state != self._state and state is not None:
            self._say(state)
        self._state = state
        for group in progress.groups:
            text = describe(group)
            if self._shown.get(group.name, "pending") != text:
                self._shown[group.name] = text
                self._say(f"{group.name}: {text}")


class LiveView:
    """Redraws a table of the groups in place, in the size that the terminal has at that moment."""

    def __init__(self, live: Live, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = live
        self._clock = clock

    def update(self, progress: RunProgress) -> None:
        self._live.update(Frame(progress, self._clock))


class Frame:
    """What the live view shows until the next update; only the time that has elapsed goes on in it."""

    def __init__(self, progress: RunProgress, clock: Callable[[], float]) -> None:
        self._progress = progress
        self._clock = clock
        self._seen = clock()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        progress = self._progress
        if progress.elapsed is not None and progress.state == "running":
            progress = replace(progress, elapsed=progress.elapsed + self._clock() - self._seen)
        # The cursor has the last line.
        yield from table_lines(progress, options.max_width, console.height - 1, ascii_only=options.ascii_only)


@contextmanager
def open_view(target: Console, say: Callable[[str], None]) -> Iterator[ProgressView]:
    """The view that suits the output.

    Parameters
    ----------
    say : prints a line when there is no terminal.
    """
    if not target.is_terminal:
        yield LineView(say)
        return
    with Live(console=target, refresh_per_second=8, transient=False) as live:
        yield LiveView(live)
