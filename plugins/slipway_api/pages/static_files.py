"""The style sheet, scripts and pictures of the pages. They hold nothing of any site, so that they need no right."""

from __future__ import annotations

import mimetypes

from fastapi import APIRouter, Query
from fastapi.responses import Response

from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.pages.rendering import STATIC, static_version

router = APIRouter(route_class=BlockingRoute, include_in_schema=False)


@router.get("/static/{name}")
def static_file(name: str, v: str = Query(default="")) -> Response:
    """Return a file; one that is asked for by its version may be kept for good."""
    if name not in {file.name for file in STATIC.iterdir() if file.is_file()}:
        raise ApiError(404, f"there is no file {name[:64]!r}")
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    age = "public, max-age=31536000, immutable" if v == static_version(name) else "no-cache"
    headers = {"Cache-Control": age, "X-Content-Type-Options": "nosniff", "ETag": f'"{static_version(name)}"'}
    return Response((STATIC / name).read_bytes(), media_type=kind, headers=headers)
