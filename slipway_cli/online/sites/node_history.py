"""`slipway describe node/<name>`: how a node stands, and everything that ever happened to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console
from rich.text import Text

from slipway_cli.online.server.completion import NODES
from slipway_cli.online.server.online_command import format_time, online, show_answer
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.online.sites.lists import new_sheet, status_text
from slipway_cli.options import examples
from slipway_cli.output import console, print_facts, printable
from slipway_cli.terminal.tree_text import Sheet, serves_of_entry, tree_lines
from strategy_lib.goals.update import document_lines
from strategy_lib.status.serves import Serves
from strategy_lib.status.words import duration_words

_MOST_ACTIONS = 200
"""Actions in which an operation is looked for."""
_LONGEST_VALUE = 200


@click.command(
    "node", epilog=examples("slipway describe node/r1-compute-07", "slipway describe node/r1-compute-07 --tasks")
)
@click.argument("name", type=NODES)
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many actions at most.")
@click.option("--tasks", is_flag=True, help="Ask the provisioner for its own tasks instead, of the newest operation.")
@click.option("--op", type=int, metavar="N", help="With --tasks, of this operation on the node.")
@online
def describe_node(server: SiteServer, output: str, name: str, limit: int, tasks: bool, op: int | None) -> None:
    """Show a node of the site: what is wanted and done, and each phase of each action on it, newest first.

    With --tasks it shows what the provisioner itself says of an operation on the node: the tasks into which it has
    split it, with their messages. Nothing of that is kept.
    """
    if op is not None and not tasks:
        raise click.UsageError("--op is about --tasks, which is not given")
    path = server.of_site(f"nodes/{quote(name, safe='')}")
    if not tasks:
        show_answer(
            server.get(path, limit=limit, differences=True), output, lambda body: _show(console(), body, new_sheet())
        )
        return
    action, number = _operation(server.get(path, limit=_MOST_ACTIONS).json(), op)
    answer = server.get(f"/actions/{action}/operations/{number}/tasks", node=name)
    show_answer(answer, output, lambda body: _show_tasks(console(), body, new_sheet()))


def _operation(history: Mapping[str, Any], op: int | None) -> tuple[str, int]:
    """Return the action and the number of an operation of a node's past: the newest one unless it is named."""
    known = [
        (action["id"], phase["op"])
        for action in history["actions"]
        for phase in reversed(action["phases"])
        if phase["op"] is not None
    ]
    found = next((each for each in known if op in (None, each[1])), None)
    if found is not None:
        return found
    if not known:
        raise Failed(f"nothing was submitted for {printable(history['name'])} yet")
    raise Failed(f"there was no operation {op} on {printable(history['name'])}; the newest is {known[0][1]}")


def _show_tasks(target: Console, body: Mapping[str, Any], sheet: Sheet) -> None:
    heading = f"operation {body['op']}: {body['phase']} of {body['node']}"
    target.print(Text(printable(heading), "bold"), soft_wrap=True)
    facts = (
        ("Action", f"action/{body['action']}"),
        ("Group", body["group"]),
        ("Task", body["provisioner_task"]),
        ("Connection", body["connection"]),
        ("Asked", f"{format_time(body['read_at'])} UTC"),
    )
    print_facts(target, facts, "  ")
    if body["root"] is None:
        target.print(Text(printable(body["reason"]), "yellow"), soft_wrap=True)
        return
    for line in tree_lines(body["root"], sheet):
        target.print(line, soft_wrap=True)


def _show(target: Console, body: Mapping[str, Any], sheet: Sheet) -> None:
    for line in _lines(body, sheet):
        target.print(line, soft_wrap=True)


def _lines(body: Mapping[str, Any], sheet: Sheet) -> Iterator[Text]:
    node = body["node"]
    heading = Text(printable(f"{body['name']} of site {body['site']}"), "bold")
    if node is not None:
        heading.append("  ").append_text(status_text(node["status"], sheet, serves_of_entry(node)))
    yield heading
    if node is not None:
        yield from _standing(node, body["retry"])
        yield from _differing(body.get("differences") or ())
    for action in body["actions"]:
        yield Text()
        yield from _action(action, sheet)
    yield from _errors(body["errors"])
    if body["before"] is not None:
        yield Text("older actions are left out: see --limit", "dim")


def _standing(node: Mapping[str, Any], retry: Mapping[str, Any] | None) -> Iterator[Text]:
    wanted, done = node["wanted_revision"], node["done_revision"]
    facts = (
        ("Message", node["message"]),
        ("Wanted", f"since revision {wanted}" if wanted is not None else "no more"),
        ("Serves", Serves(node["serves"]).words if node.get("serves") else None),
        ("Done", f"in revision {done}, {format_time(node['done_at'])} UTC" if done is not None else "never"),
        ("Groups", ", ".join(node["groups"])),
        ("Rack", node["rack"]),
        ("Error", node["error"] if node["error"] != node["message"] else None),
        ("Of", f"action/{node['error_action']}, revision {node['error_revision']}" if node["error_action"] else None),
        ("Tries", _tries(node, retry)),
        ("Had to be fixed", node["fixed"]),
        ("In doubt", node["doubt"]),
        ("Provisioner", _seen(node)),
        ("Owner", node["owner"]),
    )
    yield from (Text(f"  {name}: {printable(str(value))}") for name, value in facts if value)


def _differing(documents: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield the fields that differ: as done, then as wanted."""
    yield from (Text(printable(f"  Differs: {line}")) for line in document_lines(documents, _LONGEST_VALUE))
    if left_out := sum(document.get("fields_left_out") or 0 for document in documents):
        yield Text(f"    and {left_out} more fields", "dim")


def _tries(node: Mapping[str, Any], retry: Mapping[str, Any] | None) -> str | None:
    if retry is None:
        return None
    times = "once" if node["failures"] == 1 else f"in {node['failures']} actions in a row"
    if retry["why_not"]:
        return f"failed {times}; nothing tries it again by itself: {retry['why_not']}"
    when = "now" if retry["is_due"] else f"from {format_time(node['next_try'])} UTC on"
    return f"failed {times}; repair may try it again {when}"


def _errors(errors: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Show each error with its operation; one that says nothing about today any more is dim."""
    if errors:
        yield Text()
        yield Text("Errors", "bold")
    for error in errors:
        marks = [error["code"], error["standing"] if error["standing"] != "shown" else "", error["report"]]
        by = f" by {error['acknowledged_by']}" if error["acknowledged_by"] else ""
        head = f"  {format_time(error['time'])}  op {error['op']}  {error['phase']}  "
        style = "" if error["standing"] == "shown" else "dim"
        yield Text(printable(f"{head}{', '.join(mark for mark in marks if mark)}{by}"), style)
        yield from (Text(printable(f"    {line}"), style) for line in error["text"].splitlines())


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
            f"try {phase['tries']}" if phase.get("tries", 1) > 1 else "",
            f"task {phase['provisioner_task']}" if phase["provisioner_task"] else "",
        ]
        said = ", ".join(part for part in parts if part)
        yield line.append(f"  {printable(said)}" if said else "")
        if phase["message"]:
            yield Text(printable(f"    {phase['message']}"))
    for event in action["events"]:
        yield Text(printable(f"  {format_time(event['at'])}  {event['message']}"), "dim")
