"""Airflow's door to Slipway's REST API. Every Airflow process imports this file, so it imports next to nothing."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from slipway_airflow.web.lazy import LazyApp


class SlipwayPlugin(AirflowPlugin):
    """Serves :mod:`slipway_airflow.web` below ``/slipway``."""

    name = "slipway"
    fastapi_apps: ClassVar[list[dict[str, Any]]] = [{"app": LazyApp(), "url_prefix": "/slipway", "name": "Slipway"}]
