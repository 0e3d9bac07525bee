"""What the metrics are made of: counts and durations of everything that is on record, in one snapshot."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Float, Row, Select, and_, case, cast, func, literal, select
from sqlalchemy.dialects.postgresql import distinct_on

from site_store.records import OPEN
from site_store.sql.database import Repository
from site_store.status.events import EventKind
from site_store.tables import action, action_step, event, group_run, operation
from strategy_lib.phase import GroupState

_GOOD_FOR = 0.001
"""Seconds; Julian days are good for some 0.1 ms."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many durations with these labels fall into one bucket of a histogram, and how many seconds they are."""

    labels: tuple[str, ...]
    bucket: int
    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """Counts by the values of their labels.

    Attributes
    ----------
    running : actions by site and kind. `ended`: by site, kind and state; dry runs are no actions here.
    groups : verdicts of groups by site, state, reason ("" for success) and whether they are critical.
    left_alone : nodes of critical groups that the newest action on the whole site, a success, neither submitted nor
        proved: by site.
    group_seconds : by site. `phase_seconds`, `queue_seconds`: by site and phase.

    What ended and was begun again is counted for each of its ends: no number but `running` and `left_alone` ever falls.
    """

    running: dict[tuple[str, str], int]
    ended: dict[tuple[str, str, str], int]
    groups: dict[tuple[str, str, str, bool], int]
    group_seconds: list[Bucket]
    phase_seconds: list[Bucket]
    queue_seconds: list[Bucket]
    left_alone: dict[str, int]


class Metrics(Repository):
    """Numbers about everything."""

    def read(self, bounds: Sequence[float]) -> MetricFacts:
        """Count what is on record. It goes through all groups and operations: ask every few seconds at most.

        Parameters
        ----------
        bounds : upper bounds of the buckets, in seconds.
        """

        def work(tx: Connection) -> MetricFacts:
            number = func.count()
            running = select(action.c.site, action.c.kind, number).where(action.c.state.in_(OPEN))
            ended = select(action.c.site, action.c.kind, action.c.state, number).where(
                action.c.state.not_in(OPEN), action.c.dry_run.is_(False)
            )
            judged = (
                select(action.c.site, group_run.c.state, func.coalesce(group_run.c.reason, ""), group_run.c.critical)
                .join(group_run, group_run.c.action_id == action.c.id)
                .where(group_run.c.state.in_((GroupState.SUCCESS, GroupState.FAILURE)), action.c.dry_run.is_(False))
            )
            counted = judged.add_columns(number).group_by(
                action.c.site, group_run.c.state, group_run.c.reason, group_run.c.critical
            )
            of_site = (action.c.site,)
            groups = _durations(of_site, group_run.c.started, group_run.c.ended, bounds).join(
                group_run, group_run.c.action_id == action.c.id
            )
            by_phase = (operation.c.site, operation.c.phase)
            phases = _durations(by_phase, operation.c.running_since, operation.c.ended, bounds)
            queues = _durations(by_phase, operation.c.submitted, operation.c.running_since, bounds)
            newest = (
                select(action.c.site, action.c.left_alone)
                .where(action.c.state.not_in(OPEN), action.c.dry_run.is_(False), action.c.targeted.is_(False))
                .ext(distinct_on(action.c.site))
                .order_by(action.c.site, action.c.id.desc())
            )
            attempts = _earlier_attempts(tx)
            judged_before = Counter(
                (one.site, one.data["state"], one.data["reason"] or "", bool(one.critical)) for one in attempts
            )
            return MetricFacts(
                running=_counts(tx, running.group_by(action.c.site, action.c.kind)),
                ended=_earlier_ends(tx) + _counts(tx, ended.group_by(action.c.site, action.c.kind, action.c.state)),
                groups=judged_before + _counts(tx, counted),
                group_seconds=_buckets(tx, groups)
                + [
                    Bucket((one.site,), bisect_left(bounds, one.data["seconds"] - _GOOD_FOR), 1, one.data["seconds"])
                    for one in attempts
                    if one.data.get("seconds") is not None
                ],
                phase_seconds=_buckets(tx, phases),
                queue_seconds=_buckets(tx, queues),
                left_alone={row.site: row.left_alone for row in tx.execute(newest)},
            )

        return self._database.read(work)


def _counts(tx: Connection, query: Select[Any]) -> Counter[Any]:
    """Return how many there are, the last column, by the columns before it."""
    return Counter({tuple(row[:-1]): row[-1] for row in tx.execute(query)})


def _earlier_attempts(tx: Connection) -> list[Row[*tuple[Any, ...]]]:
    """Return site, criticality and data of attempts of groups that had a verdict before the group began again."""
    query = (
        select(event.c.site, group_run.c.critical, event.c.data)
        .join(group_run, and_(group_run.c.action_id == event.c.action_id, group_run.c.name == event.c.group_name))
        .join(action, action.c.id == group_run.c.action_id)
        .where(group_run.c.attempt > 1, event.c.kind == EventKind.NEW_ATTEMPT, action.c.dry_run.is_(False))
    )
    # Earlier versions did not note the state.
    return [row for row in tx.execute(query) if row.data.get("state") in (GroupState.SUCCESS, GroupState.FAILURE)]


def _earlier_ends(tx: Connection) -> Counter[tuple[str, str, str]]:
    """Count by site, kind and state how actions had ended that then went on: a step of them was begun again."""
    again = select(action_step.c.action_id).where(action_step.c.attempt > 1)
    query = (
        select(event.c.site, action.c.kind, event.c.data)
        .join(action, action.c.id == event.c.action_id)
        .where(action.c.id.in_(again), event.c.kind == EventKind.ACTION_REOPENED)
    )
    return Counter((row.site, row.kind, str(row.data["state"])) for row in tx.execute(query))


def _seconds(begin: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """Return a column with the seconds from one moment to another, none of them negative."""
    return cast(func.greatest(func.extract("epoch", end - begin), 0.0), Float)


def _durations(
    labels: Sequence[ColumnElement[Any]],
    begin: ColumnElement[Any],
    end: ColumnElement[Any],
    bounds: Sequence[float],
) -> Select[Any]:
    spent = _seconds(begin, end)
    bucket = case(*((spent <= bound + _GOOD_FOR, literal(i)) for i, bound in enumerate(bounds)), else_=len(bounds))
    return (
        select(*labels, bucket.label("bucket"), func.count().label("number"), func.sum(spent).label("seconds"))
        .where(begin.is_not(None), end.is_not(None))
        .group_by(*labels, "bucket")
    )


def _buckets(tx: Connection, query: Select[Any]) -> list[Bucket]:
    return [Bucket(tuple(row[:-3]), row.bucket, row.number, float(row.seconds)) for row in tx.execute(query)]
