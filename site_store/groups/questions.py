"""Whom an operation asks whether nodes are ready, and where: written down once; nobody reads the design again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from site_store.sql.database import Repository
from site_store.tables import node_question


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """Where each node is asked, and how many at once."""

    urls: Mapping[str, str]
    most: int


class Questions(Repository):
    """Questions of operations that are not over (rule 58)."""

    def get(self, op: int) -> KeptQuestion | None:
        """Return what an operation asks; None: it was not written down, or is over."""
        query = select(node_question.c.urls, node_question.c.most).where(node_question.c.op == op)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else KeptQuestion(dict(row.urls), row.most)

    def keep(self, op: int, question: KeptQuestion) -> None:
        """Write down what an operation asks, in place of what was."""

        def work(tx: Connection) -> None:
            tx.execute(delete(node_question).where(node_question.c.op == op))
            tx.execute(insert(node_question).values(op=op, urls=dict(question.urls), most=question.most))

        self._database.write(work)

    def forget(self, op: int) -> None:
        """Forget what an operation asked: it is over."""
        self._database.write(lambda tx: tx.execute(delete(node_question).where(node_question.c.op == op)))
