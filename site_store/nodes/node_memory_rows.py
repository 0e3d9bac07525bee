"""The rows of what the leader of a site knows of its nodes, written and read for very many that are alike."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Text, cast, literal, select, true

from site_store.sql.postgresql import among, insert, names
from site_store.tables import node_view
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import PublishedState

_HISTORY = tuple(one.name for one in fields(NodeHistory))
_CHANGED = tuple(column.name for column in node_view.c if not column.primary_key)
_READ = ("word", "power", "state", "reason", "since", "user_since")
_MANY_ALIKE = 100
"""At least this many nodes with the same object are one statement; fewer have a row each."""


def write_memory(tx: Connection, site: str, memory: Mapping[str, NodeMemory]) -> None:
    """Keep what is known of these nodes, in the caller's transaction."""
    alike: dict[int, list[str]] = {}
    for name, known in memory.items():
        alike.setdefault(id(known), []).append(name)
    new = insert(node_view)
    rows = []
    for nodes in alike.values():
        facts = _facts(memory[nodes[0]])
        if len(nodes) < _MANY_ALIKE:
            rows += [{"site": site, "node": name, **facts} for name in nodes]
            continue
        these = names(nodes).subquery()
        said = (literal(facts[name], node_view.c[name].type) for name in _CHANGED)
        found = select(literal(site), *these.c, *said).where(true())
        columns = ["site", "node", *_CHANGED]
        whole = insert(node_view).from_select(columns, found)
        replaced = {name: whole.excluded[name] for name in _CHANGED}
        tx.execute(whole.on_conflict_do_update(index_elements=["site", "node"], set_=replaced))
    if rows:
        replaced = {name: new.excluded[name] for name in _CHANGED}
        # One statement for each row: one for many would be made anew each time, which takes far longer.
        tx.execute(new.on_conflict_do_update(index_elements=["site", "node"], set_=replaced), rows)


def read_memory(tx: Connection, site: str, nodes: Collection[str] | None = None) -> dict[str, NodeMemory]:
    """Return what is known of the nodes of a site, or of these: one object for all of which the same is known."""
    history = cast(node_view.c.history, Text)
    query = select(node_view.c.node, *(node_view.c[name] for name in _READ), history).where(node_view.c.site == site)
    alike: dict[tuple[Any, ...], NodeMemory] = {}
    found = {}
    for row in tx.execute(query if nodes is None else query.where(among(node_view.c.node, nodes))):
        facts: tuple[Any, ...] = row[1:]
        known = alike.get(facts)
        if known is None:
            known = alike[facts] = _memory(*facts)
        found[row[0]] = known
    return found


def _facts(known: NodeMemory) -> dict[str, Any]:
    history = {name: getattr(known.history, name) for name in _HISTORY}
    return {
        "word": known.word,
        "power": known.power,
        "reported": known.history.state,
        "reported_since": known.history.since,
        "crashes": known.history.crashes,
        "history": {name: value for name, value in history.items() if value not in (None, False)}
        | ({"said": known.said} if known.said else {}),
        "state": str(known.view.state),
        "reason": known.view.reason,
        "since": known.since,
        "user_since": known.user_since,
    }


def _memory(
    word: str | None, power: str | None, state: str, reason: str, since: float, user_since: float, history: str
) -> NodeMemory:
    said = json.loads(history)
    seen, own_word = said.pop("state", None), said.pop("said", "")
    known = NodeHistory(None if seen is None else NodeAvailability(seen), **said)
    view = PublishedState(NodeAvailability(state), reason)
    return NodeMemory(word, power, known, view, since, user_since, own_word)
