"""Intervals and deadlines of the wait for a provisioner task."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

from site_engine.operations.polling import PhaseTimes, intervals

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_intervals_grow_from_short_to_the_longest() -> None:
    first = list(islice(intervals(30), 40))
    assert first[0] < 1
    assert first == sorted(first)
    assert first[-1] == 30


def test_intervals_never_exceed_a_short_configured_one() -> None:
    assert set(islice(intervals(0.1), 10)) == {0.1}


def test_an_interval_of_zero_does_not_spin() -> None:
    assert all(interval > 0 for interval in islice(intervals(0), 10))


def test_rule_14_the_clock_starts_when_the_provisioner_starts() -> None:
    times = PhaseTimes(interval=1, timeout=60, queue_timeout=600)
    assert times.deadline(NOON, None) == NOON + timedelta(seconds=600)
    assert times.deadline(NOON, NOON + timedelta(seconds=300)) == NOON + timedelta(seconds=360)
