"""Rule 50: what is a crash, what is remembered of transitions and of initializing; the story of a node over time."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.node_states.generated import REPORTED, USER, NodeAvailability
from strategy_lib.node_states.node_memory import (
    NodeHistory,
    Observation,
    StateSettings,
    clear_when_stable,
    next_change,
    observe,
    operation_started,
    set_up,
    take_down,
    view_of,
)
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.user_state import UserState

STATES = {state.value: state for state in NodeAvailability}
Look = tuple[float, str]


def look(text: str) -> Observation:
    """Read "down", "down operating" or "down ordered"."""
    word, *marks = text.split()
    return Observation(STATES[word], operating="operating" in marks, ordered="ordered" in marks)


def after(*looks: Look, start: NodeHistory | None = None) -> NodeHistory:
    return reduce(lambda history, seen: observe(history, look(seen[1]), seen[0]), looks, start or NodeHistory())


@pytest.mark.parametrize(
    ("looks", "crashes"),
    [
        pytest.param([(0, "down")], 0, id="the first sight has no history"),
        pytest.param([(0, "down"), (10, "up")], 0, id="to come up is no crash"),
        pytest.param([(0, "up"), (10, "down")], 1, id="up to down"),
        pytest.param([(0, "up"), (10, "stopping")], 1, id="up to a stop that nobody ordered"),
        pytest.param([(0, "up"), (10, "initializing")], 1, id="up to initializing"),
        pytest.param([(0, "up"), (10, "stopping"), (20, "down")], 1, id="one way down counts once"),
        pytest.param([(0, "up"), (7199, "down")], 1, id="just within the stable time"),
        pytest.param([(0, "up"), (7200, "down")], 0, id="after the stable time"),
        pytest.param([(0, "up"), (10, "stopping ordered")], 0, id="an ordered stop, or one in maintenance"),
        pytest.param([(0, "up"), (10, "down ordered")], 0, id="down while the user set it to maintenance or down"),
        pytest.param([(0, "initializing"), (10, "down")], 0, id="initializing to down of a node that never was up"),
        pytest.param(
            [(0, "up"), (10, "initializing"), (20, "down")], 2, id="initializing to down of a node that had been up"
        ),
        pytest.param(
            [(0, "down"), (10, "initializing operating"), (20, "down"), (30, "initializing operating"), (40, "up")],
            0,
            id="commissioning, Ready, deploying is a normal deployment",
        ),
        pytest.param(
            [(0, "up"), (10, "stopping operating"), (20, "down"), (30, "initializing"), (40, "down")],
            0,
            id="nothing is a crash from the start of an operation to the next up",
        ),
        pytest.param(
            [(0, "up"), (10, "stopping operating"), (20, "up"), (30, "down")],
            1,
            id="after the next up crashes count again",
        ),
        pytest.param([(t, "up" if t % 20 == 0 else "down") for t in range(0, 100, 10)], 5, id="flapping five times"),
    ],
)
def test_rule_50_what_is_a_crash(looks: list[Look], crashes: int) -> None:
    assert after(*looks).crashes == crashes


def test_rule_50_our_own_operation_excuses_before_the_provisioner_shows_it() -> None:
    history = operation_started(after((0, "up")))
    assert after((10, "down"), start=history).crashes == 0


@pytest.mark.parametrize("state", ["up", "down"])
def test_crashes_are_cleared_after_steady_up_or_down(state: str) -> None:
    other = "down" if state == "up" else "up"
    history = after((0, other), (10, state), (20, other), (30, state))
    assert history.crashes
    assert clear_when_stable(history, 30 + 7199).crashes
    assert clear_when_stable(history, 30 + 7200).crashes == 0
    assert observe(history, look(state), 30 + 7200).crashes == 0


def test_crashes_are_not_cleared_while_a_node_initializes() -> None:
    history = after((0, "up"), (10, "initializing"))
    assert clear_when_stable(history, 10_000).crashes == 1


def test_a_person_who_sets_a_node_up_forgives_its_crashes() -> None:
    history = after((0, "up"), (10, "initializing"), (20, "down"))
    assert (history.crashes, history.crashed_in_init) == (2, True)
    assert (set_up(history).crashes, set_up(history).crashed_in_init) == (0, False)


def test_the_transition_starts_when_the_node_was_first_seen_not_up() -> None:
    assert after((0, "down")).transition_started is None
    assert after((0, "up")).transition_started is None
    assert after((0, "up"), (10, "stopping"), (20, "down"), (30, "initializing")).transition_started == 10
    assert after((0, "up"), (10, "down"), (20, "up")).transition_started is None


def test_what_is_known_of_initializing_ends_with_up() -> None:
    history = after((0, "up"), (10, "initializing"), (20, "down"), (30, "initializing"))
    assert (history.crashed_in_init, history.init_progressed) == (True, 30)
    history = after((40, "up"), start=history)
    assert (history.crashed_in_init, history.init_progressed, history.been_up) == (False, None, True)


def test_a_crash_while_a_node_initializes_for_the_first_time_is_remembered_and_not_counted() -> None:
    history = after((0, "initializing"), (10, "down"), (20, "initializing"))
    assert (history.crashed_in_init, history.crashes) == (True, 0)


def test_progress_with_initializing() -> None:
    def seen(progress: str | None) -> Observation:
        return Observation(NodeAvailability.INITIALIZING, progress=progress)

    history = observe(NodeHistory(), seen("10 %"), 0)
    history = observe(history, seen("10 %"), 10)
    assert history.init_progressed == 0
    history = observe(history, seen("20 %"), 20)
    assert (history.init_progressed, history.since) == (20, 0)


UP, DOWN = NodeAvailability.UP, NodeAvailability.DOWN
MAINTENANCE, RETIRED = NodeAvailability.MAINTENANCE, NodeAvailability.RETIRED
NOBODY = UserState()
SHORT = StateSettings(transition_time=3.0, stable_time=20.0, max_crashes=1, init_timeout=4.0)


def test_a_node_that_is_powered_off_is_in_maintenance_and_then_down_by_the_clock() -> None:
    history = observe(observe(NodeHistory(), Observation(UP), 0), Observation(DOWN), 100)
    assert view_of(history, NOBODY, 129).state is MAINTENANCE
    assert next_change(history, NOBODY, 100) == 130
    assert view_of(history, NOBODY, 130) == PublishedState(DOWN, "not back within the grace period")


def test_a_node_that_was_never_up_is_down_with_the_provisioner_s_word() -> None:
    history = observe(NodeHistory(), Observation(DOWN), 0)
    assert view_of(history, NOBODY, 0, word="New") == PublishedState(DOWN, "not up since it is watched: New")
    by_itself = PublishedState(DOWN, "not up since it is watched: New; the node says: it shuts down")
    assert view_of(history, NOBODY, 0, said="it shuts down", word="New") == by_itself
    assert view_of(history, UserState(RETIRED, "old"), 0, word="New").reason == "not up since it is watched: New"
    assert view_of(history, UserState(DOWN, "sold"), 0, word="New") == PublishedState(DOWN, "sold")


def test_a_node_that_was_never_seen_is_down() -> None:
    assert view_of(NodeHistory(), NOBODY, 0) == PublishedState(DOWN, "not seen yet")
    assert view_of(NodeHistory(), UserState(MAINTENANCE), 0).state is MAINTENANCE
    assert view_of(NodeHistory(), UserState(RETIRED), 0).state is DOWN


def test_flapping_five_times_takes_a_node_down_until_a_person_sets_it_up() -> None:
    history, user = NodeHistory(), NOBODY
    taken = []
    for tick in range(11):
        history = observe(history, Observation(UP if tick % 2 == 0 else DOWN), tick * 10.0)
        if (down := take_down(history, user)) is not None:
            taken.append(tick)
            user = down
    assert taken == [9], "at the fifth stop, once"
    assert user == UserState(DOWN, "crashed 5 times, at most 4 are accepted")
    assert view_of(history, user, 100.0) == PublishedState(DOWN, "crashed 5 times, at most 4 are accepted")
    history = set_up(history)
    assert take_down(history, NOBODY) is None
    assert view_of(history, NOBODY, 100.0) == PublishedState(UP)


def test_a_node_in_maintenance_is_not_taken_down() -> None:
    assert take_down(NodeHistory(UP, crashes=5), UserState(MAINTENANCE)) is None
    assert take_down(NodeHistory(UP, crashes=5), UserState(RETIRED)) is not None


def test_a_user_state_that_ends_by_itself_is_a_change_by_the_clock() -> None:
    user = UserState(MAINTENANCE, "new disk", until=50.0)
    history = observe(NodeHistory(), Observation(UP), 0)
    assert (view_of(history, user, 49.0).state, view_of(history, user, 50.0).state) == (MAINTENANCE, UP)
    assert next_change(history, user, 0.0) == 50.0
    assert next_change(history, user, 50.0) is None


looks = st.lists(st.tuples(st.floats(1, 5), st.sampled_from(sorted(REPORTED))), min_size=1, max_size=8)
users = st.builds(UserState, st.sampled_from(sorted(USER)), until=st.none() | st.floats(0, 60))


@given(looks, users, st.lists(st.floats(0, 60), max_size=10))
def test_between_two_changes_of_the_clock_nothing_changes(
    looks: list[tuple[float, NodeAvailability]], user: UserState, waits: list[float]
) -> None:
    history, now = NodeHistory(), 0.0
    for wait, state in looks:
        now += wait
        history = observe(history, Observation(state), now, SHORT.stable_time)
    change = next_change(history, user, now, SHORT)
    for wait in waits:
        if change is None or now + wait < change:
            assert view_of(history, user, now + wait, SHORT).state is view_of(history, user, now, SHORT).state
