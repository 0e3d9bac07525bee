"""Ask Airflow's public REST API, from within its API server, with the caller's own token."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import requests
from fastapi import Request

from slipway_airflow.airflow_settings import own_url
from slipway_airflow.errors import AirflowApiError

_TIMEOUT = 10.0


def run_states(request: Request) -> Callable[[str, str], str | None]:
    """Return a function that gives the state of a DAG run; None for a run that does not exist any more.

    The function raises ``AirflowApiError`` when Airflow does not say. It blocks: call it in a thread only.
    """
    token = request.cookies.get("_token") or request.headers.get("authorization", "").removeprefix("Bearer ")

    def state(dag_id: str, run_id: str) -> str | None:
        url = f"{own_url()}/api/v2/dags/{quote(dag_id, safe='')}/dagRuns/{quote(run_id, safe='')}"
        try:
            answer = requests.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT)
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            return str(answer.json()["state"])
        except (requests.RequestException, ValueError, KeyError) as error:
            raise AirflowApiError(f"the state of run {run_id!r} is not known: {type(error).__name__}") from error

    return state
