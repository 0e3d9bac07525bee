"""What a store that was restored from a backup has to give up: it is older than the world (rules 55 and 61).

What was done after the backup is not in it, and nobody can tell what that was. So nothing that was under way goes on,
numbers move past all that others may have seen, and what was seen is looked at anew. A clone beside its original gives
up more: what the original has sent was never its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, case, delete, func, null, select, update

from site_store.actions.abort import close_action
from site_store.nodes.unsent import move_past
from site_store.records import OPEN, ActionState
from site_store.sql import home
from site_store.sql.database import Repository
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.status_records import TOUCH
from site_store.tables import (
    action,
    lease,
    node,
    node_view,
    operation,
    process,
    provisioner_list,
    shared_list,
    site,
    status_count,
)

WHY: Final = "the store was restored from a backup, and what became of it since is not known"
CLONED: Final = "the store is a clone: what was under way is the original's"


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done.

    Attributes
    ----------
    closed : actions that were not over.
    op : the next operation has a number above this one.
    epoch : every leader from now on has one above it.
    doubted : nodes whose record of what was done is not believed any more.
    incarnation : part of every reference from now on; another one than before for a clone.
    """

    closed: Sequence[str]
    op: int
    epoch: int
    doubted: int
    incarnation: str


class Restoring(Repository):
    """A store after a restore."""

    def settle(self, least_op: int = 0, *, doubt: bool = False, clone: bool = False) -> Restored:
        """Bring a restored store in line with a world that went on without it; nothing else may use it meanwhile.

        It is one transaction, and may be done again. It is no copy any more: where it is now, there it lives.

        Parameters
        ----------
        least_op : the number of an operation that somebody still knows; the next one is above it in any case where
            less than a thousand operations were begun in each second.
        doubt : what is recorded as done is not believed: actions have worked on nodes since the backup.
        clone : the original goes on beside it: this one has an incarnation of its own from now on, and looks for
            nothing that the original has sent.
        """
        why = CLONED if clone else WHY

        def work(tx: Connection) -> Restored:
            now = self._shared_now(tx)
            op = move_past(tx, max(least_op, home.newer_op(tx), int(now.timestamp() * 1000)))
            epoch = _end_leases(tx, now)
            incarnation = home.settle(tx, new_incarnation=clone)
            closed = _close_actions(tx, now, why)
            if clone:
                _leave_to_the_original(tx, now)
            _forget_what_was_seen(tx)
            doubted = _doubt(tx, why) if doubt else 0
            # A reader's token of the time after the backup must not fit other content.
            more = status_count.c.records + int(now.timestamp())
            tx.execute(update(status_count).where(status_count.c.phase == TOUCH).values(records=more))
            noted = NewEvent(EventKind.RESTORED, f"{why}; {len(closed)} actions closed")
            for name in tx.scalars(select(site.c.name).order_by(site.c.name)).all():
                write_events(tx, now, name, None, [noted])
            return Restored(closed, op, epoch, doubted, incarnation)

        return self._database.write(work)


def _end_leases(tx: Connection, now: datetime) -> int:
    """End every lease, with an epoch above those that were given until now. Return the highest of these epochs."""
    least = int(now.timestamp()) + 1
    epoch = case((lease.c.epoch >= least, lease.c.epoch + 1), else_=least)
    tx.execute(update(lease).values(epoch=epoch, expires_at=now))
    return tx.scalar(select(func.max(lease.c.epoch))) or least


def _close_actions(tx: Connection, now: datetime, why: str) -> list[str]:
    """Close what was not over. All that it had written down may have been sent since: it is looked for before more is.

    An operation that was never sent, by the backup, would else hold nothing at the provisioner.
    """
    opened = select(action.c.id).where(action.c.state.in_(OPEN))
    never_seen_over = (operation.c.action_id.in_(opened), operation.c.over.is_(None), operation.c.sending.is_(None))
    tx.execute(update(operation).where(*never_seen_over).values(sending=now))
    tx.execute(update(operation).where(operation.c.over.is_(None)).values(lease_owner=None, lease_until=None))
    found = list(tx.scalars(opened.order_by(action.c.id)))
    for action_id in found:
        close_action(tx, now, action_id, ActionState.CANCELLED, why, "slipway store restored")
    return found


def _leave_to_the_original(tx: Connection, now: datetime) -> None:
    """Look for nothing that was sent before: another store waits for it, and a look may give up what has not begun."""
    tx.execute(update(operation).where(operation.c.over.is_(None)).values(over=now))


def _forget_what_was_seen(tx: Connection) -> None:
    """Forget lists of nodes and what was concluded from them: a change since the backup is no crash.

    And the processes of the time of the backup: those that run here note themselves again within half a minute.
    """
    tx.execute(delete(process))
    tx.execute(delete(provisioner_list))
    tx.execute(delete(shared_list))
    tx.execute(delete(node_view))
    seen = (node.c.provisioner_status, node.c.power, node.c.listed_at, node.c.condition, node.c.left_as)
    tx.execute(update(node).values(dict.fromkeys((column.name for column in seen), null())))


def _doubt(tx: Connection, why: str) -> int:
    done = (node.c.done_digest.is_not(None), node.c.doubt.is_(None))
    return tx.execute(update(node).where(*done).values(doubt=why)).rowcount
