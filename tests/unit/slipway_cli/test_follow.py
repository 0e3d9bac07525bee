"""Following a run whose Airflow is away, and naming what failed."""

import io
from collections.abc import Iterator

import pytest
import requests
import responses
from rich.console import Console

from api_client.airflow import AirflowClient, TaskInstance
from api_client.session import ApiRefused, ApiSession
from api_client.slipway import GroupProgress, RunProgress, SlipwayClient
from slipway_cli.demo.command import failed_tasks
from slipway_cli.embedded.errors import EmbeddedError
from slipway_cli.terminal.follow import AirflowGone, Clock, follow

URL = "http://127.0.0.1:1"
RUN = f"{URL}/api/v2/dags/deploy_site/dagRuns/r"
PROGRESS = f"{URL}/slipway/api/v1.0/runs/deploy_site/r"
AWAY = requests.ConnectionError("refused")


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        mock.post(f"{URL}/auth/token", json={"access_token": "t"}, status=201)
        yield mock


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


def watch(said: io.StringIO, patience: float = 60.0, check: object = None) -> tuple[str, RunProgress | None]:
    session = ApiSession(URL, "admin", "p")
    clock = Clock(Console(file=said, width=200))

    def alive() -> None:
        if check is not None:
            raise EmbeddedError(str(check))

    return follow(
        "deploy_site", "r", AirflowClient(session), SlipwayClient(session), clock, alive, 0.0, patience, "What to do"
    )


@pytest.mark.parametrize("gone", [{"body": AWAY}, {"status": 503, "json": {"message": "starting"}}])
def test_an_airflow_that_is_away_for_a_while_is_told_once(
    wire: responses.RequestsMock, said: io.StringIO, gone: dict[str, object]
) -> None:
    for _ in range(2):
        wire.get(RUN, **gone)
    wire.get(RUN, json={"state": "success"})
    wire.get(PROGRESS, json={"action": {"state": "success"}, "groups": []})
    state, progress = watch(said)
    assert (state, progress is not None and progress.state) == ("success", "success")
    assert said.getvalue().count("Airflow does not answer; waiting") == 1
    assert said.getvalue().count("Airflow answers again") == 1


def test_a_run_that_airflow_does_not_begin_is_told_once(
    wire: responses.RequestsMock, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipway_cli.terminal.follow._BEGINNING", -1.0)
    for state in ("queued", "queued", "success"):
        wire.get(RUN, json={"state": state})
    wire.get(PROGRESS, json={"action": {"state": "pending"}, "groups": []})
    watch(said)
    assert said.getvalue().count("Airflow has not begun it. Is its scheduler running?") == 1


def test_an_airflow_that_stays_away_is_given_up(wire: responses.RequestsMock, said: io.StringIO) -> None:
    wire.get(RUN, body=AWAY)
    with pytest.raises(AirflowGone, match=r"does not answer .*; given up after 0 s\. What to do"):
        watch(said, patience=0.0)


def test_an_airflow_that_has_ended_is_not_waited_for(wire: responses.RequestsMock, said: io.StringIO) -> None:
    wire.get(RUN, body=AWAY)
    with pytest.raises(EmbeddedError, match="its last words"):
        watch(said, check="its last words")


def test_a_refusal_is_not_an_absence(wire: responses.RequestsMock, said: io.StringIO) -> None:
    wire.get(RUN, json={"detail": "no such run"}, status=404)
    with pytest.raises(ApiRefused, match="no such run"):
        watch(said)


def task(task_id: str, state: str, map_index: int = -1, name: str | None = None) -> TaskInstance:
    return TaskInstance(task_id, map_index, name or task_id, state, 1, None, None, None)


def group(name: str, state: str, map_index: int | None = None) -> GroupProgress:
    return GroupProgress(name, state, None, True, None, {}, map_index)


def test_failed_groups_are_named_by_slipway_and_only_those_that_failed() -> None:
    tasks = [
        task("report", "failed"),
        task("release", "success"),
        task("deploy_group", "failed", 0, "ntp"),
        task("deploy_group", "failed", 1),
        task("deploy_group", "success", 2),
        task("deploy_group", "failed", 9, "9"),
    ]
    groups = [
        group("ntp", "success", 0),
        group("idle", "failure"),
        group("control", "failure", 1),
        group("compute", "failure", 2),
    ]
    assert failed_tasks(tasks, groups) == ["report", "control", "9"]
