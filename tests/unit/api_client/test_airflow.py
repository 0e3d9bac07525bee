"""What goes over the wire to Airflow's API, how its components are, and its log messages as text."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import responses
import structlog

from api_client.airflow import AirflowClient
from api_client.airflow_health import AirflowHealth, ComponentHealth
from api_client.log_lines import log_line
from api_client.session import ApiError, ApiRefused, ApiSession
from tests.unit.api_client.conftest import RUN, URL


def test_the_states_of_many_runs(wire: responses.RequestsMock, session: ApiSession) -> None:
    wanted = {("deploy_site", f"alpha__{number:03}") for number in range(101)}

    def page(prefixes: range, offset: int, total: int, runs: list[tuple[str, str, str]]) -> None:
        pattern = "|".join(f"alpha__{number:03}" for number in prefixes)
        query = {"run_id_prefix_pattern": pattern, "limit": 100, "offset": offset}
        answer = [{"dag_id": dag_id, "dag_run_id": run_id, "state": state} for dag_id, run_id, state in runs]
        wire.get(
            f"{URL}/api/v2/dags/~/dagRuns",
            json={"dag_runs": answer, "total_entries": total},
            match=[responses.matchers.query_param_matcher(query)],
        )

    # One of another DAG, and one whose id only begins so, are not among those that were asked for.
    strangers = [("update_site", "alpha__001", "failed"), ("deploy_site", "alpha__001x", "failed")]
    page(range(100), 0, 3, [("deploy_site", "alpha__001", "running"), *strangers[:1]])
    page(range(100), 2, 3, strangers[1:])
    page(range(100, 101), 0, 1, [("deploy_site", "alpha__100", "success")])
    assert AirflowClient(session).run_states(wanted) == {
        ("deploy_site", "alpha__001"): "running",
        ("deploy_site", "alpha__100"): "success",
    }


def test_all_pages_of_tasks_are_read(wire: responses.RequestsMock, session: ApiSession) -> None:
    def item(index: int) -> dict[str, object]:
        return {"task_id": "deploy_group", "map_index": index, "state": f"g{index}"}

    for offset, size in ((0, 100), (100, 1)):
        wire.get(
            f"{RUN}/taskInstances",
            json={"task_instances": [item(offset + n) for n in range(size)], "total_entries": 101},
            match=[responses.matchers.query_param_matcher({"limit": 100, "offset": offset})],
        )
    states = AirflowClient(session).task_states("deploy_site", "r/1")
    assert states == {("deploy_group", n): f"g{n}" for n in range(101)}


def test_a_connection_is_replaced_or_else_created(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.patch(f"{URL}/api/v2/connections/c", json={"detail": "none"}, status=404)
    created = wire.post(f"{URL}/api/v2/connections", json={}, status=201)
    AirflowClient(session).set_connection("c", {"conn_type": "drydock", "host": "http://h"})
    assert created.call_count == 1
    sent = json.loads(wire.calls[-1].request.body or "")
    assert sent == {"connection_id": "c", "conn_type": "drydock", "host": "http://h"}


def test_a_busy_airflow_is_asked_again(
    wire: responses.RequestsMock, session: ApiSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    busy = wire.patch(f"{URL}/api/v2/connections/c", json={"detail": "the database is away"}, status=500)
    good = wire.patch(f"{URL}/api/v2/connections/c", json={})
    AirflowClient(session).set_connection("c", {})
    assert (busy.call_count, good.call_count, len(pauses)) == (1, 1, 1)


def test_a_run_is_started_once_by_an_airflow_that_fails_after_it(
    wire: responses.RequestsMock, session: ApiSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    runs = f"{URL}/api/v2/dags/deploy_site/dagRuns"
    wire.post(runs, json={"detail": "the database is away"}, status=500)
    wire.post(runs, json={"detail": "there is one"}, status=409)
    run_id = AirflowClient(session).trigger("deploy_site", {"site": "a"})
    sent = [json.loads(call.request.body or "")["dag_run_id"] for call in list(wire.calls)[1:]]
    assert sent == [run_id, run_id]
    wire.replace(responses.POST, runs, json={"detail": "there is one"}, status=409)
    with pytest.raises(ApiRefused, match="409"):
        AirflowClient(session).trigger("deploy_site", {}, run_id)


def test_a_dag_that_never_comes_is_explained_by_import_errors(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    wire.get(f"{URL}/api/v2/dags/deploy_site/details", json={"detail": "none"}, status=404)
    errors = [{"filename": "deploy_site.py", "stack_trace": "Traceback\nImportError: no module x\n"}]
    wire.get(f"{URL}/api/v2/importErrors", json={"import_errors": errors})
    with pytest.raises(ApiError, match=r"deploy_site\.py: ImportError: no module x"):
        AirflowClient(session).wait_for_dag("deploy_site", timeout=0)


def test_what_is_wrong_with_airflows_components(wire: responses.RequestsMock, session: ApiSession) -> None:
    health = {
        "metadatabase": {"status": "healthy"},
        "scheduler": {"status": "unhealthy", "latest_scheduler_heartbeat": "2026-01-01T00:00:00"},
        "triggerer": {"status": None, "latest_triggerer_heartbeat": None},
        "dag_processor": {"status": "healthy", "latest_dag_processor_heartbeat": "2026-01-01T00:00:58.5+00:00"},
    }
    answered = {"Date": "Thu, 01 Jan 2026 00:01:00 GMT"}
    wire.get(f"{URL}/api/v2/monitor/health", json=health, headers=answered)
    assert AirflowHealth(session).components() == {
        "metadatabase": ComponentHealth(None, 0),
        "scheduler": ComponentHealth("Airflow says unhealthy, its last sign of life was at 2026-01-01T00:00:00", 60),
        "dag-processor": ComponentHealth(None, 1.5),
    }


def test_the_age_of_a_sign_of_life_is_by_airflows_clock_or_none_at_all(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    health = {"scheduler": {"status": "healthy", "latest_scheduler_heartbeat": "2026-01-01T00:00:10Z"}}
    wire.get(f"{URL}/api/v2/monitor/health", json=health, headers={"Date": "Thu, 01 Jan 2026 00:00:00 GMT"})
    assert AirflowHealth(session).components() == {"scheduler": ComponentHealth(None, 0)}
    wire.replace(responses.GET, f"{URL}/api/v2/monitor/health", json=health)
    assert AirflowHealth(session).components() == {"scheduler": ComponentHealth(None, 0)}


def test_an_answer_that_is_none_is_an_error(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(f"{URL}/api/v2/monitor/health", json=["well"])
    with pytest.raises(ApiError, match="no JSON object"):
        AirflowHealth(session).components()


BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
BEATING = {"scheduler": "scheduler", "triggerer": "triggerer", "dag_processor": "dag-processor"}


def health(**changes: Any) -> dict[str, Any]:
    beat = (BEGAN + timedelta(seconds=5)).isoformat()
    parts = {key: {"status": "healthy", f"latest_{key}_heartbeat": beat} for key in BEATING}
    return {"metadatabase": {"status": "healthy"}, **parts, **changes}


def unhealthy(said: dict[str, Any], tasks: int = 200) -> list[str]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as server:
        server.get(f"{URL}/execution/health", status=tasks, json={})
        server.get(f"{URL}/api/v2/monitor/health", json=said)
        return AirflowHealth(ApiSession.with_token(URL, "", None)).unhealthy(BEGAN)


def test_all_are_healthy() -> None:
    assert unhealthy(health()) == []


def test_an_api_server_that_serves_no_tasks_yet_is_not() -> None:
    assert unhealthy(health(), tasks=503) == ["api-server"]


def test_one_without_its_database_is_not() -> None:
    assert unhealthy(health(metadatabase={"status": "unhealthy"})) == ["api-server"]


@pytest.mark.parametrize(("key", "name"), BEATING.items())
def test_a_heartbeat_of_a_process_that_was_killed_does_not_count(key: str, name: str) -> None:
    old = (BEGAN - timedelta(seconds=1)).isoformat()
    assert unhealthy(health(**{key: {"status": "healthy", f"latest_{key}_heartbeat": old}})) == [name]
    assert unhealthy(health(**{key: {"status": "unhealthy", f"latest_{key}_heartbeat": None}})) == [name]


def written(message: dict[str, Any]) -> list[str]:
    return log_line(json.dumps(message).encode()).splitlines()


def test_an_exception_follows_its_message_with_what_it_came_from() -> None:
    try:
        try:
            raise KeyError("n1")
        except KeyError as error:
            raise ValueError("no such node") from error
    except ValueError as caught:
        detail = structlog.tracebacks.ExceptionDictTransformer()((type(caught), caught, caught.__traceback__))
    lines = written({"timestamp": "10:00", "level": "error", "event": "Task failed", "error_detail": detail})
    assert [line for line in lines if "test_airflow.py:" not in line] == [
        "[10:00] ERROR Task failed",
        "  ValueError: no such node",
        "  caused by KeyError: 'n1'",
    ]
    assert [line.endswith("in test_an_exception_follows_its_message_with_what_it_came_from") for line in lines] == [
        False,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "detail", [None, [], "text", [1], [{}], [{"exc_type": "E", "frames": [7, None]}], [{"exc_value": 7, "frames": "x"}]]
)
def test_what_is_no_exception_breaks_nothing(detail: Any) -> None:
    assert written({"event": "said", "error_detail": detail})[0] == "said"
    assert log_line(b"no json") == "no json"
    assert log_line(b"[1]") == "[1]"


def test_an_exception_keeps_its_notes_and_those_of_its_group() -> None:
    problem = ExceptionGroup("two failed", [ValueError("no PXE\nanswer"), KeyError("n2")])
    problem.add_note("look at the switch\nof rack 1")
    try:
        raise problem
    except ExceptionGroup as caught:
        detail = structlog.tracebacks.ExceptionDictTransformer()((type(caught), caught, caught.__traceback__))
    lines = written({"event": "Task failed", "error_detail": detail})
    assert [line for line in lines if "test_airflow.py:" not in line] == [
        "Task failed",
        "  ExceptionGroup: two failed (2 sub-exceptions)",
        "    look at the switch",
        "    of rack 1",
        "    ValueError: no PXE",
        "      answer",
        "    KeyError: 'n2'",
    ]


def test_warnings_and_errors_have_their_fields() -> None:
    message = {
        "event": "API server error",
        "logger": "supervisor",
        "ti_id": "01a20317",
        "map_index": 2,
        "lineno": 3,
        "status_code": 409,
        "detail": {"a": "b"},
    }
    assert written({"level": "error", **message}) == ['ERROR API server error status_code=409 detail={"a": "b"}']
    assert written({"level": "info", **message}) == ["INFO API server error"]
