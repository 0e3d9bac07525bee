"""What the leader of a site knows of its nodes, and the versions that it publishes of them.

Every write here requires the leader's lease in the same transaction (rule 55): one who was replaced writes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, delete, func, or_, select

from site_store.nodes.node_memory_rows import read_memory, write_memory
from site_store.nodes.user_states import write_by_controller
from site_store.records import Lease
from site_store.sql.postgresql import among, clock, insert, names_table
from site_store.sql.rows import filled, moment
from site_store.status.counting import changes, touch_site
from site_store.status.events import EventKind, NewEvent, write_events, write_node_events
from site_store.status.leases import LedRepository
from site_store.tables import (
    node,
    node_view,
    operation,
    provisioner_list,
    revision,
    site_view,
    site_view_change,
    user_state,
)
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeMemory
from strategy_lib.node_states.publication import NOTHING_PUBLISHED, PublishedState, Version
from strategy_lib.node_states.user_state import UserState


@dataclass(frozen=True, slots=True)
class Pulse:
    """What tells whether anything of a site is new.

    Attributes
    ----------
    now : the database's time.
    revision : the site's newest one, 0 before the first.
    listed_at : when its provisioner's list was asked for last, None where it never was.
    users : how many user states there are, and when the last one was set.
    op : its newest operation.
    provisioner : the connection whose list that was, None where none was read.
    listed : the digest of that list, None where it is not known.
    changes : how often anything of its nodes was written; it only grows.
    """

    now: datetime
    revision: int
    listed_at: datetime | None
    users: tuple[int, datetime | None]
    op: int
    provisioner: str | None
    listed: str | None = None
    changes: int = 0


@cache
def _query() -> Select[Any]:
    site = names_table("sites").c.value
    newest = select(func.coalesce(func.max(revision.c.number), 0)).where(revision.c.site == site).scalar_subquery()
    mine = user_state.c.site == site
    users = select(func.count()).where(mine).scalar_subquery()
    last = select(func.max(user_state.c.set_at)).where(mine).scalar_subquery()
    op = select(func.coalesce(func.max(operation.c.op), 0)).where(operation.c.site == site).scalar_subquery()
    kept = provisioner_list.c
    listed = (kept.read_at.label("listed_at"), kept.connection.label("provisioner"), kept.digest.label("listed"))
    return (
        select(
            site.label("name"),
            clock().label("now"),
            newest.label("revision"),
            users.label("users"),
            last.label("last"),
            op.label("op"),
            changes("", site).label("changes"),
            *listed,
        )
        .select_from(site.table)
        .outerjoin(provisioner_list, provisioner_list.c.site == site)
    )


def read_pulses(tx: Connection, sites: Collection[str]) -> dict[str, Pulse]:
    """Return the pulses of sites in one statement."""
    return {
        row.name: filled(Pulse, row, now=moment(row.now), users=(row.users, row.last), changes=int(row.changes))
        for row in tx.execute(_query(), {"sites": list(sites)})
    }


_A = NodeAvailability


@dataclass(frozen=True, slots=True)
class SiteViewRecord:
    """The newest version of a site's node states, without its body."""

    site: str
    version: Version
    published_at: datetime
    owner: str
    state: PublishedState
    digest: str


@dataclass(frozen=True, slots=True)
class ViewChange:
    """What one version changed: node to its state before and after, and why; None where there was or is none."""

    version: Version
    published_at: datetime
    owner: str
    changes: Mapping[str, tuple[str | None, str | None, str]]


def read_version(tx: Connection, site: str, *, lock: bool = False) -> Version:
    """Return the newest version of a site in the caller's transaction, `NOTHING_PUBLISHED` before the first.

    Parameters
    ----------
    lock : nobody publishes a newer one until the transaction ends.
    """
    query = select(site_view.c.epoch, site_view.c.number).where(site_view.c.site == site)
    row = tx.execute(query.with_for_update(read=True) if lock else query).one_or_none()
    return NOTHING_PUBLISHED if row is None else Version(row.epoch, row.number)


class SiteViews(LedRepository):
    """Published versions of sites."""

    def pulses(self, sites: Collection[str]) -> dict[str, Pulse]:
        """Return what tells a leader whether anything of its sites is new, in one statement for all of them."""
        return self._database.read_once(lambda tx: read_pulses(tx, sites)) if sites else {}

    def pulse(self, site: str) -> Pulse:
        """Return the same of one site."""
        return self.pulses([site])[site]

    def memory(self, site: str, nodes: Collection[str] | None = None) -> dict[str, NodeMemory]:
        """Return what the last leader knew of each node of a site, or of these."""
        return self._database.read(lambda tx: read_memory(tx, site, nodes))

    def remember(
        self,
        held: Lease,
        site: str,
        memory: Mapping[str, NodeMemory],
        gone: Collection[str] = (),
        taken_down: Mapping[str, UserState] | None = None,
        events: Collection[NewEvent] = (),
        users_seen: datetime | None = None,
    ) -> None:
        """Keep what the leader knows of these nodes, and forget those that are gone.

        Parameters
        ----------
        held : the leader's lease.
        taken_down : nodes whose user state the controller sets; what a person has set meanwhile stays.
        users_seen : when the newest user state was set that it knows of: what was set later, it was decided without.
        events : for the history.

        Raises
        ------
        LeaseLost : another process may lead by now; nothing is written.
        """

        def work(tx: Connection, now: datetime) -> None:
            write_memory(tx, site, memory)
            if gone:
                tx.execute(delete(node_view).where(node_view.c.site == site, among(node_view.c.node, gone)))
            if taken_down:
                write_by_controller(tx, site, taken_down, users_seen, self._shared_now)
            write_events(tx, now, site, None, events)
            touch_site(tx, site)

        if memory or gone or taken_down or events:
            self._transact_led(held, work)

    def published(self, site: str) -> SiteViewRecord | None:
        """Return the newest version of a site, None before the first."""
        columns = [column for column in site_view.c if column.name != "body"]
        query = select(*columns).where(site_view.c.site == site)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else _record(row)

    def version(self, site: str) -> Version:
        """Return the newest version of a site, `NOTHING_PUBLISHED` before the first."""
        return self._database.read(lambda tx: read_version(tx, site))

    def body(self, site: str) -> tuple[Version, str] | None:
        """Return the newest version of a site with its bytes, which are the same for all who read it."""
        query = select(site_view.c.epoch, site_view.c.number, site_view.c.body).where(site_view.c.site == site)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else (Version(row.epoch, row.number), row.body)

    def versions(self) -> dict[str, Version]:
        """Return the newest version of every site that has one."""
        query = select(site_view.c.site, site_view.c.epoch, site_view.c.number)
        return self._database.read(lambda tx: {row.site: Version(row.epoch, row.number) for row in tx.execute(query)})

    def publish(
        self,
        held: Lease,
        site: str,
        body: Mapping[str, Any] | str,
        state: PublishedState,
        changes: Mapping[str, tuple[str | None, str | None, str]],
    ) -> SiteViewRecord:
        """Publish a version: stored first, then told.

        Parameters
        ----------
        body : all that readers get, always in the same order, or that as the text of a JSON object; without `epoch`,
            `version`, `published` and `digest`, which are added.
        state : of the site as a whole.
        changes : node to its state in the version before, its new one, and why; None where it had or has none. All are
            named of which the version says something else: also another reason, or another capacity.

        Raises
        ------
        LeaseLost : another process may lead by now; nothing is published.
        """

        # All that takes long is done before the transaction, in which the lease is locked.
        rest = body if isinstance(body, str) else json.dumps(dict(body), separators=(",", ":"))
        digest = hashlib.sha256(rest.encode()).hexdigest()
        log = json.dumps({name: list(change) for name, change in changes.items()}, separators=(",", ":"))

        def work(tx: Connection, now: datetime) -> SiteViewRecord:
            version = read_version(tx, site).next(held.epoch)
            head = {"epoch": version.epoch, "version": version.number, "published": now.isoformat(), "digest": digest}
            text = json.dumps(head, separators=(",", ":"))[:-1] + ("," if len(rest) > len("{}") else "") + rest[1:]
            facts = {"epoch": version.epoch, "number": version.number, "published_at": now, "owner": held.owner}
            whole = {"state": str(state.state), "reason": state.reason, "digest": digest, "body": text}
            new = insert(site_view).values(site=site, **facts, **whole)
            replaced = {name: new.excluded[name] for name in (*facts, *whole)}
            tx.execute(new.on_conflict_do_update(index_elements=["site"], set_=replaced))
            tx.execute(insert(site_view_change).values(site=site, **facts, changes=log))
            alike: defaultdict[tuple[str | None, str | None, str], list[str]] = defaultdict(list)
            for name, change in sorted(changes.items()):
                # That it stays so for another reason is nothing new in its history.
                if change[0] != change[1]:
                    alike[change].append(name)
            for (before, after, why), names in alike.items():
                message = f"{before or 'new'} -> {after or 'gone'}" + (f": {why}" if why else "")
                data = {"before": before, "after": after, "epoch": version.epoch, "version": version.number}
                write_node_events(tx, now, site, names, NewEvent(EventKind.NODE_STATE, message, data=data))
            return SiteViewRecord(site, version, now, held.owner, state, digest)

        return self._transact_led(held, work)

    def changes(self, site: str, since: Version | None = None, limit: int = 100) -> list[ViewChange]:
        """Return the log of a site's versions after `since`, the newest first."""
        query = select(site_view_change).where(site_view_change.c.site == site)
        if since is not None:
            newer = and_(site_view_change.c.epoch == since.epoch, site_view_change.c.number > since.number)
            query = query.where(or_(site_view_change.c.epoch > since.epoch, newer))
        query = query.order_by(site_view_change.c.epoch.desc(), site_view_change.c.number.desc()).limit(limit)
        return self._database.read(
            lambda tx: [
                ViewChange(
                    Version(row.epoch, row.number),
                    row.published_at,
                    row.owner,
                    {name: (change[0], change[1], change[2]) for name, change in json.loads(row.changes).items()},
                )
                for row in tx.execute(query)
            ]
        )

    def prune(self, held: Lease, site: str, before: datetime) -> int:
        """Forget the log of versions that are older; return how many. Raises `LeaseLost`."""

        def work(tx: Connection, _now: datetime) -> int:
            old = (site_view_change.c.site == site, site_view_change.c.published_at < before)
            return tx.execute(delete(site_view_change).where(*old)).rowcount

        return self._transact_led(held, work)

    def began_since(self, site: str, op: int) -> tuple[int, frozenset[str]]:
        """Return the newest operation of a site after this one, and the nodes that those since then are about."""
        query = select(operation.c.op, operation.c.nodes).where(operation.c.site == site, operation.c.op > op)

        def work(tx: Connection) -> tuple[int, frozenset[str]]:
            rows = tx.execute(query.order_by(operation.c.op)).all()
            return max((row.op for row in rows), default=op), frozenset(name for row in rows for name in row.nodes)

        return self._database.read(work)

    def nodes(self, site: str) -> frozenset[str]:
        """Return the nodes that a site is about: those that are wanted, or done and not removed yet."""
        there = or_(node.c.wanted_digest.is_not(None), node.c.done_digest.is_not(None))

        def work(tx: Connection) -> frozenset[str]:
            # As one value: a hundred thousand rows take far longer.
            query = select(func.json_agg(node.c.name)).where(node.c.site == site, there)
            return frozenset(tx.scalar(query) or ())

        return self._database.read(work)


def _record(row: Row[*tuple[Any, ...]]) -> SiteViewRecord:
    state = PublishedState(_A(row.state), row.reason)
    return SiteViewRecord(row.site, Version(row.epoch, row.number), row.published_at, row.owner, state, row.digest)
