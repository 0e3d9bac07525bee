"""Who may work on a site: one action at a time, and what becomes of one that stops (rule 24)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, func, select, update

from site_store.abort import interrupt_groups, interrupt_work
from site_store.actions import OPEN, read_action, write_audit
from site_store.dialects import insert
from site_store.errors import SiteBusy, StoreUnavailable
from site_store.events import EventKind, NewEvent, write_events
from site_store.part import StorePart
from site_store.records import ActionRecord, ActionState, LockOwner
from site_store.tables import action, site_lock

CLOSE = "close"
"""The command of who ends an action without having been asked, in the action's audits."""


class SiteLocks(StorePart):
    """The lock of each site. An action is `running` exactly while it holds its site."""

    def acquire_site(self, action_id: str) -> None:
        """Take the action's site for it and make the action running; again for the same action changes nothing.

        An action that was closed runs again by this, as rule 23 needs it.

        Raises
        ------
        SiteBusy
            Another action holds the site; the error names it.
        ActionNotFound
            No action has this id.
        """
        self.reopen_action(action_id)

    def reopen_action(self, action_id: str) -> bool:
        """Do the same as `acquire_site`, and return whether the action had been closed.

        Raises
        ------
        SiteBusy
            Another action holds the site; the error names it.
        ActionNotFound
            No action has this id.
        """

        def work(tx: Connection) -> bool:
            wanted = read_action(tx, action_id)
            now = self._shared_now(tx)
            lock = (
                insert(tx, site_lock)
                .values(site=wanted.site, action_id=action_id, dag_id=wanted.dag_id, run_id=wanted.run_id, acquired=now)
                .on_conflict_do_nothing()
                .returning(site_lock.c.site)
            )
            owner = None
            # Once is enough but for an owner that leaves between the two statements.
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

    def site_owner(self, site: str) -> LockOwner | None:
        """Return who holds a site, None when it is free."""
        return self._database.read(lambda tx: _owner(tx, site))

    def take_over_site(self, action_id: str, from_owner: LockOwner) -> bool:
        """Take the site from an owner that was found to be gone, and close that owner's action as cancelled (rule 24).

        Returns
        -------
        bool
            False when the site is no longer held by exactly this owner, and then nothing has changed.

        Raises
        ------
        ActionNotFound
            There is no action of this id.
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
                close(tx, now, from_owner.action_id, ActionState.CANCELLED, gone)
            taken = NewEvent(EventKind.SITE_TAKEN_OVER, f"site taken over from action {from_owner.action_id}")
            write_events(tx, now, wanted.site, action_id, [taken])
            _run(tx, wanted, now)
            return True

        return self._database.write(work)

    def release_site(self, action_id: str) -> None:
        """Free the site if this action holds it. The action's state stays: `close_action` is for that."""
        self._database.write(lambda tx: tx.execute(delete(site_lock).where(site_lock.c.action_id == action_id)))

    def close_action(self, action_id: str, state: ActionState, verdict: str, by: str | None = None) -> bool:
        """End an action and free its site, leaving nothing that looks as if it were still going on (rule 24).

        Its nodes still being processed become `unknown`, its provisioner tasks under way are abandoned (they stay in
        `unfinished_operations` until they are seen to be over), and a group without a verdict is `interrupted`.

        Parameters
        ----------
        action_id
            The action.
        state
            `SUCCESS`, `FAILED` or `CANCELLED`. `CANCELLED` never replaces an end that the action already has.
        verdict
            The same in a sentence.
        by
            Who ends it without having been asked; kept among the commands to the action, as `CLOSE`.

        Returns
        -------
        bool
            Whether the action is now in this state.

        Raises
        ------
        ActionNotFound
            No action has this id.
        ValueError
            The state is not an end.
        """
        if not state.is_end:
            raise ValueError(f"{state} is not an end of an action")
        return self._database.write(lambda tx: close(tx, self._now(), action_id, state, verdict, by))


def close(
    tx: Connection, now: datetime, action_id: str, state: ActionState, verdict: str, by: str | None = None
) -> bool:
    """Carry out `SiteLocks.close_action` in the caller's transaction."""
    closing = read_action(tx, action_id)
    # First of all: from here on the action can begin nothing, and what it began is visible to what follows.
    tx.execute(delete(site_lock).where(site_lock.c.action_id == action_id))
    allowed = OPEN if state is ActionState.CANCELLED else tuple(ActionState)
    decided = tx.execute(
        update(action)
        .where(action.c.id == action_id, action.c.state.in_(allowed))
        .values(state=state, verdict=verdict, ended=now, paused=None)
    ).rowcount
    interrupt_work(tx, now, action_id)
    interrupt_groups(tx, now, action_id)
    if decided:
        ended = NewEvent(EventKind.ACTION_CLOSED, f"action {state}: {verdict}")
        write_events(tx, now, closing.site, action_id, [ended])
    if decided and by is not None:
        write_audit(tx, now, action_id, CLOSE, by)
    return bool(decided) or closing.state is state


def _run(tx: Connection, wanted: ActionRecord, now: datetime) -> bool:
    """Make an action running; return whether it had been closed."""
    tx.execute(
        update(action)
        .where(action.c.id == wanted.id, action.c.state != ActionState.RUNNING)
        .values(state=ActionState.RUNNING, started=func.coalesce(action.c.started, now), ended=None, verdict=None)
    )
    return wanted.state.is_end


def _owner(tx: Connection, site: str) -> LockOwner | None:
    row = tx.execute(select(site_lock).where(site_lock.c.site == site)).one_or_none()
    return None if row is None else LockOwner(row.action_id, row.dag_id, row.run_id, row.acquired)
