"""Airflow's door to Slipway's REST API. Every Airflow process imports this file, so it imports next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

from slipway_api.lazy import LazyApp, LazyLogin

if TYPE_CHECKING:
    from site_engine.provisioners import Provisioners


def _provisioners() -> Provisioners:
    from slipway_airflow import connections

    return connections


class SlipwayPlugin(AirflowPlugin):
    """Serves :mod:`slipway_api` below ``/slipway``, and slows down wrong passwords at Airflow's login."""

    name = "slipway"
    fastapi_apps: list[dict[str, Any]] = [  # noqa: RUF012 - Airflow declares it so
        {"app": LazyApp(_provisioners), "url_prefix": "/slipway", "name": "Slipway"}
    ]
    fastapi_root_middlewares: list[dict[str, Any]] = [  # noqa: RUF012 - as above
        {"middleware": LazyLogin, "name": "Slipway: wrong passwords wait"}
    ]
