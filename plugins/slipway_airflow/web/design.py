"""A site's design, as the provisioner fetches it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from slipway_airflow.web.failure import ErrorBody
from slipway_airflow.web.open_store import Store

# Not among the blocking routes: those wait for the provisioner, which waits for this one.
router = APIRouter(tags=["design"])


@router.get(
    "/d/{token}",
    summary="A design, for the provisioner",
    response_class=Response,
    responses={
        200: {"content": {"application/x-yaml": {"example": "schema: drydock/Region/v1\n"}}},
        404: {"model": ErrorBody, "description": "The token opens nothing, or nothing any more."},
    },
)
def design(token: Annotated[str, Path(max_length=100)], store: Store, request: Request) -> Response:
    """Serve one design to the provisioner, read only. It cannot log in: the token is the permission."""
    # Airflow's access log tells a request's path when it is over.
    request.scope["path"] = f"{request.scope['path'].removesuffix(token)}***"
    text = store.design_by_token(token)
    return Response(text, media_type="application/x-yaml", headers={"Cache-Control": "no-store"})
