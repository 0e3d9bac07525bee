"""Deploy one group: the task that is mapped over the plan, one instance per group in Airflow's UI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn

from airflow.sdk import Context
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSkipException,
    TaskAwaitingInput,
    TaskDeferred,
)

# Not in the top level of the SDK: a test holds it to what is used of it.
from airflow.sdk.execution_time.hitl import upsert_hitl_detail

from site_engine import log_messages
from site_engine.errors import StepError
from site_engine.groups.approvals import COMMENT, OPTIONS, NotAsked, record_answer, refusal, time_left, waiting_approval
from site_engine.groups.attempt import StillBeside, interrupt_group, is_final, submitted
from site_engine.groups.turns import LOOK_AGAIN, hold_group_back, look_again, place_taker, turn_of, why_blocked
from site_engine.kinds import DEPLOY_GROUP
from site_engine.operations.readiness import StillAsking
from site_engine.operations.wait import StillRunning
from site_engine.parameters import MOST_PARALLEL_GROUPS, parameters_of
from site_store import ApprovalRecord, GroupTurn, PlaceTaken, SiteStore
from slipway_airflow.group_driving import GroupTask, drive_group
from slipway_airflow.group_trigger import GroupTrigger
from slipway_airflow.operators.base import design_address, task_states
from slipway_airflow.operators.waiting import StepWork, WaitingOperator
from strategy_lib.phase import GroupState, Reason

# With several groups at once a worker each would be taken; nodes that are ready within this time need no deferral.
_PATIENCE_FOR_NODES = 5.0


class DeployGroupOperator(WaitingOperator):
    """Prepare and deploy the nodes of one group, and judge it by its criteria.

    A group that does not meet its criteria fails without a retry: that is a verdict. Trouble on the way is retried.

    Parameters
    ----------
    group : the group's name (mapped).
    """

    def __init__(self, *, group: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group

    def step_name(self) -> str:
        return DEPLOY_GROUP

    def step_group(self) -> str | None:
        return self.group

    def require_mine(self, store: SiteStore, context: Context) -> None:
        """Make sure that it is this task that is mapped over the groups of the action.

        Raises `AirflowSkipException`: a person cleared the other one.
        """
        mapped = parameters_of(self.action(store, context)).group_task
        if mapped != self.task_id:
            raise AirflowSkipException(f"the groups of this action are deployed by the task {mapped}: clear that one")

    def run_step(self, context: Context, store: SiteStore) -> Any:
        """Begin, or begin again. Raises `StepError`: the store has lost the plan by which Airflow made this task."""
        action = self.action(store, context)
        if self.group not in {each.name for each in store.groups.standings(action.id)}:
            raise StepError(
                f"the store has no plan of group {self.group} of action {action.id}, as where it was put back to an "
                f"earlier moment: `slipway stop action/{action.id}`, and create another one"
            )
        return super().run_step(context, store)

    def carry_out(self, work: StepWork) -> Any:
        """Wait for the group's turn, then drive it to its verdict.

        Raises `AirflowRescheduleException`: an earlier group has no verdict yet (its task is being retried), or the
        action is paused and this group has not begun: Airflow starts this one again later; `AirflowFailException`: the
        group's verdict is failure; `AirflowSkipException`: the same, because another group has failed.
        """
        store, action, operations = work.store, work.action, work.operations
        # Airflow raises max_tries when a person clears the task, and only then: a retry keeps it (rule 23).
        attempt_key = str(work.context["ti"].max_tries)
        standings = store.groups.standings(action.id)
        has_submitted = partial(submitted, store, action, self.group)
        self.wait_while_paused(action, hold_group_back(action, standings, self.group, attempt_key, has_submitted))
        task = GroupTask(self.group, attempt_key, self.configuration)
        may_begin, for_nodes = self._take_turn(work, task), operations.patience
        if parameters_of(action).places > 1:
            for_nodes = min(for_nodes, _PATIENCE_FOR_NODES)
            operations.patience = 0.0
        address = design_address(store, action, work.connection)
        try:
            result = drive_group(
                operations, work.connection, action, task, address, may_begin, patience_for_nodes=for_nodes
            )
        except PlaceTaken as taken:
            self.log.info("%s.", taken)
            raise AirflowRescheduleException(datetime.now(UTC) + LOOK_AGAIN) from None
        if isinstance(result, StillRunning) and result.give_up is None:
            self.log.info("Provisioner task %s goes on; the triggerer goes on with the group.", result.provisioner_task)
            self._leave_to_triggerer(work, task)
        if isinstance(result, StillRunning | StillAsking):
            return result
        if isinstance(result, StillBeside):
            self.log.info("Other groups are still at work on nodes of this one: waiting without a worker.")
            self._leave_to_triggerer(work, task)
        if isinstance(result, ApprovalRecord):
            self._ask(work, result)
        self.finalize_cleared_task(work)
        if result.reason is Reason.DEPENDENCY:
            blocked = f"group {self.group} is {why_blocked(store, result)}"
            # Airflow's log of a task that is skipped does not say why.
            self.log.error("%s", blocked)
            raise AirflowSkipException(blocked)
        if result.state is GroupState.FAILURE:
            asked = store.approvals.of_action(action.id, self.group) if result.reason is Reason.APPROVAL else []
            why = f" ({refusal(asked)})" if asked else ""
            raise AirflowFailException(log_messages.failure(result) + why)
        return None

    def answered(self, context: Context, event: dict[str, Any]) -> Any:
        """Come back from waiting for a person: keep the answer, and go on; ask again where another had to answer."""

        def work(context: Context, store: SiteStore) -> Any:
            action = self.action(store, context)
            try:
                asked = waiting_approval(store, action.id, self.group)
            except NotAsked as answered:
                self.log.info("%s.", answered)
            else:
                if record_answer(store, asked, event).answer is None:
                    self.log.warning(
                        "The answer came from a person who may not approve. Asking again: %s may approve.",
                        ", ".join(asked.approvers),
                    )
            return self._run(context, store, resumed=False)

        return self._in_step(context, work)

    def _ask(self, work: StepWork, asked: ApprovalRecord) -> NoReturn:
        """Have Airflow ask, and wait for the answer without a worker. Raises `TaskAwaitingInput`."""
        action = work.action
        who = ", ".join(asked.approvers) or f"everybody who may start {action.kind} and change runs of deploy_site"
        self.log.info("Waiting for approval %s: %s (asked of %s)", asked.moment, asked.text, who)
        upsert_hitl_detail(
            ti_id=work.context["ti"].id,
            options=list(OPTIONS),
            subject=f"Site {action.site}, group {self.group}: approval {asked.moment}",
            body=f"{as_text(asked.text)}\n\nMay be answered by: {as_text(who)}",
            defaults=None,
            multiple=False,
            params={COMMENT: {"value": "", "type": ["null", "string"], "title": "Comment"}},
        )
        raise TaskAwaitingInput(method_name="answered", timeout=time_left(asked, work.store.now()))

    def _task_states(self, context: Context) -> Callable[[int], str | None]:
        """Return what tells Airflow's state of a group's task; Airflow is asked once, when it is needed."""
        states: dict[str, str | None] | None = None

        def state_of(map_index: int) -> str | None:
            nonlocal states
            if states is None:
                states = task_states(context, [self.task_id])
            return states.get(f"{self.task_id}_{map_index}")

        return state_of

    def _take_turn(self, work: StepWork, task: GroupTask) -> Callable[[Sequence[GroupTurn]], bool] | None:
        """Wait for the group's turn. Return what decides in the store whether it may take a place beside others.

        Raises `AirflowRescheduleException` or `TaskDeferred`: others go first.
        """
        places = parameters_of(work.action).places
        seen, state_of = work.store.groups.turns(work.action.id), self._task_states(work.context)
        if any(is_final(each, task.attempt_key) for each in seen if each.name == self.group):
            # It only says again what became of it.
            return (lambda _: True) if places > 1 else None
        turn = turn_of(self.group, seen, state_of, places)
        self._interrupt(work, turn.interrupted)
        if turn.wait_for is not None:
            self.log.info("Group %s goes first (%d at once): waiting for it.", turn.wait_for, places)
            later = look_again(turn, places, MOST_PARALLEL_GROUPS)
            if later is not None:
                raise AirflowRescheduleException(datetime.now(UTC) + later)
            self._leave_to_triggerer(work, task)
        return place_taker(self.group, seen, state_of, places) if places > 1 else None

    def _leave_to_triggerer(self, work: StepWork, task: GroupTask) -> NoReturn:
        """Have the triggerer go on with the group, without a worker. Raises `TaskDeferred`."""
        trigger = GroupTrigger(
            work.connection.id,
            work.action.id,
            task.group,
            task.attempt_key,
            dict(task.configuration),
            self._stopping.since.isoformat(),
            work.connection.slipway_url,
        )
        raise TaskDeferred(trigger=trigger, method_name="resume")

    def _interrupt(self, work: StepWork, groups: Sequence[str]) -> None:
        for name in groups:
            self.log.warning("The task of group %s ended without a verdict: the group counts as failed.", name)
            interrupt_group(work.store, work.action, name)


# What Markdown takes for more than text: Airflow's page shows what is asked as Markdown.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:&])")


def as_text(words: str) -> str:
    """Return words so that Markdown shows them as they are."""
    return _MARKDOWN.sub(r"\\\1", words)
