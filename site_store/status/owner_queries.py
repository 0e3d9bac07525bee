"""What views read of owners: all of them, those that are gone, who works on nodes that name nobody, who is at work."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Exists, Select, exists, func, literal, null, select, union_all

from site_store.records import OPEN
from site_store.sql.home import held_word
from site_store.sql.postgresql import clock, json_rows
from site_store.sql.rows import json_list, listed, moment, moment_or_none
from site_store.status.leases import CONTROLLER, DESIGN, RIGHTS, lease_of
from site_store.status.status_records import OwnerCheckIn
from site_store.tables import action, check_result, lease, operation, owner, provisioner_list, revision, site_stop
from strategy_lib.status.site import Watched


def owners_now(site: ColumnElement[str]) -> list[ColumnElement[Any]]:
    """Return columns with all owners, and the time by the database's clock. The controller is one by its lease.

    `hold`: why nothing is sent now for a site, in a word (`site_store.sql.home.why_held`).
    """
    query = select(owner.c.name, owner.c.last_seen, owner.c.interval_seconds, owner.c.detail)
    held = func.extract("epoch", lease.c.expires_at - lease.c.renewed)
    leader = select(lease.c.name, lease.c.renewed, held, null()).where(lease.c.name == CONTROLLER)
    known = json_rows(select(*union_all(query, leader).subquery().c))
    return [known.label("owners"), clock().label("now"), held_word(site).label("hold")]


def owners_of_site(value: Any, seen: Watched | None) -> dict[str, OwnerCheckIn]:
    """Return the owners by whom nodes of a site are judged; of a site that is stopped nobody is missed."""
    return {} if seen is not None and seen.stopped else owners_by_name(value)


def default_owner(site: Any) -> Select[Any]:
    """Select who is expected to work on nodes of a site that name nobody: by the newest connection of an action."""
    return (
        select(literal("provisioner:") + action.c.connection)
        .where(action.c.site == site, action.c.connection.is_not(None))
        .order_by(action.c.id.desc())
        .limit(1)
    )


def watched(site: ColumnElement[str]) -> ColumnElement[Any]:
    """Return a column for `watched_from`, of a site: a column of another table, or a parameter."""
    kept = provisioner_list
    # Each stands directly in the query that has the site: deeper down it would be asked of all sites.
    facts = [
        select(revision.c.created).where(revision.c.site == site).order_by(revision.c.number).limit(1),
        *(select(kept.c[name]).where(kept.c.site == site) for name in ("read_at", "every_seconds", "connection")),
        default_owner(site),
        select(lease.c.expires_at).where(lease.c.name == CONTROLLER),
        select(lease.c.expires_at).where(lease.c.name == literal(lease_of("")) + site),
        *(select(site_stop.c[name]).where(site_stop.c.site == site) for name in ("why", "at", "resumed")),
        select(check_result.c.problem).where(check_result.c.subject == RIGHTS),
        select(check_result.c.problem).where(check_result.c.subject == literal(DESIGN) + site),
    ]
    return func.json_build_array(*(one.scalar_subquery() for one in facts)).label("watched")


def watched_from(found: Any, now: datetime) -> Watched | None:
    """Return how a site is watched, None where nothing was committed for it."""
    committed, answered, every, connection, expected, until, led_until, why, stops, resumed, *said = json_list(found)
    if committed is None:
        return None
    provisioner = f"provisioner:{connection}" if connection else expected or ""
    is_led, leads = (one is not None and moment(one) > now for one in (until, led_until))
    stopped = why if stops is not None and moment(stops) <= now else ""
    times = moment(committed), moment_or_none(answered)
    problems = "; ".join(filter(None, said))
    return Watched(*times, every, provisioner, is_led, leads, moment_or_none(resumed), stopped, problems)


def is_site_stopped(site: ColumnElement[str]) -> Exists:
    """Whether nobody watches a site."""
    return exists().where(site_stop.c.site == site, site_stop.c.at <= clock())


def gone_owners() -> Select[Any]:
    """Select the names of owners that have not checked in within their interval."""
    over = owner.c.last_seen + func.make_interval(0, 0, 0, 0, 0, 0, owner.c.interval_seconds) < clock()
    return select(owner.c.name).where(over)


def owners_by_name(value: Any) -> dict[str, OwnerCheckIn]:
    """Return all owners that ever checked in."""
    return {one.name: one for one in (listed(OwnerCheckIn, item) for item in json_list(value))}


def is_leased(site: ColumnElement[str]) -> Exists:
    """Whether a task at work on a site holds a lease; operations that are not over have an index of their own."""
    return exists().where(operation.c.site == site, operation.c.over.is_(None), operation.c.lease_until > clock())


def dag_at_work(site: ColumnElement[str]) -> ColumnElement[str]:
    """Select the DAG of the run that is at work on a site."""
    this = (action.c.site == site, action.c.dry_run.is_(False), action.c.state.in_(OPEN), action.c.run_id.is_not(None))
    return select(action.c.dag_id).where(*this).order_by(action.c.id).limit(1).scalar_subquery()


def change_token(changes: Any, owners: Mapping[str, OwnerCheckIn], now: datetime, hold: str | None) -> str:
    """Put changes, the owners that are there and a hold into one word: an owner that dies changes no row."""
    present = sum(1 << place for place, name in enumerate(sorted(owners)) if owners[name].is_alive(now))
    return f"{int(changes)}-{len(owners)}-{present:x}" + ("" if hold is None else f"-{hold}")


def site_token(
    changes: Any, owners: Mapping[str, OwnerCheckIn], seen: Watched | None, now: datetime, hold: str | None
) -> str:
    """Return the change token of a site: nobody writes down that it is looked at no more."""
    return change_token(changes, owners, now, hold) + ("" if seen is None else seen.mark(now))
