"""Airflow is healthy when its four components are, and when its API server serves tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import responses

from api_client.airflow import AirflowClient
from api_client.session import ApiSession

URL = "http://127.0.0.1:8080"
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
        return AirflowClient(ApiSession.with_token(URL, "", None)).unhealthy_components(BEGAN)


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
