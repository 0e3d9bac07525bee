"""Whether Airflow's four components are healthy, as its API server says, and whether it serves tasks yet."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import requests

_REPORTED = {"scheduler": "scheduler", "triggerer": "triggerer", "dag_processor": "dag-processor"}


def unhealthy_components(session: requests.Session, url: str, since: datetime) -> list[str]:
    """The names of the components that are not (yet) healthy.

    Parameters
    ----------
    since : a heartbeat older than this is not counted: it is of a process that was killed.
    """
    try:
        # The API for tasks is built by its first request, which takes seconds: the first task shall not wait for that.
        session.get(f"{url}/execution/health", timeout=5).raise_for_status()
        answer = session.get(f"{url}/api/v2/monitor/health", timeout=5)
        answer.raise_for_status()
        health: dict[str, Any] = answer.json()
    except (requests.RequestException, ValueError):
        return ["api-server"]
    bad = [] if health.get("metadatabase", {}).get("status") == "healthy" else ["api-server"]
    for key, name in _REPORTED.items():
        part = health.get(key) or {}
        beat = part.get(f"latest_{key}_heartbeat")
        if part.get("status") != "healthy" or not beat or _moment(beat) < since:
            bad.append(name)
    return bad


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def loopback_session() -> requests.Session:
    """A session that ignores proxies: what it talks to is on this machine."""
    session = requests.Session()
    session.trust_env = False
    return session
