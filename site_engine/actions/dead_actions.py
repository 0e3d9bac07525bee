"""Actions whose DAG run is over or gone: closing them, taking their site over, and showing them as they will be closed.

Rule 24. `reconcile` is the one place that closes an action from outside of its own run. `acquire`, the commands to an
action, the creation of another one and the controller call it. Readers call `action_for_display`, which writes nothing.
An action that no DAG run carries out is left alone by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from site_engine.admission import busy_site
from site_engine.errors import AirflowRefused, StepError
from site_engine.log_messages import TaskLog
from site_engine.monitoring.metrics import measure_abandoned, measure_action, measure_group
from site_engine.process import STOP
from site_store import ActionRecord, ActionState, Lease, LockOwner, SiteBusy, SiteStore
from strategy_lib.phase import GroupState

TRIGGER_TIME = timedelta(seconds=120)
"""An action's row is written before its DAG run is triggered: for so long the trigger may still be on its way."""
GONE_TIME = timedelta(seconds=120)
"""For so long Airflow has to say that a run is not there before `reconcile_all` believes it: it may be another Airflow,
or one whose database is just being restored."""
LIVE = ("queued", "running")
"""Airflow's states of a DAG run that goes on by itself."""

_OVER = frozenset({"success", "failed"})

RunState = Callable[[str, str], str | None]
"""Gives Airflow's state of a DAG run (dag id, run id), None when no such run exists (any more)."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a look at all open actions has come to.

    Attributes
    ----------
    closed : actions that were closed by it.
    hidden : actions whose run Airflow does not show to the caller; they are left alone.
    gone : for each action whose run is not there, in seconds, when that was first seen; for the next look.
    """

    closed: tuple[ActionRecord, ...]
    hidden: tuple[ActionRecord, ...]
    gone: Mapping[str, float]


class AirflowRuns(Protocol):
    """The DAG runs, as a client of Airflow's public API gives them."""

    def run_states(self, runs: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return the states of many runs; one that is not shown to the caller, or is not there, is left out."""

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        """Return the state of a run, None when it does not exist; raise `AirflowRefused` when it is not shown."""


def run_is_over(state: str | None) -> bool:
    """Whether a DAG run in this state will not go on by itself; None stands for a run that does not exist."""
    return state is None or state in _OVER


def reconcile(
    store: SiteStore, action_id: str, run_state: RunState, by: str | None = None, held: Lease | None = None
) -> bool:
    """Close an action whose DAG run ended without its report, was deleted or never came to be, and free its site.

    One that was only just asked for is left alone: its DAG run may be about to be there (rule 24).

    Parameters
    ----------
    by
        Who does this without having been asked; kept among the commands to the action.
    held
        The lease of a controller that does this: without it nothing is written (rule 55). None: somebody else does it.

    Returns
    -------
    bool
        Whether the action was closed by this.

    Raises
    ------
    LeaseLost
        The lease is lost.
    """
    action = store.actions.get(action_id)
    if action.state.is_end or action.run_id is None:
        return False
    state = run_state(action.dag_id, action.run_id)
    if not _is_dead(store, action, state):
        return False
    return close_without_report(store, action_id, by, held, is_gone=state is None)


def reconcile_all(
    store: SiteStore,
    airflow: AirflowRuns,
    by: str,
    now: float,
    gone: Mapping[str, float],
    lease: Callable[[], Lease | None] = lambda: None,
) -> Reconciled:
    """Close every action, of all sites, whose DAG run is over, or was gone already `GONE_TIME` ago.

    Airflow is asked once for a hundred of them. A run that it does not list may only be hidden from the caller, so it
    is asked for by itself before its action is closed.

    Parameters
    ----------
    by
        Who does this; kept among the commands to each action.
    now
        Seconds on a clock of this process that only goes forward.
    gone
        What the look before this one has come to, see `Reconciled`; empty at first.
    lease
        Gives the lease of the controller that does this, before each such action is looked at: what it raises ends the
        look, and without the lease nothing is written.

    Raises
    ------
    AirflowApiError
        Airflow does not answer.
    """
    opened = {(one.dag_id, one.run_id): one for one in store.actions.unfinished() if one.run_id is not None}
    states = airflow.run_states(opened.keys()) if opened else {}
    closed, hidden, still_gone = [], [], {}
    for run, action in opened.items():
        if states.get(run) in LIVE:
            continue
        held = lease()
        try:
            state = airflow.run_state(*run)
        except AirflowRefused:
            hidden.append(action)
            continue
        if state is None:
            still_gone[action.id] = gone.get(action.id, now)
            if now - still_gone[action.id] < GONE_TIME.total_seconds():
                continue
        if reconcile(store, action.id, lambda *_, state=state: state, by, held):
            closed.append(store.actions.get(action.id))
    return Reconciled(tuple(closed), tuple(hidden), still_gone)


def close_without_report(
    store: SiteStore, action_id: str, by: str | None = None, held: Lease | None = None, *, is_gone: bool = False
) -> bool:
    """Close an action whose DAG run ended without its report, and free its site; False when it has ended otherwise.

    The verdict names who stopped it last, where somebody did. `held`: as for `reconcile`; `is_gone`: there is no run.
    """
    before = store.actions.get(action_id)
    at_work = [one.name for one in store.groups.standings(action_id) if one.state is GroupState.RUNNING]
    if not store.actions.close(action_id, ActionState.CANCELLED, _verdict(store, before, is_gone=is_gone), by, held):
        return False
    if not before.state.is_end:
        _measure_closed(store, store.actions.get(action_id), at_work)
    return True


def _measure_closed(store: SiteStore, action: ActionRecord, groups: Iterable[str]) -> None:
    """Measure an action and the groups that its end interrupted."""
    if action.dry_run:
        return
    measure_abandoned(store.operations.of_action(action.id), action.ended)
    for name in groups:
        measure_group(action.site, store.groups.get(action.id, name))
    measure_action(action)


def action_for_display(store: SiteStore, action_id: str, run_state: str | None) -> ActionRecord:
    """Return an action as it stands, given what Airflow says of its DAG run; nothing is written.

    One whose run is over or gone is shown as it will be closed, with no time of its end: nobody has noted one.

    Parameters
    ----------
    run_state
        Airflow's state of the run, asked for before this call; None when no such run exists (any more).
    """
    # Read after Airflow was asked: a run that is over has written all that it will write.
    action = store.actions.get(action_id)
    if action.state.is_end or not _is_dead(store, action, run_state):
        return action
    verdict = _verdict(store, action, is_gone=run_state is None)
    return replace(action, state=ActionState.CANCELLED, verdict=verdict, paused=None)


def has_unrecorded_end(action: ActionRecord) -> bool:
    """Whether only `action_for_display` shows an action as over: its groups and nodes in the store look alive."""
    return action.state.is_end and action.ended is None


def _is_dead(store: SiteStore, action: ActionRecord, run_state: str | None) -> bool:
    if action.run_id is None:
        return False
    if run_state is None and action.state is ActionState.PENDING:
        return store.now() - action.created >= TRIGGER_TIME
    return run_is_over(run_state)


def _verdict(store: SiteStore, action: ActionRecord, *, is_gone: bool) -> str:
    stopped = [audit.user for audit in store.actions.commands(action.id) if audit.command == STOP]
    if stopped:
        return f"stopped by {stopped[-1]}"
    if not is_gone:
        return "the DAG run ended without its report"
    if action.state is ActionState.PENDING:
        return "it never began: Airflow has no DAG run of it"
    return "its DAG run was deleted before there was a report"


def take_site(store: SiteStore, action_id: str, run_state: RunState, log: TaskLog) -> None:
    """Take the lock of the action's site, or learn that this action has it already.

    Parameters
    ----------
    run_state
        Gives Airflow's state of a DAG run (dag id, run id), None when the run does not exist any more.

    Raises
    ------
    StepError
        Another action that is still going on has it; the error names it.
    """
    try:
        store.locks.acquire(action_id)
    except SiteBusy as busy:
        owner = busy.owner
        if owner.action_id == action_id or owner.run_id is None:
            raise _site_is_busy(store, owner) from busy
        if not run_is_over(run_state(owner.dag_id, owner.run_id)):
            raise _site_is_busy(store, owner) from busy
        log.warning(
            "The site was left locked by action %s, whose run %s is over: taking it over.",
            owner.action_id,
            owner.run_id,
        )
        if not store.locks.take_over(action_id, owner):
            raise _site_is_busy(store, owner) from busy


def _site_is_busy(store: SiteStore, owner: LockOwner) -> StepError:
    return StepError(busy_site(store.actions.get(owner.action_id)).text)
