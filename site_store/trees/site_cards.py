"""What the page of a site says of it beside its tree and its nodes: its revisions, and how it is repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select

from site_store.designs.sites import settings_column, settings_in
from site_store.nodes.repair_switches import ALL_SITES, RepairSwitch, stopping
from site_store.sql.database import Repository
from site_store.sql.postgresql import json_rows
from site_store.sql.rows import columns_of, json_list, listed, moment
from site_store.tables import repair_switch, revision
from strategy_lib.parsing.site_settings import SiteSettings

_SITE = bindparam("site", type_=revision.c.site.type)
_LIMIT = bindparam("most", type_=revision.c.number.type)
_SWITCH = ("site", "stopped_at", "stopped_by", "reason")


@dataclass(frozen=True, slots=True)
class ListedRevision:
    """A revision as a list names it."""

    number: int
    created_at: datetime
    created_by: str
    forced: bool
    rollback_of: int | None


@dataclass(frozen=True, slots=True)
class SiteCard:
    """The settings of a site, the switch that stops its repair (None: none does), and a page of its revisions."""

    settings: SiteSettings
    switch: RepairSwitch | None
    revisions: Sequence[ListedRevision]


class SiteCards(Repository):
    """Cards of sites."""

    def get(self, site: str, limit: int, before: int | None = None) -> SiteCard:
        """Return the card of a site, by one statement; also of one that nothing is known of.

        Parameters
        ----------
        limit : how many revisions at most, the newest first.
        before : only those with a smaller number, for the next page.
        """
        given = {"site": site, "most": limit} | ({} if before is None else {"before": before})

        def work(tx: Connection) -> SiteCard:
            row = tx.execute(_card(before is not None), given).one()
            switches = {
                name: RepairSwitch(moment(at), by, reason, name == ALL_SITES)
                for name, at, by, reason in json_list(row.switches)
            }
            revisions = [listed(ListedRevision, item) for item in json_list(row.revisions)]
            return SiteCard(
                settings_in(row.settings),
                stopping(switches, site),
                sorted(revisions, key=lambda one: -one.number),
            )

        return self._database.read_once(work)


@cache
def _card(is_next: bool) -> Select[Any]:
    """Select what a card is made of; parameters: `site`, `most`, and `before` where a page follows another."""
    page = select(*columns_of(ListedRevision, revision, {"created_at": "created"})).where(revision.c.site == _SITE)
    if is_next:
        page = page.where(revision.c.number < bindparam("before", type_=revision.c.number.type))
    newest = page.order_by(revision.c.number.desc()).limit(_LIMIT).subquery()
    switches = select(*(repair_switch.c[name] for name in _SWITCH)).where(repair_switch.c.site.in_((_SITE, ALL_SITES)))
    card: list[ColumnElement[Any]] = [
        json_rows(select(*newest.c)).label("revisions"),
        json_rows(switches).label("switches"),
        settings_column(_SITE),
    ]
    return select(*card)
