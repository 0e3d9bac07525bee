"""Drifted nodes that a repair has powered on: they are at work until they are as they were left (rule 56)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, select, update

from site_store.node_states.drifts import is_drifted, is_powered_on
from site_store.sql.postgresql import among, pairs
from site_store.tables import node
from strategy_lib.status.words import Status


def show_powered_on(tx: Connection, now: datetime, site: str, errors: Mapping[str, str]) -> bool:
    """Have drifted nodes at work; return False, with nothing changed, where one is not in this error any more."""
    said = pairs(errors)
    same = (node.c.site == site, is_drifted, node.c.name == said.c.key, node.c.error == said.c.value)
    locked = select(node.c.name).where(*same).order_by(node.c.name).with_for_update(of=node)
    if len(tx.scalars(locked).all()) != len(errors):
        return False
    _show(tx, now, site, errors, Status.PROCESSING, is_drifted)
    return True


def show_drifted(tx: Connection, now: datetime, site: str, names: Collection[str]) -> None:
    """Have nodes in error again that are powered on no more; whatever was written of others since wins."""
    if names:
        _show(tx, now, site, names, Status.ERROR, is_powered_on)


def _show(
    tx: Connection, now: datetime, site: str, names: Collection[str], status: Status, which: ColumnElement[bool]
) -> None:
    these = (node.c.site == site, among(node.c.name, names), which)
    tx.execute(update(node).where(*these).values(status=str(status), version=node.c.version + 1, last_updated=now))
