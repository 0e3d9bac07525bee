"""Shows how an action goes on, group by group: a live table on a terminal, else a line for each change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from slipway_cli.output import table
from slipway_cli.printable import printable
from slipway_cli.slipway_api import GroupProgress, RunProgress

_STYLES = {"success": "green", "failure": "bold red", "running": "cyan", "pending": "dim"}
_REASONS = {
    "prepare_criteria": "criteria not met after prepare",
    "deploy_criteria": "criteria not met after deploy",
    "dependency": "a group it depends on failed",
    "interrupted": "interrupted",
}


class ProgressView(Protocol):
    """Takes the progress as often as it is known; shows what is worth showing."""

    def update(self, progress: RunProgress) -> None:
        """Take the latest progress."""


def is_over(group: GroupProgress) -> bool:
    """Whether the group has its verdict."""
    return group.state in ("success", "failure")


def describe(group: GroupProgress) -> str:
    """Where the group stands, in a few words: `deploying, 4 of 12 deployed, 1 failed`."""
    counts = group.counts
    total, failed, unknown = counts.get("total", 0), counts.get("failure", 0), counts.get("unknown", 0)
    prepared, deployed = counts.get("prepared", 0), counts.get("success", 0)
    words = [group.state]
    if group.state == "running" and group.phase:
        words = [{"prepare": "preparing", "deploy": "deploying"}.get(group.phase, group.phase)]
    if group.reason:
        words.append(_REASONS.get(group.reason, group.reason))
    if group.state != "pending" and group.reason != "dependency":
        if group.phase == "prepare" and not is_over(group):
            words.append(f"{prepared + deployed} of {total} prepared")
        else:
            words.append(f"{deployed} of {total} deployed")
    if failed:
        words.append(f"{failed} failed")
    if unknown:
        words.append(f"{unknown} unknown")
    return ", ".join(words)


class LineView:
    """Says a line whenever a group's description has changed; for logs and pipes."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._shown: dict[str, str] = {}

    def update(self, progress: RunProgress) -> None:
        """Say what has changed since the last time; a group is first heard of when it is no longer pending."""
        for group in progress.groups:
            text = describe(group)
            if self._shown.get(group.name, "pending") != text:
                self._shown[group.name] = text
                self._say(f"{group.name}: {text}")


class LiveView:
    """Redraws a table of all groups in place."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def update(self, progress: RunProgress) -> None:
        """Redraw the table."""
        if progress.groups:  # none before they are planned
            self._live.update(draw(progress))


def draw(progress: RunProgress) -> Table:
    """The table of the live view."""
    result = table("Group", "", "Nodes", "State", right=("Nodes",))
    for group in progress.groups:
        style = _STYLES.get(group.state, "")
        total = group.counts.get("total", 0)
        # A node that is deployed has both phases behind it, a prepared one the first.
        done = 2 * group.counts.get("success", 0) + group.counts.get("prepared", 0)
        name = Text(printable(group.name), style=style)
        if group.critical:
            name.append(" *", style="bold")
        bar = ProgressBar(total=2 * total or 1, completed=done, width=24)
        result.add_row(name, bar, str(total), Text(describe(group), style=style))
    if any(group.critical for group in progress.groups):
        result.caption = "* critical"
        result.caption_justify = "left"
    return result


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
