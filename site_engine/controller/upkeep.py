"""The controller's housekeeping: the roll-up is merged, what is old is forgotten, metrics are given on, runs get notes.

The note of an action's DAG run lets Airflow's own lists of runs say how it ended, or whom it waits for. The tasks of a
run have no right to write its note, so the controller does, with its account.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final, Protocol

from site_engine.controller.controller import Controller, Job
from site_engine.errors import AirflowRefused
from site_engine.monitoring.process_notes import KEPT
from site_engine.trees.waiting import waits_for_person
from site_store import ActionRecord, ApprovalRecord

log = logging.getLogger("slipway.controller")

MERGE_EVERY: Final = 30.0
FORGET_EVERY: Final = 3600.0
METRICS_EVERY: Final = 60.0
NOTIFICATIONS_KEPT: Final = timedelta(days=90)
EVENTS_KEPT: Final = timedelta(days=365)
"""Facts are kept for ever, the history of how they came about for a year (docs/store.md)."""
LISTS_KEPT: Final = timedelta(days=1)
"""For so long a server's list is kept that nobody asks for: the server may be gone."""
NOTES_EVERY: Final = 5.0
_NOTED_AT_ONCE = 50
_LONGEST_NOTE = 1000
"""Airflow takes no longer note."""


def merge_counts() -> Job:
    """Return the job that merges what single transactions have left of the roll-up."""

    def work(controller: Controller) -> None:
        controller.store.counts.merge(controller.lease())

    return Job("roll-up", MERGE_EVERY, work)


def give_metrics(read: Callable[[], object]) -> Job:
    """Return the job that has Slipway's API read its metrics, which gives them to Airflow's own, also unasked.

    Parameters
    ----------
    read : asks for them, raises `EngineError`.
    """

    def work(_controller: Controller) -> None:
        read()

    return Job("metrics", METRICS_EVERY, work)


def forget_notifications() -> Job:
    """Return the job that forgets notifications that are older than `NOTIFICATIONS_KEPT`."""

    def work(controller: Controller) -> None:
        controller.store.outbox.prune(controller.lease(), controller.store.now() - NOTIFICATIONS_KEPT)

    return Job("old notifications", FORGET_EVERY, work)


def forget_events() -> Job:
    """Return the job that forgets old events, lists that nobody asks for, and processes that are gone.

    A process that ended as it was told to is forgotten at once; one that crashed, or was taken away, after a day.
    """

    def work(controller: Controller) -> None:
        now = controller.store.now()
        controller.store.events.prune(now - EVENTS_KEPT, controller.lease())
        controller.store.shared_lists.prune(controller.lease(), now - LISTS_KEPT)
        controller.store.processes.prune(controller.lease(), now - timedelta(seconds=KEPT))

    return Job("old events", FORGET_EVERY, work)


class AirflowNotes(Protocol):
    """The notes of DAG runs, as a client of Airflow's public API writes them."""

    def set_note(self, dag_id: str, run_id: str, note: str) -> None:
        """Replace the note of a run. Raises `AirflowRefused`: there is no such run, or the account may not."""


def note_of(action: ActionRecord) -> str:
    """Return the note of an ended action's run: site, revision, how it ended, and why."""
    return _cut(f"{_whose(action)}: {action.state.value}: {action.verdict}")


def waiting_note_of(action: ActionRecord, asked: Iterable[ApprovalRecord]) -> str:
    """Return the note of the run of an action at work: first which groups wait for a person, and what answers.

    Parameters
    ----------
    asked : what its groups have asked, oldest first.
    """
    newest = {gate.group: waits_for_person(gate) for gate in asked}
    waits = "; ".join(f"group {group} {said}" for group, said in newest.items() if said)
    return _cut(f"{waits} ({_whose(action)})" if waits else _whose(action))


def _whose(action: ActionRecord) -> str:
    return f"Site {action.site}" + (f", revision {action.revision}" if action.revision is not None else "")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NOTE else f"{text[: _LONGEST_NOTE - 1]}…"


def note_runs(airflow: AirflowNotes) -> Job:
    """Return the job that writes the notes of runs, each once: what actions wait for, and their verdicts."""
    refused: set[str] = set()

    def write(action: ActionRecord, note: str) -> None:
        assert action.run_id is not None, "the store gives those with a run alone"
        try:
            airflow.set_note(action.dag_id, action.run_id, note)
        except AirflowRefused as error:
            # The run was deleted, or the account may not: that is the same however often it is tried.
            if error.status != 404 and action.dag_id not in refused:
                log.warning("The runs of %s cannot have notes: %s", action.dag_id, error)
                refused.add(action.dag_id)

    def work(controller: Controller) -> bool:
        store = controller.store
        waiting = store.approvals.not_noted(_NOTED_AT_ONCE)
        for action in waiting:
            lease, asked = controller.lease(), store.approvals.of_action(action.id)
            write(action, waiting_note_of(action, asked))
            store.approvals.mark_noted(lease, asked)
        ended = store.actions.not_noted(_NOTED_AT_ONCE)
        for action in ended:
            lease = controller.lease()
            write(action, note_of(action))
            store.actions.mark_noted(lease, action.id, action.verdict)
        return max(len(waiting), len(ended)) < _NOTED_AT_ONCE

    return Job("notes of runs", NOTES_EVERY, work)
