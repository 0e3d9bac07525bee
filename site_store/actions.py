"""Requests: one row for each, tied to the DAG run that carries it out.

Making one before its DAG run is `action_requests.py`, who may work on a site is `site_locks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, exists, select
from ulid import ULID

from site_store.dialects import insert
from site_store.errors import ActionNotFound
from site_store.events import read_events
from site_store.groups import read_groups
from site_store.node_tasks import read_node_tasks
from site_store.operations import read_operations
from site_store.part import StorePart
from site_store.plain_json import plain
from site_store.records import ActionRecord, ActionState, AuditRecord, ReportInput
from site_store.snapshots import newest_number
from site_store.tables import action, action_audit, action_report

_REPORTED_EVENTS = 10_000
OPEN = (ActionState.PENDING, ActionState.RUNNING)
"""The states of an action that is not over."""
#: What an action's record is made of.
FACTS = [*action.c, exists().where(action_report.c.action_id == action.c.id).label("has_report")]


def read_action(tx: Connection, action_id: str) -> ActionRecord:
    """Return an action in the caller's transaction.

    Raises
    ------
    ActionNotFound
        No action has this id.
    """
    row = tx.execute(select(*FACTS).where(action.c.id == action_id)).one_or_none()
    if row is None:
        raise _not_found(action_id)
    return action_record(row)


def write_audit(tx: Connection, now: datetime, action_id: str, command: str, user: str) -> AuditRecord:
    """Keep who gave which command to an action, in the caller's transaction."""
    record = AuditRecord(str(ULID.from_datetime(now)), action_id, command, user, now)
    row = {"id": record.id, "action_id": action_id, "command": command, "created_by": user, "at": now}
    tx.execute(insert(tx, action_audit).values(row))
    return record


def new_action(
    *,
    action_id: str,
    kind: str,
    site: str,
    revision: int | None,
    parameters: Mapping[str, Any],
    dag_id: str,
    run_id: str,
    user: str,
    created: datetime,
    dry_run: bool,
    whole_site: bool,
    context_marker: str | None = None,
    connection: str | None = None,
) -> dict[str, Any]:
    """Return the row of an action that nobody has begun."""
    return {
        "id": action_id,
        "kind": kind,
        "site": site,
        "revision": revision,
        "parameters": plain(parameters),
        "dag_id": dag_id,
        "run_id": run_id,
        "created_by": user,
        "created": created,
        "state": ActionState.PENDING,
        "context_marker": context_marker,
        "connection": connection,
        "dry_run": dry_run,
        "targeted": not whole_site,
    }


class Actions(StorePart):
    """Actions and their reports."""

    def ensure_action(
        self,
        dag_id: str,
        run_id: str,
        kind: str,
        site: str,
        revision: int | None,
        parameters: Mapping[str, Any],
        user: str,
        *,
        dry_run: bool = False,
        whole_site: bool = True,
    ) -> ActionRecord:
        """Return the action of a DAG run, made now unless there is one: a repetition changes nothing.

        One that was made before its DAG run (`create_action`) is found by this.

        Parameters
        ----------
        dag_id, run_id
            The DAG run that carries the action out.
        kind
            What is to be done, such as `deploy_site`.
        site
            The site it is for. It need not exist yet: that it does not is the action's own failure to report.
        revision
            The revision to bring about, None for the site's newest at this moment. A given one is not looked up here.
        parameters
            What the user asked for, as JSON values.
        user
            Who asked.
        dry_run
            Whether it changes nothing.
        whole_site
            Whether it brings its whole site to the revision.
        """
        action_id = str(ULID.from_datetime(self._now()))

        def work(tx: Connection) -> ActionRecord:
            row = new_action(
                action_id=action_id,
                kind=kind,
                site=site,
                revision=newest_number(tx, site) if revision is None else revision,
                parameters=parameters,
                dag_id=dag_id,
                run_id=run_id,
                user=user,
                created=self._shared_now(tx),
                dry_run=dry_run,
                whole_site=whole_site,
            )
            tx.execute(insert(tx, action).values(row).on_conflict_do_nothing(index_elements=["dag_id", "run_id"]))
            return action_record(tx.execute(_of_run(dag_id, run_id)).one())

        return self._database.write(work)

    def action(self, action_id: str) -> ActionRecord:
        """Return an action.

        Raises
        ------
        ActionNotFound
            No action has this id.
        """
        return self._database.read(lambda tx: read_action(tx, action_id))

    def action_of_run(self, dag_id: str, run_id: str) -> ActionRecord | None:
        """Return the action of a DAG run, None when it has none."""
        row = self._database.read(lambda tx: tx.execute(_of_run(dag_id, run_id)).one_or_none())
        return None if row is None else action_record(row)

    def actions_of_run_id(self, run_id: str) -> list[ActionRecord]:
        """Return the actions whose DAG run has this id: of several DAGs there may be several."""
        query = select(*FACTS).where(action.c.run_id == run_id).order_by(action.c.id)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def actions(self, site: str | None = None, limit: int = 50) -> list[ActionRecord]:
        """Return the newest actions, newest first, of one site or of all."""
        query = select(*FACTS).order_by(action.c.id.desc()).limit(limit)
        if site is not None:
            query = query.where(action.c.site == site)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def open_actions(self) -> list[ActionRecord]:
        """Return the actions of all sites that are not over, oldest first."""
        query = select(*FACTS).where(action.c.state.in_(OPEN)).order_by(action.c.id)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def save_report(self, action_id: str, report: Mapping[str, Any]) -> None:
        """Keep the report of an action; a later one replaces it (rule 20).

        Raises
        ------
        ActionNotFound
            No action has this id.
        """

        def work(tx: Connection) -> None:
            read_action(tx, action_id)
            row = insert(tx, action_report).values(action_id=action_id, report=plain(report))
            tx.execute(row.on_conflict_do_update(index_elements=["action_id"], set_={"report": row.excluded.report}))

        self._database.write(work)

    def report(self, action_id: str) -> Mapping[str, Any] | None:
        """Return the report of an action, None before it has one (rule 20). It may be large: 8 MB for 100,000 nodes.

        Raises
        ------
        ActionNotFound
            No action has this id.
        """

        def work(tx: Connection) -> Mapping[str, Any] | None:
            read_action(tx, action_id)
            report: Mapping[str, Any] | None = tx.scalar(
                select(action_report.c.report).where(action_report.c.action_id == action_id)
            )
            return report

        return self._database.read(work)

    def report_input(self, action_id: str) -> ReportInput:
        """Return all that a report says, read in one snapshot (rule 20).

        Raises
        ------
        ActionNotFound
            No action has this id.
        """
        return self._database.read(
            lambda tx: ReportInput(
                action=read_action(tx, action_id),
                groups=tuple(read_groups(tx, action_id)),
                nodes=tuple(read_node_tasks(tx, action_id)),
                operations=tuple(read_operations(tx, action_id)),
                events=tuple(read_events(tx, action_id, _REPORTED_EVENTS)),
            )
        )


def _of_run(dag_id: str, run_id: str) -> Any:
    return select(*FACTS).where(action.c.dag_id == dag_id, action.c.run_id == run_id)


def _not_found(action_id: str) -> ActionNotFound:
    return ActionNotFound(f"there is no action {action_id!r}: list the site's actions and name one of them")


def action_record(row: Row[*tuple[Any, ...]]) -> ActionRecord:
    """Return a row of `FACTS` as a value."""
    return ActionRecord(
        id=row.id,
        kind=row.kind,
        site=row.site,
        revision=row.revision,
        parameters=row.parameters,
        dag_id=row.dag_id,
        run_id=row.run_id,
        user=row.created_by,
        created=row.created,
        started=row.started,
        ended=row.ended,
        state=ActionState(row.state),
        verdict=row.verdict,
        has_report=bool(row.has_report),
        context_marker=row.context_marker,
        dry_run=row.dry_run,
        whole_site=not row.targeted,
        step=row.step,
        paused=row.paused,
        connection=row.connection,
        design_fetch=row.design_fetch,
    )
