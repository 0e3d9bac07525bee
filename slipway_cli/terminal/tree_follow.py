"""Follow the status tree of an action until it is over: redrawn in place, or a line for each change."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from api_client.session import ApiRefused, ApiUnreachable
from api_client.slipway import SlipwayClient
from slipway_cli.output import printable
from slipway_cli.terminal.follow import Absence, Clock
from slipway_cli.terminal.tree_header import action_header_lines, is_over, verdict_style
from slipway_cli.terminal.tree_text import Sheet, tree_changes, tree_lines

WAIT = 20.0
"""Seconds that one request waits for a change."""
_REST = 0.3
"""Seconds between two requests."""

Tree = Mapping[str, Any]


class TreeView(Protocol):
    """Takes the tree as often as it changes."""

    def update(self, tree: Tree) -> None:
        """Show the tree as it is now."""


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


class _Lines:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._before: dict[tuple[str, ...], str] = {}

    def update(self, tree: Tree) -> None:
        for line in tree_changes(tree["root"], self._before):
            self._clock.say(line)


class _Documents:
    def update(self, tree: Tree) -> None:
        print(json.dumps(tree, ensure_ascii=False), file=sys.stdout, flush=True)


class _Redrawn:
    def __init__(self, live: Live, ref: str) -> None:
        self._live = live
        self._ref = ref

    def update(self, tree: Tree) -> None:
        self._live.update(TreeFrame(tree, self._ref))


@contextlib.contextmanager
def open_tree_view(clock: Clock, ref: str, *, documents: bool) -> Iterator[TreeView]:
    """Return the view that suits the output.

    Parameters
    ----------
    ref : the action's name in commands.
    documents : each tree is printed as a line of JSON.
    """
    if documents:
        yield _Documents()
    elif not clock.screen.is_terminal:
        yield _Lines(clock)
    else:
        with Live(console=clock.screen, refresh_per_second=4, transient=False) as live:
            yield _Redrawn(live, ref)


def follow_tree(
    slipway: SlipwayClient,
    action_id: str,
    depth: str | None,
    view: TreeView,
    absence: Absence,
    rest: Callable[[float], None] = time.sleep,
) -> Tree:
    """Show the tree until the action is over; return it as it is then.

    Parameters
    ----------
    depth : how many levels; None: as many as the server finds useful.
    rest : waits so many seconds.

    Raises
    ------
    AirflowGone, ApiRefused
    """
    token: str | None = None
    while True:
        try:
            tree = slipway.action_tree(action_id, depth, token, WAIT if token is not None else 0.0)
        except (ApiUnreachable, ApiRefused) as error:
            absence.bear(error)
        else:
            absence.end()
            if tree is not None:
                token = tree["token"]
                view.update(tree)
                if is_over(tree["header"]):
                    return tree
        rest(_REST)


def verdict_line(header: Mapping[str, Any]) -> Text:
    """Return what became of an action, for the end."""
    words = f"{str(header['state']).upper()}: {header.get('verdict') or 'no verdict is known'}"
    return Text(printable(words), verdict_style(header) or "bold red")
