"""`--watch`: a command that shows something shows it again as often as it changes, until Ctrl-C."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from io import StringIO
from typing import Any, NoReturn

import click

from api_client.session import ApiError, ApiRefused, ApiUnreachable
from slipway_cli import INTERRUPTED_EXIT
from slipway_cli.online.server.server import Failed
from slipway_cli.terminal.follow import Absence

_EVERY = 5.0
"""Seconds between two looks."""
_CLEAR = "\x1b[H\x1b[2J"


class _Screen(StringIO):
    """Text for standard output, as it is there: with colours on a terminal."""

    def isatty(self) -> bool:
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def add_watch(command: click.Command) -> None:
    """Give a command the option `--watch`."""
    once = command.callback
    assert once is not None

    def run(*, watch: bool, **arguments: Any) -> object:
        return _again_and_again(lambda: once(**arguments)) if watch else once(**arguments)

    command.callback = run
    helped = "Show it again whenever it changes, until Ctrl-C; on a terminal in place."
    command.params.append(click.Option(["--watch", "-w"], is_flag=True, help=helped))


def _again_and_again(show: Callable[[], object]) -> NoReturn:
    """Show something whenever it is another text than before. Raises `Failed`: it is refused, or nobody answers."""
    absence = Absence(lambda line: click.echo(line, err=True))
    before: str | None = None
    try:
        while True:
            text = _Screen()
            try:
                with contextlib.redirect_stdout(text):
                    show()
            except Failed as failed:
                error = failed.__cause__
                if before is None or not isinstance(error, ApiUnreachable | ApiRefused):
                    raise
                try:
                    absence.bear(error)
                except ApiError:
                    raise failed from error
            else:
                absence.end()
                if text.getvalue() != before:
                    before = text.getvalue()
                    # Not by click, which would take the colours off it again.
                    sys.stdout.write((_CLEAR if text.isatty() else "") + before)
                    sys.stdout.flush()
            time.sleep(_EVERY)
    except KeyboardInterrupt:
        click.echo(err=True)
        raise SystemExit(INTERRUPTED_EXIT) from None
