"""Rule 53: what counts as available for a group, and as up for a site."""

from __future__ import annotations

import pytest

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import PublishedState, site_state, take_groups_down

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
