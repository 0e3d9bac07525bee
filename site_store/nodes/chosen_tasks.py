"""Which tasks of an operation a statement is about, for statements that are made once and carried out with parameters.

To make a statement takes several times as long as to send it: those that each outcome needs are kept, one for each way
to choose the tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Text, bindparam

from site_store.records import Operation
from site_store.sql.postgresql import among_parameter
from site_store.tables import node, task
from site_store.tables.metadata import UtcDateTime

#: Parameters of such statements: the operation, its site and its action; the moment; what had to be repeated.
THIS_OP = bindparam("this_op", type_=task.c.op.type)
THIS_SITE = bindparam("this_site", type_=node.c.site.type)
THIS_ACTION = bindparam("this_action", type_=task.c.action_id.type)
MOMENT = bindparam("this_moment", type_=UtcDateTime())
AGAIN = bindparam("done_again", type_=Text())


class Choice(StrEnum):
    """How nodes are chosen among those of an operation."""

    ALL = "all"
    ALL_BUT = "all but these"
    THESE = "these"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Nodes of an operation. They name those that are left out where these are fewer: most outcomes are of all."""

    choice: Choice
    names: Sequence[str]

    @classmethod
    def of(cls, this: Operation, nodes: Collection[str]) -> Chosen:
        """Choose these nodes of an operation."""
        others = frozenset(this.nodes).difference(nodes)
        if not others:
            return cls(Choice.ALL, ())
        if len(others) < len(nodes):
            return cls(Choice.ALL_BUT, sorted(others))
        return cls(Choice.THESE, list(nodes))

    def parameters(self, key: str) -> dict[str, Any]:
        """Return what the statement of this choice is given under `key`."""
        return {} if self.choice is Choice.ALL else {key: list(self.names)}


def chosen(choice: Choice, key: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on `task` that such nodes fulfil; `task.op` is asked for beside them."""
    if choice is Choice.ALL:
        return ()
    these = among_parameter(task.c.node, key)
    return (these,) if choice is Choice.THESE else (~these,)
