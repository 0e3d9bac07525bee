"""How often a provisioner task is looked at, until when, and how seldom it is checked for death."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from typing import cast

import pytest

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import Provisioner
from site_engine.operations.wait import DeathWatch, PhaseTimes, intervals

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


START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Play:
    """A provisioner that takes a while to answer, and a clock."""

    def __init__(self, takes: float = 0.0, *, fails: bool = False) -> None:
        self.now, self.takes, self.fails = START, timedelta(seconds=takes), fails
        self.asked: list[float] = []

    def is_dead(self, task_id: str) -> bool:
        self.asked.append((self.now - START).total_seconds())
        self.now += self.takes
        if self.fails:
            raise ProvisionerUnavailable("busy")
        return task_id == "dead"

    def watch(self, first: timedelta = timedelta(0)) -> DeathWatch:
        provisioner = cast(Provisioner, SimpleNamespace(is_dead=self.is_dead))
        return DeathWatch(provisioner, lambda: self.now, START + first, MINUTE)


@pytest.mark.parametrize(
    ("first", "takes", "asked"),
    [
        pytest.param(0, 0, [0, 60, 120, 180], id="at once, then every minute"),
        pytest.param(90, 0, [90, 150, 210], id="not before its time"),
        pytest.param(0, 5, [0, 105, 210], id="an answer takes 5 s: a twentieth of the time at most"),
    ],
)
def test_it_is_asked_seldom(first: float, takes: float, asked: list[float]) -> None:
    play = Play(takes)
    watch = play.watch(timedelta(seconds=first))
    while play.now < START + timedelta(seconds=230):
        assert not watch.says_dead("alive")
        play.now += timedelta(seconds=1)
    assert play.asked == asked


def test_what_it_says_is_the_provisioners_word() -> None:
    assert Play().watch().says_dead("dead")


def test_no_answer_is_no_answer_and_is_not_asked_for_again_at_once() -> None:
    play = Play(fails=True)
    watch = play.watch()
    with pytest.raises(ProvisionerUnavailable):
        watch.says_dead("dead")
    assert not watch.says_dead("dead")
    assert len(play.asked) == 1
