"""How Airflow's components are, by its public REST API. It tells everybody, without a login."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import requests

from api_client.session import ApiError, ApiSession, read_object

_ROUTE = "/api/v2/monitor/health"
_WHAT = "asking for Airflow's health"


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """How one component is.

    Attributes
    ----------
    problem : what is wrong with it, in a sentence; None where it is well.
    silent_for : seconds since its last sign of life, by Airflow's own clock; 0 where Airflow does not say.
    """

    problem: str | None
    silent_for: float


class AirflowHealth:
    """Requests about the health of Airflow. Every method blocks, and needs no permission."""

    def __init__(self, session: ApiSession) -> None:
        self._session = session

    def components(self) -> dict[str, ComponentHealth]:
        """Return each component that this Airflow has, by its name.

        Raises `ApiError`: the API server does not answer, or not in JSON.
        """
        answer = self._session.request(_WHAT, "GET", _ROUTE)
        found = {}
        for key, part in read_object(_WHAT, answer).items():
            # One that this Airflow does not have, such as a triggerer, has no status.
            status = part.get("status")
            if status is not None:
                beat = part.get(f"latest_{key}_heartbeat")
                said = f"Airflow says {status}" + (f", its last sign of life was at {beat}" if beat else "")
                problem = None if status == "healthy" else said
                found[key.replace("_", "-")] = ComponentHealth(problem, _age(answer, beat))
        return found

    def unhealthy(self, since: datetime) -> list[str]:
        """Return the components that are not (yet) healthy, or do not serve tasks yet.

        Parameters
        ----------
        since : a heartbeat older than this (aware) is not counted: it is of a process that was killed.
        """
        try:
            # Airflow builds the API for tasks at its first request, which takes seconds: no task shall wait for that.
            self._session.request("asking for the health of the API for tasks", "GET", "/execution/health")
            health = read_object(_WHAT, self._session.request(_WHAT, "GET", _ROUTE))
        except ApiError:
            return ["api-server"]
        bad = [] if health.get("metadatabase", {}).get("status") == "healthy" else ["api-server"]
        for key in ("scheduler", "triggerer", "dag_processor"):
            part = health.get(key) or {}
            beat = part.get(f"latest_{key}_heartbeat")
            if part.get("status") != "healthy" or not beat or _aware(beat) < since:
                bad.append(key.replace("_", "-"))
        return bad


def _age(answer: requests.Response, beat: str | None) -> float:
    """Return the seconds between a heartbeat and the answer that tells of it."""
    answered = answer.headers.get("Date")
    if beat is None or answered is None:
        return 0.0
    return max(0.0, (parsedate_to_datetime(answered) - _aware(beat)).total_seconds())


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
