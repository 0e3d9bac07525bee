"""Who may work on a site: one action at a time (rule 24)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, func, select, update

from site_store.actions.abort import close_action
from site_store.actions.action_rows import read_action
from site_store.records import OPEN, ActionRecord, ActionState, LockOwner
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError, StoreUnavailable
from site_store.sql.postgresql import insert
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import action, site_lock


class SiteBusy(StoreError):
    """Another action is working on this site: wait for it to end, or cancel it.

    Attributes
    ----------
    site : the site that was asked for.
    owner : who holds it.
    """

    def __init__(self, site: str, owner: LockOwner) -> None:
        does = "is to start on it since" if owner.waiting else "works on it since"
        run = "" if owner.run_id is None else f"run {owner.run_id!r} of "
        super().__init__(
            f"site {site!r} is busy: action {owner.action_id} ({run}DAG {owner.dag_id!r}) "
            f"{does} {owner.acquired:%Y-%m-%d %H:%M:%S} UTC; wait for it to end, or cancel it"
        )
        self.site = site
        self.owner = owner

    def __reduce__(self) -> tuple[type[SiteBusy], tuple[str, LockOwner]]:
        """Pickle by its two facts, so that the error survives the way between processes."""
        return (type(self), (self.site, self.owner))


class SiteLocks(Repository):
    """The lock of each site. An action is `running` exactly while it holds its site."""

    def acquire(self, action_id: str) -> bool:
        """Take the action's site for it and make the action running; again for the same action changes nothing.

        Returns
        -------
        bool
            Whether the action had been closed, and runs again by this (rule 23).

        Raises
        ------
        SiteBusy : another action holds the site; the error names it.
        NotFound : no action has this id.
        """

        def work(tx: Connection) -> bool:
            wanted = read_action(tx, action_id)
            now = self._shared_now(tx)
            lock = (
                insert(site_lock)
                .values(site=wanted.site, action_id=action_id, dag_id=wanted.dag_id, run_id=wanted.run_id, acquired=now)
                .on_conflict_do_nothing()
                .returning(site_lock.c.site)
            )
            owner = None
            # Once is enough, unless an owner leaves between the two statements.
            for _ in range(3):
                taken = tx.scalar(lock) is not None
                owner = _owner(tx, wanted.site)
                if owner is not None:
                    break
            if owner is None:
                raise StoreUnavailable(f"the owner of site {wanted.site!r} changes too fast; try again")
            if owner.action_id != action_id:
                raise SiteBusy(wanted.site, owner)
            if taken:
                write_events(tx, now, wanted.site, action_id, [NewEvent(EventKind.SITE_ACQUIRED, "site acquired")])
            return _run(tx, wanted, now)

        return self._database.write(work)

    def owner(self, site: str) -> LockOwner | None:
        """Return who holds a site, None when it is free."""
        return self._database.read(lambda tx: _owner(tx, site))

    def take_over(self, action_id: str, from_owner: LockOwner) -> bool:
        """Take the site from an owner that was found to be gone, and close that owner's action as cancelled (rule 24).

        Returns
        -------
        bool
            False when the site is no longer held by exactly this owner, and then nothing has changed.

        Raises
        ------
        NotFound : there is no action of this id.
        """

        def work(tx: Connection) -> bool:
            wanted = read_action(tx, action_id)
            now = self._shared_now(tx)
            swapped = tx.execute(
                update(site_lock)
                .where(
                    site_lock.c.site == wanted.site,
                    site_lock.c.action_id == from_owner.action_id,
                    site_lock.c.acquired == from_owner.acquired,
                )
                .values(action_id=action_id, dag_id=wanted.dag_id, run_id=wanted.run_id, acquired=now)
            ).rowcount
            if not swapped:
                return False
            if from_owner.action_id != action_id:
                gone = f"its run ended without a report; action {action_id} took the site over"
                close_action(tx, now, from_owner.action_id, ActionState.CANCELLED, gone)
            taken = NewEvent(EventKind.SITE_TAKEN_OVER, f"site taken over from action {from_owner.action_id}")
            write_events(tx, now, wanted.site, action_id, [taken])
            _run(tx, wanted, now)
            return True

        return self._database.write(work)

    def release(self, action_id: str) -> None:
        """Free the site if this action holds it. The action's state stays: `Actions.close` is for that."""
        self._database.write(lambda tx: tx.execute(delete(site_lock).where(site_lock.c.action_id == action_id)))


def require_free(tx: Connection, site: str) -> None:
    """Make sure that no other action is open on a site."""
    held = _owner(tx, site)
    if held is not None:
        raise SiteBusy(site, held)
    is_open = tx.execute(
        select(action.c.id, action.c.dag_id, action.c.run_id, action.c.created)
        .where(action.c.site == site, action.c.state.in_(OPEN), action.c.dry_run.is_(False))
        .order_by(action.c.id)
        .limit(1)
    ).one_or_none()
    if is_open is not None:
        raise SiteBusy(site, LockOwner(is_open.id, is_open.dag_id, is_open.run_id, is_open.created, waiting=True))


def _run(tx: Connection, wanted: ActionRecord, now: datetime) -> bool:
    """Make an action running; return whether it had been closed."""
    if wanted.state.is_end and not wanted.dry_run:
        said = f"it goes on after it had ended as {wanted.state}"
        reopened = NewEvent(EventKind.ACTION_REOPENED, said, data={"state": wanted.state})
        write_events(tx, now, wanted.site, wanted.id, [reopened])
    tx.execute(
        update(action)
        .where(action.c.id == wanted.id, action.c.state != ActionState.RUNNING)
        .values(
            state=ActionState.RUNNING,
            started=func.coalesce(action.c.started, now),
            ended=None,
            idle=action.c.idle + (0.0 if wanted.ended is None else max(0.0, (now - wanted.ended).total_seconds())),
            verdict=None,
            left_alone=0,
            version=action.c.version + 1,
        )
    )
    return wanted.state.is_end


def _owner(tx: Connection, site: str) -> LockOwner | None:
    row = tx.execute(select(site_lock).where(site_lock.c.site == site)).one_or_none()
    return None if row is None else LockOwner(row.action_id, row.dag_id, row.run_id, row.acquired)
