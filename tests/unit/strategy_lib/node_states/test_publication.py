"""Rule 55 and the publish conditions: changed x time x quiet, also with constant flapping; and what differs."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import (
    Pending,
    PublishedState,
    PublishSettings,
    Version,
    changed_states,
    gone_keys,
    other_objects,
    other_values,
    publish_time,
    to_publish,
)

DEFAULTS = PublishSettings()
UP, DOWN = PublishedState(NodeAvailability.UP), PublishedState(NodeAvailability.DOWN)


@pytest.mark.parametrize(
    ("pending", "time"),
    [
        pytest.param(Pending(), None, id="nothing changed"),
        pytest.param(Pending(published=100.0), None, id="nothing changed since the last version"),
        pytest.param(Pending(None, 100.0, 100.0), 101.0, id="the first version: when it is quiet"),
        pytest.param(Pending(50.0, 100.0, 100.0), 101.0, id="one change, long after the last version: quiet decides"),
        pytest.param(Pending(99.0, 100.0, 100.0), 104.0, id="one change, soon after the last version: time decides"),
        pytest.param(Pending(50.0, 100.0, 103.0), 104.0, id="more changes: quiet after the last of them"),
        pytest.param(Pending(50.0, 100.0, 109.9), 110.0, id="constant flapping: never later than max_quiet"),
        pytest.param(Pending(50.0, 100.0, 200.0), 110.0, id="constant flapping, and nobody looked for long"),
        pytest.param(Pending(109.0, 100.0, 109.5), 114.0, id="max_quiet does not shorten the time between versions"),
    ],
)
def test_when_a_version_is_published(pending: Pending, time: float | None) -> None:
    assert publish_time(pending, DEFAULTS) == time
    if time is None:
        assert not to_publish(pending, DEFAULTS, 1e9, differs=True)
    else:
        assert to_publish(pending, DEFAULTS, time, differs=True)
        assert not to_publish(pending, DEFAULTS, time - 0.01, differs=True)


def test_what_changed_and_changed_back_is_nothing_to_publish() -> None:
    assert not to_publish(Pending(None, 100.0, 100.0), DEFAULTS, 200.0, differs=False)


def play(changes: list[float], end: float, settings: PublishSettings = DEFAULTS, step: float = 0.1) -> list[float]:
    """Return when versions are published, if somebody looks every `step`, and each change matters."""
    pending, published, todo = Pending(), [], sorted(changes)
    for tick in range(int(end / step) + 1):
        now = tick * step
        while todo and todo[0] <= now:
            pending = pending.changed(todo.pop(0))
        if to_publish(pending, settings, now, differs=True):
            published.append(now)
            pending = pending.done(now)
    return published


def test_constant_flapping_is_published_every_ten_seconds_and_not_starved() -> None:
    published = play([tick * 0.5 for tick in range(120)], 60.0)
    assert published == pytest.approx([10.0, 20.5, 31.0, 41.5, 52.0])


def test_ten_thousand_changes_in_a_minute_make_at_most_thirteen_versions() -> None:
    changes = [tick * 0.006 for tick in range(10_000)]
    assert 0 < len(play(changes, 60.0)) <= 13
    assert 0 < len(play(changes, 60.0, PublishSettings(quiet_time=0.0))) <= 13


@given(st.lists(st.floats(0, 50), max_size=30))
def test_every_change_is_published_in_time_and_versions_keep_their_distance(changes: list[float]) -> None:
    published = play(changes, 80.0)
    for change in changes:
        assert any(change - 0.01 <= time <= change + 10.2 for time in published)
    assert all(later - earlier >= 4.99 for earlier, later in itertools.pairwise(published))


def test_rule_55_versions_only_grow() -> None:
    last = Version(5, 17)
    assert last.next(5) == Version(5, 18)
    assert last.next(9) == Version(9, 18), "the number goes on over epochs"
    with pytest.raises(ValueError, match="epoch 4 is over"):
        last.next(4)
    assert last.next(9) > last.next(5) > last


@pytest.mark.parametrize(
    ("offered", "own", "accepted"),
    [
        pytest.param(Version(1, 1), None, True, id="the first"),
        pytest.param(Version(5, 18), Version(5, 17), True, id="a newer one"),
        pytest.param(Version(5, 17), Version(5, 17), False, id="the same"),
        pytest.param(Version(5, 16), Version(5, 17), False, id="an older one"),
        pytest.param(Version(6, 3), Version(5, 17), True, id="after a restore: the epoch decides"),
        pytest.param(Version(4, 99), Version(5, 17), False, id="of a leader that was replaced"),
    ],
)
def test_rule_55_a_reader_accepts_only_what_is_greater(offered: Version, own: Version | None, accepted: bool) -> None:
    assert offered.replaces(own) is accepted


def test_rule_55_states_and_their_reasons_make_a_version() -> None:
    worded = PublishedState(NodeAvailability.DOWN, "Ready")
    assert changed_states({"a": DOWN, "b": UP}, {"a": DOWN, "b": PublishedState(NodeAvailability.UP)}) == {}
    assert changed_states({"a": DOWN, "b": UP}, {"a": worded, "b": UP}) == {"a": worded}
    assert changed_states({"a": DOWN, "gone": UP}, {"a": UP, "new": worded}) == {"a": UP, "gone": None, "new": worded}


def test_what_differs_is_what_a_look_at_each_key_finds() -> None:
    chance = random.Random(12)
    for _ in range(300):
        values = [[number % 2] for number in range(4)]
        before, after = (
            {name: chance.choice(values) for name in chance.sample("abcdefgh", chance.randrange(9))} for _ in range(2)
        )
        objects = other_objects(before, after)
        assert objects == [name for name, value in after.items() if before.get(name) is not value]
        others = other_values(before, after)
        assert others == [name for name, value in after.items() if before.get(name) != value]
        for other in (objects, others):
            assert gone_keys(before, after, other) == before.keys() - after.keys()
