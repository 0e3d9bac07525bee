"""Airflow's door to Slipway's REST API. Every Airflow process imports this file, so it imports next to nothing."""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from slipway_airflow.web.lazy import LazyApp


class SlipwayPlugin(AirflowPlugin):
    """Serves :mod:`slipway_airflow.web` below ``/slipway``."""

    name = "slipway"
    fastapi_apps: list[dict[str, Any]] = [  # noqa: RUF012 - Airflow declares it so
        {"app": LazyApp(), "url_prefix": "/slipway", "name": "Slipway"}
    ]
