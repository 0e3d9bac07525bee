"""Airflow's public REST API as routes ask it: with the caller's token, so that Airflow says who may."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Request

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from slipway_api.airflow_access import token_of
from slipway_api.airflow_settings import own_url

_TIMEOUT = (5.0, 20.0)


def own_airflow(token: str | None) -> AirflowClient:
    """Return a client of the Airflow that this process serves, with somebody's token; None: as nobody, to log in."""
    return AirflowClient(ApiSession.with_token(own_url(), "", token, _TIMEOUT, "Airflow"))


def _as_caller(request: Request) -> Iterator[AirflowClient]:
    with contextlib.closing(own_airflow(token_of(request))) as client:
        yield client


Airflow = Annotated[AirflowClient, Depends(_as_caller)]
