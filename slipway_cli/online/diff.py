"""`slipway diff`: what differs between two states of a site's documents, by document and field."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.text import Text

from slipway_cli.examples import examples
from slipway_cli.online.client import Client
from slipway_cli.online.options import online, shown
from slipway_cli.online.targets import TargetGroup
from slipway_cli.online.versions import VERSION
from slipway_cli.output import console
from slipway_cli.printable import counted, printable

_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "modified": ("~", "yellow"), "moved": (">", "cyan")}
_LONGEST_VALUE = 200


@click.group(cls=TargetGroup)
def diff() -> None:
    """Compare two states of a site's documents."""


@diff.command("configdocs", epilog=examples("slipway diff configdocs committed buffer", "slipway diff configdocs 3 4"))
@click.argument("before", type=VERSION, default="committed")
@click.argument("after", type=VERSION, default="buffer")
@click.option("--rendered", is_flag=True, help="Compare the rendered documents: what really changes for the nodes.")
@online
def diff_configdocs(client: Client, output: str, before: str, after: str, rendered: bool) -> None:
    """Compare two versions, or two revisions by their numbers: per document and per field.

    A version is committed, buffer, last_site_action or successful_site_action. Secrets are not shown; that one has
    changed is.
    """
    query = {"from": before, "to": after, "rendered": True if rendered else None}
    shown(client.get("/diff/configdocs", **query), output, _table)


def _table(body: Any) -> None:
    target = console()
    documents = body["documents"]
    target.print(Text(f"from {_state(body['from'])} to {_state(body['to'])}: {_differ(len(documents))}"))
    for document in documents:
        mark, style = _MARKS.get(document["change"], ("?", ""))
        layer = f" ({document['layer']})" if document.get("layer") else ""
        line = f"{mark} {document['collection']}: {document['schema']} {document['name']}{layer}"
        target.print(Text(printable(line), style=style), soft_wrap=True)
        for field in document.get("fields") or []:
            mark, style = _MARKS.get(field["change"], ("?", ""))
            target.print(Text(f"    {mark} {printable(field['path'])}: {_values(field)}", style=style), soft_wrap=True)
        if document.get("fields_left_out"):
            target.print(Text("    and more"))


def _differ(number: int) -> str:
    return (
        "nothing differs" if number == 0 else f"{counted(number, 'document')} {'differs' if number == 1 else 'differ'}"
    )


def _state(state: Any) -> str:
    number = state.get("revision")
    if state.get("version") is None:
        return f"revision {number}"
    if number is None:
        return f"{state['version']} (empty)"
    # The API gives the buffer the number that its commit would get: there is no such revision yet.
    would = "would be " if state["version"] == "buffer" else ""
    return f"{state['version']} ({would}revision {number})"


def _values(field: Any) -> str:
    if field["change"] == "added":
        return _value(field.get("to"))
    if field["change"] == "removed":
        return _value(field.get("from"))
    return f"{_value(field.get('from'))} -> {_value(field.get('to'))}"


def _value(value: Any) -> str:
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."
