"""The story of a node over time: looks, crashes, windows that the clock ends, and the controller taking it down."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.node_states.generated import REPORTED, USER, NodeAvailability
from strategy_lib.node_states.node_memory import (
    NodeHistory,
    Observation,
    StateSettings,
    next_change,
    observe,
    set_up,
    take_down,
    view_of,
)
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.user_state import UserState

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
