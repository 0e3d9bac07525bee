"""The verdict of each action as the note of its DAG run, so that Airflow's own lists of runs say how it ended.

The tasks of a run have no right to write its note, so the controller does, with its account.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from site_engine.controller.controller import Job
from site_engine.errors import AirflowRefused

if TYPE_CHECKING:
    from site_engine.controller.controller import Controller
    from site_store import ActionRecord

log = logging.getLogger("slipway.controller")

NOTES_EVERY: Final = 5.0
_AT_ONCE = 50
_LONGEST = 1000
"""Airflow takes no longer note."""


class AirflowNotes(Protocol):
    """The notes of DAG runs, as a client of Airflow's public API writes them."""

    def set_note(self, dag_id: str, run_id: str, note: str) -> None:
        """Replace the note of a run. Raises `AirflowRefused`: there is no such run, or the account may not."""


def note_of(action: ActionRecord) -> str:
    """Return the note of an ended action's run: site, revision, how it ended, and why."""
    revision = f", revision {action.revision}" if action.revision is not None else ""
    text = f"Site {action.site}{revision}: {action.state.value}: {action.verdict}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def note_verdicts(airflow: AirflowNotes) -> Job:
    """Return the job that writes the verdicts of ended actions into the notes of their runs, each once."""
    refused: set[str] = set()

    def work(controller: Controller) -> bool:
        actions = controller.store.actions.not_noted(_AT_ONCE)
        for action in actions:
            lease = controller.lease()
            assert action.run_id is not None, "the store gives those with a run alone"
            try:
                airflow.set_note(action.dag_id, action.run_id, note_of(action))
            except AirflowRefused as error:
                # The run was deleted, or the account may not: that is the same however often it is tried.
                if error.status != 404 and action.dag_id not in refused:
                    log.warning("The verdicts of %s cannot be the notes of its runs: %s", action.dag_id, error)
                    refused.add(action.dag_id)
            controller.store.actions.mark_noted(lease, action.id, action.verdict)
        return len(actions) < _AT_ONCE

    return Job("notes of runs", NOTES_EVERY, work)
