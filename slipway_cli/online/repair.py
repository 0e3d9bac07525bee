"""`slipway stop repair` and `slipway start repair`: the switch of a site's repair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from slipway_cli.online.online_command import TargetGroup, format_time, online, show_data
from slipway_cli.online.server import SiteServer
from slipway_cli.options import examples
from slipway_cli.output import printable


@click.group("start", cls=TargetGroup, epilog=examples("slipway start repair --site lab-7"))
def start() -> None:
    """Let the repair of a site go on."""


@click.command("repair", epilog=examples("slipway stop repair 'the power is worked on'"))
@click.argument("reason", default="")
@online
def stop_repair(server: SiteServer, output: str, reason: str) -> None:
    """Stop all repair of a site at once, also the one at work."""
    _switch(server, output, reason, stopped=True)


@start.command("repair", epilog=examples("slipway start repair"))
@click.argument("reason", default="")
@online
def start_repair(server: SiteServer, output: str, reason: str) -> None:
    """Let the repair of a site go on, as its settings say."""
    _switch(server, output, reason, stopped=False)


def _switch(server: SiteServer, output: str, reason: str, *, stopped: bool) -> None:
    path = f"/sites/{quote(server.where.site, safe='')}/repair"
    found = server.send("PUT", path, {}, json={"stopped": stopped, "reason": reason}).json()
    show_data(found, output, lambda data: click.echo(printable(repair_line(data))))


def repair_line(found: Mapping[str, Any]) -> str:
    """Return in one line how a site is repaired, and whether that is stopped."""
    drifts = found["drifts"]
    said = f"repair of site {found['site']}: {found['repair']}"
    if found["stopped_at"] is not None:
        why = f": {found['reason']}" if found["reason"] else ""
        said += f", stopped by {found['stopped_by']} since {format_time(found['stopped_at'])} UTC{why}"
    if found["action"] is not None:
        said += f"; at work: action/{found['action']}"
    return f"{said}; {drifts} {'node has' if drifts == 1 else 'nodes have'} drifted" if drifts else said
