"""What an actor may write: its store refuses the rest, in each statement (rule 41).

A step of an action may write no table of the design, and nothing of a node that says what is wanted of it. A watcher
may write nothing, but touch what it names. Neither writes by SQL in words. A person's store, and that of a commit, is
not held to this.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Delete, Engine, Table, TextClause, UpdateBase, event

from site_store.errors import AccessRefused
from site_store.tables import (
    buffer,
    buffer_collection,
    candidate,
    content,
    design_object,
    document,
    node,
    object_use,
    repair_switch,
    revision,
    revision_collection,
    site,
    site_group,
    site_group_node,
    user_state,
)
from strategy_lib.goals.actors import Access, Actor, may

DESIGN_TABLES: frozenset[Table] = frozenset(
    {
        site,
        revision,
        revision_collection,
        content,
        document,
        buffer,
        buffer_collection,
        candidate,
        design_object,
        object_use,
        site_group,
        site_group_node,
        user_state,
        repair_switch,
    }
)
"""What is wanted, by a design or by an administrator.

The table `node` has both wishes and feedback: see `WISHES`.
"""
TOUCHED: frozenset[str] = frozenset({"wanted_version", "touched", "touched_by"})
"""What of a node is written where somebody asks for it again."""
WISHES: frozenset[str] = TOUCHED | {"wanted_digest", "wanted_revision"}
"""The columns of `node` that say what is wanted: of these, an actor that may touch writes `TOUCHED`, others none."""
# What the store itself says in words: it reads, and has the database plan, lock and begin.
_HARMLESS = re.compile(r"\s*(SELECT|SET LOCAL|PRAGMA|ANALYZE|LOCK TABLE|BEGIN)\b[^;]*;?\s*", re.IGNORECASE)


def require(actor: Actor | None, access: Access, *, named: bool = True) -> None:
    """Refuse what an actor may not do. None is a person's store, which may do all. Raises `AccessRefused`."""
    if actor is None or may(actor, access, named=named):
        return
    if access is Access.TOUCH and may(actor, access):
        raise AccessRefused(f"a {actor} may touch only what it names: name these nodes in its `touches`")
    raise AccessRefused(f"a {actor} may not {access.replace('_', ' the ')}: leave that to a person or a commit")


def names_all(touches: Collection[str], nodes: Collection[str]) -> bool:
    """Tell whether each of these nodes is among what is named: `node` for all of them, or `node/<name>`."""
    return "node" in touches or all(f"node/{name}" in touches for name in nodes)


def guard_statements(engine: Engine, actor: Actor) -> None:
    """Have each statement refused that writes the design, if this actor may not; and those in words that may write."""
    if may(actor, Access.WRITE_DESIGN):
        return
    refused = WISHES - TOUCHED if may(actor, Access.TOUCH) else WISHES

    @event.listens_for(engine, "before_execute")
    def before(_connection: Any, statement: Any, many: Any, params: Any, _options: Any) -> None:
        if not isinstance(statement, UpdateBase):
            return
        table = statement.entity_description["table"]
        if table in DESIGN_TABLES or (table is node and refused.intersection(_written(statement, many, params))):
            require(actor, Access.WRITE_DESIGN)

    @event.listens_for(engine, "before_cursor_execute")
    def before_words(_connection: Any, _cursor: Any, words: str, _params: Any, context: Any, _many: Any) -> None:
        said = context.compiled is None or isinstance(context.compiled.statement, TextClause)
        if said and not _HARMLESS.fullmatch(words):
            raise AccessRefused(f"a {actor} may not write by SQL in words: use the methods of the store")


def _written(statement: Any, many: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> set[str]:
    """Return the columns that an INSERT or UPDATE writes, also where it meets a row; of a DELETE all wishes."""
    if isinstance(statement, Delete):
        return set(WISHES)
    columns: list[Any] = [*(statement._values or ()), *(params or ()), *(name for row in many or () for name in row)]
    columns += [name for name, _ in getattr(statement, "_ordered_values", None) or ()]
    for row in getattr(statement, "_multi_values", ()):
        columns += [name for each in row for name in (each if isinstance(each, Mapping) else node.c.keys())]
    columns += getattr(statement, "_select_names", None) or ()
    met = getattr(statement, "_post_values_clause", None)
    columns += dict(getattr(met, "update_values_to_set", ()))
    return {name if isinstance(name, str) else name.key for name in columns}
