"""The routes of notes."""

from __future__ import annotations

from fastapi import APIRouter

from slipway_airflow.web.blocking_route import BlockingRoute

router = APIRouter(tags=["notes"], route_class=BlockingRoute)
