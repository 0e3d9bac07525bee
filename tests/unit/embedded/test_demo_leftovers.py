"""What an interrupted demo has left behind is cancelled and waited for by the next one, and nothing else is."""

import io
import json
from collections.abc import Iterator

import pytest
import responses
from rich.console import Console

from slipway_cli.airflow_api import AirflowApi
from slipway_cli.api_session import ApiError, ApiSession
from slipway_cli.clock import Clock
from slipway_cli.leftovers import cancel_leftovers
from slipway_cli.slipway_api import SlipwayApi

URL = "http://127.0.0.1:1"
RUNS = f"{URL}/api/v2/dags/deploy_site/dagRuns"
PROGRESS = f"{URL}/slipway/api/v1.0/runs/deploy_site/demo-1"


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        mock.post(f"{URL}/auth/token", json={"access_token": "t"}, status=201)
        yield mock


def cancel(time_limit: float = 30.0) -> str:
    said = io.StringIO()
    session = ApiSession(URL, "admin", "p")
    clock = Clock(Console(file=said, width=200))
    cancel_leftovers("deploy_site", "example", AirflowApi(session), SlipwayApi(session), clock, time_limit)
    return said.getvalue()


def test_only_demos_of_the_same_site_are_cancelled(wire: responses.RequestsMock) -> None:
    runs = [
        {"dag_run_id": "demo-1", "conf": {"site": "example"}},
        {"dag_run_id": "demo-2", "conf": {"site": "other"}},
        {"dag_run_id": "manual", "conf": {"site": "example"}},
        {"dag_run_id": "demo-3", "conf": None},
    ]
    wire.get(RUNS, json={"dag_runs": runs})
    cancelled = wire.patch(f"{RUNS}/demo-1", json={})
    wire.get(f"{RUNS}/demo-1", json={"state": "failed"})
    wire.get(PROGRESS, json={"message": "none"}, status=404)
    assert "cancelling the run of an interrupted demo, demo-1" in cancel()
    assert cancelled.call_count == 1
    assert json.loads(cancelled.calls[0].request.body or "") == {"state": "failed"}


def test_rule_24_the_next_demo_waits_until_the_run_has_ended_and_its_action_is_closed(
    wire: responses.RequestsMock,
) -> None:
    wire.get(RUNS, json={"dag_runs": [{"dag_run_id": "demo-1", "conf": {"site": "example"}}]})
    wire.patch(f"{RUNS}/demo-1", json={})
    run = [wire.get(f"{RUNS}/demo-1", json={"state": state}) for state in ("running", "failed", "failed")]
    action = [wire.get(PROGRESS, json={"action": {"state": state}}) for state in ("running", "cancelled")]
    assert "waiting until it has ended and the site is free" in cancel()
    assert [answer.call_count for answer in (*run, *action)] == [1] * 5


def test_a_run_that_does_not_end_is_not_waited_for_forever(wire: responses.RequestsMock) -> None:
    wire.get(RUNS, json={"dag_runs": [{"dag_run_id": "demo-1", "conf": {"site": "example"}}]})
    wire.patch(f"{RUNS}/demo-1", json={})
    wire.get(f"{RUNS}/demo-1", json={"state": "running"})
    with pytest.raises(ApiError, match=r"demo-1 of an interrupted demo .* has not ended in 0 s; try again"):
        cancel(time_limit=0)


def test_nothing_is_said_where_nothing_is_left(wire: responses.RequestsMock) -> None:
    wire.get(RUNS, json={"dag_runs": []})
    assert cancel() == ""
