"""What was found when something outside was looked at last: Airflow, a site's provisioner. The controller writes it."""

from __future__ import annotations

from sqlalchemy import Connection, case, select

from site_store.database import Repository
from site_store.dialects import insert
from site_store.leases import require_lease
from site_store.records import CheckRecord, Lease
from site_store.tables import check_result


class Checks(Repository):
    """The newest result of each check."""

    def record(self, held: Lease, subject: str, problem: str | None) -> None:
        """Keep what a check found; `since` stays while it finds the same.

        Parameters
        ----------
        held
            The lease of the controller, without which nothing is written.
        subject
            What was looked at, such as `airflow` or `provisioner of site default`.
        problem
            What is wrong in a sentence, None where all is well.

        Raises
        ------
        LeaseLost
            The lease is lost.
        """

        def work(tx: Connection) -> None:
            now = self._shared_now(tx)
            require_lease(tx, held, now)
            row = insert(tx, check_result).values(subject=subject, problem=problem, since=now, checked_at=now)
            same = check_result.c.problem.is_not_distinct_from(row.excluded.problem)
            since = case((same, check_result.c.since), else_=row.excluded.since)
            changes = {"problem": row.excluded.problem, "since": since, "checked_at": row.excluded.checked_at}
            tx.execute(row.on_conflict_do_update(index_elements=["subject"], set_=changes))

        self._database.write(work)

    def newest(self) -> list[CheckRecord]:
        """Return the newest result of each check, by subject."""
        query = select(check_result).order_by(check_result.c.subject)
        return self._database.read(
            lambda tx: [CheckRecord(row.subject, row.problem, row.since, row.checked_at) for row in tx.execute(query)]
        )
