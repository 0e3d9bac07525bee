"""Reporters: programs of others that may add leaves of their own to the tree of one site; and what they reported."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, func, or_, select, update
from ulid import ULID

from site_store.records import OPEN
from site_store.sql.database import Repository
from site_store.sql.errors import NotFound, StoreError, VersionChanged, no_action
from site_store.sql.postgresql import among, insert, one_at_a_time
from site_store.sql.rows import filled, require_names, require_text
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.status_records import ReportedLeaf, ReporterRecord
from site_store.tables import action, owner, reported, reporter
from strategy_lib.status.words import Status

OWNER = "reporter:"
"""Begins the name of every reporter as an owner, so that none speaks for another kind of owner."""
MOST_LEAVES = 10_000
"""A reporter has at most this many leaves in one site or action."""
SHORTEST_PAUSE = timedelta(seconds=1)
"""Between two requests of a reporter."""
NOT_STARTED = "it was declared, and has not reported yet"
"""The message of the leaf that stands for a reporter until its first word."""
_TIME_TO_START = 120.0
"""Seconds in which a reporter may begin to report, from when it was made."""
_TOKEN_BYTES = 32
_MOST_NAMED = 10
_MOST_KEPT = 1000


class ReporterRefused(StoreError):
    """The token opens nothing (any more), or another site: have a reporter made for this site."""


class TooManyReports(StoreError):
    """A reporter has written too much or too often: nothing was written.

    Attributes
    ----------
    retry_after : seconds to wait; None where waiting does not help.
    """

    def __init__(self, message: str, retry_after: int | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[TooManyReports], tuple[str, int | None]]:
        """Pickle by its two facts, so that the error survives the way between processes."""
        return (type(self), (str(self), self.retry_after))


def checks_in_as(reporter_owner: str, site: str) -> str:
    """Return the name under which a reporter of a site is listed as an owner: one of its name may be at another."""
    name = reporter_owner if reporter_owner.startswith(OWNER) else f"{OWNER}{reporter_owner}"
    return f"{name}@{site}"


class NewReporter(NamedTuple):
    """A reporter that was just made, and its token, which is shown this once."""

    record: ReporterRecord
    token: str


class NewLeaf(NamedTuple):
    """A leaf as its reporter writes it, below the entry at the path `parent`; `status` is one of the seven words."""

    parent: str
    name: str
    status: str
    message: str | None = None
    revision: int | None = None


def digest_of_token(token: str) -> str:
    """Return what is stored of a token. It is random and long, so that no slower digest is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


class Reporters(Repository):
    """Reporters of sites, and the leaves that they have written."""

    def create(self, site: str, name: str, user: str, version: int | None = None) -> NewReporter:
        """Make a reporter, and its token, of which only a digest is stored.

        Until its first word it has a leaf below the site, under its own name, so that it is missed.

        Parameters
        ----------
        name : whom it speaks for, without the `reporter:` before it.
        user : who makes it.
        version : the one that the list of the site's reporters is to have, where the caller has seen it.

        Raises
        ------
        ValueRefused : the name cannot be stored.
        VersionChanged : the list has another version by now; nothing was made.
        """
        require_names("the reporter", [name])
        token = secrets.token_urlsafe(_TOKEN_BYTES)

        def work(tx: Connection) -> ReporterRecord:
            _require_version(tx, site, version)
            now = self._shared_now(tx)
            row = insert(reporter).values(
                id=str(ULID.from_datetime(now)),
                site=site,
                owner=f"{OWNER}{name}",
                token_hash=digest_of_token(token),
                created=now,
                created_by=user,
            )
            made = filled(ReporterRecord, tx.execute(row.returning(reporter)).one())
            _expect(tx, made)
            return made

        return NewReporter(self._database.write(work), token)

    def of_site(self, site: str) -> list[ReporterRecord]:
        """Return the reporters of a site, revoked ones too, oldest first."""
        query = select(reporter).where(reporter.c.site == site).order_by(reporter.c.id)
        return self._database.read(lambda tx: [filled(ReporterRecord, row) for row in tx.execute(query)])

    def version(self, site: str) -> int:
        """Return the version of the list of a site's reporters: it grows with each that is made, or revoked."""
        return self._database.read(lambda tx: _version(tx, site))

    def revoke(self, site: str, reporter_id: str, version: int | None = None) -> ReporterRecord:
        """Have a reporter's token open nothing any more. Again changes nothing.

        Where no other token speaks for the same owner, nobody could mend or take away what it reported: that ends, and
        an event of the site says what it was. Below actions that are over it stays, as history.

        Raises `NotFound`: the site has no reporter of this id; `VersionChanged`: see `create`.
        """
        this = (reporter.c.site == site, reporter.c.id == reporter_id)

        def work(tx: Connection) -> ReporterRecord:
            _require_version(tx, site, version)
            tx.execute(update(reporter).where(*this, reporter.c.revoked.is_(None)).values(revoked=self._shared_now(tx)))
            row = tx.execute(select(reporter).where(*this)).one_or_none()
            if row is None:
                raise NotFound(f"site {site} has no reporter {reporter_id!r}")
            others = select(reporter.c.id).where(
                reporter.c.site == site, reporter.c.owner == row.owner, reporter.c.revoked.is_(None)
            )
            if tx.execute(others.limit(1)).first() is None:
                _expect_no_more(tx, site, row.owner)
                _end_leaves(tx, self._shared_now(tx), site, row.owner)
            return filled(ReporterRecord, row)

        return self._database.write(work)

    def of_token(self, token: str) -> ReporterRecord | None:
        """Return the reporter that a token opens, None where it opens nothing (any more)."""
        query = select(reporter).where(reporter.c.token_hash == digest_of_token(token), reporter.c.revoked.is_(None))
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else filled(ReporterRecord, row)

    def admit(self, token: str, site: str) -> ReporterRecord:
        """Let a reporter in who wants to write: at most once a second, whatever comes of it.

        Raises
        ------
        ReporterRefused : the token opens nothing (any more), or another site.
        TooManyReports : it was let in less than a second ago.
        """

        def work(tx: Connection, now: datetime) -> ReporterRecord:
            known = _opened(tx, token, site)
            if known.last_used is not None and now - known.last_used < SHORTEST_PAUSE:
                raise TooManyReports("a reporter writes at most once a second: send more leaves at once", 1)
            tx.execute(update(reporter).where(reporter.c.id == known.id).values(last_used=now))
            return filled(ReporterRecord, known)

        return self._transact(work)

    def foreign(self, site: str, action_id: str, name: str, places: Collection[tuple[str, str]]) -> ReportedLeaf | None:
        """Return a leaf that stands at one of these places, path and name, and is not of this owner; None: none."""
        query = select(reported).where(
            reported.c.site == site, reported.c.action_id == action_id, reported.c.owner != name
        )

        def work(tx: Connection) -> ReportedLeaf | None:
            there = tx.execute(query.where(among(reported.c.parent, {parent for parent, _ in places})))
            return next((filled(ReportedLeaf, row) for row in there if (row.parent, row.name) in places), None)

        return self._database.read(work)

    def report(
        self,
        token: str,
        site: str,
        leaves: Sequence[NewLeaf],
        action_id: str = "",
        *,
        interval: float,
        gone: Sequence[tuple[str, str]] = (),
    ) -> ReporterRecord:
        """Write leaves of a reporter; it checks in by that. All of them, or none.

        Parameters
        ----------
        token : what proves who it is; asked in the same transaction, so that a revoked one writes nothing.
        site : the site that it says it is for.
        action_id : the action under which they stand; "" for the standing view of the site.
        interval : seconds; it counts as alive for so long from now on.
        gone : path and name of leaves of its own that are not there any more.

        Raises
        ------
        ReporterRefused : the token opens nothing (any more), or another site.
        TooManyReports : it has too many leaves.
        NotFound : there is no such action, or it is another site's.
        ValueRefused : a text cannot be stored.
        """
        require_names("the leaf", [leaf.name for leaf in leaves])
        for leaf in leaves:
            require_text("the path", leaf.parent)
            require_text("the message", leaf.message or "")

        def work(tx: Connection, now: datetime) -> ReporterRecord:
            known = _opened(tx, token, site)
            of_action = select(action.c.site).where(action.c.id == action_id)
            if action_id and (found := tx.scalar(of_action)) != site:
                if found is None:
                    raise no_action(action_id)
                raise ReporterRefused(f"action {action_id} is not one of site {site}")
            # One reporter may have several tokens.
            one_at_a_time(tx, f"leaves of {known.owner} in {site}")
            mine = (reported.c.site == site, reported.c.action_id == action_id, reported.c.owner == known.owner)
            _expect_no_more(tx, site, known.owner)
            for parent, name in gone:
                tx.execute(delete(reported).where(*mine, reported.c.parent == parent, reported.c.name == name))
            key = ["site", "action_id", "parent", "name", "owner"]
            for leaf in leaves:
                row = insert(reported).values(
                    site=site,
                    action_id=action_id,
                    owner=known.owner,
                    first_updated=now,
                    last_updated=now,
                    **leaf._asdict(),
                )
                changes = {column: row.excluded[column] for column in ("status", "message", "revision", "last_updated")}
                tx.execute(row.on_conflict_do_update(index_elements=key, set_=changes))
            if (tx.scalar(select(func.count()).select_from(reported).where(*mine)) or 0) > MOST_LEAVES:
                raise TooManyReports(f"a reporter has at most {MOST_LEAVES} leaves here: take some away", None)
            tx.execute(update(reporter).where(reporter.c.id == known.id).values(last_used=now))
            seen = insert(owner).values(
                name=checks_in_as(known.owner, site), last_seen=now, interval_seconds=interval, detail=None
            )
            facts = {column: seen.excluded[column] for column in ("last_seen", "interval_seconds", "detail")}
            tx.execute(seen.on_conflict_do_update(index_elements=["name"], set_=facts))
            return filled(ReporterRecord, known)

        return self._transact(work)

    def reported(self, site: str, action_id: str = "", limit: int = MOST_LEAVES) -> list[ReportedLeaf]:
        """Return what reporters wrote below an action, or ("") below the standing view of the site, by path."""
        query = (
            select(reported)
            .where(reported.c.site == site, reported.c.action_id == action_id)
            .order_by(reported.c.parent, reported.c.name, reported.c.owner)
            .limit(limit)
        )
        return self._database.read(lambda tx: [filled(ReportedLeaf, row) for row in tx.execute(query)])


def _expect(tx: Connection, made: ReporterRecord) -> None:
    """Have a reporter that has never reported be missed from now on."""
    name = checks_in_as(made.owner, made.site)
    seen = insert(owner).values(name=name, last_seen=made.created, interval_seconds=_TIME_TO_START, detail=NOT_STARTED)
    if tx.execute(seen.on_conflict_do_nothing().returning(owner.c.name)).first() is None:
        return
    leaf = NewLeaf("", made.owner, Status.PENDING.value, NOT_STARTED)._asdict()
    times = {"first_updated": made.created, "last_updated": made.created}
    tx.execute(insert(reported).values(site=made.site, action_id="", owner=made.owner, **times, **leaf))


def _expect_no_more(tx: Connection, site: str, name: str) -> None:
    """Take away the leaf that stands for a reporter until its first word."""
    this = (reported.c.site == site, reported.c.action_id == "", reported.c.owner == name)
    tx.execute(delete(reported).where(*this, reported.c.name == name, reported.c.message == NOT_STARTED))


def _end_leaves(tx: Connection, now: datetime, site: str, name: str) -> None:
    """Take away what nobody speaks for any more, and say so."""
    open_actions = select(action.c.id).where(action.c.site == site, action.c.state.in_(OPEN))
    shown = or_(reported.c.action_id == "", reported.c.action_id.in_(open_actions))
    ended = delete(reported).where(reported.c.site == site, reported.c.owner == name, shown)
    facts = [reported.c[column] for column in ("action_id", "parent", "name", "status", "message")]
    leaves = sorted((dict(row._mapping) for row in tx.execute(ended.returning(*facts))), key=lambda one: one["name"])
    tx.execute(delete(owner).where(owner.c.name == checks_in_as(name, site)))
    if not leaves:
        return
    named = ", ".join(f"{one['name']} ({one['status']})" for one in leaves[:_MOST_NAMED])
    more = f" and {len(leaves) - _MOST_NAMED} more" if len(leaves) > _MOST_NAMED else ""
    message = f"{name} was revoked, and what it reported ends with it: {named}{more}"
    data = {"owner": name, "leaves": leaves[:_MOST_KEPT]}
    write_events(tx, now, site, None, [NewEvent(EventKind.REPORTER, message, data=data)])


def _version(tx: Connection, site: str) -> int:
    """Return 1 and one more for each reporter that was made or revoked: none is ever taken away."""
    query = select(1 + func.count() + func.count(reporter.c.revoked)).where(reporter.c.site == site)
    return int(tx.execute(query).scalar_one())


def _require_version(tx: Connection, site: str, version: int | None) -> None:
    """Have one change a site's reporters at a time, and this one only if they have this version."""
    one_at_a_time(tx, f"reporters of {site}")
    if version is None:
        return
    known = _version(tx, site)
    if known != version:
        raise VersionChanged(f"the list of reporters of site {site}", version, known)


def _opened(tx: Connection, token: str, site: str) -> Row[*tuple[Any, ...]]:
    """Return and lock the reporter of a token. Raises `ReporterRefused`: it opens nothing, or another site."""
    found = select(reporter).where(reporter.c.token_hash == digest_of_token(token)).with_for_update()
    known = tx.execute(found).one_or_none()
    if known is None or known.revoked is not None or known.site != site:
        raise ReporterRefused(f"this token is none of a reporter of site {site}")
    return known
