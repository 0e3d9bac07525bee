"""How pages put criteria into words, and in which order they show what was done to a node."""

from __future__ import annotations

import pytest

from slipway_api.pages.wording import by_phase, criterion


@pytest.mark.parametrize(
    ("name", "needed", "said"),
    [
        ("maximum_failed_nodes", 1, "ready: at most 1 node fails; 2 did"),
        ("maximum_failed_nodes", 0, "ready: at most 0 nodes fail; 2 did"),
        ("minimum_successful_nodes", 1, "ready: at least 1 node succeeds; 2 did"),
        ("percent_successful_nodes", 1, "ready: at least 1 % of the nodes succeed; 2 did"),
        ("another", 3, "ready: another 3; 2 did"),
    ],
)
def test_a_criterion_is_a_sentence(name: str, needed: int, said: str) -> None:
    assert criterion({"phase": "ready", "criterion": name, "needed": needed, "actual": 2}) == said


def test_what_was_done_to_a_node_stands_in_its_order() -> None:
    tasks = [
        ("n1", "deploy"),
        ("n1", "prepare"),
        ("n1", "ready"),
        ("n1", "release"),
        ("n2", "deploy"),
        ("n2", "prepare"),
    ]
    shown = by_phase([{"name": name, "phase": phase} for name, phase in tasks])
    assert [(one["name"], one["phase"]) for one in shown] == [
        ("n1", "release"),
        ("n1", "prepare"),
        ("n1", "deploy"),
        ("n1", "ready"),
        ("n2", "prepare"),
        ("n2", "deploy"),
    ]
