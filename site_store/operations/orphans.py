"""Operations that nobody waits for: their action is over, and their provisioner task was not seen to be (rule 24)."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from site_store.actions.action_rows import OPEN
from site_store.operations.operation_rows import UNFINISHED, operation_record
from site_store.records import Operation, OperationStatus
from site_store.sql.database import Repository
from site_store.tables import action, operation


class Orphans(Repository):
    """Operations of `Operations.unfinished` whose action is over."""

    def of_site(self, site: str, at_most: timedelta) -> list[Operation]:
        """Return those of a site, oldest first.

        Parameters
        ----------
        at_most : only those for which nobody has waited for so long at most.
        """

        def work(tx: Connection) -> list[Operation]:
            since = self._shared_now(tx) - at_most
            query = select(operation).where(*_orphaned(site, since)).order_by(operation.c.op)
            return [operation_record(row) for row in tx.execute(query)]

        return self._database.read(work)

    def sites(self, at_most: timedelta) -> list[str]:
        """Return the sites that have any, by name."""

        def work(tx: Connection) -> list[str]:
            since = self._shared_now(tx) - at_most
            query = select(operation.c.site).where(*_orphaned(operation.c.site, since)).distinct()
            return sorted(tx.scalars(query))

        return self._database.read(work)


def _orphaned(site: ColumnElement[str] | str, since: datetime) -> tuple[ColumnElement[bool], ...]:
    """Conditions on `operation` and `action`: its action is over, and the operation was not seen to be."""
    sent = and_(operation.c.status == OperationStatus.INTENDED, operation.c.sending.is_not(None))
    return (
        action.c.id == operation.c.action_id,
        action.c.state.not_in(OPEN),
        operation.c.site == site,
        operation.c.over.is_(None),
        or_(operation.c.status.in_(UNFINISHED), sent),
        func.coalesce(operation.c.ended, operation.c.created) > since,
    )
