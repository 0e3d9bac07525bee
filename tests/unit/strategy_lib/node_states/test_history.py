"""Rule 50: what is a crash, and what is remembered of transitions and of initializing."""

from __future__ import annotations

from functools import reduce

import pytest

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import (
    NodeHistory,
    Observation,
    clear_when_stable,
    observe,
    operation_started,
    set_up,
)

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
