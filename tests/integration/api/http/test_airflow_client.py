"""Airflow's API as Slipway asks it, against a real Airflow API server: answers, refusals and silence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import requests

from api_client.airflow import AirflowClient
from site_engine.errors import AirflowRefused
from slipway_api.http.airflow_access import own_airflow

DAG = "deploy_site"
pytestmark = pytest.mark.usefixtures("dags")


@pytest.fixture
def calls(tokens: dict[str, str]) -> Iterator[AirflowClient]:
    """Ask Airflow as somebody who may trigger DAGs."""
    calls = own_airflow(tokens["user"])
    yield calls
    calls.close()


def test_a_run_from_beginning_to_end(calls: AirflowClient) -> None:
    run_id = uuid4().hex
    assert calls.run_state(DAG, run_id) is None
    calls.trigger(DAG, {"site": "alpha"}, run_id)
    assert calls.run_state(DAG, run_id) == "queued"
    assert "begin_action" in {task["task_id"] for task in calls.task_instances(DAG, run_id)}
    calls.fail_run(DAG, run_id)
    states = {task["task_id"]: task["state"] for task in calls.task_instances(DAG, run_id)}
    # The teardown is still to run, and decides the run's own state.
    assert states.pop("release") is None
    assert set(states.values()) == {"skipped"}


def test_a_run_is_not_triggered_twice(calls: AirflowClient) -> None:
    run_id = uuid4().hex
    calls.trigger(DAG, {"site": "alpha"}, run_id)
    with pytest.raises(AirflowRefused, match="409") as refused:
        calls.trigger(DAG, {"site": "alpha"}, run_id)
    assert refused.value.status == 409


def test_what_airflow_refuses_is_passed_on(calls: AirflowClient, tokens: dict[str, str]) -> None:
    with pytest.raises(AirflowRefused) as refused:
        calls.trigger(DAG, {"site": 7}, uuid4().hex)
    assert refused.value.status == 400
    assert "site" in str(refused.value)
    with pytest.raises(AirflowRefused) as refused:
        calls.trigger("no_such_dag", {}, uuid4().hex)
    assert refused.value.status == 404
    reader = own_airflow(tokens["viewer"])
    with pytest.raises(AirflowRefused) as refused:
        reader.trigger(DAG, {"site": "alpha"}, uuid4().hex)
    reader.close()
    assert refused.value.status == 403


def test_many_runs_in_one_call(calls: AirflowClient, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = uuid4().hex
    # One is the beginning of another, and one is of another DAG.
    wanted = {(DAG, prefix), (DAG, f"{prefix}-longer"), ("update_site", f"{prefix}-other")}
    for dag_id, run_id in wanted:
        calls.trigger(dag_id, {"site": "alpha"}, run_id)
    asked: list[str] = []
    send = calls.session._http.request

    def counted(method: str, url: str, **more: Any) -> requests.Response:
        asked.append(url)
        return send(method, url, **more)

    monkeypatch.setattr(calls.session._http, "request", counted)
    states = calls.run_states({*wanted, (DAG, f"{prefix}-missing"), ("update_site", prefix)})
    assert states == dict.fromkeys(wanted, "queued")
    assert len(asked) == 1
    assert calls.run_states(set()) == {}
    assert len(asked) == 1


def test_runs_of_a_span(calls: AirflowClient) -> None:
    begin = datetime.now(UTC)
    ids = [uuid4().hex for _ in range(3)]
    for run_id in ids:
        calls.trigger(DAG, {"site": "alpha"}, run_id)
    assert [run["dag_run_id"] for run in calls.runs([DAG, "update_site"], begin)] == ids[::-1]
    assert [run["dag_run_id"] for run in calls.runs([DAG], begin, limit=2)] == ids[:0:-1]
    assert calls.runs(["update_site"], begin) == []
    assert calls.runs([DAG], begin - timedelta(days=2), begin - timedelta(days=1)) == []


# Airflow's log reader leaves the file to the garbage collector.
