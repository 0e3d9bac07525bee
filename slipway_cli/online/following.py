"""Following an action to its end, and ending with its verdict. Ctrl-C ends the following and not the action."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from api_client.airflow import AirflowClient
from api_client.slipway import SlipwayClient
from slipway_cli.clock import Clock
from slipway_cli.follow import follow
from slipway_cli.online.client import Client, Failed, told
from slipway_cli.output import OutputFormat, console
from slipway_cli.report_output import show_report

INTERRUPTED_EXIT = 130
_ANSWER = 10.0
"""Seconds for one answer: somebody watches."""


def follow_to_the_end(client: Client, action: Mapping[str, Any], output: str) -> NoReturn:
    """Show the action's progress until it is over, then its report; exit with 0 for success, 1 for failure.

    Raises
    ------
    SystemExit
        Always, unless the server is lost.
    Failed
    """
    clock = Clock(console(stderr=output != OutputFormat.TABLE))
    name = f"action/{action['id']}"
    clock.say(f"{name}: {action['name']} of site {action.get('site')}, revision {action.get('revision')}")
    advice = f"The action goes on; look again with `slipway describe {name} --follow`"
    try:
        with told(client.where), contextlib.closing(client.new_session(_ANSWER)) as session:
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
