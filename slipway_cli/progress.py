"""Shows how an action goes on, group by group: a live table on a terminal, else a line for each change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from api_client.slipway import GroupProgress, RunProgress
from slipway_cli.output import printable, table

_STYLES = {"success": "green", "failure": "red", "running": "cyan", "pending": "dim"}
_LOSSES = "yellow"
"""Style of a group that succeeded although nodes of it did not."""
_LONGEST_NAME = 40
_LONGEST_BAR, _SHORTEST_BAR = 24, 8
_USUAL_STATE = len("success, 11 of 12 deployed, 1 failed")
_GAPS = 6
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
    """Return where the group stands, in a few words: `deploying, 4 of 12 deployed, 1 failed`."""
    counts = group.counts
    total, failed, unknown = counts.get("total", 0), counts.get("failure", 0), counts.get("unknown", 0)
    prepared, deployed = counts.get("prepared", 0), counts.get("success", 0)
    if group.state == "pending":
        return "pending"  # nodes of it may have failed already, in a group before it
    words = [group.state]
    if group.state == "running" and group.phase:
        words = [{"prepare": "preparing", "deploy": "deploying"}.get(group.phase, group.phase)]
    if group.reason:
        words.append(_REASONS.get(group.reason, group.reason))
    if group.reason != "dependency":
        if group.phase == "prepare" and not is_over(group):
            words.append(f"{prepared + deployed} of {total} prepared")
        else:
            words.append(f"{deployed} of {total} deployed")
    if failed:
        words.append(f"{failed} failed")
    if unknown:
        words.append(f"{unknown} unknown")
    return ", ".join(words)


def describe_action(progress: RunProgress) -> str | None:
    """Return where the action stands, None where its groups show it."""
    if progress.state == "pending":
        return "waiting for Airflow to start it"
    if progress.state != "running":
        return None
    if progress.paused:
        return "paused: the group at work ends, no other starts"
    return f"step {progress.step}" if progress.step and not progress.groups else None


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
    """Redraws a table of all groups in place."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def update(self, progress: RunProgress) -> None:
        if progress.groups:
            screen = self._live.console
            self._live.update(draw(progress, screen.width, ascii_only=screen.options.ascii_only))
        else:  # they are not planned yet
            self._live.update(Text(printable(describe_action(progress) or ""), style="dim"))


def draw(progress: RunProgress, width: int, *, ascii_only: bool = False) -> Table:
    """The table of the live view. Names come first: where it is narrow there are no bars, then the states are folded.

    Parameters
    ----------
    width : columns of the terminal.
    ascii_only : it can show nothing else.
    """
    rows = [
        (_name(group), str(group.counts.get("total", 0)), Text(describe(group), _style(group)))
        for group in progress.groups
    ]
    names = max(len(name) for name, _, _ in rows)
    states = max(_USUAL_STATE, *(len(text) for _, _, text in rows))
    length = min(_LONGEST_BAR, width - names - len("Nodes") - states - _GAPS)
    wide = length >= _SHORTEST_BAR
    columns = ("Group", "", "Nodes", "State") if wide else ("Group", "Nodes", "State")
    result = table(*columns, right=("Nodes",), folds=("State",))
    for group, (name, total, text) in zip(progress.groups, rows, strict=True):
        result.add_row(*((name, _bar(group, length, ascii_only), total, text) if wide else (name, total, text)))
    notes = ["* critical"] if any(group.critical for group in progress.groups) else []
    state = describe_action(progress)
    if notes or state:
        result.caption = "; ".join([*notes, *([state] if state else [])])
        result.caption_justify = "left"
    return result


def _style(group: GroupProgress) -> str:
    if group.state == "success" and (group.counts.get("failure") or group.counts.get("unknown")):
        return _LOSSES
    return _STYLES.get(group.state, "")


def _name(group: GroupProgress) -> Text:
    name = printable(group.name)
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME - 3] + "..."
    text = Text(name, style=_style(group))
    if group.critical:
        text.append(" *", style="bold")
    return text


def _bar(group: GroupProgress, length: int, ascii_only: bool) -> Text:
    """Draw how much is done, not by colour alone: two parts for a deployed node, one for a prepared one."""
    done = 2 * group.counts.get("success", 0) + group.counts.get("prepared", 0)
    full = length * done // (2 * group.counts.get("total", 0) or 1)
    one, none = ("#", ".") if ascii_only else ("━", "·")
    return Text.assemble((one * full, _style(group)), (none * (length - full), "dim"))


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
