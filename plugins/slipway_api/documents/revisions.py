"""The history of a site's documents: revisions, rendered documents, and what differs between two states."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from site_store import Version
from slipway_api import airflow_access as access
from slipway_api.documents.answers import Differences, Revision
from slipway_api.documents.differences import differences
from slipway_api.documents.document_query import YAML_TYPE, Asked
from slipway_api.documents.document_version import parse_version
from slipway_api.documents.etag import tag_of
from slipway_api.documents.examples import DIFFERENCES, REVISION, yaml_shown
from slipway_api.documents.revision_view import LARGEST_NUMBER, revision_view
from slipway_api.documents.site_documents import rendered_text
from slipway_api.http.answers import answers
from slipway_api.http.blocking_route import BlockingRoute
from slipway_api.http.dependencies import Store
from slipway_api.http.paging import link_to_next
from slipway_api.http.site_name import DEFAULT_SITE, SiteName

router = APIRouter(tags=["configdocs"], route_class=BlockingRoute)

_PAGE = 50
_LONGEST_PAGE = 500
_STATE = "A version's name, or the number of a revision."


@router.get(
    "/renderedconfigdocs",
    dependencies=[access.may_read],
    summary="Read the rendered documents",
    response_class=Response,
    responses=yaml_shown(YAML_TYPE),
)
def get_rendered(store: Store, asked: Asked) -> Response:
    """Return the documents of a version with layering and substitution applied, as the provisioner gets them."""
    return asked.answer(rendered_text(store, asked.site, asked.version, cleartext=asked.cleartext))


@router.get(
    "/revisions",
    dependencies=[access.may_read],
    summary="List revisions",
    responses=answers(list[Revision], [REVISION]),
)
def list_revisions(
    request: Request,
    store: Store,
    site: SiteName = DEFAULT_SITE,
    limit: Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="How many at most.")] = _PAGE,
    before: Annotated[
        int | None,
        Query(
            ge=1,
            le=LARGEST_NUMBER,
            description="Only revisions before this one; the header `Link` of an answer has it for the next page.",
        ),
    ] = None,
) -> JSONResponse:
    """Return the revisions of a site, newest first. They are never changed, and never deleted."""
    versions = store.versions(site)
    found = store.revisions(site, limit + 1, before)
    more = len(found) > limit
    headers = link_to_next(request, limit=limit, before=found[limit - 1].number) if more else {}
    return JSONResponse([revision_view(revision, versions) for revision in found[:limit]], headers=headers)


@router.get(
    "/revisions/{number}",
    dependencies=[access.may_read],
    summary="Describe a revision",
    responses=answers(Revision, REVISION),
)
def get_revision(
    number: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)], store: Store, site: SiteName = DEFAULT_SITE
) -> JSONResponse:
    """Return where a revision came from, what it is made of, and what was overridden if it was forced."""
    revision = store.revision(site, number)
    return JSONResponse(revision_view(revision, store.versions(site)))


@router.get(
    "/diff/configdocs",
    dependencies=[access.may_read],
    summary="Compare two versions by document and field",
    responses=answers(Differences, DIFFERENCES),
)
def diff_configdocs(
    store: Store,
    site: SiteName = DEFAULT_SITE,
    before: Annotated[str, Query(alias="from", description=_STATE, examples=["committed"])] = Version.COMMITTED.value,
    after: Annotated[str, Query(alias="to", description=_STATE, examples=["buffer"])] = Version.BUFFER.value,
    rendered: Annotated[bool, Query(description="Compare the rendered documents.")] = False,
) -> JSONResponse:
    """Return what differs between two states of a site's documents. A secret that differs is `[redacted]` twice.

    An empty buffer is like `committed`, and before the first commit `committed` is empty.
    """
    old, new = parse_version(before), parse_version(after)
    headers = tag_of(store, site, old, new)
    return JSONResponse(differences(store, site, old, new, rendered=rendered), headers=headers)
