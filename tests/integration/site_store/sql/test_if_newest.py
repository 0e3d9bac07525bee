"""What the database does with each event of an operation is what the one table of transitions says (rule 45)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from sqlalchemy import ColumnElement, delete, insert, update

from site_store import SiteStore, StepState
from site_store.tables import action_step, group_run, node, node_error, task
from site_store.tables.if_newest import ERRORS, GROUPS, NODES, STEPS, TASKS, VersionedRows
from strategy_lib.goals.late_results import Effect, Event, Row, RowStatus, apply_if_newest
from strategy_lib.node import TaskStatus
from tests.integration.site_store.scenario import SITE, Scenario

STORED = {
    RowStatus.PENDING: TaskStatus.PENDING,
    RowStatus.PROCESSING: TaskStatus.PROCESSING,
    RowStatus.SUCCESS: TaskStatus.SUCCESS,
    RowStatus.ERROR: TaskStatus.ERROR,
    RowStatus.TIMEOUT: TaskStatus.UNKNOWN,
}
OLDER, SAME, NEWER = 9, 10, 11
CHANGES = (Effect.APPLIED, Effect.CORRECTED)


def condition(rows: VersionedRows, event: Event, op: int) -> ColumnElement[bool]:
    return rows.start(op) if event is Event.START else rows.take(event, op)


def changed(
    store: SiteStore, table: Any, row: dict[str, Any], where: ColumnElement[bool], change: dict[str, Any]
) -> int:
    """Store this row alone, and return how many rows the change reaches."""

    def work(tx: Any) -> int:
        tx.execute(delete(table))
        tx.execute(insert(table).values(row))
        return int(tx.execute(update(table).where(where).values(change)).rowcount)

    return store._database.write(work)


def test_rule_45_every_cell_of_the_table_holds_for_tasks(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    cells = 0
    for status, word in STORED.items():
        for event in Event:
            for op in (OLDER, SAME, NEWER):
                own = None if status is RowStatus.PENDING else SAME
                row = {"action_id": action.id, "node": "n1", "phase": "deploy", "status": word, "op": own}
                reached = changed(site.store, task, row, condition(TASKS, event, op), {"error": "told"})
                said = apply_if_newest(Row(own, status), event, op).effect
                # An acknowledgement is of the error, and not of the task: see below.
                expected = said in CHANGES
                assert reached == int(expected), (status, event, op)
                cells += 1
    assert cells == 5 * 5 * 3


def test_rule_45_every_cell_of_the_table_holds_for_the_attempts_of_groups(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    words = {RowStatus.PROCESSING: "running", RowStatus.SUCCESS: "success", RowStatus.ERROR: "failure"}
    facts: dict[str, Any] = {"action_id": action.id, "name": "b", "position": 1, "critical": True, "definition": {}}
    facts |= {"criteria": [], "counts": {}}
    for status, word in words.items():
        for event in Event:
            for attempt in (OLDER, SAME, NEWER):
                row = {**facts, "state": word, "attempt": SAME}
                reached = changed(site.store, group_run, row, condition(GROUPS, event, attempt), {"reason": "told"})
                said = apply_if_newest(Row(SAME, status), event, attempt).effect
                assert reached == int(said in CHANGES), (status, event, attempt)


def test_rule_45_a_start_takes_over_a_step_from_an_older_attempt_alone(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    for attempt, expected in ((OLDER, 0), (SAME, 0), (NEWER, 1)):
        row = {"action_id": action.id, "name": "acquire", "group_name": "", "state": "running", "attempt": SAME}
        assert changed(site.store, action_step, row, STEPS.start(attempt), {"message": "told"}) == expected, attempt


def test_rule_45_the_end_and_the_error_of_a_step_are_taken_from_its_own_attempt_alone(site: Scenario) -> None:
    """By the writes themselves. Of the attempt's own ends the last stands: Airflow decides, and may say it again."""
    action, steps = site.running({"a": ["n1"]}), site.store.steps
    ends = {StepState.SUCCESS: Event.END, StepState.FAILED: Event.ERROR}
    for known, (told, event), attempt in product((StepState.RUNNING, *ends), ends.items(), (OLDER, SAME, NEWER)):
        name = f"{known} {told} {attempt}"
        steps.begin(action.id, name, SAME)
        if known.is_end:
            steps.leave(action.id, name, SAME, known, "told before")
        before = {step.name: step for step in steps.of_action(action.id)}[name]
        steps.leave(action.id, name, attempt, told, "told")
        after = {step.name: step for step in steps.of_action(action.id)}[name]
        if attempt == SAME:
            assert (after.state, after.message, after.attempt) == (told, "told", SAME), name
        else:
            assert after == before, name
        if known is StepState.RUNNING:
            said = apply_if_newest(Row(SAME, RowStatus.PROCESSING), event, attempt).effect
            assert (after != before) is (said in CHANGES), name


def test_rule_45_a_start_takes_over_a_node_from_an_older_operation_alone(store: SiteStore) -> None:
    for own, op, expected in (
        (None, OLDER, 1),
        (SAME, OLDER, 0),
        (SAME, SAME, 0),
        (SAME, NEWER, 1),
    ):
        row = {"site": SITE, "name": "n1", "op": own}
        assert changed(store, node, row, NODES.start(op), {"error": "told"}) == expected, (own, op)


@pytest.mark.parametrize("state", ["failed", "reported", "cleared"])
def test_rule_48_an_acknowledgement_reaches_the_error_of_its_own_operation_alone(store: SiteStore, state: str) -> None:
    for op in (OLDER, SAME, NEWER):
        row = {"site": SITE, "node": "n1", "op": SAME, "code": "lost", "text": "?", "phase": "deploy"}
        row |= {"action_id": "0" * 26, "time": store.now(), "state": state}
        reached = changed(store, node_error, row, ERRORS.take(Event.ACKNOWLEDGE, op), {"acknowledged_by": "bob"})
        assert reached == int(op == SAME and state != "cleared"), (state, op)


def test_rule_45_only_a_start_replaces_an_older_operation() -> None:
    for rows in (TASKS, NODES, GROUPS, STEPS, ERRORS):
        with pytest.raises(ValueError, match="asked for by `start`"):
            rows.take(Event.START, SAME)
