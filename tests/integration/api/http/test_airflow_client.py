"""Airflow's API as Slipway asks it, against a real Airflow API server: answers, refusals and silence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests

from api_client.airflow import AirflowClient
from site_engine.errors import AirflowRefused
from slipway_api.http.airflow_client import own_airflow
from tests.conftest import AIRFLOW_HOME
from tests.integration.api.conftest import PASSWORD

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
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_a_log(calls: AirflowClient) -> None:
    run_id = uuid4().hex
    calls.trigger(DAG, {"site": "alpha"}, run_id)
    with pytest.raises(AirflowRefused) as refused:
        calls.log(DAG, run_id, "begin_action", 7)
    assert refused.value.status == 404
    pretend_tried(run_id, "begin_action")
    path = Path(AIRFLOW_HOME, "logs", f"dag_id={DAG}", f"run_id={run_id}", "task_id=begin_action", "attempt=1.log")
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"timestamp":"2026-01-01T10:00:00Z","level":"info","event":"site acquired"}\n'
        '{"timestamp":"2026-01-01T10:00:01Z","level":"warning","event":"ä group"}\n'
        '{"timestamp":"2026-01-01T10:00:02Z","level":"error","event":"Task failed","error_detail":[{"exc_type":'
        '"AirflowFailException","exc_value":"group one failed","is_cause":false,"frames":[]}]}\n'
    )
    lines = calls.log(DAG, run_id, "begin_action", 1).splitlines()
    assert lines[-4:] == [
        "[2026-01-01T10:00:00Z] INFO site acquired",
        "[2026-01-01T10:00:01Z] WARNING ä group",
        "[2026-01-01T10:00:02Z] ERROR Task failed",
        "  AirflowFailException: group one failed",
    ]


def pretend_tried(run_id: str, task_id: str) -> None:
    """Note in Airflow's database that a task has been tried once, as its scheduler would."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import update

    with create_session() as session:
        tried = update(TaskInstance).where(TaskInstance.run_id == run_id, TaskInstance.task_id == task_id)
        session.execute(tried.values(try_number=1, state="success"))


def test_logging_in(calls: AirflowClient) -> None:
    assert calls.log_in("viewer", PASSWORD).count(".") == 2
    with pytest.raises(AirflowRefused) as refused:
        calls.log_in("viewer", "wrong")
    assert refused.value.status == 401
