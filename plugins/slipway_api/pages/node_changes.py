"""What has to be done to each node as a table for people: nodes of which the same is to be said share a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slipway_api.pages.wording import counted
from strategy_lib.goals.update import CHANGE_WORDS, TO_DO, Change, value_text, waits

# `slipway plan -o json` has all nodes, and who waits for whom.
_MOST_ROWS = 100
_MOST_EDGES = 200
_LONGEST = 120
"""Characters of a value."""
_ELSEWHERE = "…"
"""Stands in a reason for the name of each node of a row."""


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A field that differs, with its values as text; None where it has none."""

    path: str
    done: str | None
    wanted: str | None


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A document that makes a node, and differs: by kind and name, "" for the node's own, with its fields."""

    kind: str
    name: str
    change: str
    fields: tuple[ChangedValue, ...]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """What is to be done to some nodes, why, and what differs for each of them.

    Attributes
    ----------
    left_alone : it is to be done, and this action does not do it; the reason says why.
    parts : None where it is not known what differs.
    """

    change: str
    why: str
    left_alone: bool
    nodes: tuple[str, ...]
    parts: tuple[ChangedPart, ...] | None


def shown_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `parts/node_changes.html` shows of `changes` of a dry run: `counts`, `nodes` and `edges`."""
    return {
        "counts": count_changes(changes["counts"]),
        "rows": fold_changes(changes["nodes"]),
        "waiting": waits(changes["edges"]),
        "most_rows": _MOST_ROWS,
        "most_edges": _MOST_EDGES,
    }


def fold_changes(nodes: Iterable[Mapping[str, Any]]) -> list[ChangeRow]:
    """Return rows for nodes as `slipway_api.sites.site_plans.ChangedNode` describes them; none for those as wanted."""
    rows: dict[ChangeRow, tuple[list[str], ChangeRow]] = {}
    for node in nodes:
        if node["change"] == Change.NONE:
            continue
        row = _row(node)
        alike = replace(row, why=_without_name(row.why, node["name"]))
        rows.setdefault(alike, ([], row))[0].append(node["name"])
    return [replace(row if len(names) == 1 else alike, nodes=tuple(names)) for alike, (names, row) in rows.items()]


def _row(node: Mapping[str, Any]) -> ChangeRow:
    why = node["withheld"] or node["reason"]
    nowhere = not node["groups"] and node["change"] in TO_DO
    if nowhere:
        why = f"{why}; it is in no group, so it is not submitted"
    documents = node["documents"]
    parts = None
    if documents is not None:
        parts = tuple(
            ChangedPart(
                document["schema"].split("/")[1],
                "" if document["name"] == node["name"] else document["name"],
                document["change"],
                tuple(
                    ChangedValue(field["path"], _text(field, "from"), _text(field, "to"))
                    for field in document["fields"]
                ),
            )
            for document in documents
        )
    return ChangeRow(node["change"], why, bool(node["withheld"]) or nowhere, (), parts)


def _text(field: Mapping[str, Any], side: str) -> str | None:
    if side not in field:
        return None
    return value_text(field[side], _LONGEST)


def _without_name(text: str, name: str) -> str:
    return text.replace(name, _ELSEWHERE)


def count_changes(counts: Mapping[str, int]) -> str:
    """Return `3 nodes to add, 27 nodes as wanted`."""
    return ", ".join(
        f"{counted(counts[change], 'node')} {words}" for change, words in CHANGE_WORDS.items() if counts[change]
    )
