"""Groups that ask a person: when they do, who may answer, and what an answer does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from site_engine.errors import AirflowApiError, AirflowRefused
from site_engine.groups.approvals import (
    APPROVE,
    OPTIONS,
    REFUSE,
    MayNotAnswer,
    NotAsked,
    answer_gate,
    record_answer,
    time_left,
    waiting_approval,
)
from site_engine.groups.attempt import submitted
from site_engine.kinds import STEP_WARNING
from site_store import ApprovalAnswer, ApprovalRecord, Claim
from strategy_lib.phase import GroupState, Phase, Reason
from tests.support.driving import Begin, Driving
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

AB = [node("a"), node("b")]
BEFORE = {"approval": "before", "approval_text": "Is the rack cabled?", "approvers": ["ann", "bob"]}


def asking(*nodes: str, name: str = "one", **more: Any) -> dict[str, Any]:
    """Return a group that asks, and of which every node must succeed."""
    return group(name, nodes, percent_successful_nodes=100) | (more or BEFORE)


@dataclass
class Airflow:
    """Takes answers for tasks that wait."""

    error: AirflowApiError | None = None
    answers: list[tuple[tuple[str, int], list[str], dict[str, Any]]] = field(default_factory=list)

    def answer_task(
        self, dag_id: str, run_id: str, task: tuple[str, int], options: Sequence[str], fields: Mapping[str, Any]
    ) -> None:
        if self.error is not None:
            raise self.error
        self.answers.append((task, list(options), dict(fields)))


def waiting(driving: Driving, name: str = "one", key: str = "6") -> ApprovalRecord:
    """Drive a group until it asks."""
    asked = driving.group(name, key)
    assert isinstance(asked, ApprovalRecord)
    return asked


def test_a_group_asks_before_anything_is_submitted(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(AB, [asking("a")]))
    asked = waiting(driving)
    assert (asked.text, asked.approvers, asked.moment) == ("Is the rack cabled?", ("ann", "bob"), "before")
    assert fake.submissions() == []
    assert waiting(driving) == asked, "a task that starts again asks the same"
    driving.store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann")
    assert driving.finish("one").state is GroupState.SUCCESS
    assert [phase for phase, _ in fake.submissions()] == ["prepare_nodes", "deploy_nodes"]


def test_rule_26_a_group_that_was_approved_has_submitted_nothing_yet(begin: Begin) -> None:
    driving = begin(site(AB, [asking("a")]))
    driving.store.approvals.answer(waiting(driving), ApprovalAnswer.APPROVED, "ann")
    assert not submitted(driving.store, driving.action, "one"), "a pause holds it back"
    record = driving.store.groups.get(driving.action.id, "one")
    driving.store.operations.begin(
        Claim(record.action_id, driving.action.site, "one", record.attempt, Phase.PREPARE, ["a"], "file:///design")
    )
    assert submitted(driving.store, driving.action, "one"), "it goes on"


def test_a_group_asks_before_its_verdict(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(AB, [asking("a", approval="after")]))
    asked = waiting(driving)
    assert (asked.moment, asked.text, len(fake.submissions())) == ("after", "Is group one as it should be?", 2)
    driving.store.approvals.answer(asked, ApprovalAnswer.REFUSED, "ann", "the smoke test fails")
    record = driving.finish("one")
    assert (record.state, record.reason) == (GroupState.FAILURE, Reason.APPROVAL)
    (note,) = [
        event.message for event in driving.store.events.of_action(record.action_id) if event.kind == STEP_WARNING
    ]
    assert note == "Group one was not approved: refused by ann: the smoke test fails"


def test_a_refusal_submits_nothing_and_blocks_what_is_behind(begin: Begin, fake: FakeProvisioner) -> None:
    driving = begin(site(AB, [asking("a"), group("two", ["b"], after=["one"])]))
    driving.store.approvals.answer(waiting(driving), ApprovalAnswer.REFUSED, "ann")
    assert driving.finish("one").reason is Reason.APPROVAL
    assert driving.finish("two").reason is Reason.DEPENDENCY
    assert fake.submissions() == []


def test_a_group_with_nothing_to_submit_asks_nobody(begin: Begin, fake: FakeProvisioner) -> None:
    groups = [group("first", ["a"]), asking("a"), asking("a", name="last", approval="after")]
    driving = begin(site(AB, groups))
    for name in ("first", "one", "last"):
        assert driving.finish(name).state is GroupState.SUCCESS
    assert driving.store.approvals.of_action(driving.action.id) == []


def test_a_group_that_fails_all_the_same_asks_nobody(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "deploy", "fail")
    driving = begin(site(AB, [asking("a", approval="after")]))
    assert driving.finish("one").reason is Reason.DEPLOY_CRITERIA
    assert driving.store.approvals.of_action(driving.action.id) == []


def test_a_group_that_a_person_has_cleared_asks_again(begin: Begin) -> None:
    driving = begin(site(AB, [asking("a")]))
    driving.store.approvals.answer(waiting(driving), ApprovalAnswer.REFUSED, "ann")
    assert driving.finish("one").reason is Reason.APPROVAL
    again = waiting(driving, key="12")
    assert (again.attempt, again.answer) == (2, None)


def test_an_answer_goes_to_airflow_and_is_kept_with_user_and_comment(begin: Begin) -> None:
    driving, airflow = begin(site(AB, [group("first", ["b"]), asking("a")])), Airflow()
    store, action = driving.store, driving.action
    waiting(driving)
    known = answer_gate(store, airflow, action.id, "one", "ann", approved=True, comment="cabled")
    assert airflow.answers == [(("deploy_group", 1), [APPROVE], {"comment": "cabled"})]
    assert (known.answer, known.answered_by, known.comment) == (ApprovalAnswer.APPROVED, "ann", "cabled")
    assert [(audit.command, audit.user) for audit in store.actions.commands(action.id)] == [("approve", "ann")]
    with pytest.raises(NotAsked, match="answered already: approved by ann: cabled"):
        answer_gate(store, airflow, action.id, "one", "bob", approved=False)


def test_only_those_answer_that_the_group_names(begin: Begin) -> None:
    driving, airflow = begin(site(AB, [asking("a")])), Airflow()
    asked = waiting(driving)
    with pytest.raises(MayNotAnswer, match="ann, bob, and not by eve"):
        answer_gate(driving.store, airflow, driving.action.id, "one", "eve", approved=True)
    assert airflow.answers == []
    event = {"chosen_options": [APPROVE], "responded_by_user": {"id": "7", "name": "eve"}}
    assert record_answer(driving.store, asked, event).answer is None, "nor in Airflow: the group asks again"


def test_a_group_without_names_takes_the_answer_of_anybody_whom_airflow_lets(begin: Begin) -> None:
    driving = begin(site(AB, [asking("a", approval="before")]))
    event = {
        "chosen_options": [REFUSE],
        "responded_by_user": {"id": "7", "name": "eve"},
        "params_input": {"comment": "no"},
    }
    known = record_answer(driving.store, waiting(driving), event)
    assert (known.answer, known.answered_by, known.comment) == (ApprovalAnswer.REFUSED, "eve", "no")


@pytest.mark.parametrize("event", [{"timedout": True, "chosen_options": []}, {"error": "…", "error_type": "timeout"}])
def test_no_answer_in_time_is_a_refusal(begin: Begin, clock: FakeClock, event: dict[str, Any]) -> None:
    driving = begin(site(AB, [asking("a", approval="before", approval_timeout=3600)]))
    asked = waiting(driving)
    clock.sleep(600)
    left = time_left(asked, driving.store.now())
    assert left is not None
    assert left <= timedelta(seconds=3000)
    assert record_answer(driving.store, asked, event).answer is ApprovalAnswer.TIMED_OUT
    assert driving.finish("one").reason is Reason.APPROVAL


def test_the_first_answer_stays(begin: Begin) -> None:
    driving = begin(site(AB, [asking("a")]))
    asked = waiting(driving)
    driving.store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann")
    assert driving.store.approvals.answer(asked, ApprovalAnswer.REFUSED, "bob").answered_by == "ann"


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, NotAsked), (409, NotAsked), (403, AirflowRefused)],
    ids=["not yet", "too late", "may not"],
)
def test_what_airflow_refuses_is_not_kept(begin: Begin, status: int, error: type[Exception]) -> None:
    driving = begin(site(AB, [asking("a")]))
    waiting(driving)
    airflow = Airflow(AirflowRefused(status, "refused"))
    with pytest.raises(error):
        answer_gate(driving.store, airflow, driving.action.id, "one", "ann", approved=True)
    assert waiting_approval(driving.store, driving.action.id, "one").answer is None


def test_a_group_that_does_not_ask_cannot_be_answered(begin: Begin) -> None:
    driving = begin(site(AB, [group("one", ["a"])]))
    with pytest.raises(NotAsked, match="asks for no approval now"):
        answer_gate(driving.store, Airflow(), driving.action.id, "one", "ann", approved=True)
    assert OPTIONS == (APPROVE, REFUSE)


def test_who_is_to_be_told_is_told_once(begin: Begin) -> None:
    driving = begin(site(AB, [asking("a")]))
    for _ in range(2):
        waiting(driving)
    told = [event for event in driving.store.events.of_action(driving.action.id) if event.kind == "approval"]
    assert [event.message for event in told] == ["attempt 1 asks for approval before: Is the rack cabled?"]
