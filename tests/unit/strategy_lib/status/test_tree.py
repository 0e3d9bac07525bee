"""Rules 27 to 34 on whole trees: roll-up, messages, leaves, what counts where, culprits and victims."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from strategy_lib.parsing.schema_check import check_data, schema
from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.entry import Blame, Entry, EntryKind, EntryType, Role, entry_to_dict
from strategy_lib.status.leaf import OwnerRecord
from strategy_lib.status.tree import (
    MOST_MESSAGES,
    NO_GROUP,
    TO_BE_REMOVED,
    GroupStanding,
    blame_groups,
    parent_entry,
    task_entry,
    unrecorded_entry,
)
from strategy_lib.status.words import Status

AT = [datetime(2026, 11, 22, 14, minute, tzinfo=UTC) for minute in range(10)]
SUPERGOAL, SUPERTASK = EntryKind.SITE, EntryKind.GROUP


def node(name: str, stored: str | None, *messages: str, alive: bool = True, elsewhere: str | None = None) -> Entry:
    record = OwnerRecord("airflow:deploy_site", stored, alive=alive, messages=messages)
    return task_entry(name, [record], processed_by=elsewhere)


def group(name: str, *children: Entry) -> Entry:
    return parent_entry(SUPERTASK, name, children)


def test_the_schema_of_the_tree_knows_every_word() -> None:
    words = schema("status_tree")["$defs"]
    assert [word["const"] for word in words["status"]["oneOf"]] == [str(status) for status in Status]
    assert [word["const"] for word in words["data"]["properties"]["type"]["oneOf"]] == [str(kind) for kind in EntryType]
    assert [word["const"] for word in words["data"]["properties"]["kind"]["oneOf"]] == [str(kind) for kind in EntryKind]
    assert words["data"]["properties"]["messages"]["maxItems"] == MOST_MESSAGES


def test_rule_27_the_highest_status_reaches_the_root() -> None:
    site = parent_entry(
        SUPERGOAL,
        "site",
        [group("a", node("n1", "success"), node("n2", "processing")), group("b", node("n3", "error", "IPMI"))],
    )
    assert [child.status for child in site.children] == [Status.PROCESSING, Status.ERROR]
    assert site.status is Status.ERROR
    assert site.messages == ("IPMI",)


def test_rule_30_the_root_is_unresponsive_where_one_of_two_owners_never_started() -> None:
    both = task_entry(
        "n1", [OwnerRecord("airflow:deploy_site", "success"), OwnerRecord("provisioner:drydock", alive=False)]
    )
    site = parent_entry(SUPERGOAL, "site", [group("a", both, node("n2", "success"))])
    assert site.status is Status.UNRESPONSIVE
    assert site.last_status is Status.SUCCESS


def test_the_first_messages_of_the_worst_children_only() -> None:
    failed = [node(f"n{i}", "error", f"first of n{i}", f"second of n{i}") for i in range(8)]
    entry = group("a", node("fine", "success", "had to be fixed"), *failed)
    assert entry.messages == tuple(f"{which} of n{i}" for i in range(5) for which in ("first", "second"))


def test_rule_31_nodes_of_a_step_without_groups_stand_under_the_step() -> None:
    step = parent_entry(SUPERTASK, "destroy_nodes", [node("n1", "success"), node("n2", None)])
    assert (step.status, step.leaves) == (Status.PENDING, 2)


def test_rule_32_deleted_nodes_count_only_where_they_are_all() -> None:
    removed = group(TO_BE_REMOVED, node("old", "deleted"))
    assert removed.status is Status.DELETED
    assert parent_entry(SUPERGOAL, "site", [group("a", node("n1", "success")), removed]).status is Status.SUCCESS
    assert parent_entry(SUPERGOAL, "site", [removed]).status is Status.DELETED


def test_rule_33_nodes_in_no_group_do_not_count_and_nodes_to_be_removed_do() -> None:
    stray = group(NO_GROUP, node("stray", None))
    assert parent_entry(SUPERGOAL, "site", [group("a", node("n1", "success")), stray]).status is Status.SUCCESS
    leaving = group(TO_BE_REMOVED, node("old", "pending"))
    assert parent_entry(SUPERGOAL, "site", [group("a", node("n1", "success")), leaving]).status is Status.PENDING


def test_rule_34_a_node_of_two_groups_stands_under_each_and_counts_once() -> None:
    first = group("a", node("n1", "success"), node("n2", "success"))
    second = group("b", node("n2", "success", elsewhere="a"), node("n3", "success"))
    action = parent_entry(SUPERGOAL, "action", [first, second])
    assert (first.leaves, second.leaves, action.leaves) == (2, 2, 3)
    assert second.children[0].processed_by == "a"


def test_what_has_no_record_is_no_error_and_counts_nowhere() -> None:
    old = unrecorded_entry(SUPERGOAL, "action 1", "from before the status was recorded")
    entry = parent_entry(SUPERGOAL, "site", [old, node("n1", "success")])
    assert (old.status, entry.status) == (None, Status.SUCCESS)
    shown = entry_to_dict(entry, now=AT[0])
    assert check_data("status_tree", shown) == []
    assert shown["children"][0]["status"] is None


def test_a_groups_own_task_rolls_up_with_its_nodes() -> None:
    own = OwnerRecord("airflow:deploy_site", "processing", messages=("at work",), last_updated=AT[5])
    entry = parent_entry(SUPERTASK, "a", [node("n1", "success"), node("n2", None)], own=own)
    assert (entry.status, entry.messages, entry.last_updated) == (Status.PROCESSING, ("at work",), AT[5])


def test_rule_29_a_tree_that_is_over_judges_no_owner() -> None:
    records = [OwnerRecord("airflow:deploy_site", "success", alive=False, current=False)]
    entry = parent_entry(SUPERTASK, "a", [task_entry("n1", records, over=True)])
    assert entry.status is Status.SUCCESS


def test_times_and_ages() -> None:
    records = [
        OwnerRecord("airflow:deploy_site", "success", first_updated=AT[1], last_updated=AT[4]),
        OwnerRecord("provisioner:drydock", "success", first_updated=AT[2], last_updated=AT[3], alive=False),
    ]
    entry = parent_entry(SUPERTASK, "a", [task_entry("n1", records), node("n2", None)])
    shown = entry_to_dict(entry, now=AT[9], depth=1)
    assert check_data("status_tree", shown) == []
    assert shown == {
        "type": "supertask",
        "kind": "group",
        "name": "a",
        "status": "unresponsive",
        "last_status": "success",
        "last_status_age": 300.0,
        "first_updated": "2026-11-22T14:01:00+00:00",
        "last_updated": "2026-11-22T14:04:00+00:00",
        "leaves": 2,
        "messages": [],
        "counts": {"unresponsive": 1, "pending": 1},
        "children": [entry_to_dict(child, now=AT[9], depth=0) for child in entry.children],
    }
    assert "children" not in entry_to_dict(entry, now=AT[9], depth=0)


def test_rule_28_culprits_and_victims() -> None:
    failure, dependency = GroupState.FAILURE, Reason.DEPENDENCY
    found = blame_groups(
        [
            GroupStanding("a", (), failure, Reason.DEPLOY_CRITERIA, "2 of 3 nodes"),
            GroupStanding("b", (), GroupState.SUCCESS),
            GroupStanding("c", ("b", "a"), failure, dependency),
            GroupStanding("d", ("c",)),
            GroupStanding("e", ("b",)),
            GroupStanding("f", ("b",), failure, Reason.PREPARE_CRITERIA),
            GroupStanding("g", ("f", "a"), GroupState.PENDING),
        ]
    )
    assert found == {
        "a": Blame(Role.CULPRIT, "a", "2 of 3 nodes"),
        "c": Blame(Role.VICTIM, "a", "blocked by a: 2 of 3 nodes"),
        "d": Blame(Role.VICTIM, "a", "blocked by a: 2 of 3 nodes"),
        "f": Blame(Role.CULPRIT, "f", "prepare_criteria"),
        "g": Blame(Role.VICTIM, "f", "blocked by f: prepare_criteria"),
    }


def test_rule_28_a_blamed_group_is_an_error_whose_first_message_says_why() -> None:
    blame = Blame(Role.VICTIM, "a", "blocked by a: 2 of 3 nodes")
    entry = parent_entry(SUPERTASK, "c", [node("n1", "success"), node("n2", "error", "IPMI")], blame=blame)
    assert (entry.status, entry.messages) == (Status.ERROR, ("blocked by a: 2 of 3 nodes", "IPMI"))
    shown = entry_to_dict(entry, now=AT[0], depth=0)
    assert check_data("status_tree", shown) == []
    assert shown["blame"] == {
        "role": "victim",
        "group": "a",
        "message": "blocked by a: 2 of 3 nodes",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "site"},
        {"kind": "group"},
        {"status": None},
        {"first_updated": "yesterday"},
        {"last_updated": "2026-11-22"},
    ],
)
def test_the_schema_refuses_what_no_entry_is(wrong: dict[str, Any]) -> None:
    shown = entry_to_dict(node("n1", "success"), now=AT[1])
    assert check_data("status_tree", shown) == []
    assert check_data("status_tree", {**shown, **wrong}) != []
