"""What an interrupted demo has left behind is cancelled by the next one, and nothing else is."""

import io
import json

import responses
from rich.console import Console

from slipway_cli.airflow_api import AirflowApi, ApiSession
from slipway_cli.demo import Clock, _cancel_leftovers

URL = "http://127.0.0.1:1"
RUNS = f"{URL}/api/v2/dags/deploy_site/dagRuns"


def test_only_demos_of_the_same_site_are_cancelled() -> None:
    runs = [
        {"dag_run_id": "demo-1", "conf": {"site": "example"}},
        {"dag_run_id": "demo-2", "conf": {"site": "other"}},
        {"dag_run_id": "manual", "conf": {"site": "example"}},
        {"dag_run_id": "demo-3", "conf": None},
    ]
    with responses.RequestsMock() as wire:
        wire.post(f"{URL}/auth/token", json={"access_token": "t"}, status=201)
        wire.get(RUNS, json={"dag_runs": runs})
        cancelled = wire.patch(f"{RUNS}/demo-1", json={})
        _cancel_leftovers("example", AirflowApi(ApiSession(URL, "admin", "p")), Clock(Console(file=io.StringIO())))
        assert cancelled.call_count == 1
        assert json.loads(wire.calls[-1].request.body or "") == {"state": "failed"}
