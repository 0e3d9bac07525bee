"""`slipway touch` and `adopt`: ask for nodes again, take them over; `slipway start` and `stop repair`: its switches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from slipway_cli.online.server.completion import NODES
from slipway_cli.online.server.online_command import (
    TargetGroup,
    confirm,
    format_time,
    named_nodes,
    online,
    only_if_same,
    show_answer,
)
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, listed_nodes, printable, say_next, show_data


@click.command("touch", epilog=examples("slipway touch node/cmp07", "slipway touch cmp07,cmp08 --site lab-7"))
@click.argument("nodes", nargs=-1, required=True, type=NODES, metavar="NODE...")
@online
def touch(server: SiteServer, output: str, nodes: tuple[str, ...]) -> None:
    """Ask for each NODE again: the next update is to do it although its design is the same. Nothing is started.

    A node that is deployed is done by an update with --allow-redeploy alone, which destroys it first.
    """
    answer = server.send("POST", server.of_site("touch"), {}, json={"nodes": named_nodes(nodes)})

    def show(touched: Mapping[str, Any]) -> None:
        for one in touched["nodes"]:
            click.echo(
                printable(f"node {one['name']} is asked for again, as version {one['wanted_version']} of the node")
            )
        say_next(f"slipway plan update_site --site {touched['site']}")

    show_answer(answer, output, show)


@click.command("adopt", epilog=examples("slipway adopt node/cmp07", "slipway adopt --all --site lab-7"))
@click.argument("nodes", nargs=-1, type=NODES, metavar="[NODE]...")
@click.option("--all", "everything", is_flag=True, help="All that are deployed, and that no action has done.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dryrun", is_flag=True, help="Only say which nodes.")
@online
def adopt(server: SiteServer, output: str, nodes: tuple[str, ...], everything: bool, yes: bool, dryrun: bool) -> None:
    """Have nodes count as done in the newest revision that the provisioner lists as deployed. Nothing is sent to it.

    For a site that moves over: its nodes are live, and no action has done them. It says which nodes, and asks. They are
    recorded only if they are still as they were then.
    """
    if bool(nodes) is everything:
        raise click.UsageError("name the nodes to adopt, or use --all, not both")
    body = {"nodes": named_nodes(nodes)} if nodes else {}
    planned = server.send("POST", server.of_site("adopt"), {"dryrun": True}, json=body)
    if dryrun:
        show_answer(planned, output, _show)
        return
    plan = planned.json()
    target = console(stderr=True)
    for line in _lines(plan):
        target.print(Text(printable(line)), soft_wrap=True)
    if not plan["nodes"]:
        raise Failed(f"site {server.where.site} has no node to adopt")
    if not yes:
        number = counted(len(plan["nodes"]), "node")
        confirm(f"site {server.where.site} at {server.where.url}: record {number} as done?", "--yes")
    body = {"nodes": plan["nodes"]}
    done = server.send("POST", server.of_site("adopt"), {}, headers=only_if_same(planned), json=body)
    show_answer(done, output, _show_done)


def _lines(plan: Mapping[str, Any]) -> list[str]:
    skipped = [f"{one['name']} is left as it is: {one['reason']}" for one in plan["skipped"]]
    found = [f"{counted(len(plan['nodes']), 'node')} to adopt: {listed_nodes(plan['nodes'])}"] if plan["nodes"] else []
    return skipped + found


def _show(plan: Mapping[str, Any]) -> None:
    for line in _lines(plan) or ["no node to adopt"]:
        click.echo(printable(line))


def _show_done(done: Mapping[str, Any]) -> None:
    click.echo(printable(f"{counted(len(done['nodes']), 'node')} count as done in revision {done['revision']}"))
    say_next("slipway status")


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
