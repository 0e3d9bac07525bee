"""Shipyard's way to name things, `action/<id>` and `step/<action>/<step>`, beside `action <id>`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import click

_ID = re.compile(r"[0-9A-Za-z]{26}")
# Of a DAG run, as Airflow's pages show it: manual__2026-03-01T12:00:00+00:00.
_RUN_ID = re.compile(r"(?=.*__)[A-Za-z0-9_.~:+-]{1,250}")


class TargetGroup(click.Group):
    """A group whose commands may be joined to their argument with a slash: `describe action/<id>`.

    The id of an action alone means that action.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Split the first argument at its first slash where what stands before it is a command."""
        head, slash, rest = args[0].partition("/")
        if slash and head in self.commands:
            args = [head, rest, *args[1:]]
        elif "action" in self.commands and (_ID.fullmatch(args[0]) or _RUN_ID.fullmatch(args[0])):
            args = ["action", *args]
        return super().resolve_command(ctx, args)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an action, and perhaps one try of it."""

    action: str
    step: str
    attempt: int | None = None


def action_id(text: str) -> str:
    """The id of an action, or that of its DAG run in Airflow; the server knows both.

    Raises
    ------
    click.UsageError
        It cannot be one.
    """
    found = text.removeprefix("action/")
    if not _ID.fullmatch(found) and not _RUN_ID.fullmatch(found):
        raise click.UsageError(
            f"{text!r} is no id of an action: those have 26 letters and digits (`slipway get actions`), or are that of "
            "a run in Airflow, such as manual__2026-03-01T12:00:00+00:00"
        )
    return found


def step_of(text: str, action: str | None, attempt: int | None = None) -> Step:
    """The step that is meant by `<action>/<step>[/<try>]`, or by `<step>` and the id of its action.

    Raises
    ------
    click.UsageError
        The action is not named, or cannot be one.
    """
    if action is not None:
        return Step(action_id(action), text, attempt)
    head, slash, rest = text.partition("/")
    if not slash or not rest:
        raise click.UsageError(f"which action's step? write step/<action>/{text}, or --action <action>")
    name, slash, number = rest.rpartition("/")
    if slash and number.isdigit() and attempt is None:
        return Step(action_id(head), name, int(number))
    return Step(action_id(head), rest, attempt)
