"""`slipway stop`, `pause` and `unpause`: commands to an action that is under way."""

from __future__ import annotations

import re

import click

from slipway_cli.examples import examples
from slipway_cli.online.client import Client, Failed
from slipway_cli.online.options import online
from slipway_cli.online.targets import TargetGroup, action_id

_CONFLICT = 409
_SAID = {
    "stop": "is being stopped; what was submitted goes on at the provisioner",
    "pause": "is paused: the group at work ends, no other starts",
    "unpause": "goes on",
}


# What the API says to a command that comes at the wrong time: Shipyard's words, which its clients may look for.
_WRONG_TIME = re.compile(r"dag_run state must be \w+, but is (\w+)")
_FOUND = {
    "success": "it is over, with success",
    "failed": "it is over, it has failed",
    "paused": "it is paused already",
    "running": "it is not paused",
    "queued": "it is not paused, and has not begun",
}


def _why(message: str) -> str:
    """A refusal in Slipway's words; as it is where it is none of Shipyard's."""
    match = _WRONG_TIME.fullmatch(message)
    return message if match is None else _FOUND.get(match[1], f"it is {match[1]}")


def _control(verb: str, help_text: str) -> click.Group:
    @click.group(
        verb, cls=TargetGroup, help=help_text, epilog=examples(f"slipway {verb} action/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    )
    def group() -> None:
        pass

    @group.command("action", help=help_text, epilog=examples(f"slipway {verb} action/01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    @click.argument("action")
    @online
    def action(client: Client, output: str, action: str) -> None:
        identity = action_id(action)
        try:
            client.send("POST", f"/actions/{identity}/control/{verb}", {})
        except Failed as error:
            if error.status != _CONFLICT:
                raise
            raise Failed(
                f"cannot {verb} action {identity}: {_why(error.message)}", status=_CONFLICT, body=error.body
            ) from error
        if output == "table":
            click.echo(f"action {identity} {_SAID[verb]}")

    return group


stop = _control("stop", "End an action.")
pause = _control("pause", "Let no further group of an action start.")
unpause = _control("unpause", "Let a paused action go on.")
