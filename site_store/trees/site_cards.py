"""What pages say of a site beside its tree and its nodes: its revisions, its repair, what is published of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    literal,
    null,
    or_,
    select,
    true,
    type_coerce,
)

from site_store.designs.sites import is_known, settings_column, settings_in
from site_store.nodes.repair_switches import ALL_SITES, RepairSwitch, stopping
from site_store.nodes.site_views import SiteViewRecord
from site_store.records import Lease
from site_store.sql.database import Repository
from site_store.sql.postgresql import among_parameter, clock, json_rows
from site_store.sql.rows import columns_of, json_list, listed, moment
from site_store.status.counting import changes
from site_store.status.leases import lease_of
from site_store.tables import lease, repair_switch, revision, site_view, site_view_change
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import PublishedState, Version
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


Changes = Mapping[str, tuple[str | None, str | None, str]]
"""Node to its state before and after, and why; None where there was or is none."""
_NEWEST = ("epoch", "number", "published_at", "owner", "state", "reason", "digest")


@dataclass(frozen=True, slots=True)
class SiteVersion:
    """A version in the log of a site, when it was published, and by which controller."""

    version: Version
    published_at: datetime
    owner: str


@dataclass(frozen=True, slots=True)
class PublishedView:
    """What is shown of the published view of a site.

    Attributes
    ----------
    token : changes whenever anything of the states of its nodes may have: judged, set, published, led.
    read_at : when this was read, by the database's clock.
    newest : None before the first version.
    leader : who leads the site now; None: nobody does.
    groups_take_down : groups with too few available nodes take down the rest, by the site's settings.
    log : the versions, the newest first.
    changes : what each of them changed; without those that the caller knows.
    """

    token: str
    read_at: datetime
    newest: SiteViewRecord | None
    leader: Lease | None
    groups_take_down: bool
    log: Sequence[SiteVersion]
    changes: Mapping[Version, Changes]


class PublishedViews(Repository):
    """Published views of sites, as pages show them."""

    def get(
        self, site: str, versions: int = 0, before: Version | None = None, known: Collection[Version] = ()
    ) -> PublishedView | None:
        """Return the published view of a site, by one statement; None where the site does not exist (`Sites.exists`).

        Parameters
        ----------
        versions : so many of its log at most.
        before : only versions before this one, for the next page.
        known : what these changed is not read again: it stays as it is.
        """

        def work(tx: Connection) -> PublishedView | None:
            asked = {"site": site, "lease": lease_of(site), "most": versions}
            asked["known"] = [f"{one.epoch}.{one.number}" for one in known]
            if before is not None:
                asked |= {"before_epoch": before.epoch, "before_number": before.number}
            rows = tx.execute(_view(before is not None), asked).all()
            return _published(site, rows, moment(rows[0].now)) if rows[0].known else None

        return self._database.read_once(work)


@cache
def _view(is_next: bool) -> Select[Any]:
    """Select a row for each version of the log, or one without any, each with what is shown beside the log.

    Parameters of the statement: `site`, `lease`, `most`, `known`, and of a next page `before_epoch`, `before_number`.
    """
    newest = select(*(site_view.c[name] for name in _NEWEST)).where(site_view.c.site == _SITE)
    held = select(lease.c.owner, lease.c.epoch, lease.c.expires_at)
    log = _log(is_next).subquery()
    this = select(literal(1).label("one")).subquery()
    return (
        select(
            is_known(_SITE).label("known"),
            changes("", _SITE).label("touched"),
            json_rows(newest).label("newest"),
            json_rows(held.where(lease.c.name == bindparam("lease", type_=lease.c.name.type))).label("held"),
            settings_column(_SITE),
            clock().label("now"),
            *log.c,
        )
        .select_from(this.outerjoin(log, true()))
        .order_by(log.c.epoch.desc(), log.c.number.desc())
    )


def _log(is_next: bool) -> Select[Any]:
    log = site_view_change.c
    version = cast(log.epoch, Text) + "." + cast(log.number, Text)
    changed: ColumnElement[Any] = case((among_parameter(version, "known"), null()), else_=log.changes)
    facts = (
        log.epoch,
        log.number,
        log.published_at,
        log.owner,
        type_coerce(changed, log.changes.type).label("changes"),
    )
    query = select(*facts).where(log.site == _SITE)
    if is_next:
        epoch, number = (bindparam(f"before_{name}", type_=log[name].type) for name in ("epoch", "number"))
        query = query.where(or_(log.epoch < epoch, and_(log.epoch == epoch, log.number < number)))
    return query.order_by(log.epoch.desc(), log.number.desc()).limit(bindparam("most", type_=log.number.type))


def _published(site: str, rows: Sequence[Row[*tuple[Any, ...]]], now: datetime) -> PublishedView:
    about = rows[0]
    newest = next((_record(site, *item) for item in json_list(about.newest)), None)
    held = next((Lease(lease_of(site), owner, epoch, moment(at)) for owner, epoch, at in json_list(about.held)), None)
    leader = held if held is not None and held.expires_at > now else None
    version = "" if newest is None else f"{newest.version.epoch}.{newest.version.number}"
    leads = "" if leader is None else f"{leader.epoch} {leader.owner}"
    logged = [row for row in rows if row.epoch is not None]
    return PublishedView(
        token=f"{about.touched}|{version}|{leads}",
        read_at=now,
        newest=newest,
        leader=leader,
        groups_take_down=settings_in(about.settings).min_available_percent > 0,
        log=[SiteVersion(Version(row.epoch, row.number), row.published_at, row.owner) for row in logged],
        changes={
            Version(row.epoch, row.number): {
                name: (one[0], one[1], one[2]) for name, one in json.loads(row.changes).items()
            }
            for row in logged
            if row.changes is not None
        },
    )


def _record(
    site: str, epoch: int, number: int, published_at: Any, owner: str, state: str, reason: str, digest: str
) -> SiteViewRecord:
    whole = PublishedState(NodeAvailability(state), reason)
    return SiteViewRecord(site, Version(epoch, number), moment(published_at), owner, whole, digest)
