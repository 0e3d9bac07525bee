"""Follow the status tree of an action until it is over: redrawn in place, or a line for each change.

Patience for a server that is away, and lines with the time, are here too.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from api_client.session import ApiError, ApiRefused, ApiUnreachable
from api_client.slipway import SlipwayClient
from slipway_cli.output import OutputFormat, deliver, printable, serialised
from slipway_cli.terminal.tree_header import action_header_lines, in_short, is_over, verdict_style
from slipway_cli.terminal.tree_text import Sheet, tree_changes, tree_lines


class Clock:
    """Prints lines with the seconds since the start."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line; control characters in it are replaced."""
        seconds = time.monotonic() - self._began
        self.screen.print(Text(f"{seconds:7.1f} s  {printable(text)}"), soft_wrap=True)


_SILENCE = 5.0
"""Seconds without an answer after which a line says so."""
_PATIENCE = 180.0
"""Seconds without an answer after which following ends with an error."""


class Absence:
    """Patience with a server that does not answer: it is told once, and given up after a while.

    Parameters
    ----------
    check : called while there is no answer; raises when none can come any more.
    advice : what to do once it is given up.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        check: Callable[[], None] = lambda: None,
        advice: str = "",
    ) -> None:
        self._say = say
        self._check = check
        self._advice = advice
        self._last_seen = time.monotonic()
        self._told = False
        self._told_not_begun = False

    def end(self) -> None:
        """Note that it has answered."""
        if self._told:
            self._say("Airflow answers again")
        self._last_seen, self._told = time.monotonic(), False

    def bear(self, error: ApiUnreachable | ApiRefused) -> None:
        """Bear that there was no answer. The API server may have been killed; its supervisor starts it again.

        Raises
        ------
        ApiRefused : it is an answer.
        ApiError : there has been none for so long.
        """
        if isinstance(error, ApiRefused) and error.status < 500:
            raise error
        self._check()
        away = time.monotonic() - self._last_seen
        if away > _PATIENCE:
            raise ApiError(f"{error}; given up after {away:.0f} s. {self._advice}") from error
        if away > _SILENCE and not self._told:
            self._say("Airflow does not answer; waiting")
            self._told = True

    def tell_not_begun(self, dag_id: str) -> None:
        """Say once that Airflow answers and has not begun."""
        if not self._told_not_begun:
            self._say(f"Airflow has not begun it. Is its scheduler running? Is the DAG {dag_id} switched on?")
        self._told_not_begun = True


WAIT = 20.0
"""Seconds that one request waits for a change."""
_REST = 0.3
"""Seconds between two requests."""

Tree = Mapping[str, Any]


TreeView = Callable[[Tree], None]
"""Takes the tree as often as it changes."""


class TreeFrame:
    """A tree on a terminal: as much as it has room for; the time goes on in it."""

    def __init__(self, tree: Tree, ref: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._tree = tree
        self._ref = ref
        self._clock = clock
        self._seen = clock()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = self._tree["header"]
        sheet = Sheet(options.max_width, ascii_only=options.ascii_only, ref=self._ref)
        top = [
            line
            for text in action_header_lines(header, self._clock() - self._seen)
            for line in text.wrap(console, options.max_width, overflow="fold")
        ]
        # The cursor has the last line.
        room = max(console.height - 1 - len(top), 1)
        yield from top[: max(console.height - 2, 1)]
        yield from tree_lines(self._tree["root"], sheet, room)


def _lines(clock: Clock) -> TreeView:
    before: dict[tuple[str, ...], str] = {}
    said = ""

    def show(tree: Tree) -> None:
        nonlocal said
        words = in_short(tree["header"])
        if words and words != said:
            clock.say(words)
        said = words
        for line in tree_changes(tree["root"], before):
            clock.say(line)

    return show


@contextlib.contextmanager
def open_tree_view(clock: Clock, ref: str, *, documents: bool) -> Iterator[TreeView]:
    """Return the view that suits the output.

    Parameters
    ----------
    ref : the action's name in commands.
    documents : each tree is printed as a line of JSON.
    """
    if documents:
        yield lambda tree: print(json.dumps(tree, ensure_ascii=False), file=sys.stdout, flush=True)
    elif not clock.screen.is_terminal:
        yield _lines(clock)
    else:
        with Live(console=clock.screen, refresh_per_second=4, transient=False) as live:
            yield lambda tree: live.update(TreeFrame(tree, ref))


def follow(
    slipway: SlipwayClient,
    action_id: str,
    view: TreeView,
    absence: Absence,
    depth: str | None = None,
) -> Mapping[str, Any]:
    """Show the tree until the action is over; return its header as it is then.

    Parameters
    ----------
    depth : how many levels; None: as many as the server finds useful.

    Raises
    ------
    ApiError, ApiRefused
    """
    token: str | None = None
    header: Mapping[str, Any] = {}
    ended = False
    while True:
        try:
            tree = slipway.action_tree(action_id, depth, token, 0.0 if ended or token is None else WAIT)
            # The tree is the store's alone: of a run that died, or was deleted, Airflow tells.
            action = slipway.action(action_id) if tree is None else None
        except (ApiUnreachable, ApiRefused) as error:
            absence.bear(error)
        else:
            absence.end()
            if tree is not None:
                token, header = tree["token"], tree["header"]
                view(tree)
                if is_over(header):
                    return header
            elif action is not None and action.is_over:
                if ended:
                    return {**header, "state": action.state, "verdict": action.verdict}
                # It may have ended between the two answers: what it did last is in its tree.
                ended = True
            elif header.get("state") == "pending":
                absence.tell_not_begun(str(header.get("dag_id")))
        time.sleep(_REST)


def show_end(
    slipway: SlipwayClient, header: Mapping[str, Any], output: str, clock: Clock, *, with_report: bool = True
) -> None:
    """Print the report as it is stored, or else as text, and then the verdict; without a report the verdict alone."""
    if with_report and header.get("has_report"):
        if output != OutputFormat.TABLE:
            deliver(serialised(slipway.report(str(header["id"])) or {}, output), None)
            return
        clock.screen.print()
        for line in slipway.report_text(str(header["id"])).splitlines():
            clock.screen.print(Text(printable(line)), soft_wrap=True)
    # At the end of what may be a long report.
    words = f"{str(header['state']).upper()}: {header.get('verdict') or 'no verdict is known'}"
    clock.screen.print(Text(printable(words), verdict_style(header) or "bold red"), soft_wrap=True)
