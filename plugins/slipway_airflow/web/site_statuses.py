"""The routes of site_statuses."""

from __future__ import annotations

from fastapi import APIRouter

from slipway_airflow.web.blocking_route import BlockingRoute

router = APIRouter(tags=["site_statuses"], route_class=BlockingRoute)
