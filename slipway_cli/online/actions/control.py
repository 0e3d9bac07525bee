"""`slipway stop`, `pause`, `unpause`, `approve` and `retry`: what is asked of an action that is there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import click
from rich.text import Text

from site_engine.kinds import kind_of
from slipway_cli.online.actions.create import start_action
from slipway_cli.online.actions.plan import action_body
from slipway_cli.online.actions.trees import follow_to_the_end
from slipway_cli.online.server.completion import ACTION, GROUP_OF_ACTION
from slipway_cli.online.server.online_command import (
    TargetGroup,
    action_id,
    confirm,
    is_terminal,
    online,
    only_if_same,
    show_answer,
)
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.online.sites.wishes import stop_repair
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, listed_nodes, printable, say_next
from strategy_lib.did_you_mean import did_you_mean

_CONFLICT = 409
_FAILED = ("failure", "unknown")
"""States of nodes that failed, or of which nobody knows."""
_SAID = {
    "stop": "is being stopped; what was submitted goes on at the provisioner",
    "pause": "is paused: the group at work ends, no other starts",
    "unpause": "goes on",
}
_NEXT = {
    "stop": "slipway describe action/{}",
    "pause": "slipway unpause action/{}",
    "unpause": "slipway describe action/{} --follow",
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
    shown = examples(f"slipway {verb} action/01ARZ3NDEKTSV4RRFFQ69G5FAV")

    @click.group(verb, cls=TargetGroup, help=help_text, epilog=shown)
    def group() -> None:
        pass

    @group.command("action", help=help_text, epilog=shown)
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
            say_next(_NEXT[verb].format(identity))

    if asks:
        click.option("--yes", "-y", is_flag=True, help="Do not ask; without a terminal nobody is asked.")(action)
    return group


stop = _control("stop", "End an action.", asks=True)
stop.add_command(stop_repair)
pause = _control("pause", "Let no further group of an action start.")
unpause = _control("unpause", "Let a paused action go on.")


APPROVED, REFUSED = "approved", "refused"
_APPROVALS = examples(
    "slipway approve action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "slipway approve action/01ARZ3NDEKTSV4RRFFQ69G5FAV --group racks --refuse --comment 'rack 3 is not cabled'",
)


@click.group(cls=TargetGroup, epilog=_APPROVALS)
def approve() -> None:
    """Answer a group that waits for an approval."""


@approve.command("action", epilog=_APPROVALS)
@click.argument("action", type=ACTION)
@click.option("--group", type=GROUP_OF_ACTION, metavar="NAME", help="The group.  [the one that waits]")
@click.option("--refuse", is_flag=True, help="Refuse it: the group fails.")
@click.option("--comment", metavar="TEXT", help="Is kept with the answer.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@online
def approve_action(
    server: SiteServer, output: str, action: str, group: str | None, refuse: bool, comment: str | None, yes: bool
) -> None:
    """Approve, or refuse, what a group of an ACTION waits for. It shows what is asked, and asks."""
    known = action_id(action)
    same = {} if yes else only_if_same(server.get(f"/actions/{known}"))
    entry = waiting_group(server.get(f"/actions/{known}/tree", depth=2).json()["root"], group)
    gate, name = entry["group"]["approval"], str(entry["name"])
    target = console(stderr=True)
    who = f", by {listed(gate['approvers'])}" if gate["approvers"] else ""
    nodes = counted(entry["group"]["nodes"], "node")
    text = f"group {name} ({nodes}) waits for an approval {gate['moment']} it{who}: {gate['text']}"
    target.print(Text(printable(text)), soft_wrap=True)
    if not yes:
        what = "refuse it, so that the group fails" if refuse else "approve it"
        confirm(f"{what}?", "--yes")
    body = {"answer": REFUSED if refuse else APPROVED, "comment": comment}
    path = f"/actions/{known}/approvals/{quote(name, safe='')}"
    answer = server.send("POST", path, {}, headers=same, json=body)

    def show(_: Any) -> None:
        click.echo(f"group {name} of action {known} is {body['answer']}")
        say_next(f"slipway describe action/{known} --follow")

    show_answer(answer, output, show)


def waiting_group(root: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    """Return the entry of the group that waits for an answer.

    Raises `Failed`: there is none, this one does not wait, or several do and none is named.
    """
    groups = {
        str(entry["name"]): entry for stage in root.get("children") or () for entry in stage.get("children") or ()
    }
    waiting = {key: entry for key, entry in groups.items() if _is_waiting(entry)}
    if name is not None and name not in groups:
        raise Failed(f"the action has no group {name!r}; {did_you_mean(name, tuple(groups), 'it has none')}")
    if name is not None and name not in waiting:
        others = f"; {listed(tuple(waiting))} waits" if waiting else ""
        raise Failed(f"group {name!r} waits for no approval{others}")
    if name is None and len(waiting) != 1:
        many = f"several wait: name one with --group: {listed(tuple(waiting))}"
        raise Failed(many if waiting else "no group of this action waits for an approval")
    return waiting[name] if name is not None else next(iter(waiting.values()))


def _is_waiting(entry: Mapping[str, Any]) -> bool:
    gate = (entry.get("group") or {}).get("approval")
    return gate is not None and gate["answered"] is None


_RETRIES = examples(
    "slipway retry action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "slipway retry action/01ARZ3NDEKTSV4RRFFQ69G5FAV --group compute-nodes-1 --follow",
    "slipway retry action/01ARZ3NDEKTSV4RRFFQ69G5FAV --failed-nodes",
)


@click.group(cls=TargetGroup, epilog=_RETRIES)
def retry() -> None:
    """Try again what failed in an action."""


@retry.command("action", epilog=_RETRIES)
@click.argument("action", type=ACTION)
@click.option(
    "--group",
    "groups",
    multiple=True,
    type=GROUP_OF_ACTION,
    metavar="NAME",
    help="Only this group, with those that are in its way or behind it; may be repeated.",
)
@click.option(
    "--failed-nodes",
    is_flag=True,
    help="Only the nodes that failed, also where their group succeeded without them; by a new action.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--follow", "-F", "following", is_flag=True, help="Show the progress, and end with the verdict.")
@online
def retry_action(
    server: SiteServer,
    output: str,
    action: str,
    groups: tuple[str, ...],
    failed_nodes: bool,
    yes: bool,
    following: bool,
) -> None:
    """Try again what failed in an ACTION: the groups that failed, those that did not run because of them, and the rest.

    It says which nodes go again, and asks. Nodes that are done are not touched. A group that met its criteria is not
    tried again: --failed-nodes starts an update_site of the nodes that failed, with the newest revision.
    """
    known = action_id(action)
    if failed_nodes:
        _update_failed(server, output, known, groups, yes=yes, following=following)
        return
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
        say_next(f"slipway describe action/{known} --follow", f"slipway stop action/{known}")

    show_answer(answer, output, show)


def _update_failed(
    server: SiteServer, output: str, known: str, groups: Collection[str], *, yes: bool, following: bool
) -> None:
    """Start an update of the nodes that failed in an action, or in these of its groups."""
    found = server.get(f"/actions/{known}").json()
    kind, names = str(found["name"]), [str(group["name"]) for group in found["groups"]]
    if not kind_of(kind).has_groups:
        raise click.UsageError(f"{kind} has no groups: `slipway retry action/{known}` tries it all again")
    for name in groups:
        if name not in names:
            raise Failed(f"the action has no group {name!r}; {did_you_mean(name, names, 'it has none')}")
    if not found["ended"]:
        raise Failed(f"action {known} is not over yet: `slipway describe action/{known} --follow` waits for its end")
    nodes = [
        str(node["name"])
        for node in found["nodes"]
        if node["state"] in _FAILED and (not groups or {*groups}.intersection(node["groups"]))
    ]
    if not nodes:
        raise Failed(f"no node of {listed(groups) if groups else 'it'} failed in action {known}: nothing was started")
    server.where = replace(server.where, site=str(found["site"]), site_named=True)
    who = f"{counted(len(nodes), 'node')} that failed in it: {listed_nodes(nodes)}"
    console(stderr=True).print(Text(printable(f"update_site of site {found['site']}, of {who}")), soft_wrap=True)
    if not yes:
        confirm(f"action {known} of site {found['site']} at {server.where.url}: update these?", "--yes")
    body = action_body("update_site", {"target_nodes": nodes}, None)
    start_action(server, output, body, {}, following=following, yes=yes)


def plan_lines(plan: Mapping[str, Any]) -> Iterator[Text]:
    """Yield what a retry will do, warnings first."""
    for warning in plan["warnings"]:
        yield Text(printable(f"warning: {warning}"), "yellow")
    for group in plan["groups"]:
        because = f" (it did not run because of {group['blocked_by']})" if group.get("blocked_by") else ""
        nodes = (
            f"{counted(len(group['nodes']), 'node')}: {listed_nodes(group['nodes'])}" if group["nodes"] else "no node"
        )
        yield Text(printable(f"group {group['name']}{because}: {nodes}"))
    in_groups = {name for group in plan["groups"] for name in group["nodes"]}
    others = [name for name in plan["nodes"] if name not in in_groups]
    if others:
        yield Text(printable(f"{counted(len(others), 'node')}: {listed_nodes(others)}"))
    if plan["steps"]:
        yield Text(printable(f"steps: {', '.join(plan['steps'])}"))
