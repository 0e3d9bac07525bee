"""How pages put criteria into words, and in which order they show what was done to a node."""

from __future__ import annotations

import pytest

from slipway_api.pages.wording import badge, by_phase, criterion, entry_badge
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.serves import Serves, Serving
from strategy_lib.status.words import Status


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


def test_rule_27_the_badge_of_a_pending_node_says_what_it_serves() -> None:
    shown = str(badge("pending", "older"))
    assert shown.startswith('<span class="badge s-pending" data-serves="older">')
    assert shown.endswith("↑</span> pending, serves older</span>")
    assert badge("pending", "nothing") == badge("pending")
    assert "data-serves" not in badge("error", "older")


def test_rule_27_the_badge_of_a_group_says_what_its_pending_nodes_serve() -> None:
    def group(status: Status, **pending: int) -> Entry:
        counts = {Serves(word): number for word, number in pending.items()}
        return Entry(EntryKind.GROUP, "a", status, serving=Serving({**counts, Serves.WANTED: 9}, counts))

    assert entry_badge(group(Status.PENDING, older=2)) == badge("pending", "older")
    assert entry_badge(group(Status.PENDING)) == badge("pending")
    assert entry_badge(group(Status.ERROR, older=2)) == badge("error")
