"""What a person decides over HTTP: a retry says first what it will do; approvals; who may do either."""

from __future__ import annotations

import httpx
import pytest

from site_store import ActionState, SiteStore
from strategy_lib.phase import GroupState, Reason
from strategy_lib.strategy import ApprovalMoment
from tests.integration.api.airflow_runs import ACTIONS, AirflowRuns
from tests.integration.api.http.test_service import assert_failure

pytestmark = pytest.mark.usefixtures("dags", "connected")


@pytest.fixture
def failed(action: str, store: SiteStore, airflow_runs: AirflowRuns) -> str:
    """Return the id of an action that is over, whose critical group failed."""
    attempt = store.groups.open_attempt(action, "control", "1").attempt
    store.groups.finish(action, "control", attempt, GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    store.actions.close(action, ActionState.FAILED, "critical group control failed")
    store.locks.release(action)
    airflow_runs.end("deploy_site", action)
    return action


def test_a_retry_says_first_what_it_will_do(viewer: httpx.Client, failed: str) -> None:
    found = viewer.get(f"{ACTIONS}/{failed}/retry").json()
    assert (found["groups"][0]["name"], found["groups"][0]["nodes"]) == ("control", ["n1", "n2"])
    only = viewer.get(f"{ACTIONS}/{failed}/retry", params={"group": "compute"}).json()
    assert (only["nodes"], only["site"]) == (["n3"], "default")
    wrong = viewer.get(f"{ACTIONS}/{failed}/retry", params={"group": "contrl"})
    assert_failure(wrong, 404, "did you mean 'control'")
    assert_failure(viewer.post(f"{ACTIONS}/{failed}/retry", json={}), 403, "Airflow does not let viewer")


def test_a_retry_clears_what_failed_and_names_the_user(
    user: httpx.Client, failed: str, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    answer = user.post(f"{ACTIONS}/{failed}/retry", json={"groups": ["control"]})
    assert answer.status_code == 202, answer.text
    assert "control" in [group["name"] for group in answer.json()["groups"]]
    assert airflow_runs.states("deploy_site", failed)["release"] is None
    assert [(audit.command, audit.user) for audit in store.actions.commands(failed)][-1] == ("retry", "user")
    assert_failure(user.post(f"{ACTIONS}/{failed}/retry", json={"groups": "control"}), 400, "groups must be a list")


def test_nothing_to_try_again(user: httpx.Client, action: str) -> None:
    for answer in (user.get(f"{ACTIONS}/{action}/retry"), user.post(f"{ACTIONS}/{action}/retry", json={})):
        assert_failure(answer, 409, "has failed")


def test_a_group_that_asks_nothing_is_not_answered(user: httpx.Client, action: str) -> None:
    path = f"{ACTIONS}/{action}/approvals/control"
    assert_failure(user.post(path, json={"answer": "approved"}), 409, "asks for no approval now")
    assert_failure(user.post(path, json={"answer": "yes"}), 400, "answer must be")
    assert_failure(user.post(path, json={"answer": "refused", "comment": 3}), 400, "comment must be a text")
    wrong = user.post(f"{ACTIONS}/{action}/approvals/nothing", json={"answer": "approved"})
    assert wrong.status_code == 404


def test_who_may_answer(user: httpx.Client, viewer: httpx.Client, action: str, store: SiteStore) -> None:
    store.groups.open_attempt(action, "control", "1")
    store.approvals.ask(action, "control", 1, ApprovalMoment.BEFORE, "Are the racks cabled?")
    path = f"{ACTIONS}/{action}/approvals/control"
    assert_failure(viewer.post(path, json={"answer": "approved"}), 403, "Airflow does not let viewer")
    # Airflow's task does not wait: nothing is written before it takes the answer.
    assert_failure(user.post(path, json={"answer": "approved"}), 409, "is about to wait")
    store.groups.open_attempt(action, "compute", "1")
    store.approvals.ask(action, "compute", 1, ApprovalMoment.BEFORE, "Cabled?", approvers=["op"])
    answer = user.post(f"{ACTIONS}/{action}/approvals/compute", json={"answer": "refused"})
    assert_failure(answer, 403, "is answered by op, and not by user")
    assert all(one.answer is None for one in store.approvals.of_action(action))
