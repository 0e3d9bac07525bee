"""Slipway's REST API: commit a site's documents, follow a run, and the design as the provisioner fetches it."""

from __future__ import annotations

import logging
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from site_store import ActionNotFound, RevisionNotFound, SiteStore, StoreError
from slipway_airflow.errors import AirflowApiError, CommitError
from slipway_airflow.site_lock import reconcile
from slipway_airflow.web import access
from slipway_airflow.web.commit import commit
from slipway_airflow.web.own_api import run_states
from slipway_airflow.web.run_view import run_view

log = logging.getLogger(__name__)

_MAX_BYTES = 64 * 1024 * 1024
SiteName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]


def failure(status: int, message: str, messages: list[dict[str, Any]] | None = None) -> JSONResponse:
    """Return an error in the shape of Airship's ``Status``: a message, and a list of what is wrong in detail."""
    items = messages or []
    return JSONResponse(
        {
            "kind": "Status",
            "apiVersion": "v1.0",
            "status": "Failure",
            "code": status,
            "message": message,
            "details": {"errorCount": len(items), "messageList": items},
        },
        status,
    )


def create_app() -> FastAPI:
    """Build the application; it opens the store for each request, so it can be made before the store exists."""
    app = FastAPI(title="Slipway", version="1.0")

    @app.exception_handler(StoreError)
    def store_error(_: Request, error: StoreError) -> JSONResponse:
        found = not isinstance(error, RevisionNotFound | ActionNotFound)
        return failure(503 if found else 404, str(error))

    @app.exception_handler(CommitError)
    def commit_refused(_: Request, error: CommitError) -> JSONResponse:
        return failure(400, str(error), error.messages)

    @app.post("/api/v1.0/sites/{site}/revisions", dependencies=[access.may_commit])
    async def commit_revision(site: SiteName, request: Request, user: access.UserName) -> JSONResponse:
        """Commit documents (YAML body) as a new revision; the same content again is the revision that exists."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BYTES:
                return failure(413, f"the documents are larger than {_MAX_BYTES // 1024 // 1024} MiB")
        result = await run_in_threadpool(commit, site, bytes(body), user)
        return JSONResponse(result, 201 if result["created"] else 200)

    @app.get("/api/v1.0/runs/{dag_id}/{run_id:path}", dependencies=[access.may_read_run])
    def run(dag_id: str, run_id: str, request: Request) -> JSONResponse:
        """Show the action of a DAG run: its groups with counts and criteria, and its report once there is one."""
        with SiteStore.open() as store:
            action = store.action_of_run(dag_id, run_id)
            if action is None:
                return failure(404, f"run {run_id!r} of DAG {dag_id!r} has no action (yet)")
            try:
                reconcile(store, action.id, run_states(request))
            except AirflowApiError as error:
                log.warning("Action %s is shown as it stands: %s", action.id, error)
            return JSONResponse(run_view(store, action.id))

    @app.get("/d/{token}")
    def design(token: Annotated[str, Path(max_length=100)]) -> Response:
        """Serve a revision's documents to the provisioner. It cannot log in: the token is the permission."""
        with SiteStore.open() as store:
            text = store.revision_by_token(token).text
        return Response(text, media_type="application/x-yaml", headers={"Cache-Control": "no-store"})

    return app
