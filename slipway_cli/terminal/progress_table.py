"""The lines of the live table: they fit a terminal of any size, with the group at work always among them. Pure."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from api_client.slipway import GroupProgress, RunProgress
from slipway_cli.output import counted, printable
from strategy_lib.duration import duration_words
from strategy_lib.phase import GroupState
from strategy_lib.status.serves import Serves
from strategy_lib.status.words import Status

TERMINAL_STYLES = {"grey": "dim", "blue": "cyan"}
"""Styles of the colours of statuses, where they are not the colours' own names."""
_STATUSES = {
    GroupState.SUCCESS.value: Status.SUCCESS,
    GroupState.FAILURE.value: Status.ERROR,
    GroupState.RUNNING.value: Status.PROCESSING,
    GroupState.PENDING.value: Status.PENDING,
}
_FOLDED = ("failure", "running", "pending", "success")
"""States as they are counted on one line: the end of it is cut on a very narrow terminal."""
_LOSSES = "yellow"
"""Style of a group that succeeded although nodes of it did not."""
_LONGEST_NAME = 40
_LONGEST_BAR, _SHORTEST_BAR = 24, 8
_USUAL_WORDS = len("success, 11 of 12 deployed, 1 failed")
_SHORTEST_WORDS = 24
"""Columns for the words of a group; where there are fewer they stand below its name."""
_REASONS = {
    "prepare_criteria": "criteria not met after prepare",
    "approval": "not approved",
    "deploy_criteria": "criteria not met after deploy",
    "ready_criteria": "criteria not met after ready",
    "dependency": "a group it depends on failed",
    "interrupted": "interrupted",
    "canary": "a canary failed",
}


_DOING = {"prepare": "preparing", "deploy": "deploying", "ready": "asking whether nodes are ready"}


def status_style(status: Status) -> str:
    """Return the style in which a terminal shows a status."""
    return TERMINAL_STYLES.get(status.colour, status.colour)


def serving_style(status: Status, serves: Serves) -> str:
    """Return the same of nodes that serve something while their status is pending: the style of what they serve."""
    if serves is Serves.NOTHING:
        return status_style(status)
    return TERMINAL_STYLES.get(serves.colour, serves.colour)


def is_over(group: GroupProgress) -> bool:
    """Whether the group has its verdict."""
    return group.state in ("success", "failure")


def describe(group: GroupProgress) -> str:
    """Return where the group stands, in a few words: `deploying, 4 of 12 deployed, 1 failed`."""
    counts = group.counts
    total, failed, unknown = counts.get("total", 0), counts.get("failure", 0), counts.get("unknown", 0)
    prepared, deployed = counts.get("prepared", 0), counts.get("success", 0)
    if group.waits:
        return printable(group.waits)
    if group.state == "pending":
        return "pending"  # nodes of it may have failed already, in a group before it
    words = [group.state]
    if group.state == "running" and group.phase:
        words = [_DOING.get(group.phase, group.phase)]
        if group.batch:
            words.append(group.batch)
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


def table_lines(progress: RunProgress, width: int, height: int, *, ascii_only: bool = False) -> list[Text]:
    """Return the lines of the table, at most `height`: totals and time on top, then the groups in their order.

    Where not all groups fit, those in a row that are left out are one line. The group at work is never left out; then
    come the next one, those that failed, and those nearest to the work.

    Parameters
    ----------
    width, height : columns and lines of the terminal.
    ascii_only : it can show nothing else.
    """
    width, height = max(width, 1), max(height, 1)
    top = [line for text in _top(progress) for line in _folded(text, width)]
    if not progress.groups:
        return top[:height]
    layout = _Layout.of(progress.groups, width, ascii_only)
    rows = [layout.lines(group) for group in progress.groups]
    notes = [Text(line, "dim") for line in _folded_text("* critical", width)] if _any_critical(progress) else []
    if len(top) + len(rows) + len(notes) > height and height < _ENOUGH:
        top, notes = top[:1] if height > 1 else [], []
    room = max(height - len(top) - len(notes), 1)
    return [*top, *_body(progress.groups, rows, room, layout), *notes]


_ENOUGH = 8
"""Lines of a terminal below which there is nothing but the first line of the top and the groups at work."""


def _any_critical(progress: RunProgress) -> bool:
    return any(group.critical for group in progress.groups)


def _top(progress: RunProgress) -> Iterator[Text]:
    groups = progress.groups
    if groups:
        over, failed = sum(map(is_over, groups)), sum(group.state == "failure" for group in groups)
        words = f"{over} of {counted(len(groups), 'group')} finished" + (f", {failed} failed" if failed else "")
        nodes = _nodes(progress)
        yield Text(f"{words}; {nodes}" if nodes else words, "bold red" if failed else "bold")
    state = describe_action(progress)
    estimate = progress.estimate if progress.state == "running" else None
    words = "; ".join(part for part in (elapsed_words(progress.elapsed, estimate), state) if part)
    if words:
        yield Text(printable(words), "dim")


def _nodes(progress: RunProgress) -> str:
    """Return how many nodes are done; where groups share nodes and the whole is not known, nothing."""
    counts: Counter[str] = Counter(progress.nodes or {})
    if not counts:
        for group in progress.groups:
            counts.update(group.counts)
    if not counts["total"]:
        return ""
    parts = [f"{counts['success']} of {counted(counts['total'], 'node')} deployed"]
    parts += [f"{counts[key]} {word}" for key, word in (("failure", "failed"), ("unknown", "unknown")) if counts[key]]
    return ", ".join(parts)


def elapsed_words(elapsed: float | None, estimate: float | None) -> str:
    """Say how long an action has taken so far, and what is left of what earlier ones took; both in seconds."""
    if elapsed is None:
        return ""
    words = f"elapsed {duration_words(elapsed)}"
    if estimate is None:
        return words
    usual = f"earlier ones took {duration_words(estimate)}"
    left = estimate - elapsed
    return f"{words}; about {duration_words(left)} left ({usual})" if left > 0 else f"{words}; longer than {usual}"


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand in the row of a group; `bar` is 0 where there is no room for one."""

    width: int
    name: int
    bar: int
    ascii_only: bool

    @classmethod
    def of(cls, groups: Sequence[GroupProgress], width: int, ascii_only: bool) -> _Layout:
        longest = max(cell_len(_name(group)) for group in groups)
        name = max(min(longest, _LONGEST_NAME, width - 2), 1)
        bar = min(_LONGEST_BAR, width - _start(name) - _USUAL_WORDS - 2)
        return cls(width, name, bar if bar >= _SHORTEST_BAR else 0, ascii_only)

    def lines(self, group: GroupProgress) -> list[Text]:
        """Return the row of a group; its name and its words are folded where they are too long, and never cut."""
        style = _style(group)
        words = describe(group)
        if group.state == "pending":
            words += f", {counted(group.counts.get('total', 0), 'node')}"
        names = chop_cells(_name(group), self.name)
        start = _start(self.name) + (self.bar + 2 if self.bar else 0)
        symbol = self.symbol(_STATUSES.get(group.state, Status.UNDEFINED))
        if self.width - start < _SHORTEST_WORDS:
            head = [Text(f"{' ' if i else symbol} {name}", style) for i, name in enumerate(names)]
            return [*head, *(Text(f"  {line}", style) for line in _folded_text(words, self.width - 2))]
        said = _folded_text(words, self.width - start)
        lines = []
        for i in range(max(len(names), len(said))):
            name = set_cell_size(names[i] if i < len(names) else "", self.name)
            line = Text(f"{' ' if i else symbol} {name}  ", style)
            if self.bar:
                line.append_text(self._bar(group, style) if i == 0 else Text(" " * self.bar))
                line.append("  ")
            line.append(said[i] if i < len(said) else "", style)
            line.rstrip()
            lines.append(line)
        return lines

    def symbol(self, status: Status) -> str:
        """Return the character that stands for a status."""
        return status.ascii_symbol if self.ascii_only else status.symbol

    def fold(self, groups: Sequence[GroupProgress]) -> Text:
        """Return the line that stands for groups in a row."""
        states = Counter(group.state for group in groups)
        words = [f"{states[state]} {state}" for state in _FOLDED if states[state]]
        whole = f": {', '.join(words)}" if len(words) > 1 else f" {groups[0].state}"
        dots = "..." if self.ascii_only else "…"
        style = "red" if states[GroupState.FAILURE.value] else "dim"
        return Text(f"{dots} {counted(len(groups), 'group')}{whole}"[: self.width], style)

    def _bar(self, group: GroupProgress, style: str) -> Text:
        """Draw how much is done, not by colour alone: two parts for a deployed node, one for a prepared one."""
        done = 2 * group.counts.get("success", 0) + group.counts.get("prepared", 0)
        full = self.bar * done // (2 * group.counts.get("total", 0) or 1)
        one, none = ("#", ".") if self.ascii_only else ("━", "·")
        return Text.assemble((one * full, style), (none * (self.bar - full), "dim"))


def _start(name: int) -> int:
    return 2 + name + 2


def _style(group: GroupProgress) -> str:
    if group.state == "success" and (group.counts.get("failure") or group.counts.get("unknown")):
        return _LOSSES
    return status_style(_STATUSES.get(group.state, Status.UNDEFINED))


def _name(group: GroupProgress) -> str:
    return printable(group.name) + (" *" if group.critical else "")


def _body(groups: Sequence[GroupProgress], rows: Sequence[list[Text]], room: int, layout: _Layout) -> list[Text]:
    """Return the rows that fit, each run of the others as one line."""
    chosen: set[int] = set()
    height = 1  # that of the line for all that are left out
    for i in _by_worth(groups):
        more = len(rows[i]) + _more_runs(i, chosen, len(rows))
        if height + more <= room:
            chosen.add(i)
            height += more
        elif not chosen:
            return rows[i][:room]
    lines: list[Text] = []
    hidden: list[GroupProgress] = []
    for i, group in enumerate(groups):
        if i not in chosen:
            hidden.append(group)
            continue
        if hidden:
            lines.append(layout.fold(hidden))
            hidden = []
        lines += rows[i]
    return [*lines, layout.fold(hidden)] if hidden else lines


def _more_runs(i: int, chosen: set[int], number: int) -> int:
    """Return how many more runs of groups are left out once this one is shown: -1, 0 or 1."""
    before = i > 0 and i - 1 not in chosen
    behind = i + 1 < number and i + 1 not in chosen
    return before + behind - 1


def _by_worth(groups: Sequence[GroupProgress]) -> list[int]:
    """Return the places of the groups, those first that are shown before others."""
    at_work = [i for i, group in enumerate(groups) if group.state == "running"]
    pending = [i for i, group in enumerate(groups) if group.state == "pending"]
    middle = at_work[0] if at_work else pending[0] if pending else len(groups) - 1
    failed = [i for i, group in enumerate(groups) if group.state == "failure" and group.reason != "dependency"]
    nearest = sorted(range(len(groups)), key=lambda i: (abs(i - middle), i))
    return list(dict.fromkeys([*at_work, *(i for i in pending[:1]), *reversed(failed), *nearest]))


def _folded_text(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 1), break_on_hyphens=False) or [""]


def _folded(text: Text, width: int) -> list[Text]:
    return [Text(line, text.style) for line in _folded_text(text.plain, width)]
