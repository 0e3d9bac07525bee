"""What nodes serve, and how pending nodes that serve something are shown beside the others."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.serves import Part, Serves, oldest_of, parts_of, serves_of, serving_of_node
from strategy_lib.status.words import Status


@pytest.mark.parametrize(
    ("wanted", "done", "more", "word"),
    [
        ("b", None, {}, Serves.NOTHING),
        ("b", "a", {}, Serves.OLDER),
        (None, "a", {}, Serves.OLDER),
        ("a", "a", {}, Serves.WANTED),
        ("a", "a", {"doubt": "why"}, Serves.NOTHING),
        ("b", "a", {"status": "error", "error": "drifted: power is off"}, Serves.NOTHING),
    ],
)
def test_rule_27_what_a_node_serves_is_told_beside_its_status(
    wanted: str | None, done: str | None, more: dict[str, str], word: Serves
) -> None:
    facts: dict[str, Any] = {"wanted_digest": wanted, "done_digest": done, **more}
    assert serves_of(NodeRow("north", "n1", **facts)) is word


def test_of_several_nodes_the_oldest_counts_and_nothing_only_where_none_serves() -> None:
    assert oldest_of({Serves.NOTHING: 3, Serves.OLDER: 1, Serves.WANTED: 9}) is Serves.OLDER
    assert oldest_of({Serves.NOTHING: 3, Serves.WANTED: 1}) is Serves.WANTED
    assert oldest_of({Serves.NOTHING: 3}) is oldest_of({}) is Serves.NOTHING


def test_pending_nodes_that_serve_are_a_part_of_their_own() -> None:
    counts = {Status.SUCCESS: 2, Status.PENDING: 5}
    found = parts_of(counts, {Serves.OLDER: 3, Serves.WANTED: 1}, (Status.SUCCESS, Status.PENDING))
    assert found == [
        Part(Status.SUCCESS, Serves.NOTHING, 2),
        Part(Status.PENDING, Serves.WANTED, 1),
        Part(Status.PENDING, Serves.OLDER, 3),
        Part(Status.PENDING, Serves.NOTHING, 1),
    ]
    assert [part.words for part in found][2:] == ["pending (serving an older revision)", "pending"]


def test_only_a_pending_node_takes_its_colour_from_what_it_serves() -> None:
    assert serving_of_node(Serves.OLDER, Status.PENDING).of_status(Status.PENDING) is Serves.OLDER
    assert serving_of_node(Serves.OLDER, Status.ERROR).of_status(Status.ERROR) is Serves.NOTHING
    assert serving_of_node(Serves.NOTHING, Status.PENDING).of_status(Status.PENDING) is Serves.NOTHING
