"""`slipway touch` and `slipway adopt`: ask for nodes again, and take over nodes that are deployed already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from slipway_cli.online.server.completion import NODES
from slipway_cli.online.server.online_command import confirm, named_nodes, online, only_if_same, show_answer
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, printable


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
        plan = f"slipway plan update_site --site {touched['site']}"
        click.echo(printable(f"next: {plan}, which says what an update would do"))

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
    found = [f"{counted(len(plan['nodes']), 'node')} to adopt: {listed(plan['nodes'])}"] if plan["nodes"] else []
    return skipped + found


def _show(plan: Mapping[str, Any]) -> None:
    for line in _lines(plan) or ["no node to adopt"]:
        click.echo(printable(line))


def _show_done(done: Mapping[str, Any]) -> None:
    click.echo(printable(f"{counted(len(done['nodes']), 'node')} count as done in revision {done['revision']}"))
