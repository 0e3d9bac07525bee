"""`slipway stop repair` and `slipway start repair`: the switches of repair, of one site and of all sites at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from slipway_cli.online.server.online_command import TargetGroup, format_time, online, show_data
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import listed, printable


@click.group("start", cls=TargetGroup, epilog=examples("slipway start repair --site lab-7"))
def start() -> None:
    """Let repair go on."""


_ALL_SITES = click.option("--all-sites", is_flag=True, help="Of all sites, also where a site is named.")


_STOPS = examples("slipway stop repair 'the power is worked on'", "slipway stop repair --site lab-7")


@click.command("repair", epilog=_STOPS)
@click.argument("reason", default="")
@_ALL_SITES
@online
def stop_repair(server: SiteServer, output: str, reason: str, all_sites: bool) -> None:
    """Stop all repair at once, also what is at work: of all sites, also of those that come later.

    Where a site is named, by --site, SLIPWAY_SITE or the profile: of that site.
    """
    _switch(server, output, reason, stopped=True, all_sites=all_sites)


@start.command("repair", epilog=examples("slipway start repair", "slipway start repair --site lab-7"))
@click.argument("reason", default="")
@_ALL_SITES
@online
def start_repair(server: SiteServer, output: str, reason: str, all_sites: bool) -> None:
    """Let repair go on, as the settings of each site say: of all sites, or of the site that is named.

    A site that was stopped by itself stays so until it is named.
    """
    _switch(server, output, reason, stopped=False, all_sites=all_sites)


def _switch(server: SiteServer, output: str, reason: str, *, stopped: bool, all_sites: bool) -> None:
    body = {"stopped": stopped, "reason": reason}
    if all_sites or not server.where.site_named:
        found = server.send("PUT", "/repair", {}, json=body).json()
        show_data(found, output, _show_all)
        if found["problems"]:
            raise Failed(f"no repair begins any more, but what is at work goes on: {'; '.join(found['problems'])}")
        return
    found = server.send("PUT", server.of_site("repair"), {}, json=body).json()
    show_data(found, output, lambda data: click.echo(printable(repair_line(data))))


def _show_all(found: Mapping[str, Any]) -> None:
    click.echo(printable(all_repair_line(found)))
    if found["actions"]:
        click.echo(f"at work: {listed([f'action/{one}' for one in found['actions']])}")
    for site in found["sites"]:
        click.echo(printable(f"site {site} is stopped by itself: slipway start repair --site {site}"))


def stopped_words(where: str, by: str, at: str, reason: str) -> str:
    """Return who has stopped repair, since when and why."""
    return f"stopped{where} by {by} since {format_time(at)} UTC" + (f": {reason}" if reason else "")


def all_repair_line(found: Mapping[str, Any]) -> str:
    """Return in one line whether the repair of all sites is stopped."""
    if found["stopped_at"] is None:
        return "repair of all sites goes on, as their settings say"
    said = stopped_words("", found["stopped_by"], found["stopped_at"], found["reason"])
    return f"repair of all sites is {said}"


def repair_line(found: Mapping[str, Any]) -> str:
    """Return in one line how a site is repaired, and whether that is stopped."""
    drifts = found["drifts"]
    said = f"repair of site {found['site']}: {found['repair']}"
    if found["stopped_at"] is not None:
        where = " for all sites" if found["all_sites"] else ""
        said += f", {stopped_words(where, found['stopped_by'], found['stopped_at'], found['reason'])}"
    if found["action"] is not None:
        said += f"; at work: action/{found['action']}"
    return f"{said}; {drifts} {'node has' if drifts == 1 else 'nodes have'} drifted" if drifts else said
