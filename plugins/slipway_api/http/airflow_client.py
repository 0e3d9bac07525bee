"""Airflow's public REST API as routes ask it, with the caller's token; and the settings of Airflow that they read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

from airflow.configuration import conf
from fastapi import Depends, Request

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from slipway_api.http.airflow_access import token_of

_TIMEOUT = (5.0, 20.0)


def own_airflow(token: str | None) -> AirflowClient:
    """Return a client of the Airflow that this process serves, with somebody's token; None: as nobody, to log in."""
    return AirflowClient(ApiSession.with_token(own_url(), "", token, _TIMEOUT, "Airflow"))


def _as_caller(request: Request) -> Iterator[AirflowClient]:
    with contextlib.closing(own_airflow(token_of(request))) as client:
        yield client


Airflow = Annotated[AirflowClient, Depends(_as_caller)]


def airflow_base_url() -> str | None:
    """Return ``[api] base_url``, None when it is not set."""
    return conf.get("api", "base_url", fallback=None) or None


def own_url() -> str:
    """Return where the API server finds itself: ``[api] base_url``, else its port on this machine."""
    url = airflow_base_url() or f"http://127.0.0.1:{conf.getint('api', 'port', fallback=8080)}"
    return url.rstrip("/")


def longest_mapping() -> int:
    """Return ``[core] max_map_length``: how many groups one run can have."""
    return conf.getint("core", "max_map_length", fallback=1024)


def secret_key() -> str:
    """Return ``[api] secret_key``, which all API servers of one Airflow share, and nobody else knows."""
    return conf.get_mandatory_value("api", "secret_key")
