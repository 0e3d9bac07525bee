"""How Airflow's components are, by what Airflow answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import responses

from api_client.airflow_health import AirflowHealth, ComponentHealth
from api_client.session import ApiError, ApiSession
from tests.unit.api_client.conftest import URL


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
