"""`slipway stop`, `pause` and `unpause`."""

from __future__ import annotations

import re

import click

from slipway_cli.online.server.completion import ACTION
from slipway_cli.online.server.online_command import TargetGroup, action_id, confirm, is_terminal, online
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.online.sites.repair import stop_repair
from slipway_cli.options import examples
from slipway_cli.output import printable

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


def _control(verb: str, help_text: str, *, asks: bool = False) -> click.Group:
    @click.group(
        verb, cls=TargetGroup, help=help_text, epilog=examples(f"slipway {verb} action/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    )
    def group() -> None:
        pass

    @group.command("action", help=help_text, epilog=examples(f"slipway {verb} action/01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    @click.argument("action", type=ACTION)
    @online
    def action(server: SiteServer, output: str, action: str, yes: bool = not asks) -> None:
        identity = action_id(action)
        if not yes and is_terminal():
            found = server.get(f"/actions/{identity}").json()
            what = f"{found['name']} of site {found['site']} at {server.where.url}"
            confirm(printable(f"{verb} {what}? What was submitted goes on at the provisioner"), "--yes")
        try:
            server.send("POST", f"/actions/{identity}/control/{verb}", {})
        except Failed as error:
            if error.status != _CONFLICT:
                raise
            raise Failed(
                f"cannot {verb} action {identity}: {_why(error.message)}", status=_CONFLICT, body=error.body
            ) from error
        if output == "table":
            click.echo(f"action {identity} {_SAID[verb]}")

    if asks:
        click.option("--yes", "-y", is_flag=True, help="Do not ask; without a terminal nobody is asked.")(action)
    return group


stop = _control("stop", "End an action.", asks=True)
stop.add_command(stop_repair)
pause = _control("pause", "Let no further group of an action start.")
unpause = _control("unpause", "Let a paused action go on.")
