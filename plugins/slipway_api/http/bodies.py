"""Bodies of requests, read in the route and not before: who may not ask is refused before a body is looked at.

FastAPI reads and parses a declared body before it asks who is calling. So the routes declare theirs for the
documentation (`json_body_of`, `YAML_BODY`) and take it from these dependencies, which come after the route's right.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from anyio import Semaphore, fail_after
from fastapi import Depends, Request

from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import LoopBound

LARGE = 1024 * 1024
LARGE_AT_ONCE = 4
"""Bodies of more than `LARGE` bytes, or of a size that is not told, that are in memory at once, in one process."""
LONGEST_WAIT = 120.0
LONGEST_SENDING = 300.0

_large = LoopBound("slipway_large_bodies", lambda: Semaphore(LARGE_AT_ONCE))


async def raw_body(request: Request) -> AsyncIterator[bytes]:
    """Give the body as it was sent; its size is limited on the way (`slipway_api/http/body_limit.py`).

    Large ones are taken in a few at a time and until the request is over, so that memory has a bound however many are
    sent.

    Raises
    ------
    ApiError
        503: others took too long. 408: this one did.
    """
    size = request.headers.get("content-length", "")
    if size.isdecimal() and len(size) < 10 and int(size) <= LARGE:
        yield await request.body()
        return
    turns = _large.get()
    try:
        with fail_after(LONGEST_WAIT):
            await turns.acquire()
    except TimeoutError:
        raise ApiError(503, "other large bodies are being taken in; try again", "Busy", retry=True) from None
    try:
        try:
            with fail_after(LONGEST_SENDING):
                body = await request.body()
        except TimeoutError:
            raise ApiError(408, f"the body took longer than {LONGEST_SENDING:.0f} s", retry=True) from None
        yield body
    finally:
        turns.release()


async def json_object(request: Request) -> Mapping[str, Any]:
    """Return the body as a JSON object.

    Raises
    ------
    ApiError
        400: it is none.
    """
    body = await request.body()
    try:
        data = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ApiError(400, "the body must be a JSON object, and is no JSON", "Bad Request") from None
    if not isinstance(data, dict):
        raise ApiError(400, "the body must be a JSON object", "Bad Request")
    return data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


RawBody = Annotated[bytes, Depends(raw_body)]
JsonObject = Annotated[Mapping[str, Any], Depends(json_object)]

YAML_BODY: dict[str, Any] = {
    "requestBody": {
        "description": "YAML documents, separated by `---`; at most 64 MiB.",
        "content": {
            "application/x-yaml": {
                "schema": {"type": "string"},
                "example": "schema: drydock/Region/v1\nmetadata: {name: alpha, layeringDefinition: {layer: site}}\n",
            }
        },
    }
}
"""A route's ``openapi_extra``, when its body is YAML."""


def json_body_of(example: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return a route's ``openapi_extra``, when its body is a JSON object like this one."""
    content = {"application/json": {"schema": {"type": "object"}, "example": dict(example)}}
    return {"requestBody": {"description": description, "required": True, "content": content}}
