"""`slipway retry`: have what failed in an action tried again. It says first what that will do, and asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.text import Text

from slipway_cli.online.actions.trees import follow_to_the_end
from slipway_cli.online.server.completion import ACTION, GROUP_OF_ACTION
from slipway_cli.online.server.online_command import TargetGroup, action_id, confirm, online, only_if_same, show_answer
from slipway_cli.online.server.server import SiteServer
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, printable

_EXAMPLES = examples(
    "slipway retry action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "slipway retry action/01ARZ3NDEKTSV4RRFFQ69G5FAV --group compute-nodes-1 --follow",
)


@click.group(cls=TargetGroup, epilog=_EXAMPLES)
def retry() -> None:
    """Try again what failed in an action."""


@retry.command("action", epilog=_EXAMPLES)
@click.argument("action", type=ACTION)
@click.option(
    "--group",
    "groups",
    multiple=True,
    type=GROUP_OF_ACTION,
    metavar="NAME",
    help="Only this group, with those that are in its way or behind it; may be repeated.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--follow", "-F", "following", is_flag=True, help="Show the progress, and end with the verdict.")
@online
def retry_action(
    server: SiteServer, output: str, action: str, groups: tuple[str, ...], yes: bool, following: bool
) -> None:
    """Try again what failed in an ACTION: the groups that failed, those that did not run because of them, and the rest.

    It says which nodes go again, and asks. Nodes that are done are not touched.
    """
    known = action_id(action)
    path = f"/actions/{known}/retry"
    planned = server.get(path, group=list(groups) or None)
    plan = planned.json()
    target = console(stderr=True)
    for line in plan_lines(plan):
        target.print(line, soft_wrap=True)
    if not yes:
        confirm(f"action {known} of site {plan['site']} at {server.where.url}: try again?", "--yes")
    body = {"groups": list(groups)} if groups else {}
    answer = server.send("POST", path, {}, headers=None if yes else only_if_same(planned), json=body)
    if following:
        follow_to_the_end(server, server.get(f"/actions/{known}").json(), output)

    def show(_plan: Any) -> None:
        click.echo(f"action {known} is tried again")
        click.echo(f"next: slipway describe action/{known} --follow; slipway stop action/{known}")

    show_answer(answer, output, show)


def plan_lines(plan: Mapping[str, Any]) -> Iterator[Text]:
    """Yield what a retry will do, warnings first."""
    for warning in plan["warnings"]:
        yield Text(printable(f"warning: {warning}"), "yellow")
    for group in plan["groups"]:
        because = f" (it did not run because of {group['blocked_by']})" if group.get("blocked_by") else ""
        nodes = f"{counted(len(group['nodes']), 'node')}: {listed(group['nodes'])}" if group["nodes"] else "no node"
        yield Text(printable(f"group {group['name']}{because}: {nodes}"))
    in_groups = {name for group in plan["groups"] for name in group["nodes"]}
    others = [name for name in plan["nodes"] if name not in in_groups]
    if others:
        yield Text(printable(f"{counted(len(others), 'node')}: {listed(others)}"))
    if plan["steps"]:
        yield Text(printable(f"steps: {', '.join(plan['steps'])}"))
