"""A site's design, as the provisioner fetches it."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from slipway_api.http.answers import YAML_TYPE, errors, yaml_answer
from slipway_api.http.api_errors import ErrorBody
from slipway_api.http.dependencies import Store

_ADDRESS = re.compile(r"(/+d/+).+", re.DOTALL)
# Not among the blocking routes: those wait for the provisioner, which waits for this one.
router = APIRouter(tags=["design"])


@router.get(
    "/d/{token}",
    summary="A design, for the provisioner",
    response_class=Response,
    responses={
        **yaml_answer(),
        **errors(400, 404, 413, 500, 503),
        404: {"model": ErrorBody, "description": "The token opens nothing, or nothing any more."},
    },
)
def design(token: Annotated[str, Path(max_length=100)], store: Store) -> Response:
    """Serve one design to the provisioner, read only. It cannot log in: the token is the permission."""
    text = store.revisions.design_by_token(token)
    return Response(text, media_type=YAML_TYPE, headers={"Cache-Control": "no-store"})


class HiddenTokens:
    """ASGI middleware, the outermost: Airflow's access log has no token, however a design was asked for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        below = scope.get("path", "").removeprefix(root)
        try:
            await self._app(scope, receive, send)
        finally:
            # Airflow logs a request's path after the request.
            if found := _ADDRESS.fullmatch(below):
                scope["path"] = f"{root}{found[1]}***"
