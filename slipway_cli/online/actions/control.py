"""`slipway stop`, `pause` and `unpause`, and following an action to its end."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from api_client.airflow import AirflowClient
from api_client.slipway import SlipwayClient
from slipway_cli import INTERRUPTED_EXIT
from slipway_cli.online.server.completion import ACTION
from slipway_cli.online.server.online_command import TargetGroup, action_id, confirm, is_terminal, online
from slipway_cli.online.server.server import Failed, SiteServer, translated_errors
from slipway_cli.online.sites.repair import stop_repair
from slipway_cli.options import examples
from slipway_cli.output import OutputFormat, console, printable
from slipway_cli.terminal.follow import Clock, follow, show_report

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


_ANSWER = 10.0
"""Seconds for one answer: somebody watches."""


def follow_to_the_end(server: SiteServer, action: Mapping[str, Any], output: str) -> NoReturn:
    """Show the action's progress until it is over, then its report; exit with 0 for success, 1 for failure.

    Raises `SystemExit` always, unless the server is lost, which raises `Failed`.
    """
    clock = Clock(console(stderr=output != OutputFormat.TABLE))
    name = f"action/{action['id']}"
    if action["run_id"] is None:
        raise Failed(f"{name} cannot be followed: no DAG run carries it out; look again with `slipway describe {name}`")
    clock.say(f"{name}: {action['name']} of site {action.get('site')}, revision {action.get('revision')}")
    advice = f"The action goes on; look again with `slipway describe {name} --follow`"
    try:
        with translated_errors(server.where), contextlib.closing(server.new_session(_ANSWER)) as session:
            state, progress = follow(
                action["dag_id"], action["run_id"], AirflowClient(session), SlipwayClient(session), clock, advice=advice
            )
    except KeyboardInterrupt:
        click.echo(
            f"\n{name} goes on. Stop it: slipway stop {name}; watch it again: slipway describe {name} --follow",
            err=True,
        )
        raise SystemExit(INTERRUPTED_EXIT) from None
    if progress is None:
        raise Failed(f"{name} left nothing to show; its run in Airflow ended: {state}")
    if progress.report is None and progress.verdict:
        clock.say(f"{progress.state}: {progress.verdict}")
    else:
        show_report(progress, output, clock)
    raise SystemExit(0 if progress.state == "success" else 1)
