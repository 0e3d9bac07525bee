"""Approvals of groups: who may answer, answering one as a user, and what an answer that came back means.

The group's task waits in Airflow for the answer, without a worker (`slipway_airflow.operators.group`). Airflow's own
page, Slipway's and the command line answer in the same way: Airflow keeps the answer, and wakes the task up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from site_engine.errors import AirflowRefused, EngineError
from site_engine.parameters import parameters_of
from site_engine.process import CONTROL
from site_store import ApprovalAnswer, ApprovalRecord, SiteStore

APPROVE: Final = "Approve"
REFUSE: Final = "Refuse"
OPTIONS: Final = (APPROVE, REFUSE)
"""What Airflow's page offers; a task that waits gets one of them back."""
COMMENT: Final = "comment"
"""The field of Airflow's form for a comment."""

_SHORTEST_WAIT = timedelta(seconds=1)


class NotAsked(EngineError):
    """The group asks for no approval now: it has none, has not come to it, or was answered already."""


class MayNotAnswer(EngineError):
    """The group names who may answer it, and this user is none of them."""


class AirflowAnswers(Protocol):
    """Answers to tasks that wait for a person, as a client of Airflow's public API gives them."""

    def answer_task(
        self, dag_id: str, run_id: str, task: tuple[str, int], options: Sequence[str], fields: Mapping[str, Any]
    ) -> None:
        """Answer a task that waits. Raises `AirflowRefused` 404: it does not; 409: it was answered already."""


def waiting_approval(store: SiteStore, action_id: str, group: str) -> ApprovalRecord:
    """Return what a group asks for now.

    Raises
    ------
    NotFound : there is no such action or group.
    NotAsked : it asks for nothing.
    """
    action, record = store.actions.get(action_id), store.groups.get(action_id, group)
    asked = [one for one in store.approvals.of_action(action_id, group) if one.attempt == record.attempt]
    if asked and asked[-1].answer is not None:
        last = asked[-1]
        raise NotAsked(f"group {group} was answered already: {_words(last)}")
    if not asked or record.is_judged or action.state.is_end:
        raise NotAsked(f"group {group} of action {action_id} asks for no approval now")
    return asked[-1]


def require_approver(asked: ApprovalRecord, user: str) -> None:
    """Make sure that a user may answer. Who may start an action of the kind is asked elsewhere.

    Raises `MayNotAnswer`: the group names others.
    """
    if asked.approvers and user not in asked.approvers:
        raise MayNotAnswer(f"group {asked.group} is answered by {', '.join(asked.approvers)}, and not by {user}")


def answer_gate(
    store: SiteStore,
    airflow: AirflowAnswers,
    action_id: str,
    group: str,
    user: str,
    *,
    approved: bool,
    comment: str | None = None,
) -> ApprovalRecord:
    """Answer a group that waits for an approval, and return the answer that counts.

    Parameters
    ----------
    airflow : answers the task as the user, whose rights Airflow checks.
    user : who answers. Where the group names nobody, the caller has made sure that it may start such an action.
    comment : why; of a refusal it stands in the report.

    Raises
    ------
    NotFound : there is no such action or group.
    NotAsked : the group does not ask (any more).
    MayNotAnswer : the group names others.
    AirflowRefused : Airflow does not let this user; nothing has happened.
    AirflowApiError : Airflow did not answer: look whether the group still waits.
    """
    asked = waiting_approval(store, action_id, group)
    require_approver(asked, user)
    action, record = store.actions.get(action_id), store.groups.get(action_id, group)
    if action.run_id is None:
        raise NotAsked(f"no DAG run carries action {action_id} out")
    fields = {COMMENT: comment} if comment else {}
    try:
        option = APPROVE if approved else REFUSE
        task = (parameters_of(action).group_task, -1 if record.map_index is None else record.map_index)
        airflow.answer_task(action.dag_id, action.run_id, task, [option], fields)
    except AirflowRefused as refused:
        if refused.status not in (404, 409):
            raise
        text = "is about to wait; try again in a moment" if refused.status == 404 else "was answered already"
        raise NotAsked(f"group {group} of action {action_id} {text}") from refused
    answer = ApprovalAnswer.APPROVED if approved else ApprovalAnswer.REFUSED
    known = store.approvals.answer(asked, answer, user, comment)
    store.actions.record_command(action_id, "approve" if approved else "refuse", user)
    data = {"user": user, "group": group}
    store.events.add(action.site, CONTROL, f"{answer.value} by {user}", action_id=action_id, group=group, data=data)
    return known


def record_answer(store: SiteStore, asked: ApprovalRecord, event: Mapping[str, Any]) -> ApprovalRecord:
    """Write down what a task that waited was woken up with, and return the approval as it stands.

    It is as it was where somebody answered in Airflow who may not: the task has to ask again.

    Parameters
    ----------
    event : what Airflow gives the task: `chosen_options`, `responded_by_user`, `params_input`, `timedout`.
    """
    if asked.answer is not None:
        return asked
    if event.get("timedout") or event.get("error_type") == "timeout":
        return store.approvals.answer(asked, ApprovalAnswer.TIMED_OUT, None)
    user = str((event.get("responded_by_user") or {}).get("name") or "somebody in Airflow")
    if asked.approvers and user not in asked.approvers:
        return asked
    comment = str((event.get("params_input") or {}).get(COMMENT) or "") or None
    approved = list(event.get("chosen_options") or ()) == [APPROVE]
    return store.approvals.answer(asked, ApprovalAnswer.APPROVED if approved else ApprovalAnswer.REFUSED, user, comment)


def time_left(asked: ApprovalRecord, now: datetime) -> timedelta | None:
    """Return for how long an answer is waited for; None: for ever."""
    return None if asked.deadline is None else max(asked.deadline - now, _SHORTEST_WAIT)


def refusal(asked: Sequence[ApprovalRecord]) -> str:
    """Return why a group that asked was not approved, in words; "" where nobody refused."""
    refused = [one for one in asked if one.answer not in (None, ApprovalAnswer.APPROVED)]
    return _words(refused[-1]) if refused else ""


def _words(asked: ApprovalRecord) -> str:
    if asked.answer == ApprovalAnswer.TIMED_OUT:
        return "nobody answered in time"
    comment = f": {asked.comment}" if asked.comment else ""
    return f"{asked.answer} by {asked.answered_by}{comment}"
