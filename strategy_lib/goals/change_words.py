"""How a plan is said to people, on a page, in a terminal and in a report: words, values, and what shares a row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from strategy_lib.goals.update import TO_DO, Change

_ELSEWHERE = "…"
"""Stands in a reason for the name of each node of a row."""
_NAME = re.compile(r"\w(?:[\w.-]*\w)?")


class Deed(StrEnum):
    """What an action does with a node: each node of a plan has exactly one."""

    REDEPLOY = "redeploy"
    RELEASE = "release"
    REMOVE = "remove"
    DEPLOY = "deploy"
    LABEL = "label"
    LEAVE = "leave"
    WITHHOLD = "withhold"


ERASING = (Deed.REDEPLOY, Deed.RELEASE, Deed.REMOVE)
"""Deeds that erase a node: deployed anew, released (or destroyed) before it is prepared, and destroyed for good."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """Nodes of a plan of which the same is to be said.

    Attributes
    ----------
    why : with "…" in place of the name of each node, where there are several.
    allowed_by : what lets an action do it that leaves it alone; None where it does it, or nothing lets it.
    documents : those that differ, as the plan has them, the own document of each node without a name. None: not known.
    """

    deed: Deed
    change: Change
    why: str
    allowed_by: str | None
    nodes: tuple[str, ...]
    documents: tuple[Mapping[str, Any], ...] | None


def summary(deeds: Mapping[Deed, int]) -> str:
    """Return the line that a plan opens with: each node is in one of the counts."""
    erased = ", ".join(
        f"{deeds.get(deed, 0)} {word}"
        for deed, word in zip(ERASING, ("redeployed", "released first", "removed"), strict=True)
    )
    rest = (("deploys", Deed.DEPLOY), ("labels", Deed.LABEL), ("leaves", Deed.LEAVE), ("withholds", Deed.WITHHOLD))
    parts = [f"erases {sum(deeds.get(deed, 0) for deed in ERASING)} ({erased})"]
    return ", ".join([*parts, *(f"{word} {deeds.get(deed, 0)}" for word, deed in rest)])


def fold_nodes(nodes: Iterable[Mapping[str, Any]]) -> list[PlanRow]:
    """Return a row for nodes that a plan names, as its JSON has them; none for those that are as wanted."""
    rows: dict[tuple[Any, ...], tuple[list[str], PlanRow]] = {}
    for node in nodes:
        if node["deed"] == Deed.LEAVE:
            continue
        row = _row(node)
        # Documents may have lists in them, which cannot be looked up.
        alike = (row.deed, row.change, *_without_name(row), repr(row.documents))
        rows.setdefault(alike, ([], row))[0].append(node["name"])
    found = []
    for names, row in rows.values():
        if len(names) > 1:
            why, allowed_by = _without_name(row)
            row = replace(row, why=why, allowed_by=allowed_by, nodes=tuple(names))
        found.append(row)
    return found


def _without_name(row: PlanRow) -> tuple[str, str | None]:
    """Return why a row of one node is so, and what lets it be done, without the node's name."""
    (name,) = row.nodes

    def hide(text: str) -> str:
        return _NAME.sub(lambda found: _ELSEWHERE if found[0] == name else found[0], text) if name in text else text

    return hide(row.why), None if row.allowed_by is None else hide(row.allowed_by)


def _row(node: Mapping[str, Any]) -> PlanRow:
    why = node["withheld"] or node["reason"]
    if node["change"] == Change.REMOVE and node["withheld"]:
        why = f"{node['reason']}: {why}"
    if not node["groups"] and node["change"] in TO_DO and node["deed"] == Deed.WITHHOLD:
        why = f"{why}; it is in no group, so it is not submitted"
    documents = None
    if node["documents"] is not None:
        documents = tuple(
            {**each, "name": "" if each["name"] == node["name"] else each["name"]} for each in node["documents"]
        )
    return PlanRow(Deed(node["deed"]), Change(node["change"]), why, node["allowed_by"], (node["name"],), documents)


def document_lines(documents: Iterable[Mapping[str, Any]], longest: int) -> Iterator[str]:
    """Yield a line for each field of these documents that differs, with values of so many characters at most."""
    for document in documents:
        label = f"{document['schema'].split('/')[1]} {document['name'] or '(its own)'}"
        if not document["fields"]:
            yield f"{label}: {document['change']}"
        for field in document["fields"]:
            values = [value_text(field[side], longest) for side in ("from", "to") if side in field]
            yield f"{label} {field['path']}: {field['change']} {' -> '.join(values)}"


def value_text(value: object, longest: int) -> str:
    """Return a value of a document as text of so many characters at most."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def waits(edges: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, Sequence[str]]]:
    """Return who waits for whom: kind ("group" or "node"), the one that waits, and those that it waits for."""
    found: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        found.setdefault((edge["kind"], edge["later"]), []).append(edge["earlier"])
    return [(kind, later, earlier) for (kind, later), earlier in found.items()]
