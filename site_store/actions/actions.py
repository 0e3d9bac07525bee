"""Requests for actions: one row for each, with the DAG run that carries it out, and the commands given to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from site_store.actions.abort import close_action
from site_store.actions.action_rows import (
    FACTS,
    NewAction,
    action_listing,
    action_record,
    next_id,
    read_action,
    write_audit,
)
from site_store.actions.site_locks import require_free
from site_store.actions.steps import AIRFLOW_OWNER, plan_steps
from site_store.designs.contents import newest_number
from site_store.nodes.node_status import expect_provisioner
from site_store.operations.tasks import plan_node_step
from site_store.records import OPEN, ActionListing, ActionRecord, ActionState, AuditRecord, Lease, StepState
from site_store.sql.errors import VersionChanged
from site_store.sql.postgresql import insert, json_rows, one_at_a_time
from site_store.sql.rows import require_names
from site_store.status.leases import LedRepository
from site_store.tables import action, action_audit, action_step, group_run


class Actions(LedRepository):
    """Actions, from the request to the end."""

    def create(
        self, asked: NewAction, *, exclusive: bool, has_run: bool = True, run_id: str | None = None
    ) -> ActionRecord:
        """Write an action down before its DAG run is triggered, so that a lost answer leaves no run without a row.

        The DAG run is to have the kind for its DAG, and an id of the site and the action's own id, so that the lists in
        Airflow's pages show the site; `ensure` then finds the row.

        Parameters
        ----------
        exclusive : whether no other action may be open on the site. Dry runs do not count.
        has_run : whether a DAG run carries it out.
        run_id : the id of its run, where the caller has one; an action of this run that is there is returned as it is.

        Raises
        ------
        SiteBusy : another action is pending or running on the site, or holds it; the error names it.
        """
        require_names("the node", asked.nodes)

        def work(tx: Connection) -> ActionRecord:
            if exclusive:
                # Two who ask at the same moment go one after the other from here.
                one_at_a_time(tx, f"actions of {asked.site}")
                same = None if run_id is None else tx.execute(_of_run(asked.kind, run_id)).one_or_none()
                if same is not None:
                    return action_record(same)
                require_free(tx, asked.site)
            action_id = next_id(tx, self._now())
            run = run_id or (f"{asked.site}__{action_id}" if has_run else None)
            tx.execute(insert(action).values(asked.row(action_id, asked.kind, run, self._shared_now(tx))))
            return _planned(tx, read_action(tx, action_id), asked)

        return self._database.write(work)

    def ensure(self, dag_id: str, run_id: str, asked: NewAction) -> ActionRecord:
        """Return the action of a DAG run, made now unless there is one: a repetition changes nothing.

        One that was made before its DAG run (`create`) is found by this. Without a revision it is for the site's newest
        at this moment.
        """
        require_names("the node", asked.nodes)

        def work(tx: Connection) -> ActionRecord:
            new = asked if asked.revision is not None else replace(asked, revision=newest_number(tx, asked.site))
            row = new.row(next_id(tx, self._now()), dag_id, run_id, self._shared_now(tx))
            tx.execute(insert(action).values(row).on_conflict_do_nothing(index_elements=["dag_id", "run_id"]))
            return _planned(tx, action_record(tx.execute(_of_run(dag_id, run_id)).one()), asked)

        return self._database.write(work)

    def get(self, action_id: str) -> ActionRecord:
        """Return an action. Raises `NotFound`: no action has this id."""
        return self._database.read(lambda tx: read_action(tx, action_id))

    def of_run(self, dag_id: str, run_id: str) -> ActionRecord | None:
        """Return the action of a DAG run, None when it has none."""
        row = self._database.read(lambda tx: tx.execute(_of_run(dag_id, run_id)).one_or_none())
        return None if row is None else action_record(row)

    def with_run_id(self, run_id: str) -> list[ActionRecord]:
        """Return the actions whose DAG run has this id: of several DAGs there may be several."""
        query = select(*FACTS).where(action.c.run_id == run_id).order_by(action.c.id)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def newest(self, site: str | None = None, limit: int = 50, before: str | None = None) -> list[ActionListing]:
        """Return the newest actions with the states of their groups, newest first, in one statement.

        Parameters
        ----------
        site : only those of this site, None for all.
        limit : how many at most.
        before : only those older than the action of this id, for the next page.
        """
        newest = select(*FACTS).order_by(action.c.id.desc()).limit(limit)
        if site is not None:
            newest = newest.where(action.c.site == site)
        if before is not None:
            newest = newest.where(action.c.id < before)
        groups = (
            select(group_run.c.position, group_run.c.name, group_run.c.state)
            .where(group_run.c.action_id == action.c.id)
            .correlate(action)
        )
        steps = (
            select(action_step.c.name, action_step.c.state)
            .where(
                action_step.c.action_id == action.c.id,
                action_step.c.group_name == "",
                action_step.c.state != StepState.PENDING,
            )
            .correlate(action)
        )

        def work(tx: Connection) -> list[ActionListing]:
            rows = tx.execute(newest.add_columns(json_rows(groups).label("groups"), json_rows(steps).label("steps")))
            return [action_listing(row) for row in rows]

        return self._database.read(work)

    def unfinished(self, site: str | None = None) -> list[ActionRecord]:
        """Return the actions of a site, or of all, that are not over, oldest first."""
        query = select(*FACTS).where(action.c.state.in_(OPEN)).order_by(action.c.id)
        if site is not None:
            query = query.where(action.c.site == site)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def not_noted(self, limit: int) -> list[ActionRecord]:
        """Return ended actions, oldest first, whose verdict is not the note of their DAG run yet."""
        ended = (action.c.noted.is_(None), action.c.ended.is_not(None), action.c.run_id.is_not(None))
        query = select(*FACTS).where(*ended).order_by(action.c.id).limit(limit)
        return self._database.read(lambda tx: [action_record(row) for row in tx.execute(query)])

    def mark_noted(self, held: Lease, action_id: str, verdict: str | None) -> None:
        """Note that this verdict is the note of the action's run; nothing where the action has another one by now.

        Raises `LeaseLost`: another controller leads.
        """

        def work(tx: Connection, now: datetime) -> None:
            same = (action.c.id == action_id, action.c.verdict.is_not_distinct_from(verdict))
            tx.execute(update(action).where(*same).values(noted=now))

        self._transact_led(held, work)

    def set_paused(self, action_id: str, paused: bool) -> bool:
        """Say that no further group of an action is to start, or that it may go on. Again changes nothing.

        Returns
        -------
        bool
            Whether it is so now: False when the action is over, and then nothing has changed.

        Raises
        ------
        NotFound : no action has this id.
        """

        def work(tx: Connection) -> bool:
            known = read_action(tx, action_id)
            since = (known.paused or self._shared_now(tx)) if paused else None
            change = update(action).where(action.c.id == action_id, action.c.state.in_(OPEN))
            return bool(tx.execute(change.values(paused=since, version=action.c.version + 1)).rowcount)

        return self._database.write(work)

    def take_version(self, action_id: str, version: int) -> None:
        """Have an action leave this version, before a command that was meant for it; of two who ask, one succeeds.

        Raises `VersionChanged`: it has another one by now; `NotFound`: no action has this id.
        """

        def work(tx: Connection) -> None:
            same = update(action).where(action.c.id == action_id, action.c.version == version)
            if not tx.execute(same.values(version=version + 1)).rowcount:
                raise VersionChanged(f"action {action_id}", version, read_action(tx, action_id).version)

        self._database.write(work)

    def mark_step(self, action_id: str, step: str) -> None:
        """Note which step of an action was begun last."""
        change = update(action).where(action.c.id == action_id, action.c.step.is_distinct_from(step))
        self._database.write(lambda tx: tx.execute(change.values(step=step)))

    def design_fetch(self, site: str, revision: int | None) -> int:
        """Return at which address of a revision's design the provisioner found it last; 0 while it found it at once."""
        newest = (
            select(action.c.design_fetch)
            .where(action.c.site == site, action.c.revision == revision, action.c.design_fetch > 0)
            .order_by(action.c.created.desc(), action.c.id.desc())
            .limit(1)
        )
        return self._database.read(lambda tx: int(tx.scalar(newest) or 0))

    def mark_design_fetch(self, action_id: str, fetch: int) -> None:
        """Note at which address of its design an action's provisioner finds it."""
        change = update(action).where(action.c.id == action_id)
        self._database.write(lambda tx: tx.execute(change.values(design_fetch=fetch)))

    def decide_connection(self, action_id: str, connection: str) -> str:
        """Decide which Airflow connection an action uses, and return it: the one that was decided on first stays.

        Raises `NotFound`: no action has this id.
        """
        undecided = update(action).where(action.c.id == action_id, action.c.connection.is_(None))

        def work(tx: Connection) -> str:
            decided = tx.execute(undecided.values(connection=connection)).rowcount
            known = read_action(tx, action_id)
            if decided:
                expect_provisioner(tx, action_id, known.site, connection)
            return known.connection or connection

        return self._database.write(work)

    def record_command(self, action_id: str, command: str, user: str) -> AuditRecord:
        """Keep who gave which command to an action. Raises `NotFound`: no action has this id."""

        def work(tx: Connection) -> AuditRecord:
            read_action(tx, action_id)
            tx.execute(update(action).where(action.c.id == action_id).values(version=action.c.version + 1))
            return write_audit(tx, self._shared_now(tx), action_id, command, user)

        return self._database.write(work)

    def commands(self, action_id: str) -> list[AuditRecord]:
        """Return the commands that were given to an action, oldest first."""
        of_action = select(action_audit).where(action_audit.c.action_id == action_id)
        query = of_action.order_by(action_audit.c.at, action_audit.c.id)
        rows = self._database.read(lambda tx: tx.execute(query).all())
        return [AuditRecord(row.id, row.action_id, row.command, row.created_by, row.at) for row in rows]

    def close(
        self,
        action_id: str,
        state: ActionState,
        verdict: str,
        by: str | None = None,
        held: Lease | None = None,
        *,
        left_alone: int = 0,
    ) -> bool:
        """End an action and free its site, leaving nothing that looks as if it were still going on (rule 24).

        Its nodes still being processed become `unknown`, its provisioner tasks under way are abandoned (they stay in
        `Operations.unfinished` until they are seen to be over), and a group without a verdict is `interrupted`.

        Parameters
        ----------
        action_id : the action.
        state : `SUCCESS`, `FAILED` or `CANCELLED`. `CANCELLED` never replaces an end that the action already has.
        verdict : the same in a sentence.
        by : who ends it without having been asked; kept among the commands to the action, as `CLOSE`.
        held : the lease of a controller that does this, without which nothing is written; None: somebody else does it.
        left_alone : how many nodes of critical groups a success has neither submitted nor proven.

        Returns
        -------
        bool
            Whether the action is now in this state.

        Raises
        ------
        NotFound : no action has this id.
        LeaseLost : the lease is lost; nothing is written.
        ValueError : the state is not an end.
        """
        if not state.is_end:
            raise ValueError(f"{state} is not an end of an action")

        def work(tx: Connection, now: datetime) -> bool:
            return close_action(tx, now, action_id, state, verdict, by, left_alone)

        return self._transact_led(held, work)


def _planned(tx: Connection, made: ActionRecord, asked: NewAction) -> ActionRecord:
    """Write the steps of an action down as pending, and its tasks of named nodes."""
    plan_steps(tx, made.id, None if made.run_id is None else f"{AIRFLOW_OWNER}{made.dag_id}", asked.steps)
    if asked.node_step is not None and not made.dry_run:
        plan_node_step(tx, made.id, made.connection, asked.node_step, asked.nodes)
    return made


def _of_run(dag_id: str, run_id: str) -> Any:
    return select(*FACTS).where(action.c.dag_id == dag_id, action.c.run_id == run_id)
