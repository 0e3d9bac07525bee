"""Owners: who is expected to write, and when each was seen last. Whether one is alive is asked when it is read.

And whether anybody looks at the nodes of each site: an event and a notification at each edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, and_, case, func, literal, or_, select, union_all, update

from site_store.records import OPEN, Lease, StepState
from site_store.sql.postgresql import clock, insert, json_rows
from site_store.sql.rows import filled, json_list, listed, moment
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import LedRepository
from site_store.status.outbox import write_notification
from site_store.status.owner_queries import is_site_stopped, watched, watched_from
from site_store.status.reporters import checks_in_as
from site_store.status.status_records import TOUCH, CallCount, CallKey, ExpectedWork, OwnerCheckIn
from site_store.tables import (
    action,
    action_step,
    owner,
    provisioner_call,
    provisioner_list,
    reported,
    site,
    status_count,
)
from strategy_lib.node import TaskStatus
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.status.leaf import Shown
from strategy_lib.status.site import Watched, judge_watching
from strategy_lib.status.words import Status

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""When one was last seen who never was."""
AIRFLOW = "airflow:"
_MAIN = "airflow:deploy_site"
_PROMISED = "reported"
_LEFT_TO_DO = (TaskStatus.PENDING, TaskStatus.PROCESSING)
_STEPS_LEFT = tuple(state for state in StepState if not state.is_end)


@dataclass(frozen=True, slots=True)
class OwnerChanges:
    """Owners that are found not to be there any more, and those that are there again; by name."""

    unresponsive: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


class Owners(LedRepository):
    """Owners by their names, such as `airflow:deploy_site` and `provisioner:slipway_provisioner`."""

    def check_in(
        self,
        name: str,
        interval: float,
        calls: Mapping[CallKey, CallCount] | None = None,
        *,
        alive: bool = True,
        detail: str | None = None,
        ago: float = 0.0,
        held: Lease | None = None,
    ) -> None:
        """Note that an owner is there, and what was asked of it since this process noted it last.

        Parameters
        ----------
        interval : seconds; it counts as alive for so long after its sign of life.
        calls : calls to a provisioner, by what they have in common.
        alive : False: it was asked and gave no sign of life; only calls and detail are kept.
        detail : what it said of itself, or why it could not be reached; without secrets.
        ago : seconds since it gave its sign of life. What was seen later than that is not forgotten.
        held : the lease of a controller that notes it, without which nothing is written; None: somebody else does.

        Raises
        ------
        LeaseLost : the lease is lost.
        """

        def work(tx: Connection, now: datetime) -> None:
            if alive:
                at = now - timedelta(seconds=ago)
                row = insert(owner).values(name=name, last_seen=at, interval_seconds=interval, detail=detail)
                new = row.excluded
                newest = case((new.last_seen > owner.c.last_seen, new.last_seen), else_=owner.c.last_seen)
                seen = {"last_seen": newest, "interval_seconds": new.interval_seconds, "detail": new.detail}
                tx.execute(row.on_conflict_do_update(index_elements=["name"], set_=seen))
            else:
                tx.execute(update(owner).where(owner.c.name == name).values(detail=detail))
            _count_calls(tx, name, calls or {})

        self._transact_led(held, work)

    def all(self) -> tuple[datetime, list[OwnerCheckIn], list[ExpectedWork]]:
        """Return the database's time, every owner that was ever seen or missed, by name, and what is expected of whom.

        Nodes of sites are, and what open actions have left to do. All is of one moment, by one statement.
        """
        columns = (owner.c.name, owner.c.last_seen, owner.c.interval_seconds, owner.c.detail)

        def work(tx: Connection) -> tuple[datetime, list[OwnerCheckIn], list[ExpectedWork]]:
            owners = json_rows(select(*columns, owner.c.unresponsive_since))
            work = json_rows(_expected_work())
            row = tx.execute(select(clock().label("now"), owners.label("owners"), work.label("work"))).one()
            known = [listed(OwnerCheckIn, item) for item in json_list(row.owners)]
            return moment(row.now), sorted(known, key=lambda one: one.name), _as_work(json_list(row.work))

        return self._database.read_once(work)

    def note_changes(self, held: Lease, led_since: datetime, missing: Collection[str]) -> OwnerChanges:
        """Write down who is not there any more and who is again, and tell those who want to know, in one transaction.

        One of whom nothing is expected is not missed (rule 30).

        Parameters
        ----------
        held : the lease of the controller, without which nothing is written.
        led_since : when this controller began to look, by the database's clock: what was not seen before that, while
            nobody asked, is not held against an owner.
        missing : owners that work is expected of, and that were never seen for longer than an interval.

        Raises
        ------
        LeaseLost : the lease is lost.
        """

        def work(tx: Connection, now: datetime) -> OwnerChanges:
            for name in sorted(missing):
                never_seen = insert(owner).values(name=name, last_seen=NEVER, interval_seconds=0.0)
                tx.execute(never_seen.on_conflict_do_nothing())
            expected = _as_work(tx.execute(_expected_work()))
            needed = {work.owner for work in expected}
            unresponsive, back = [], []
            for row in tx.execute(select(owner).order_by(owner.c.name)).all():
                known = filled(OwnerCheckIn, row)
                # Somebody has looked for it for a whole interval.
                looked = (now - led_since).total_seconds() > known.interval_seconds
                if known.name not in needed or known.is_alive(now):
                    if known.unresponsive_since is not None:
                        back.append(known)
                elif known.unresponsive_since is None and looked:
                    unresponsive.append(known)
            for kind, owners in (
                (NotificationKind.OWNER_UNRESPONSIVE, unresponsive),
                (NotificationKind.OWNER_BACK, back),
            ):
                for known in owners:
                    since = now if kind is NotificationKind.OWNER_UNRESPONSIVE else None
                    change = update(owner).where(owner.c.name == known.name)
                    tx.execute(change.values(unresponsive_since=since))
                    _tell(tx, now, kind, known, expected)
            return OwnerChanges(tuple(one.name for one in unresponsive), tuple(one.name for one in back))

        return self._transact_led(held, work)

    def calls(self) -> dict[tuple[str, CallKey], CallCount]:
        """Return all calls to provisioners that were counted, by owner."""
        return self._database.read(
            lambda tx: {
                (row.owner, CallKey(row.call, row.result, row.bucket)): CallCount(row.calls, row.seconds)
                for row in tx.execute(select(provisioner_call))
            }
        )


def _count_calls(tx: Connection, name: str, calls: Mapping[CallKey, CallCount]) -> None:
    # In one order for all, so that no two wait for each other.
    for key in sorted(calls):
        count = calls[key]
        row = insert(provisioner_call).values(
            owner=name, call=key.call, result=key.result, bucket=key.bucket, calls=count.calls, seconds=count.seconds
        )
        sums = {column: provisioner_call.c[column] + row.excluded[column] for column in ("calls", "seconds")}
        tx.execute(row.on_conflict_do_update(index_elements=["owner", "call", "result", "bucket"], set_=sums))


def _as_work(rows: Iterable[Sequence[Any]]) -> list[ExpectedWork]:
    """Return rows of `_expected_work` as values, each once, in their order."""
    found = {
        (checks_in_as(name, where) if kind == _PROMISED else name, where, action_id or None)
        for kind, name, where, action_id in rows
    }
    return [ExpectedWork(*one) for one in sorted(found, key=lambda one: (one[0], one[1], one[2] or ""))]


def _expected_work() -> Select[Any]:
    """Select what is expected: where that is written, owner, site, and an action or "" for the site itself."""
    scope = (status_count.c.owner, status_count.c.site, status_count.c.action_id)
    counted = (
        select(*scope)
        .where(status_count.c.group_name == "", status_count.c.phase != TOUCH, status_count.c.owner != "")
        .group_by(*scope)
        .having(func.sum(status_count.c.records) > 0)
    )
    # Of a site that is stopped nothing is expected but what its open actions have left.
    standing = counted.where(status_count.c.action_id == "", ~is_site_stopped(status_count.c.site))
    open_actions = select(action.c.id).where(action.c.state.in_(OPEN))
    doing = counted.where(status_count.c.action_id.in_(open_actions), status_count.c.status.in_(_LEFT_TO_DO))
    steps = (
        select(action_step.c.owner, action.c.site, action.c.id)
        .join(action, action.c.id == action_step.c.action_id)
        .where(action.c.state.in_(OPEN), action_step.c.owner.is_not(None), action_step.c.state.in_(_STEPS_LEFT))
        .distinct()
    )
    promised = (
        select(reported.c.owner, reported.c.site, reported.c.action_id)
        .where(
            reported.c.status != Status.UNDEFINED,
            or_(
                and_(reported.c.action_id == "", ~is_site_stopped(reported.c.site)),
                reported.c.action_id.in_(open_actions),
            ),
        )
        .distinct()
    )
    of_list = literal("provisioner:") + provisioner_list.c.connection
    read = select(of_list, provisioner_list.c.site, literal("")).where(
        provisioner_list.c.connection != "", ~is_site_stopped(provisioner_list.c.site)
    )
    # What is deployed next on any site needs it, also while no action is open.
    needed = select(literal(_MAIN), site.c.name, literal("")).where(~is_site_stopped(site.c.name))
    parts: list[tuple[str, Select[Any]]] = [("counted", standing), ("counted", doing), ("step", steps)]
    parts += [(_PROMISED, promised), ("list", read), ("site", needed)]
    rows = [select(literal(kind), *query.subquery().c) for kind, query in parts]
    return select(*union_all(*rows).subquery().c)


def _tell(
    tx: Connection, now: datetime, kind: NotificationKind, known: OwnerCheckIn, expected: Collection[ExpectedWork]
) -> None:
    """Write one notification for each site that the owner matters to, with the actions there."""
    by_site: dict[str, list[str]] = {}
    for work in expected:
        if work.owner == known.name:
            by_site.setdefault(work.site, []).extend([work.action_id] if work.action_id else [])
    for where, actions in sorted(by_site.items()):
        data: dict[str, Any] = {"owner": known.name, "actions": actions}
        if known.last_seen > NEVER:
            data["last_seen"] = known.last_seen
        if known.detail and kind is NotificationKind.OWNER_UNRESPONSIVE:
            data["detail"] = known.detail
        write_notification(tx, now, where, kind, data=data)


class Watches(LedRepository):
    """The watch over all sites."""

    def all(self) -> dict[str, Watched]:
        """Return how each site is watched, by its name."""
        return self._database.read_once(lambda tx: {name: seen for name, _, seen in _read_watched(tx)})

    def note(self, held: Lease, led_since: datetime) -> dict[str, Shown]:
        """Write down at which sites nobody looks any more, and at which somebody does again; return what is shown.

        Whom a site tells is told. What was owed before there was this controller is not missed by it: the next list
        says how long there was none (`note_gap`).

        Parameters
        ----------
        held, led_since : the lease of the controller, and when it began to look, by the database's clock.

        Raises
        ------
        LeaseLost : nothing was written.
        """

        def work(tx: Connection, now: datetime) -> dict[str, Shown]:
            found = {}
            for name, since, seen in _read_watched(tx):
                is_missed = seen.is_silent(now) and (since or now - led_since > timedelta(seconds=seen.allowed))
                if bool(is_missed) is not (since is not None):
                    found[name] = _note_watching(tx, now, name, since, seen)
            return found

        return self._transact_led(held, work)


def note_gap(tx: Connection, now: datetime, name: str) -> None:
    """Keep in the caller's transaction that nobody looked at a site until now, where nobody was there to note it."""
    seen = watched_from(tx.scalar(select(watched(literal(name)))), now)
    if seen is not None and seen.is_silent(now):
        this = (site.c.name == name, site.c.unwatched_since.is_(None))
        tx.execute(update(site).where(*this).values(unwatched_since=seen.since))


def _read_watched(tx: Connection) -> list[tuple[str, datetime | None, Watched]]:
    query = select(site.c.name, site.c.unwatched_since, watched(site.c.name), clock().label("now"))
    rows = tx.execute(query.order_by(site.c.name)).all()
    judged = [(row.name, row.unwatched_since, watched_from(row.watched, moment(row.now))) for row in rows]
    return [(name, since, seen) for name, since, seen in judged if seen is not None]


def _note_watching(tx: Connection, now: datetime, name: str, since: datetime | None, seen: Watched) -> Shown:
    shown = judge_watching(seen, now)
    kind, value = NotificationKind.SITE_UNWATCHED, seen.since if since is None else None
    if since is not None:
        kind = NotificationKind.SITE_WATCHED
        again = f"the nodes are looked at again; nobody did so since {since:%Y-%m-%d %H:%M:%S} UTC"
        shown = Shown(Status.SUCCESS, shown.message or again)
    tx.execute(update(site).where(site.c.name == name).values(unwatched_since=value))
    data = {"status": str(shown.status), "message": shown.message, "since": (since or seen.since).isoformat()}
    write_events(tx, now, name, None, [NewEvent(EventKind.WATCHING, shown.message, data=data)])
    write_notification(tx, now, name, kind, data=data)
    return shown
