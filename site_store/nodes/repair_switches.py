"""The switches that stop all repair: one of each site, and one of all sites, also of those that come later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, select
from ulid import ULID

from site_store.sql.database import Repository
from site_store.sql.errors import VersionChanged
from site_store.sql.postgresql import insert, one_at_a_time
from site_store.status.counting import touch_site
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.tables import repair_switch, site_audit
from site_store.tables import site as site_table

ALL_SITES: Final = ""
"""Stands for all sites in the place of a site's name, which no site can have."""
STOP_REPAIR, START_REPAIR = "stop repair", "start repair"
"""What audits call the uses of a switch."""


@dataclass(frozen=True, slots=True)
class RepairSwitch:
    """Since when repair is stopped, by whom and why; `all_sites`: not on one site alone."""

    at: datetime
    by: str
    reason: str
    all_sites: bool = False


class RepairSwitches(Repository):
    """Who has stopped repair where. `site` is a site's name or `ALL_SITES`."""

    def all(self) -> dict[str, RepairSwitch]:
        """Return the switches that stop something, by site, and by `ALL_SITES`."""
        query = select(repair_switch).order_by(repair_switch.c.site)

        def work(tx: Connection) -> dict[str, RepairSwitch]:
            return {row.site: switch_of(row) for row in tx.execute(query)}

        return self._database.read(work)

    def of_site(self, site: str) -> RepairSwitch | None:
        """Return since when repair of a site is stopped; None: it is not. The switch of all sites comes first."""
        return stopping(self.all(), site)

    def version(self, site: str) -> int:
        """Return the version of a switch: it grows each time that somebody uses it."""
        return self._database.read(lambda tx: _version(tx, site))

    def stop(self, site: str, user: str, reason: str, version: int | None = None) -> None:
        """Stop all repair: none begins from now on. Stopping again changes nothing but the audit.

        Parameters
        ----------
        version : the one that the switch is to have, where the caller has seen it.

        Raises
        ------
        VersionChanged : it has another by now; nothing was changed.
        """

        def work(tx: Connection) -> None:
            _require_version(tx, site, version)
            now = self._shared_now(tx)
            row = insert(repair_switch).values(site=site, stopped_at=now, stopped_by=user, reason=reason)
            tx.execute(row.on_conflict_do_nothing())
            _audit(tx, now, site, STOP_REPAIR, user, reason)

        self._database.write(work)

    def resume(self, site: str, user: str, reason: str, version: int | None = None) -> None:
        """Let repair go on. Where a site and all sites are stopped, both have to go on. Raises `VersionChanged`."""

        def work(tx: Connection) -> None:
            _require_version(tx, site, version)
            now = self._shared_now(tx)
            tx.execute(delete(repair_switch).where(repair_switch.c.site == site))
            _audit(tx, now, site, START_REPAIR, user, reason)

        self._database.write(work)


def switch_of(row: Row[*tuple[Any, ...]]) -> RepairSwitch:
    """Return the switch that a row of `repair_switch` is."""
    return RepairSwitch(row.stopped_at, row.stopped_by, row.reason, row.site == ALL_SITES)


def stopping(switches: Mapping[str, RepairSwitch], site: str) -> RepairSwitch | None:
    """Return which of these switches stops the repair of a site; None: none does."""
    return switches.get(ALL_SITES) or switches.get(site)


def is_stopped(tx: Connection, site: str) -> bool:
    """Tell in the caller's transaction whether repair of a site is stopped."""
    query = select(repair_switch.c.site).where(repair_switch.c.site.in_((site, ALL_SITES)))
    return tx.execute(query).first() is not None


def _version(tx: Connection, site: str) -> int:
    """Return 1 and one more for each use of the switch: audits are kept."""
    uses = (site_audit.c.site == site, site_audit.c.command.in_((STOP_REPAIR, START_REPAIR)))
    return int(tx.execute(select(1 + func.count()).where(*uses)).scalar_one())


def _require_version(tx: Connection, site: str, version: int | None) -> None:
    """Have one use the switch at a time, and this one only if it has this version."""
    one_at_a_time(tx, f"repair switch of {site}")
    known = version if version is None else _version(tx, site)
    if version is not None and known != version:
        raise VersionChanged(words_for(site), version, known or 0)


def words_for(site: str) -> str:
    """Return what an error calls a switch."""
    return "the repair of all sites" if site == ALL_SITES else f"the repair of site {site}"


def _audit(tx: Connection, now: datetime, site: str, command: str, user: str, reason: str) -> None:
    """Keep who used a switch, tell it as an event of each site that it is about, and have their pages show it."""
    everywhere = "for all sites" if site == ALL_SITES else ""
    detail = ": ".join(part for part in (everywhere, reason) if part)
    facts = {"id": str(ULID.from_datetime(now)), "site": site, "command": command, "nodes": [], "at": now}
    tx.execute(insert(site_audit).values(**facts, detail=detail or None, created_by=user))
    where = f" {everywhere}" if everywhere else ""
    why = f": {reason}" if reason else ""
    told = tx.scalars(select(site_table.c.name).order_by(site_table.c.name)) if everywhere else (site,)
    for name in list(told):
        touch_site(tx, name)
        write_events(tx, now, name, None, [NewEvent(EventKind.REPAIR, f"{command}{where} by {user}{why}")])
