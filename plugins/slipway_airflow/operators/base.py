"""What all of Slipway's operators share: finding their action, and turning failures into words in the right place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSkipException,
    DagRunTriggerException,
    TaskAwaitingInput,
    TaskDeferred,
)

# Not in the top level of the SDK: a test holds it to what is used of it.
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import SkipDownstreamTasks
from airflow.sdk.log import mask_secret

from design_rendering.reading.documents import Document
from design_rendering.redaction import Redactor
from provisioner_client.errors import AuthenticationFailed, ProvisionerError, ProvisionerRefused
from site_engine.designs import read_revision
from site_engine.errors import ConnectionLookupFailed, EngineError, StepError, TaskStopped
from site_engine.groups.turns import LOOK_AGAIN_HELD
from site_engine.kinds import RELEASE, STEP_FAILED, STEP_WARNING, states_of_steps, tasks_of
from site_engine.monitoring.metrics import use_sink
from site_engine.monitoring.owners import AIRFLOW_INTERVAL, PROCESS, airflow_owner
from site_engine.operations.run import ActionClients
from site_engine.process import Stopping
from site_engine.provisioners import ProvisionerConnection
from site_engine.redaction import redact_output, secrets_of
from site_store import (
    ActionRecord,
    RevisionNotFound,
    RevisionRecord,
    SiteStore,
    StepState,
    StoreError,
    SubmissionsHeld,
)
from slipway_airflow import connections
from slipway_airflow.airflow_stats import emit
from slipway_airflow.process_environment import note_task
from strategy_lib.actors import Actor
from strategy_lib.errors import StrategyLibError

# The key on XCom of the design's settings, which `begin_action` pushes by themselves.
CONFIGURATION_KEY = "configuration"

# Trouble that is the same however often one tries.
_FINAL = (EngineError, StrategyLibError, RevisionNotFound, ProvisionerRefused)
# Keystone has bad minutes, and so has Airflow; a worker that is shut down stops its tasks.
_PASSING = (AuthenticationFailed, ConnectionLookupFailed, TaskStopped)


class SiteOperator(BaseOperator):
    """Base of the operators: a task of an action on a site."""

    # None until the secrets of the design are known.
    _redactor: Redactor | None = None
    # Of a task that carries out several steps: these, and the one that it is at.
    steps: Sequence[str] = ()
    _step: str | None = None
    _stopping = Stopping()

    def action(self, store: SiteStore, context: Context) -> ActionRecord:
        """Return the action that this DAG run carries out.

        Raises `StepError`: the run has none: its ``acquire`` never got as far.
        """
        ti = context["ti"]
        action = store.actions.of_run(ti.dag_id, ti.run_id)
        if action is None:
            raise StepError("this run has no action in Slipway's store: clear its task 'acquire'")
        return action

    def read_revision(self, store: SiteStore, site: str, number: int | None) -> tuple[RevisionRecord, list[Document]]:
        """Return a revision and its rendered documents; this task's texts hide their secrets from here on.

        Raises `StepError`: there is no rendered design; `site_store.RevisionNotFound`: there is no such revision.
        """
        revision, documents = read_revision(store, site, number)
        if self._redactor is None:
            self._hide(secrets_of(store, revision, documents))
        return revision, documents

    def _hide(self, secrets: Iterable[str]) -> None:
        """Take these secrets out of all that this task says from here on.

        Airflow's masking is not for this: its cost grows with the square of their number.
        """
        self._redactor = Redactor(secrets)
        redact_output(self._redactor)

    def clients(self, store: SiteStore, action: ActionRecord) -> ActionClients:
        """Return what makes clients of the action's provisioner. Raises as `connections.for_action`."""
        connection = connections.for_action(store, action)
        return ActionClients(store, action, connection, connections.for_action, self._stopping)

    @abstractmethod
    def run_step(self, context: Context, store: SiteStore) -> Any:
        """Carry the step out; what it returns is the task's result."""

    def step_name(self) -> str:
        """Return the step that the task carries out now (`site_engine.kinds`)."""
        return self._step or self.task_id

    def step_group(self) -> str | None:
        """Return the group that the task is for, None where it is for the whole action."""
        return None

    def is_done(self, store: SiteStore, context: Context) -> bool:
        """Whether a step, of several that the task carries out, is proven done, and noted so."""
        return False

    def require_mine(self, store: SiteStore, context: Context) -> None:
        """Leave the task out, before anything is noted of it, where another one does its step."""

    def on_kill(self) -> None:
        """Submit nothing more, and say what a kill does not do: Drydock has no cancel, so what was sent goes on.

        Airflow calls it when the task gets a signal to end, and lets the task go on: it has to end itself.
        """
        self._stopping.told = True
        self.log.warning("Killed. What was submitted goes on at the provisioner, and is found again by its reference.")

    def execute(self, context: Context) -> Any:
        """Carry the step out, and keep in the store how it stands (`SiteStore.steps`).

        Raises `AirflowFailException`: trouble that a retry would not mend; `AirflowException`: trouble on the way:
        Airflow retries, and the task resumes from the store.
        """
        return self._in_step(context, self.run_step)

    def _in_step(self, context: Context, work: Callable[[Context, SiteStore], Any]) -> Any:
        """Do a part of the step, or of one step after the other, each with its own row and its own failure."""
        use_sink(emit)
        result = None
        with SiteStore.open(actor=Actor.STEP) as store:
            for step in self.steps or (None,):
                self._step = step
                result = self._step_in(store, context, work)
        return result

    def _step_in(self, store: SiteStore, context: Context, work: Callable[[Context, SiteStore], Any]) -> Any:
        """Do it; a failure is kept as an event for the report, and raised in Airflow's words."""
        self.require_mine(store, context)
        try:
            if self._step is not None:
                self.log.info("Step %s:", self._step)
            if self.is_done(store, context):
                self.log.info("It is proven done, and not done again.")
                return None
            self._begin(store, context)
            result = work(context, store)
        except (TaskDeferred, DagRunTriggerException):
            self._leave(store, context, StepState.DEFERRED)
            raise
        except TaskAwaitingInput:
            self._leave(store, context, StepState.AWAITING)
            raise
        except AirflowRescheduleException:
            self._leave(store, context, StepState.RESCHEDULED)
            raise
        except SubmissionsHeld as held:
            self.log.warning("Nothing is begun: %s.", held)
            self._leave(store, context, StepState.RESCHEDULED, str(held))
            raise AirflowRescheduleException(datetime.now(UTC) + LOOK_AGAIN_HELD) from held
        except AirflowSkipException as skipped:
            self._leave(store, context, StepState.SKIPPED, str(skipped))
            raise
        except (EngineError, StrategyLibError, ProvisionerError, StoreError) as error:
            # What it was raised from stands in the traceback.
            (self._redactor or Redactor(())).redact_exception(error)
            message = (self._redactor or Redactor(())).redact(str(error))
            final = isinstance(error, _FINAL) and not isinstance(error, _PASSING)
            self._leave(store, context, _failed(context, final=final), message, failure=message)
            raise (AirflowFailException if final else AirflowException)(message) from error
        except Exception as error:
            message = (self._redactor or Redactor(())).redact(str(error) or type(error).__name__)
            self._leave(store, context, _failed(context, final=isinstance(error, AirflowFailException)), message)
            raise
        self._leave(store, context, StepState.SUCCESS)
        return result

    def _begin(self, store: SiteStore, context: Context) -> None:
        """Note that the action has come to this step, and hide its secrets before anything is said.

        `acquire` does so again once there is an action. Of a revision whose secrets were not stored with it they are
        found when the design is read. Raises `SubmissionsHeld`: nothing may be sent (rule 61).
        """
        ti = context["ti"]
        action = store.actions.of_run(ti.dag_id, ti.run_id)
        if action is None:
            return
        PROCESS.seen(store, airflow_owner(action.dag_id), AIRFLOW_INTERVAL)
        note_task(store)
        store.steps.begin(action.id, self.step_name(), ti.try_number, self.step_group())
        if self.step_name() != RELEASE:
            store.actions.mark_step(action.id, self.step_name())
        known = None if action.revision is None else store.revisions.secrets(action.site, action.revision)
        if known is not None:
            self._hide(known.texts)
        if self.step_name() != RELEASE and not action.dry_run:
            # By a copy nothing is judged, either: what it knows is older than the world.
            store.home.require_own(action.site)

    def _leave(
        self,
        store: SiteStore,
        context: Context,
        state: StepState,
        message: str | None = None,
        *,
        failure: str | None = None,
    ) -> None:
        """Keep how the step has left off, and what the report says of its failure.

        That it cannot be kept is no failure of the step.
        """
        ti, step = context["ti"], self.step_name()
        try:
            action = store.actions.of_run(ti.dag_id, ti.run_id)
            if action is None:
                return
            if failure is not None:
                store.events.add(action.site, STEP_FAILED, failure, action_id=action.id, data={"step": step})
            store.steps.leave(action.id, step, ti.try_number, state, message, self.step_group())
        except StoreError as error:
            self.log.warning("The step's state could not be kept in the store: %s", error)

    def warn(self, store: SiteStore, action: ActionRecord, text: str) -> None:
        """Say something in the log and in the report."""
        self.log.warning("%s", text)
        store.events.add(action.site, STEP_WARNING, text, action_id=action.id)


def _failed(context: Context, *, final: bool) -> StepState:
    ti = context["ti"]
    return StepState.FAILED if final or ti.try_number > ti.max_tries else StepState.RETRIED


def task_states(context: Context, task_ids: Sequence[str]) -> dict[str, str | None]:
    """Return Airflow's states of tasks of this run; mapped ones as ``task_id_index``, those not known yet left out."""
    ti = context["ti"]
    states: dict[str, str | None] = ti.get_task_states(
        dag_id=ti.dag_id, task_ids=list(task_ids), run_ids=[ti.run_id]
    ).get(ti.run_id, {})
    return states


def step_states(context: Context, store: SiteStore, steps: Iterable[str]) -> dict[str, str | None]:
    """Return how steps of this run stand, in Airflow's words for tasks; those with a row for each group left out."""
    ti, names = context["ti"], tuple(steps)
    action = store.actions.of_run(ti.dag_id, ti.run_id)
    noted = [] if action is None else store.steps.of_action(action.id)
    tasks = task_states(context, tasks_of(names))
    return states_of_steps(names, tasks, {row.name: row.state for row in noted if row.group is None})


def skip_tasks(store: SiteStore, action: ActionRecord, reasons: Mapping[str, str], others: Iterable[str] = ()) -> None:
    """Have Airflow skip the tasks of steps without work, so that they have no process; say of each step why.

    Parameters
    ----------
    reasons : each step, and why it has no work.
    others : more tasks that nobody needs.
    """
    if reasons:
        store.steps.skip(action.id, reasons)
    # As Airflow's own branches do it; it is there while a task runs.
    if tasks := dict.fromkeys((*tasks_of(reasons), *others)):
        task_runner.SUPERVISOR_COMMS.send(SkipDownstreamTasks(tasks=[*tasks]))


def design_address(store: SiteStore, action: ActionRecord, connection: ProvisionerConnection) -> str:
    """Return the address of the action's revision, with a handle in place of its token, which stays out of the log.

    Raises `SettingsError`: the connection's fields cannot be used.
    """
    masked_token(store, action)
    return connection.design_address(store.revisions.design_handle(action.site, action.revision), action.design_fetch)


def masked_token(store: SiteStore, action: ActionRecord) -> str:
    """Return the token of the action's revision; from here on it is kept out of this task's log."""
    token = store.secret_texts.token_of(store.revisions.design_handle(action.site, action.revision))
    mask_secret(token)
    return token
