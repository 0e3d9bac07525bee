"""How the changes of a plan are said to people, on a page as in a terminal: words, values, and who waits for whom."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from strategy_lib.goals.update import Change

CHANGE_WORDS: Mapping[Change, str] = {
    Change.ADD: "to add",
    Change.CHANGE: "to change",
    Change.REDO: "to redo",
    Change.RELABEL: "with new labels",
    Change.REMOVE: "no longer in the design",
    Change.NONE: "as wanted",
}
"""What follows a number of nodes, in the order in which it is said."""


def value_text(value: object, longest: int) -> str:
    """Return a value of a document as text of so many characters at most."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def waits(edges: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return who waits for whom: kind ("group" or "node"), the one that waits, and those that it waits for."""
    found: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        found.setdefault((edge["kind"], edge["later"]), []).append(edge["earlier"])
    return [(kind, later, earlier) for (kind, later), earlier in found.items()]
