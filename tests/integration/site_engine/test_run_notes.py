"""The note of an action's DAG run in Airflow: whom it waits for, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from site_engine.controller.controller import Controller
from site_engine.controller.upkeep import NOTES_EVERY, note_runs
from site_engine.errors import AirflowRefused
from site_store import ActionRecord, ActionState, ApprovalAnswer, NewAction, SiteStore
from strategy_lib.strategy import ApprovalMoment
from tests.support.fake_clock import FakeClock


@dataclass
class Airflow:
    """Takes notes of runs."""

    status: int = 0
    notes: list[tuple[str, str, str]] = field(default_factory=list)

    def set_note(self, dag_id: str, run_id: str, note: str) -> None:
        if self.status:
            raise AirflowRefused(self.status, "refused")
        self.notes.append((dag_id, run_id, note))


@pytest.fixture
def ended(store: SiteStore) -> ActionRecord:
    """Return an action that has failed."""
    made = store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    store.actions.close(made.id, ActionState.FAILED, "critical group one failed")
    return made


def look(store: SiteStore, airflow: Airflow, clock: FakeClock, times: int = 1) -> None:
    """Have a controller look so often, each time when the job is due."""
    controller = Controller(store, "me", [note_runs(airflow)], monotonic=lambda: clock.now().timestamp())
    for _ in range(times):
        controller.look()
        clock.sleep(NOTES_EVERY)
    controller.give_up()


def test_a_verdict_is_noted_once_and_again_when_it_changes(
    store: SiteStore, clock: FakeClock, ended: ActionRecord
) -> None:
    airflow = Airflow()
    look(store, airflow, clock, times=3)
    assert airflow.notes == [
        ("deploy_site", f"alpha__{ended.id}", "Site alpha, revision 3: failed: critical group one failed")
    ]
    store.actions.close(ended.id, ActionState.SUCCESS, "every group succeeded")
    look(store, airflow, clock, times=2)
    assert [note for _, _, note in airflow.notes[1:]] == ["Site alpha, revision 3: success: every group succeeded"]


@pytest.mark.parametrize("status", [403, 404], ids=["the account may not", "the run was deleted"])
def test_a_note_that_airflow_refuses_is_not_tried_again(
    store: SiteStore, clock: FakeClock, ended: ActionRecord, status: int
) -> None:
    look(store, Airflow(status), clock)
    assert store.actions.not_noted(10) == []


def test_what_has_not_ended_or_has_no_run_is_not_noted(store: SiteStore, clock: FakeClock) -> None:
    airflow = Airflow()
    store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    alone = store.actions.create(
        NewAction("deploy_site", "beta", 3, {}, "ann", context_marker=None), exclusive=True, has_run=False
    )
    store.actions.close(alone.id, ActionState.SUCCESS, "done")
    look(store, airflow, clock)
    assert airflow.notes == []


def test_whom_an_action_waits_for_is_its_note_until_he_answers(store: SiteStore, clock: FakeClock) -> None:
    airflow = Airflow()
    made = store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    asked = store.approvals.ask(made.id, "two racks", 1, ApprovalMoment.BEFORE, "Is it cabled?")
    look(store, airflow, clock, times=3)
    command = f"slipway approve action/{made.id} --group 'two racks'"
    said = f"group two racks waits for approval: {command}: Is it cabled? (Site alpha, revision 3)"
    assert [note for _, _, note in airflow.notes] == [said]
    store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann")
    look(store, airflow, clock, times=3)
    assert [note for _, _, note in airflow.notes[1:]] == ["Site alpha, revision 3"], "also by another controller"
    store.approvals.ask(made.id, "two racks", 1, ApprovalMoment.AFTER, "Is it good?")
    store.actions.close(made.id, ActionState.FAILED, "stopped by ann")
    look(store, airflow, clock, times=3)
    assert [note for _, _, note in airflow.notes[2:]] == ["Site alpha, revision 3: failed: stopped by ann"]


def test_a_long_verdict_is_cut(store: SiteStore, clock: FakeClock, ended: ActionRecord) -> None:
    airflow = Airflow()
    store.actions.close(ended.id, ActionState.FAILED, "x" * 5000)
    look(store, airflow, clock)
    ((_, _, note),) = airflow.notes
    assert (len(note), note[-1]) == (1000, "…")
