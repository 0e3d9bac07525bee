"""The maintained counts equal a count from scratch, and say the same as the tree does, on random trees."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strategy_lib.status.counts import Cell, CountedLeaf, Tally, add, change, count, summarize
from strategy_lib.status.entry import EntryKind
from strategy_lib.status.leaf import OwnerRecord, status_of_record
from strategy_lib.status.tree import NO_GROUP, parent_entry, task_entry
from strategy_lib.status.words import Status

GROUPS, PHASES, OWNERS = ["a", "b", NO_GROUP], ["prepare", "deploy"], ["airflow:deploy_site", "provisioner:drydock"]
STORED = [None, *Status, "bananas"]

records = st.builds(OwnerRecord, st.sampled_from(OWNERS), st.sampled_from(STORED), current=st.booleans())
leaves = st.builds(
    CountedLeaf,
    st.sampled_from(GROUPS),
    st.sampled_from(PHASES),
    st.lists(records, max_size=2, unique_by=lambda record: record.owner).map(tuple),
    st.booleans(),
)
living = st.frozensets(st.sampled_from(OWNERS))


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | leaves), max_size=40))
def test_rows_kept_with_each_change_equal_a_count_from_scratch(changes: list[tuple[int, CountedLeaf | None]]) -> None:
    stored: dict[int, CountedLeaf] = {}
    counts: dict[Cell, Tally] = {}
    for key, after in changes:
        before = stored.pop(key, None)
        if after is not None:
            stored[key] = after
        counts = add(counts, change(before, after))
        assert counts == count(stored.values())


BOTH = (OwnerRecord(OWNERS[0], "success"), OwnerRecord(OWNERS[1], "deleted"))


@given(st.lists(leaves, max_size=20), living, st.booleans())
@example([CountedLeaf("a", "prepare", BOTH)], frozenset(OWNERS), False)
def test_rows_say_what_the_tree_says(tasks: list[CountedLeaf], alive: frozenset[str], over: bool) -> None:
    def lives(cell: Cell) -> bool:
        return cell.owner in alive or not cell.owner

    entries = {}
    for name in dict.fromkeys(task.group for task in tasks):
        members = [
            task_entry(
                "node",
                [OwnerRecord(r.owner, r.stored, alive=r.owner in alive, current=r.current) for r in task.records],
                over=over,
                processed_by="another" if task.processed_elsewhere else None,
            )
            for task in tasks
            if task.group == name
        ]
        entries[name] = parent_entry(EntryKind.GROUP, name, members)
    tree = parent_entry(EntryKind.SITE, "site", entries.values())
    whole, groups = summarize(count(tasks), lives, over=over, outside=[NO_GROUP])
    assert (whole.status, whole.leaves) == (tree.status, tree.leaves)
    assert {name: (found.status, found.leaves) for name, found in groups.items()} == {
        name: (entry.status, entry.leaves) for name, entry in entries.items()
    }


@given(st.lists(leaves, max_size=20), living)
def test_a_dead_owner_changes_what_is_read_and_no_row(tasks: list[CountedLeaf], alive: frozenset[str]) -> None:
    counts = count(tasks)
    _, groups = summarize(counts, lambda cell: cell.owner in alive)
    for name, found in groups.items():
        expected = Counter(
            status_of_record(OwnerRecord(r.owner, r.stored, alive=r.owner in alive, current=r.current))
            for task in tasks
            if task.group == name
            for r in task.records or (OwnerRecord("", "undefined"),)
        )
        assert found.records == expected


def test_nothing_counted_is_a_success() -> None:
    whole, groups = summarize({}, lambda _: True)
    assert (whole.status, whole.leaves, groups) == (Status.SUCCESS, 0, {})


def test_a_row_below_nothing_is_refused() -> None:
    leaf = CountedLeaf("a", "deploy", (OwnerRecord("airflow:deploy_site", "success"),))
    with pytest.raises(ValueError, match="count it anew"):
        add({}, change(leaf, None))


def test_what_does_not_change_a_row_changes_none() -> None:
    before = CountedLeaf("a", "deploy", (OwnerRecord("airflow:deploy_site", "error", messages=("one",)),))
    after = CountedLeaf("a", "deploy", (OwnerRecord("airflow:deploy_site", "error", messages=("two",)),))
    assert change(before, after) == {}
