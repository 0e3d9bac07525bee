"""Rules 28 to 31 and 46: what one leaf shows, from stored words, owners and what is wanted now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strategy_lib.node import TaskStatus
from strategy_lib.status.leaf import (
    OwnerRecord,
    UnknownCause,
    blocked_by,
    owes,
    status_in_site,
    status_of_records,
    status_of_task,
    superseded_by,
)
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status

BLOCKED = blocked_by("control", "minimum_successful_nodes needs 3, 2 are")


@pytest.mark.parametrize(
    ("stored", "facts", "status", "message"),
    [
        pytest.param("pending", {}, "pending", "", id="planned"),
        pytest.param("processing", {}, "processing", "", id="submitted, also while the provisioner queues it"),
        pytest.param("success", {}, "success", "", id="done"),
        pytest.param(
            "success",
            {"as_wanted": True, "done_for": 3},
            "success",
            "as wanted already, done for revision 3",
            id="as wanted",
        ),
        pytest.param(
            "success", {"as_wanted": True}, "success", "as wanted already", id="as wanted, since nobody knows"
        ),
        pytest.param("error", {"note": "IPMI"}, "error", "IPMI", id="failed"),
        pytest.param("unknown", {}, "error", "lost", id="unknown, nothing learnt"),
        pytest.param(
            "unknown",
            {"unknown_because": UnknownCause.TIMEOUT, "note": "no result in time"},
            "error",
            "timeout: no result in time",
            id="unknown, out of time",
        ),
        pytest.param("pending", {"blocked": BLOCKED}, "error", BLOCKED, id="behind a failed group"),
        pytest.param("success", {"blocked": BLOCKED}, "success", "", id="done by another group: not blocked"),
        pytest.param("pending", {"never_begins": "cancelled"}, "error", "not started: cancelled", id="never begun"),
        pytest.param(
            "pending", {"blocked": BLOCKED, "never_begins": "over"}, "error", BLOCKED, id="what blocked it says more"
        ),
        pytest.param(
            "withheld",
            {"note": "needs redeploy"},
            "error",
            "not started: needs redeploy",
            id="withheld, with its reason",
        ),
        pytest.param("bananas", {}, "undefined", "unknown stored value 'bananas'", id="a value that nobody knows"),
    ],
)
def test_rule_28_stored_words(stored: str, facts: dict[str, Any], status: str, message: str) -> None:
    shown = status_of_task(stored, **facts)
    assert (shown.status, shown.message) == (status, message)


@pytest.mark.parametrize("stored", list(TaskStatus))
def test_rule_35_no_stored_word_of_ours_is_undefined(stored: TaskStatus) -> None:
    assert status_of_task(stored).status is not Status.UNDEFINED


#: A node that is wanted in revision 2, and what is known of one that was done in it, or in revision 1.
WANTED = NodeRow("north", "n1", 2, "b", wanted_version=2)
DONE: dict[str, Any] = {"done_revision": 2, "done_digest": "b", "done_version": 2}
OLD: dict[str, Any] = {"done_revision": 1, "done_digest": "a", "done_version": 1}
FAILED: dict[str, Any] = {"status": "error", "error": "IPMI", "error_action": "01A", "error_revision": 2}
DRIFTED: dict[str, Any] = {"status": "error", "error": "drifted: power off, since 14:03"}
GONE: dict[str, Any] = {"wanted_digest": None, "wanted_revision": None}


@pytest.mark.parametrize(
    ("facts", "status", "message"),
    [
        pytest.param({}, "pending", "never done", id="27 never done"),
        pytest.param(DONE, "success", "", id="29 done as wanted"),
        pytest.param(OLD, "pending", "done for revision 1, wanted is revision 2", id="29 a commit since"),
        pytest.param({**DONE, "done_revision": 1}, "success", "", id="37 the same digest at a later revision"),
        pytest.param({**DONE, "touched": 3}, "pending", "asked for again at version 3", id="37 asked for again"),
        pytest.param({**DONE, "doubt": "why"}, "pending", "in doubt: why", id="13 in doubt"),
        pytest.param({**DONE, "status": "processing"}, "processing", "", id="28 at work"),
        pytest.param({"status": "mended"}, "undefined", "", id="27 a word that nobody knows"),
        pytest.param(FAILED, "error", "IPMI", id="45 failed"),
        pytest.param({**FAILED, "error": None}, "error", "failed", id="45 failed without a word"),
        pytest.param({**FAILED, "error_version": 1}, "pending", "never done", id="46 an error of an older version"),
        pytest.param({**FAILED, "error_revision": 1}, "pending", "never done", id="46 of an older revision"),
        pytest.param({**DONE, **DRIFTED}, "error", "drifted: power off, since 14:03", id="56 drifted"),
        pytest.param(
            {**OLD, **DRIFTED, "touched": 2}, "error", "drifted: power off, since 14:03", id="56 committed since"
        ),
        pytest.param({**OLD, **DRIFTED, **GONE}, "error", "drifted: power off, since 14:03", id="56 left the design"),
        pytest.param(
            {**DONE, **DRIFTED, "status": "processing"},
            "processing",
            "repairing: power off, since 14:03",
            id="56 repair at work",
        ),
        pytest.param({**OLD, **GONE}, "pending", "to be removed", id="33 left the design"),
        pytest.param(GONE, "deleted", "", id="33 pruned"),
        pytest.param({**OLD, **GONE, **FAILED}, "error", "IPMI", id="31 removal failed"),
    ],
)
def test_the_site_view_compares_with_what_is_wanted_now(facts: dict[str, Any], status: str, message: str) -> None:
    shown = status_in_site(replace(WANTED, **facts))
    assert (shown.status, shown.message) == (status, message)


@pytest.mark.parametrize(
    ("stored", "facts", "expected"),
    [
        pytest.param(None, {}, True, id="its turn has come and nothing is written"),
        pytest.param("pending", {}, True, id="planned, its turn has come"),
        pytest.param("processing", {}, True, id="at work"),
        pytest.param(None, {"turn": False}, False, id="its turn has not come"),
        pytest.param("processing", {"waiting": True}, False, id="queued, paused or at a gate"),
        pytest.param("success", {}, False, id="its result is stored"),
        pytest.param("error", {}, False, id="its failure is stored"),
    ],
)
def test_rule_30_an_owner_that_owes_nothing_counts_as_alive(
    stored: str | None, facts: dict[str, bool], expected: bool
) -> None:
    assert owes(stored, **facts) is expected


def test_rule_30_one_of_two_owners_never_started() -> None:
    airflow = OwnerRecord("airflow:deploy_site", "success")
    dead = OwnerRecord("provisioner:drydock", None, alive=False)
    assert status_of_records([airflow, dead]) is Status.UNRESPONSIVE
    assert status_of_records([airflow, OwnerRecord("provisioner:drydock", None)]) is Status.PENDING


def test_rule_32_a_node_is_deleted_when_all_its_owners_say_so() -> None:
    deleted, other = OwnerRecord("airflow:deploy_site", "deleted"), OwnerRecord("provisioner:drydock", "success")
    assert status_of_records([deleted, other]) is Status.SUCCESS
    assert status_of_records([deleted]) is Status.DELETED


def test_rule_29_an_action_that_is_over_is_history() -> None:
    records = [OwnerRecord("airflow:deploy_site", "success", alive=False, current=False)]
    assert status_of_records(records, over=True) is Status.SUCCESS
    assert status_of_records([OwnerRecord("airflow:deploy_site", "bananas")], over=True) is Status.UNDEFINED
    assert status_of_records([OwnerRecord("airflow:deploy_site", alive=False)], over=True) is Status.ERROR


def test_rule_29_superseded() -> None:
    assert superseded_by(3, 5) == "superseded by revision 5"
    assert superseded_by(5, 5) == ""


def test_rule_35_a_task_that_names_no_owner_is_undefined() -> None:
    assert status_of_records([]) is Status.UNDEFINED
