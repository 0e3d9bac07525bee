"""Starting the DAG run of an action: an Airflow that fails, refuses, or whose answer is lost."""

from __future__ import annotations

import httpx
import pytest

from site_store import ActionState, SiteStore
from tests.integration.api.airflow_runs import AirflowRuns, ask, commit, create
from tests.support.lossy_proxy import LossyProxy

pytestmark = pytest.mark.usefixtures("dags", "connected")


def test_a_run_whose_answer_was_lost_is_found(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    proxy.lose("POST", "answer")
    created = create(user)
    assert airflow_runs.state("deploy_site", created["id"]) == "queued"
    assert [method for method, _ in proxy.requests] == ["GET", "POST", "GET"], "the DAG, the run, and the run again"


def test_nothing_waits_behind_a_dag_that_is_switched_off(
    user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    airflow_runs.switch("deploy_site", on=False)
    try:
        answer = ask(user)
        create(user, "update_site", dry_run="true")
    finally:
        airflow_runs.switch("deploy_site", on=True)
    assert (answer.status_code, answer.json()["reason"]) == (409, "Switched off in Airflow")
    assert "the DAG deploy_site is switched off (paused) in Airflow" in answer.json()["message"]
    assert [listing.action.kind for listing in store.actions.newest("default")] == ["update_site"]
    create(user)


def test_an_airflow_that_goes_on_failing_leaves_a_pending_action(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy
) -> None:
    commit(store)
    proxy.lose("POST", "failure", times=4)
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    (listing,) = store.actions.newest("default")
    assert listing.action.state is ActionState.PENDING
    assert [method for method, _ in proxy.requests] == ["GET"] + ["POST"] * 4 + ["GET"]


def test_a_start_that_is_not_known_leaves_a_pending_action_and_no_second_one(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy
) -> None:
    commit(store)
    proxy.lose("POST", "answer")
    proxy.lose("GET", "request", times=2)
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    (listing,) = store.actions.newest("default")
    assert listing.action.id in answer.json()["message"]
    assert listing.action.state is ActionState.PENDING
    again = ask(user)
    assert again.status_code == 409
    assert again.json()["details"]["messageList"][0]["action"]["id"] == listing.action.id


def test_a_request_that_was_lost_is_not_taken_for_refused(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    proxy.lose("POST", "request")
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    (listing,) = store.actions.newest("default")
    assert listing.action.state is ActionState.PENDING
    assert airflow_runs.state("deploy_site", listing.action.id) is None


def test_what_airflow_refuses_is_passed_on_and_the_action_is_closed(
    user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    commit(store)
    # As with an auth manager whose rights change between our question and Airflow's.
    monkeypatch.setattr("slipway_api.http.airflow_client.token_of", lambda _: "no token at all")
    answer = ask(user)
    assert answer.status_code in (401, 403)
    (listing,) = store.actions.newest("default")
    assert listing.action.state is ActionState.FAILED
    assert listing.action.verdict is not None
    assert "Airflow refused to start it" in listing.action.verdict
