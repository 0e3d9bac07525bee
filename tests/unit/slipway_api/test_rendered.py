"""Rendered trees: their size is bounded, their tag tells what people see, and one rendering serves all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from site_engine.trees.owners import Owners
from site_engine.trees.reported import Reports
from site_engine.trees.status_trees import StatusTree
from slipway_api.status.tree_routes import LARGEST, render_tree, token_of_tag
from strategy_lib.status.entry import Entry, EntryKind
from strategy_lib.status.words import Status

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def nodes(number: int, message: str = "") -> tuple[Entry, ...]:
    said = (message,) if message else ()
    return tuple(
        Entry(EntryKind.NODE, f"n{i}", Status.ERROR, last_status=Status.ERROR, last_updated=NOW, messages=said)
        for i in range(number)
    )


def tree(*groups: Entry, elapsed: float = 1.0) -> StatusTree:
    root = Entry(EntryKind.SITE, "alpha", Status.ERROR, Status.ERROR, children=groups)
    return StatusTree("7-1-1", NOW, {"name": "alpha", "elapsed": elapsed}, root, root, Reports({}, Owners({}, NOW)))


def group(name: str, children: tuple[Entry, ...], messages: tuple[str, ...] = ()) -> Entry:
    return Entry(EntryKind.GROUP, name, Status.ERROR, Status.ERROR, messages=messages, children=children)


def test_fewer_levels_are_given_where_all_would_be_too_large() -> None:
    shown = render_tree(tree(group("g", nodes(10_000, "no PXE answer " * 20))), 2)
    data = msgspec.json.decode(shown.body)
    assert len(shown.body) <= LARGEST
    assert data["depth"] == 1
    assert [child["name"] for child in data["root"]["children"]] == ["g"]
    assert "children" not in data["root"]["children"][0]


def test_not_even_long_messages_make_an_answer_too_large() -> None:
    root = replace(tree().root, messages=("x" * LARGEST,) * 10)
    shown = render_tree(replace(tree(), root=root), 2)
    assert len(shown.body) <= LARGEST
    assert len(msgspec.json.decode(shown.body)["root"]["messages"]) == 10


def test_what_nobody_wrote_about_can_be_left_out() -> None:
    new = Entry(EntryKind.NODE, "new", Status.PENDING)
    found = msgspec.json.decode(render_tree(tree(group("g", (*nodes(1), new))), 2, touched_only=True).body)
    assert [child["name"] for child in found["root"]["children"][0]["children"]] == ["n0"]


def test_the_tag_is_another_one_wherever_people_see_a_difference_and_nowhere_else() -> None:
    first = render_tree(tree(group("g", nodes(1))), 2)
    assert token_of_tag(first.tag) == first.token == "7-1-1"
    later = replace(tree(group("g", nodes(1)), elapsed=60.0), read_at=NOW + timedelta(minutes=1))
    assert render_tree(later, 2).tag == first.tag
    # An owner that never came is missed after a while: nothing was written, and the token is the same.
    gone = replace(nodes(1)[0], status=Status.UNRESPONSIVE)
    assert render_tree(tree(group("g", (gone,))), 2).tag != first.tag
    newer = replace(tree(group("g", nodes(1))), token="8-1-1")
    assert render_tree(newer, 2).tag != first.tag
    assert msgspec.json.decode(first.body)["token"] == first.tag
