"""Bodies of requests: how large they may be, and when they are read. A caller without the right is refused first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack
from typing import Annotated, Any
from weakref import WeakValueDictionary

from anyio import Semaphore, fail_after
from fastapi import Depends, Request
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slipway_api.http import airflow_access as access
from slipway_api.http.answers import YAML_TYPE, example_of
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import LoopBound
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.parsing.bounded_json import read_json

LARGE = 1024 * 1024
LARGE_AT_ONCE = 4
"""Bodies of more than `LARGE` bytes, or of an unknown size, that are in memory at once, in one process."""
LARGE_OF_ONE_USER = 2
"""At most this many of them are one user's: a slow sender leaves room for others."""
LONGEST_WAIT = 120.0
LONGEST_SENDING = 300.0


class _Places:
    """The places for large bodies: of a user's own share first, then of all."""

    def __init__(self) -> None:
        self._all = Semaphore(LARGE_AT_ONCE)
        self._shares: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()

    def of(self, user: str) -> tuple[Semaphore, Semaphore]:
        """Return what is to be held, in this order. A user's share is forgotten when nobody holds it."""
        return self._shares.setdefault(user, Semaphore(LARGE_OF_ONE_USER)), self._all


_large = LoopBound("slipway_large_bodies", _Places)


async def raw_body(request: Request, user: access.UserName) -> AsyncIterator[bytes]:
    """Give the body as it was sent; its size is limited on the way (`BodyLimit`).

    Large ones are taken in a few at a time, fewer of one user, and until the request is over. So memory has a bound
    however many are sent.

    Raises `ApiError` 503: others took too long. 408: this one did.
    """
    size = request.headers.get("content-length", "")
    if size.isdecimal() and len(size) < 10 and int(size) <= LARGE:
        yield await request.body()
        return
    async with AsyncExitStack() as held:
        try:
            with fail_after(LONGEST_WAIT):
                for place in _large.get().of(user):
                    await held.enter_async_context(place)
        except TimeoutError:
            raise ApiError(503, "other large bodies are being taken in; try again", "Busy", retry=True) from None
        try:
            with fail_after(LONGEST_SENDING):
                body = await request.body()
        except TimeoutError:
            raise ApiError(408, f"the body took longer than {LONGEST_SENDING:.0f} s", retry=True) from None
        yield body


async def json_object(request: Request) -> Mapping[str, Any]:
    """Return the body as a JSON object. Raises `ApiError` 400: it is none."""
    body = await request.body()
    try:
        data = read_json(body, _no_number)
    except ValueError:
        raise ApiError(400, "the body must be a JSON object, and is no JSON", "Bad Request") from None
    if not isinstance(data, dict):
        raise ApiError(400, "the body must be a JSON object", "Bad Request")
    return data


def require_known_keys(body: Mapping[str, Any], model: type[BaseModel], parameters: Collection[str] = ()) -> None:
    """Refuse a body with a key that its route does not read: it would be ignored, and the rest be done.

    Parameters
    ----------
    model : what the route reads.
    parameters : what it reads from the address instead.

    Raises `ApiError` 400, naming the first such key and what to write instead.
    """
    known = model.model_fields
    for key in sorted(body.keys() - known.keys()):
        shown = repr(key[:80])
        if key.replace("_", "-") in {name.replace("_", "-") for name in parameters}:
            name = next(name for name in parameters if name.replace("_", "-") == key.replace("_", "-"))
            hint = f"it is a parameter of the address: ?{name}=…"
        else:
            hint = did_you_mean(key, [*known, *parameters])
        raise ApiError(400, f"the body has an unknown key {shown}, and nothing was done: {hint}", "Bad Request")


def names_in(body: Mapping[str, Any], key: str, what: str = "") -> list[str] | None:
    """Return the names that a body has under a key, each once; None where it has none at all.

    Raises `ApiError` 400: it is no list of names; `what` says of what.
    """
    names = body.get(key)
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) and name for name in names)):
        raise ApiError(400, f"{key} must be a list of names{what}", "Bad Request")
    return names and list(dict.fromkeys(names))


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


RawBody = Annotated[bytes, Depends(raw_body)]
JsonObject = Annotated[Mapping[str, Any], Depends(json_object)]

YAML_BODY: dict[str, Any] = {
    "requestBody": {
        "description": "YAML documents, separated by `---`; at most 64 MiB.",
        "content": {
            YAML_TYPE: {
                "schema": {"type": "string"},
                "example": "schema: drydock/Region/v1\nmetadata: {name: alpha, layeringDefinition: {layer: site}}\n",
            }
        },
    }
}
"""A route's ``openapi_extra``, when its body is YAML."""


def json_body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return a route's ``openapi_extra``, when its body is a JSON object of this model; its docstring describes it."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    content = {"application/json": {"schema": schema, "example": example_of(model)}}
    return {"requestBody": {"description": model.__doc__, "required": True, "content": content}}


LARGEST_YAML = 64 * 1024 * 1024
LARGEST_JSON = 1024 * 1024
# Where documents are sent; everywhere else a body is a small JSON object, or empty.
_DOCUMENTS = ("/api/v1.0/configdocs/",)


class BodyLimit:
    """ASGI middleware: refuses (413) a body that is too large; `Unexpected`, which is outside, shapes the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        limit = LARGEST_YAML if path.startswith(_DOCUMENTS) else LARGEST_JSON
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > limit:
            raise _too_large(limit)
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        await self._app(scope, counted, send)


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the body is larger than {limit // 1024 // 1024} MiB, which is the most that is read here")
