"""`slipway describe node/<name>`: how a node stands, and everything that ever happened to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console
from rich.text import Text

from slipway_cli.online.completion import NODES
from slipway_cli.online.online_command import format_time, online, show_answer
from slipway_cli.online.server import SiteServer
from slipway_cli.online.status_lists import new_sheet, status_text
from slipway_cli.options import examples
from slipway_cli.output import console, printable
from slipway_cli.tree_text import Sheet
from strategy_lib.duration import duration_words


@click.command("node", epilog=examples("slipway describe node/r1-compute-07"))
@click.argument("name", type=NODES)
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many actions at most.")
@online
def describe_node(server: SiteServer, output: str, name: str, limit: int) -> None:
    """Show a node of the site: what is wanted and done, and each phase of each action on it, newest first."""
    path = f"/sites/{quote(server.where.site, safe='')}/nodes/{quote(name, safe='')}"
    show_answer(server.get(path, limit=limit), output, lambda body: _show(console(), body, new_sheet()))


def _show(target: Console, body: Mapping[str, Any], sheet: Sheet) -> None:
    for line in _lines(body, sheet):
        target.print(line, soft_wrap=True)


def _lines(body: Mapping[str, Any], sheet: Sheet) -> Iterator[Text]:
    node = body["node"]
    heading = Text(printable(f"{body['name']} of site {body['site']}"), "bold")
    if node is not None:
        heading.append("  ").append_text(status_text(node["status"], sheet))
    yield heading
    if node is not None:
        yield from _standing(node)
    for action in body["actions"]:
        yield Text()
        yield from _action(action, sheet)
    if body["before"] is not None:
        yield Text("older actions are left out: see --limit", "dim")


def _standing(node: Mapping[str, Any]) -> Iterator[Text]:
    wanted, done = node["wanted_revision"], node["done_revision"]
    facts = (
        ("Message", node["message"]),
        ("Wanted", f"as in revision {wanted}" if wanted is not None else "no more"),
        ("Done", f"as in revision {done}, {format_time(node['done_at'])} UTC" if done is not None else "never"),
        ("Groups", ", ".join(node["groups"])),
        ("Rack", node["rack"]),
        ("Error", node["error"] if node["error"] != node["message"] else None),
        ("Of", f"action/{node['error_action']}, revision {node['error_revision']}" if node["error_action"] else None),
        ("Had to be fixed", node["fixed"]),
        ("In doubt", node["doubt"]),
        ("Provisioner", _seen(node)),
        ("Owner", node["owner"]),
    )
    yield from (Text(f"  {name}: {printable(str(value))}") for name, value in facts if value)


def _seen(node: Mapping[str, Any]) -> str | None:
    said = [node["provisioner_status"], f"power {node['power']}" if node["power"] else None]
    words = ", ".join(part for part in said if part)
    return f"{words} ({format_time(node['listed_at'])} UTC)" if words and node["listed_at"] else words or None


def _action(action: Mapping[str, Any], sheet: Sheet) -> Iterator[Text]:
    kind = f"{action['kind']}{', a dry run' if action['dry_run'] else ''}"
    revision = f", revision {action['revision']}" if action["revision"] is not None else ""
    head = f"{format_time(action['created'])}  action/{action['id']}  {kind}{revision}, by {action['user']}"
    groups = f", in {', '.join(action['groups'])}" if action["groups"] else ""
    yield Text(printable(f"{head}: {action['state']}{groups}"), "bold")
    for phase in action["phases"]:
        line = Text(f"  {phase['phase']}  ").append_text(status_text(phase["status"], sheet))
        parts = [
            f"took {duration_words(phase['duration'])}" if phase["duration"] is not None else "",
            f"processed by {phase['processed_by']}" if phase["processed_by"] else "",
            f"op {phase['op']}" if phase["op"] is not None else "",
            f"task {phase['provisioner_task']}" if phase["provisioner_task"] else "",
        ]
        said = ", ".join(part for part in parts if part)
        yield line.append(f"  {printable(said)}" if said else "")
        if phase["message"]:
            yield Text(printable(f"    {phase['message']}"))
    for event in action["events"]:
        yield Text(printable(f"  {format_time(event['at'])}  {event['message']}"), "dim")
