"""The action of a DAG run, with and without its report; an action whose run is gone is shown as over."""

from __future__ import annotations

import logging

import httpx
import pytest

from site_engine.actions.finalization import finalize_action
from site_store import SiteStore
from slipway_airflow import connections
from slipway_api.airflow_client import own_airflow
from tests.integration.api.http.test_service import assert_failure

RUNS = "/api/v1.0/runs/deploy_site"


def test_no_action(viewer: httpx.Client) -> None:
    assert_failure(viewer.get(f"{RUNS}/nothing"), 404, "run 'nothing' of DAG 'deploy_site' has no action (yet)")


def test_report_on_demand(viewer: httpx.Client, store: SiteStore) -> None:
    run_id = "manual__2026-01-01T00:00:00+00:00"
    action = store.actions.ensure("deploy_site", run_id, "deploy_site", "alpha", 3, {}, "tester")
    report = finalize_action(store, action, {"load_design": "failed"}, logging.getLogger("test"), connections)
    shown = viewer.get(f"{RUNS}/{run_id}").json()
    assert (shown["action"]["id"], shown["action"]["state"], shown["action"]["revision"]) == (action.id, "failed", 3)
    assert shown["report"]["verdict_text"] == shown["action"]["verdict"] == report.verdict_text
    assert "load_design" in shown["report_text"]
    assert shown["action"]["elapsed"] is None, "it has not started"
    short = viewer.get(f"{RUNS}/{run_id}", params={"report": "false"}).json()
    assert short == {**shown, "report": None, "report_text": None}


def test_an_action_whose_run_is_gone(
    viewer: httpx.Client, store: SiteStore, dags: list[str], tokens: dict[str, str]
) -> None:
    action = store.actions.ensure("deploy_site", "run-view-gone", "deploy_site", "alpha", None, {}, "tester")
    store.locks.acquire(action.id)
    assert viewer.get(f"{RUNS}/run-view-gone").json()["action"]["state"] == "cancelled"


def test_airflow_is_away(viewer: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    action = store.actions.ensure("deploy_site", "run-view-alone", "deploy_site", "alpha", None, {}, "tester")
    store.locks.acquire(action.id)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://127.0.0.1:9")
    shown = viewer.get(f"{RUNS}/run-view-alone").json()["action"]
    assert shown["state"] == "running"
    assert shown["elapsed"] >= 0


def test_an_action_that_goes_on(
    viewer: httpx.Client, store: SiteStore, dags: list[str], tokens: dict[str, str]
) -> None:
    calls = own_airflow(tokens["user"])
    calls.trigger("deploy_site", {"site": "alpha"}, "run-view-queued")
    calls.close()
    action = store.actions.ensure("deploy_site", "run-view-queued", "deploy_site", "alpha", None, {}, "tester")
    store.locks.acquire(action.id)
    assert viewer.get(f"{RUNS}/run-view-queued").json()["action"]["state"] == "running"
    assert store.locks.owner("alpha") is not None


def test_the_step_and_a_pause(viewer: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://127.0.0.1:9")
    action = store.actions.ensure("deploy_site", "run-view-step", "deploy_site", "alpha", None, {}, "tester")
    store.locks.acquire(action.id)
    store.actions.mark_step(action.id, "verify_site")
    shown = viewer.get(f"{RUNS}/run-view-step").json()["action"]
    assert (shown["step"], shown["paused"]) == ("verify_site", None)
    assert store.actions.set_paused(action.id, True)
    assert viewer.get(f"{RUNS}/run-view-step").json()["action"]["paused"] is not None
