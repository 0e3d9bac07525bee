"""`slipway stop`, `pause` and `unpause`: commands to an action that is under way."""

from __future__ import annotations

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
                f"cannot {verb} action {identity}: {error.message}", status=_CONFLICT, body=error.body
            ) from error
        if output == "table":
            click.echo(f"action {identity} {_SAID[verb]}")

    return group


stop = _control("stop", "End an action.")
pause = _control("pause", "Let no further group of an action start.")
unpause = _control("unpause", "Let a paused action go on.")
