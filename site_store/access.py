"""What an actor may write: its store refuses the rest, in each statement (rule 41).

A step of an action may write no table of the design. A watcher may write nothing, but touch what it names. A person's
store, and that of a commit, is not held to this.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Engine, Table, UpdateBase, event

from site_store.errors import AccessRefused
from site_store.tables import (
    buffer,
    buffer_collection,
    candidate,
    content,
    design_object,
    document,
    object_use,
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
    }
)
"""What is wanted, by a design or by an administrator.

Of the table `node`, which has both wishes and feedback, `wanted_*` is written by `Revisions.commit` alone.
"""


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
    """Have each statement refused that writes a table of the design, if this actor may not."""
    if may(actor, Access.WRITE_DESIGN):
        return

    @event.listens_for(engine, "before_execute")
    def before(_connection: Any, statement: Any, _many: Any, _params: Any, _options: Any) -> None:
        if isinstance(statement, UpdateBase) and statement.entity_description["table"] in DESIGN_TABLES:
            require(actor, Access.WRITE_DESIGN)
