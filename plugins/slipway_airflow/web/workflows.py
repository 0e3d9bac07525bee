"""The routes of workflows."""

from __future__ import annotations

from fastapi import APIRouter

from slipway_airflow.web.blocking_route import BlockingRoute

router = APIRouter(tags=["workflows"], route_class=BlockingRoute)
