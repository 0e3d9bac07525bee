"""Whether this process serves requests, and whether it can be used: for load balancers, which have no token.

Both tell nobody anything else: no versions, no names, no errors in their own words. Those stand in the log.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from site_store import SchemaNotCurrent, StoreError
from slipway_api.http.answers import answers
from slipway_api.http.dependencies import open_store
from slipway_api.http.kept import Kept

log = logging.getLogger(__name__)
router = APIRouter(tags=["service"])

KEPT_FOR = 1.0
"""Seconds for which an answer is used again: who has no token must not keep the database busy."""
STORE, SCHEMA = "store", "schema"
"""Why this process cannot be used: its store does not answer, or has a schema that this version does not write in."""

_kept: Kept[str | None] = Kept(1, KEPT_FOR)
# One thread, and none of those that requests wait for: a database that hangs holds up nobody but who asks for this.
_ASKING = ThreadPoolExecutor(1, thread_name_prefix="slipway-ready")


class NotReady(BaseModel):
    """Why this process cannot be used now, in a word."""

    reason: str = Field(examples=[STORE], description="`store` or `schema`.")


@router.get("/health/live", status_code=204, summary="Whether this process serves requests")
@router.get("/api/v1.0/health", status_code=204, summary="Whether the API is there")
async def live() -> Response:
    """Answer that requests are served; nothing else is looked at. No token is needed."""
    return Response(status_code=204)


@router.get(
    "/health/ready",
    status_code=204,
    summary="Whether this process can be used: its store answers, and has its schema",
    responses=answers(NotReady, 503),
)
async def ready() -> Response:
    """Ask the store, and no provisioner. No token is needed, and an answer may be a second old."""
    reason = await asyncio.get_running_loop().run_in_executor(_ASKING, _kept.get, "", not_ready)
    return Response(status_code=204) if reason is None else JSONResponse({"reason": reason}, 503)


def not_ready() -> str | None:
    """Return why the store cannot be used now, in a word; None where it can."""
    try:
        open_store().check()
    except SchemaNotCurrent as error:
        log.warning("Not ready: %s", error)
        return SCHEMA
    except StoreError as error:
        log.warning("Not ready: %s", error)
        return STORE
    return None
