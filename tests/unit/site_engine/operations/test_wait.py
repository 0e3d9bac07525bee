"""Waiting for a provisioner task: how often it is looked at, what a look shows, and when the looking ends."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock, patch

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import Provisioner
from site_engine.errors import TaskStopped
from site_engine.operations.judging import DeathWatch
from site_engine.operations.wait import EndKind, PhaseTimes, StillRunning, TaskWatch, intervals
from site_engine.process import Stopping
from site_store import OperationStatus, SiteStore, StoreUnavailable
from strategy_lib.phase import Phase
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.unit.site_engine.records import operation

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_intervals_grow_from_short_to_the_longest() -> None:
    first = list(islice(intervals(30), 60))
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

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
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


TIMES = PhaseTimes(interval=5.0, timeout=100.0, queue_timeout=1000.0)
OUTAGE = ProvisionerUnavailable("no answer")
NO_MORE: Mapping[str, bool] = {}


class Scene:
    """A provisioner task of node a that takes 10 s, unless a test says otherwise, and what is noted in the store."""

    def __init__(self, *, behind_another: bool = False) -> None:
        self.clock = FakeClock()
        self.start = self.clock.now()
        self.fake = FakeProvisioner(self.clock, seconds=10.0)
        self.noted: list[datetime] = []
        self.at_work: list[set[str]] = []
        self.busy = 0
        self.unsettled = frozenset({"a"})
        self.newer: int | None = None
        if behind_another:
            self.fake.script("z", "prepare", "stuck")
            self.fake.submit(Phase.PREPARE, DesignSource(""), ["z"], "slipway-01J-6")
        self.task_id = self.fake.submit(Phase.PREPARE, DesignSource(""), ["a"], "slipway-01J-7")

    def running(self, op: int, ago: timedelta) -> None:
        """Note it, as the store does."""
        if self.busy:
            self.busy -= 1
            raise StoreUnavailable("busy")
        self.noted.append(self.clock.now() - ago)

    def watch(self, give_up: float | None = None, how: Mapping[str, bool] = NO_MORE, **given: Any) -> TaskWatch:
        """Return a watch of the task."""
        until = None if give_up is None else self.start + timedelta(seconds=give_up)
        watched = operation(provisioner_task=self.task_id, submitted=self.start, **given)
        tasks = SimpleNamespace(
            found_before=lambda _: {}, as_wanted_before=lambda _: frozenset(), unsettled=lambda _: self.unsettled
        )
        operations = SimpleNamespace(
            mark_running=self.running,
            overtaken_by=lambda _: self.newer,
            note_at_work=lambda _, nodes: self.at_work.append(set(nodes)),
        )
        home, texts = SimpleNamespace(require_own=None), SimpleNamespace(token_of=str)
        store = cast(SiteStore, SimpleNamespace(operations=operations, tasks=tasks, home=home, secret_texts=texts))
        log = logging.getLogger("test")
        return TaskWatch(store, self.fake, self.clock, log, watched, TIMES, until, **how)

    def wait(self, patience: float = 1e6, **given: Any) -> EndKind | StillRunning:
        """Wait for the task."""
        return self.watch(**given).wait(patience, Stopping())

    @property
    def seconds(self) -> float:
        """How long it has taken by now."""
        return (self.clock.now() - self.start).total_seconds()


def test_a_task_is_waited_for_to_its_end() -> None:
    scene = Scene()
    assert scene.wait() is EndKind.COMPLETE
    assert scene.seconds < 20


def test_rule_14_a_task_times_out_after_it_has_run_not_queued_for_its_time() -> None:
    scene = Scene(behind_another=True)
    scene.clock.after(500.0, scene.fake.release_stuck)
    scene.fake.script("a", "prepare", "stuck")
    scene.clock.after(500.0, lambda: scene.fake.script("a", "prepare", "stuck"))
    assert scene.wait() is EndKind.TIMED_OUT
    assert 600 <= scene.seconds < 620
    (noted,) = scene.noted
    assert 500 <= (noted - scene.start).total_seconds() < 510


def test_rule_14_a_task_that_never_starts_has_the_queues_time() -> None:
    scene = Scene(behind_another=True)
    assert scene.wait() is EndKind.TIMED_OUT
    assert 1000 <= scene.seconds < 1010
    assert scene.noted == []


def test_what_holds_other_nodes_is_given_up_at_a_moment() -> None:
    scene = Scene()
    scene.fake.script("a", "prepare", "stuck")
    assert scene.wait(give_up=30.0) is EndKind.TIMED_OUT
    assert 30 <= scene.seconds < 40


def test_an_outage_ends_nothing_but_the_time_does() -> None:
    scene = Scene()
    scene.fake.fault("task", OUTAGE, 5)
    assert scene.wait() is EndKind.COMPLETE
    lost = Scene()
    lost.fake.fault("task", OUTAGE, 10_000)
    assert lost.wait(running_since=lost.start) is EndKind.TIMED_OUT
    assert 100 <= lost.seconds < 110


def test_a_task_that_the_provisioner_does_not_know_is_gone() -> None:
    scene = Scene()
    scene.fake.forget(scene.task_id)
    scene.fake.set_status("a", "New")
    watch = scene.watch()
    assert watch.look() is EndKind.GONE
    end = watch.end(EndKind.GONE)
    assert (end.task, end.evidence.over, end.status, end.result) == (None, True, OperationStatus.COMPLETE, "gone")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        pytest.param({}, 300, id="one's own: after five minutes"),
        pytest.param({"give_up": 1000.0}, 0, id="another's, which holds nodes: at once"),
    ],
)
def test_rule_13_a_dead_task_is_seen_in_time(given: dict[str, Any], seconds: float) -> None:
    scene = Scene()
    scene.fake.script("a", "prepare", "stuck")
    # Its own time is long.
    scene.fake.orphan()
    scene.fake.submit(Phase.VERIFY_SITE, DesignSource(""), None, "slipway-02X-1")
    watch = scene.watch(**given)
    watch.times = PhaseTimes(5.0, 3600.0, 3600.0)
    scene.fake.set_status("a", "New")
    assert watch.wait(1e6, Stopping()) is EndKind.DEAD
    assert seconds <= scene.seconds < seconds + 10
    end = watch.end(EndKind.DEAD)
    assert (end.evidence.over, end.status) == (True, OperationStatus.COMPLETE), "it says nothing more"


def test_rule_13_a_dead_task_of_ones_own_is_seen_as_soon_as_a_newer_one_runs() -> None:
    scene = Scene()
    scene.fake.script("a", "prepare", "stuck")
    scene.fake.orphan()

    def newer_runs() -> None:
        scene.fake.submit(Phase.VERIFY_SITE, DesignSource(""), None, "slipway-02X-1")
        # It was killed before it did anything: its machine is not at work.
        scene.fake.set_status("a", "New")
        scene.newer = 8

    scene.clock.after(60, newer_runs)
    watch = scene.watch()
    watch.times = PhaseTimes(5.0, 3600.0, 3600.0)
    assert watch.wait(1e6, Stopping()) is EndKind.DEAD
    assert 60 <= scene.seconds < 70


def test_rule_13_a_list_that_could_not_be_read_is_read_again_at_the_next_look_where_a_newer_task_runs() -> None:
    scene = Scene()
    scene.fake.script("a", "prepare", "stuck")
    scene.fake.orphan()
    scene.fake.submit(Phase.VERIFY_SITE, DesignSource(""), None, "slipway-02X-1")
    scene.fake.set_status("a", "New")
    scene.fake.fault("is_dead", OUTAGE, 3)
    scene.newer = 8
    watch = scene.watch()
    watch.times = PhaseTimes(5.0, 3600.0, 3600.0)
    assert watch.wait(1e6, Stopping()) is EndKind.DEAD
    assert scene.seconds < 30


def test_a_newer_task_costs_one_question_whether_an_older_one_is_dead() -> None:
    scene = Scene()
    scene.fake.script("a", "prepare", "stuck")
    scene.newer = 8
    asked: list[float] = []
    is_dead = scene.fake.is_dead

    def counted(task_id: str, *, age: float = 0.0) -> bool:
        asked.append(age)
        return is_dead(task_id, age=age)

    scene.fake.is_dead = counted  # type: ignore[method-assign]
    watch = scene.watch()
    watch.times = PhaseTimes(5.0, 200.0, 200.0)
    assert watch.wait(1e6, Stopping()) is EndKind.TIMED_OUT
    assert asked == [0.0], "by a list that is asked for since"


def test_a_store_that_is_busy_is_told_later_since_when_the_task_runs() -> None:
    scene = Scene()
    scene.busy = 2
    assert scene.wait() is EndKind.COMPLETE
    assert scene.noted == [scene.start]


def test_a_long_wait_is_left_to_somebody_else() -> None:
    scene = Scene()
    still = scene.wait(patience=3.0)
    assert still == StillRunning(7, scene.task_id, TIMES)
    assert scene.seconds < 5


def test_a_task_that_is_told_to_stop_waits_no_longer() -> None:
    scene, stopping = Scene(), Stopping()
    scene.clock.after(2.0, lambda: setattr(stopping, "told", True))
    with pytest.raises(TaskStopped):
        scene.watch().wait(1e6, stopping)
    assert scene.seconds < 5


@pytest.mark.parametrize(
    ("failures", "read"), [pytest.param(4, True, id="four times"), pytest.param(5, False, id="five times")]
)
def test_rule_13_a_result_that_cannot_be_read_is_asked_for_again(failures: int, read: bool) -> None:
    scene = Scene()
    watch = scene.watch()
    scene.fake.fault("evidence", OUTAGE, failures)
    if read:
        assert watch.wait(1e6, Stopping()) is EndKind.COMPLETE
        assert watch.end(EndKind.COMPLETE).evidence.reported_success == {"a"}
    else:
        with pytest.raises(ProvisionerUnavailable, match="could not be read in full"):
            watch.wait(1e6, Stopping())


# The list of nodes shows a machine at work though its task is over (rule 14).


def at_work(status: str = "Commissioning") -> Scene:
    """Return a task that reports its node as prepared, which the list shows in another status."""
    scene = Scene()
    scene.clock.sleep(10.0)
    scene.fake.set_status("a", status)
    return scene


def test_rule_14_a_node_that_the_list_shows_at_work_is_looked_at_again_until_it_settles() -> None:
    scene = at_work()
    scene.clock.after(40.0, lambda: scene.fake.set_status("a", "Ready"))
    watch = scene.watch()
    assert watch.wait(1e6, Stopping()) is EndKind.COMPLETE
    assert 50 <= scene.seconds < 56
    end = watch.end(EndKind.COMPLETE)
    assert (end.status, dict(end.evidence.status_names)) == (OperationStatus.COMPLETE, {"a": "Ready"})


def test_rule_14_a_node_that_is_at_work_until_the_timeout_leaves_its_operation_unfinished() -> None:
    scene = at_work()
    watch = scene.watch(running_since=scene.start)
    assert watch.wait(1e6, Stopping()) is EndKind.AT_WORK
    assert 100 <= scene.seconds < 106, "the clock of the provisioner task goes on"
    end = watch.end(EndKind.AT_WORK)
    assert (end.status, end.result, end.evidence.over) == (OperationStatus.TIMED_OUT, "at_work", True)
    assert scene.at_work == [{"a"}], "it is noted once"


def test_what_was_noted_at_work_is_not_noted_again() -> None:
    scene = at_work()
    assert scene.watch(at_work=frozenset({"a"})).look() is None
    assert not scene.at_work


def test_rule_14_what_was_settled_before_is_not_waited_for() -> None:
    scene = at_work()
    scene.unsettled = frozenset()
    assert scene.watch().look() is EndKind.COMPLETE


def test_a_list_that_shows_the_end_is_read_once() -> None:
    scene = Scene()
    read = Mock(side_effect=scene.fake.evidence)
    with patch.object(scene.fake, "evidence", read):
        watch = scene.watch()
        watch.end(watch.wait(1e6, Stopping()))  # type: ignore[arg-type]
    assert read.call_count == 1


def test_who_watches_for_the_end_of_the_task_alone_reads_no_list_until_told_of_nodes_at_work() -> None:
    scene = at_work()
    scene.fake.fault("evidence", OUTAGE, 10_000)
    assert scene.watch(how={"by_triggerer": True}).look() is EndKind.COMPLETE
    seen = frozenset({"n1"})
    settling = scene.watch(how={"by_triggerer": True}, running_since=scene.start, at_work=seen)
    assert settling.wait(1e6, Stopping()) is EndKind.TIMED_OUT, "an outage ends nothing"


def test_a_long_wait_for_nodes_at_work_is_left_to_somebody_else_who_looks_at_them() -> None:
    scene = at_work()
    assert scene.wait(patience=3.0) == StillRunning(7, scene.task_id, TIMES, settling=True)
