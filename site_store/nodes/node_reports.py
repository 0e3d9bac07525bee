"""Reports of nodes to readers outside: what is told of each, of one moment, and the notification of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, or_, select, update

from site_store.nodes.node_errors import MOST_REPORTS, read_reports
from site_store.records import Lease
from site_store.sql.postgresql import among, by_code_point
from site_store.status.leases import LedRepository
from site_store.status.outbox import read_notifications, write_notification
from site_store.tables import node, node_error
from strategy_lib.goals.node_errors import NodeError, NodeReport, RemovalProgress, ReportState
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.phase import Phase
from strategy_lib.status.words import Status

LEFT_DESIGN = "left_design"
"""The step of the removal of a node that nobody has begun to destroy."""


class NodeReports(LedRepository):
    """Reports of nodes (rules 47 and 48)."""

    def of_site(
        self, site: str, since: int | None = None, after: str = "", limit: int = MOST_REPORTS
    ) -> list[NodeReport]:
        """Return the reports of a site's nodes, by name, of one moment.

        Reported are nodes with an error that nobody has acknowledged, and nodes that are being removed.

        Parameters
        ----------
        since : also nodes whose newest operation is newer than this one: also those whose removal has ended.
        after : only nodes behind this one, for the next page.
        limit : how many at most.
        """

        def work(tx: Connection) -> list[NodeReport]:
            errors = {record.error.node: record.error for record in read_reports(tx, site, after, limit)}
            removed = and_(node.c.wanted_digest.is_(None), node.c.standing != str(Status.DELETED))
            asked = [removed, among(node.c.name, sorted(errors))]
            if since is not None:
                asked.append(node.c.op > since)
            query = select(node.c.name, node.c.op, node.c.standing, node.c.wanted_digest, node.c.status)
            query = query.where(node.c.site == site, or_(*asked), by_code_point(node.c.name) > after)
            rows = sorted(tx.execute(query), key=lambda row: str(row.name))
            return [_report(site, row, errors.get(row.name)) for row in rows[:limit]]

        return self._database.read(work)

    def notify(self, held: Lease) -> int:
        """Have told what nobody was told of yet, with all that nobody has acknowledged; return of how many nodes.

        The notification is written in the transaction that notes it as reported, so that a crash loses none; the
        outbox then sends it at least once. Sites whose notifications name no target for it are left alone.

        Raises `LeaseLost`: nothing was written.
        """

        def work(tx: Connection, now: datetime) -> int:
            new = select(node_error.c.site).where(node_error.c.state == str(ReportState.FAILED)).distinct()
            told = 0
            for site in sorted(tx.scalars(new)):
                if not read_notifications(tx, site).wanting(NotificationKind.NODE_REPORT):
                    continue
                # Those that nobody was told of come first: others must not keep them back.
                found = read_reports(tx, site, states=(ReportState.FAILED,))
                if not found:
                    continue
                found += read_reports(tx, site, limit=MOST_REPORTS - len(found), states=(ReportState.REPORTED,))
                names = sorted({record.error.node for record in found})
                rows = tx.execute(select(node).where(node.c.site == site, among(node.c.name, names)))
                errors = {record.error.node: record.error for record in found}
                reports = [_report(site, row, errors[row.name]).to_dict() for row in rows]
                data = {"reports": sorted(reports, key=lambda report: str(report["node"]))}
                write_notification(tx, now, site, NotificationKind.NODE_REPORT, data=data)
                tx.execute(
                    update(node_error)
                    .where(node_error.c.site == site, node_error.c.state == str(ReportState.FAILED))
                    .where(node_error.c.op.in_({record.error.op for record in found}))
                    .where(among(node_error.c.node, names))
                    .values(state=str(ReportState.REPORTED))
                )
                told += len(reports)
            return told

        return self._transact_led(held, work)


def _report(site: str, row: Row[*tuple[Any, ...]], error: NodeError | None) -> NodeReport:
    return NodeReport(
        site,
        row.name,
        error.op if error is not None else (row.op or 0),
        # Nothing was ever done to it: there is no state to tell of.
        state=row.standing if row.status is not None or row.standing != Status.PENDING else None,
        removal=_removal(row),
        error=error,
    )


def _removal(row: Row[*tuple[Any, ...]]) -> RemovalProgress | None:
    if row.wanted_digest is not None:
        return None
    at_work = row.status in (Status.PROCESSING, Status.DELETED)
    return RemovalProgress(Phase.DESTROY.value if at_work else LEFT_DESIGN, ended=row.standing == Status.DELETED)
