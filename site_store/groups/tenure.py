"""What must be held by who writes: the site by an action, and the group's attempt that is at work."""

from __future__ import annotations

from sqlalchemy import Connection, select

from site_store.errors import AttemptNotOpen, SiteNotHeld
from site_store.tables import group_run, site_lock
from strategy_lib.phase import GroupState


def require_site(tx: Connection, action_id: str, site: str) -> None:
    """Make sure that the action holds its site, and keep it so until the transaction ends."""
    held = select(site_lock.c.site).where(site_lock.c.site == site, site_lock.c.action_id == action_id)
    if tx.execute(held.with_for_update(read=True)).one_or_none() is None:
        raise SiteNotHeld(
            f"action {action_id} does not hold site {site!r}, so it may start nothing there: acquire the site first"
        )


def require_attempt(tx: Connection, action_id: str, group: str, attempt: int) -> None:
    """Make sure that this attempt is the one at work, and keep it so until the transaction ends."""
    is_open = select(group_run.c.name).where(
        group_run.c.action_id == action_id,
        group_run.c.name == group,
        group_run.c.attempt == attempt,
        group_run.c.state == GroupState.RUNNING,
    )
    if tx.execute(is_open.with_for_update(read=True)).one_or_none() is None:
        raise AttemptNotOpen(
            f"attempt {attempt} of group {group!r} is over or was replaced: open the group's attempt first"
        )
