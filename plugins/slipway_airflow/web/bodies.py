"""Bodies of requests, read in the route and not before: who may not ask is refused before a body is looked at.

FastAPI reads and parses a declared body before it asks who is calling. So the routes declare theirs for the
documentation (`json_body_of`, `YAML_BODY`) and take it from these dependencies, which come after the route's right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from slipway_airflow.web.failure import ApiError


async def raw_body(request: Request) -> bytes:
    """Return the body as it was sent; its size is limited on the way (`body_limit.py`)."""
    return await request.body()


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
