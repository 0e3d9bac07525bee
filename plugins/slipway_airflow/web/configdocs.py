"""The routes of configdocs."""

from __future__ import annotations

from fastapi import APIRouter

from slipway_airflow.web.blocking_route import BlockingRoute

router = APIRouter(tags=["configdocs"], route_class=BlockingRoute)
