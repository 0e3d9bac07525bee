"""Commit a whole design in one request."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from site_store import SiteStore
from slipway_airflow.airflow_settings import longest_mapping
from slipway_airflow.errors import CommitError
from slipway_airflow.web import access
from slipway_airflow.web.blocking_route import BlockingRoute
from slipway_airflow.web.bodies import YAML_BODY, RawBody
from slipway_airflow.web.site_name import LONGEST_NAME, NAME_PATTERN
from strategy_lib.design import read_design
from strategy_lib.documents import load_documents
from strategy_lib.errors import ConfigurationError, DocumentError, InventoryError, Problem, StrategyError

router = APIRouter(tags=["configdocs"], route_class=BlockingRoute)

_EXAMPLE = {"site": "alpha", "revision": 3, "digest": "sha256:…", "created": True, "warnings": []}


@router.post(
    "/sites/{site}/revisions",
    dependencies=[access.may_commit],
    status_code=201,
    openapi_extra=YAML_BODY,
    summary="Commit a whole design",
    responses={201: {"content": {"application/json": {"example": _EXAMPLE}}}},
)
def commit_revision(
    site: Annotated[str, Path(pattern=NAME_PATTERN, max_length=LONGEST_NAME)], body: RawBody, user: access.UserName
) -> JSONResponse:
    """Commit documents (YAML body) as a new revision; the same content again is the revision that exists."""
    result = commit(site, body, user)
    return JSONResponse(result, 201 if result["created"] else 200)


# A design that comes as one text is one collection.
_COLLECTION = "design"


def message_of(problem: Problem) -> dict[str, Any]:
    """Return a problem in the shape of Airship's messages."""
    return {
        "message": str(problem),
        "error": problem.level == "error",
        "level": problem.level.capitalize(),
        "kind": "ValidationMessage",
        "document": problem.document,
        "path": problem.path,
        "line": problem.line,
    }


def commit(site: str, body: bytes, user: str) -> dict[str, Any]:
    """Check and store the documents as the site's newest revision.

    Returns
    -------
    dict
        ``site``, ``revision`` (number), ``digest``, ``created`` (False: the newest revision has this very content)
        and ``warnings``.

    Raises
    ------
    CommitError
        With every problem at once (rules 1-3).
    """
    try:
        documents = load_documents(body, f"site {site}")
        design = read_design(documents)
        if not design.nodes:
            raise InventoryError(
                [Problem("$", "the documents have no drydock/BaremetalNode/v1: there is nothing to deploy")]
            )
        if not design.strategy.groups:
            raise StrategyError([Problem("$.data.groups", "the strategy has no groups: there is nothing to deploy")])
        if len(design.strategy.groups) > longest_mapping():
            limit = longest_mapping()
            message = f"Airflow can map at most {limit} groups: merge some, or raise [core] max_map_length"
            raise StrategyError([Problem("$.data.groups", message)])
    except (DocumentError, StrategyError, ConfigurationError, InventoryError) as error:
        messages = [message_of(problem) for problem in error.problems]
        raise CommitError(f"the documents of site {site} are not valid", messages) from error
    with SiteStore.open() as store:
        text = body.decode("utf-8")
        named = [(_COLLECTION, document) for document in documents]
        revision = store.commit_revision(site, {_COLLECTION: text}, named, text, user)
    return {
        "site": site,
        "revision": revision.number,
        "digest": revision.digest,
        "created": revision.created,
        "warnings": [message_of(problem) for problem in design.warnings],
    }
