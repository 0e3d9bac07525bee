"""Rule 49: the published state of a node, in all cells, and never above what the user set; what is available (53)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import generated_state
from strategy_lib.node_states.generated import NodeAvailability, least_available
from strategy_lib.node_states.publication import PublishedState, site_state, take_groups_down

ORDER = ["maintenance", "down", "stopping", "initializing", "retired", "up"]
REPORTED = ["up", "initializing", "stopping", "down"]
USER = ["up", "retired", "maintenance", "down"]
NOW = 1000.0


@pytest.mark.parametrize(
    ("reported", "user", "history", "state", "reason"),
    [
        pytest.param("up", "up", {}, "up", "", id="last row: up and up, the only one without a reason"),
        pytest.param(
            "up", "up", {"crashes": 5}, "down", "crashed 5 times, at most 4 are accepted", id="row 1: one more is down"
        ),
        pytest.param(
            "up",
            "maintenance",
            {"crashes": 5},
            "maintenance",
            "set to maintenance by the user",
            id="not row 1: maintenance",
        ),
        pytest.param(
            "down",
            "up",
            {"transition_started": 971.0},
            "maintenance",
            "down: it may be restarting, as it may for 30 s",
            id="row 2",
        ),
        pytest.param(
            "stopping",
            "retired",
            {"transition_started": 990.0},
            "maintenance",
            "stopping: it may be restarting, as it may for 30 s",
            id="row 2: stopping, retired",
        ),
        pytest.param("down", "up", {}, "down", "not back within the grace period", id="row 3: no start is not within"),
        pytest.param("stopping", "up", {}, "stopping", "stopping", id="row 3: stopping"),
        pytest.param("initializing", "retired", {}, "maintenance", "initializing, and retired by the user", id="row 4"),
        pytest.param(
            "initializing", "up", {"crashed_in_init": True}, "down", "crashed while it initialized", id="row 5: crashed"
        ),
        pytest.param(
            "initializing",
            "up",
            {"init_progressed": 900.0, "init_timeout": 100.0},
            "down",
            "initializing without progress for 100 s",
            id="row 5: no progress",
        ),
        pytest.param(
            "initializing",
            "up",
            {"init_progressed": 900.5, "init_timeout": 100.0},
            "initializing",
            "reported initializing",
            id="not row 5: progress in time",
        ),
        pytest.param("up", "retired", {}, "retired", "set to retired by the user", id="last row: retired"),
        pytest.param("up", "down", {}, "down", "set to down by the user", id="last row: down by the user"),
        pytest.param("down", "down", {}, "down", "reported down", id="last row: both down"),
    ],
)
def test_rule_49_the_first_row_that_fits(
    reported: str, user: str, history: dict[str, Any], state: str, reason: str
) -> None:
    assert generated_state(reported, user, now=NOW, **history) == {"state": state, "reason": reason}


def test_a_user_state_that_nobody_set_is_up() -> None:
    assert generated_state("up", now=NOW) == {"state": "up", "reason": ""}


@pytest.mark.parametrize(
    ("reported", "user"),
    [
        ("retired", "up"),
        ("maintenance", "up"),
        ("Up", "up"),
        ("up", "stopping"),
        ("up", ""),
        ("", "up"),
        (None, "up"),
        ("up", ["up"]),
        (True, "up"),
    ],
)
def test_other_words_are_refused(reported: Any, user: Any) -> None:
    with pytest.raises(ValueError):
        generated_state(reported, user, now=NOW)


def read_plainly(reported: str, user: str, history: dict[str, Any]) -> str:
    """Return the state that the rows of the table give, from the first to the last."""
    started, progressed, limit = history["transition_started"], history["init_progressed"], history["init_timeout"]
    active = user in ("up", "retired")
    stuck = limit > 0 and progressed is not None and progressed + limit <= NOW
    rows = [
        (active and history["crashes"] > 4, "down"),
        (active and reported in ("down", "stopping") and started is not None and started + 30 > NOW, "maintenance"),
        (active and reported in ("down", "stopping"), reported),
        (reported == "initializing" and user == "retired", "maintenance"),
        (reported == "initializing" and user == "up" and (history["crashed_in_init"] or stuck), "down"),
    ]
    return next((state for fits, state in rows if fits), min(reported, user, key=ORDER.index))


CELLS: dict[str, list[Any]] = {
    "transition_started": [None, 970.0, 970.5, 1000.0],
    "crashes": [0, 4, 5],
    "crashed_in_init": [False, True],
    "init_progressed": [None, 900.0, 900.5],
    "init_timeout": [0.0, 100.0],
}
HISTORIES = [dict(zip(CELLS, values, strict=True)) for values in product(*CELLS.values())]


@pytest.mark.parametrize("user", USER)
@pytest.mark.parametrize("reported", REPORTED)
def test_rule_49_all_reported_user_and_history(reported: str, user: str) -> None:
    for history in HISTORIES:
        found = generated_state(reported, user, now=NOW, **history)
        assert found["state"] == read_plainly(reported, user, history), history
        assert ORDER.index(found["state"]) <= ORDER.index(user), history
        assert (found["reason"] == "") is (reported == user == "up" == found["state"]), history


@given(st.lists(st.sampled_from(ORDER)))
def test_rule_49_the_less_available_is_the_minimum_of_the_order(states: list[str]) -> None:
    assert least_available(map(NodeAvailability, states)) == min(states, key=ORDER.index, default="up")


def test_the_order_of_availability() -> None:
    assert [str(state) for state in NodeAvailability] == ORDER
    assert [state.rank for state in NodeAvailability] == list(range(6))


DOWN = NodeAvailability.DOWN


def states(*words: str) -> dict[str, PublishedState]:
    return {f"n{i}": PublishedState(NodeAvailability(word)) for i, word in enumerate(words)}


@pytest.mark.parametrize(
    ("words", "percent", "after"),
    [
        pytest.param(["up", "down", "down"], 0, ["up", "down", "down"], id="off by default"),
        pytest.param(["up", "down"], 50, ["up", "down"], id="exactly as many as needed"),
        pytest.param(["up", "initializing", "down"], 67, ["down", "down", "down"], id="too few: the rest goes down"),
        pytest.param(["up", "maintenance", "initializing"], 100, ["up", "maintenance", "initializing"], id="available"),
        pytest.param(["retired", "up"], 51, ["retired", "down"], id="retired is not available, and not taken down"),
        pytest.param(
            ["stopping", "maintenance", "up"], 90, ["stopping", "maintenance", "down"], id="only up, initializing"
        ),
        pytest.param([], 100, [], id="a group without nodes"),
    ],
)
def test_rule_53_a_group_takes_its_nodes_down(words: list[str], percent: int, after: list[str]) -> None:
    found = take_groups_down(states(*words), {"g": list(states(*words))}, {"g": percent})
    assert [state.state for state in found.values()] == after


def test_the_reason_names_the_group() -> None:
    found = take_groups_down(states("up", "down"), {"g": ["n0", "n1", "not seen yet"]}, {"g": 90})
    assert found["n0"] == PublishedState(DOWN, "group g has 1 of 2 nodes available, 90 % are needed")


def test_no_group_falls_because_another_one_did() -> None:
    groups = {"a": ["n0", "n1"], "b": ["n1", "n2"]}
    found = take_groups_down(states("down", "up", "up"), groups, {"a": 60, "b": 60})
    assert [state.state for state in found.values()] == ["down", "down", "up"]


@pytest.mark.parametrize(
    ("words", "nodes", "percent", "reason"),
    [
        pytest.param(["down", "down"], 0, 0, None, id="off by default"),
        pytest.param(["up", "initializing", "retired"], 3, 100, None, id="initializing and retired count as up"),
        pytest.param(["up", "maintenance"], 2, 0, "1 of 2 nodes are up, 2 are needed", id="maintenance does not"),
        pytest.param(["up", "down", "down"], 0, 34, "1 of 3 nodes are up, 34 % are needed", id="percent, in integers"),
        pytest.param(["up", "down", "down"], 1, 33, None, id="exactly enough"),
        pytest.param([], 0, 100, None, id="a site without nodes"),
    ],
)
def test_rule_53_a_site_is_up_or_down(words: list[str], nodes: int, percent: int, reason: str | None) -> None:
    expected = PublishedState(NodeAvailability.UP) if reason is None else PublishedState(DOWN, reason)
    assert site_state(states(*words), nodes, percent) == expected
