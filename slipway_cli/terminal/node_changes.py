"""What has to be done to each node, as a server says it: a line that counts, a table of nodes, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from slipway_cli.output import counted, listed, printable, table
from strategy_lib.goals.update import CHANGE_WORDS, Change, value_text, waits

MOST_NODES = 100
"""So many nodes are shown in a table; `-o json` has all."""
_MOST_FIELDS = 3
_LONGEST_VALUE = 40


def print_changes(target: Console, changes: Mapping[str, Any], *, explain: bool) -> None:
    """Print what has to be done to nodes.

    Parameters
    ----------
    changes : `changes` of a dry run, or a site's plan.
    explain : with every field that differs, and the edges of the order that are used.
    """
    counts = changes["counts"]
    parts = [
        f"{counted(counts[change], 'node')} {words}" for change, words in CHANGE_WORDS.items() if counts.get(change)
    ]
    if not parts:
        return
    target.print(Text(f"{'; '.join(parts)}.", style="bold"), soft_wrap=True)
    nodes = [node for node in changes["nodes"] if node["change"] != Change.NONE]
    if nodes:
        target.print(_table(nodes[:MOST_NODES], explain=explain))
    if len(nodes) > MOST_NODES:
        target.print(Text(f"and {len(nodes) - MOST_NODES} more: -o json names them all", style="dim"))
    if explain:
        _print_edges(target, changes["edges"])
    target.print()


def _table(nodes: Iterable[Mapping[str, Any]], *, explain: bool) -> Any:
    rows = table("Node", "", "Why", "What differs", folds=("Why", "What differs"))
    for node in nodes:
        why = node["withheld"] or node["reason"]
        if node["change"] == Change.REMOVE and node["withheld"]:
            why = f"{node['reason']}: {why}"
        if not node["groups"] and node["change"] in (Change.ADD, Change.CHANGE, Change.REDO, Change.RELABEL):
            why = f"{why} (in no group: not submitted)"
        word = Text(node["change"], style="yellow" if node["withheld"] else "")
        differs = "\n".join(_fields(node["documents"] or (), None if explain else _MOST_FIELDS))
        rows.add_row(Text(printable(node["name"])), word, Text(printable(why)), Text(differs))
    return rows


def _fields(documents: Sequence[Mapping[str, Any]], most: int | None) -> Iterator[str]:
    lines = [line for document in documents for line in _lines(document)]
    yield from lines[:most]
    if most is not None and len(lines) > most:
        yield f"and {len(lines) - most} more: --explain shows them"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    label = printable(f"{document['schema'].split('/')[1]} {document['name']}")
    if not document["fields"]:
        yield f"{label}: {document['change']}"
    for field in document["fields"]:
        values = [value_text(field[side], _LONGEST_VALUE) for side in ("from", "to") if side in field]
        yield printable(f"{label} {field['path']}: {field['change']} {' -> '.join(values)}")


def _print_edges(target: Console, edges: Iterable[Mapping[str, str]]) -> None:
    """Print which groups and nodes wait for which."""
    waiting = waits(edges)
    for kind, later, earlier in waiting:
        target.print(Text(f"{kind} {printable(later)} waits for {listed(earlier)}"), soft_wrap=True)
    if not waiting:
        target.print(Text("No edge of the order is used: nothing waits for anything."), soft_wrap=True)
