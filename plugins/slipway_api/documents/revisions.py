"""The history of a site's documents: revisions, rendered documents, and what differs between two states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from site_store import RevisionRecord, Version
from slipway_api.documents.differences import Differences, differences
from slipway_api.documents.versions import Requested, etag_headers_of, parse_version, rendered_text
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import Moment, answers, shown, yaml_answer
from slipway_api.http.dependencies import DEFAULT_SITE, SiteName, Store, blocking_router, link_to_next

LARGEST_NUMBER = 999_999_999
Digest = Annotated[str, Field(examples=["9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de"])]
"""SHA-256 in hexadecimal digits."""


class CollectionDigest(BaseModel):
    """A collection of a revision."""

    name: str = Field(examples=["site"])
    digest: Digest


class Revision(BaseModel):
    """A revision: where it came from, and what was overridden for it."""

    site: str = Field(examples=["default"])
    revision: int = Field(examples=[3])
    digest: Digest
    created: Moment
    user: str = Field(examples=["admin"])
    base_revision: int | None = Field(examples=[2])
    rollback_of: int | None = Field(examples=[None])
    forced: bool = Field(examples=[False])
    problems: list[str] = Field(examples=[[]])
    collections: list[CollectionDigest]
    by_policy: dict[str, list[str]] = Field(
        examples=[{"strategy/deployment-strategy": ["default-group"]}],
        description="Objects of the rendered design that policies changed, each with the names of those.",
    )
    versions: list[str] = Field(examples=[["committed"]])


def revision_view(revision: RevisionRecord, versions: Mapping[Version, int | None]) -> dict[str, Any]:
    """Return a revision as JSON; `versions` are the numbers that names such as ``committed`` stand for now."""
    return shown(
        Revision,
        revision,
        revision=revision.number,
        created=revision.created_at.isoformat(),
        user=revision.created_by,
        base_revision=revision.base,
        collections=[{"name": name, "digest": digest} for name, digest in revision.collections.items()],
        by_policy={name: list(who) for name, who in revision.by_policy.items()},
        versions=[
            version.value
            for version, number in versions.items()
            if number == revision.number and version is not Version.BUFFER
        ],
    )


router = blocking_router("configdocs")

_PAGE = 50
_LONGEST_PAGE = 500
_STATE = "A version's name, or the number of a revision."


@router.get(
    "/renderedconfigdocs",
    dependencies=[access.may_read],
    summary="Read the rendered documents",
    response_class=Response,
    responses=yaml_answer(),
)
def get_rendered(store: Store, requested: Requested) -> Response:
    """Return the documents of a version with layering and substitution applied, as the provisioner gets them."""
    return requested.answer(rendered_text(store, requested.site, requested.version, cleartext=requested.cleartext))


@router.get(
    "/revisions",
    dependencies=[access.may_read],
    summary="List revisions",
    responses=answers(list[Revision]),
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
    versions = store.sites.versions(site)
    found = store.revisions.newest(site, limit + 1, before)
    more = len(found) > limit
    headers = link_to_next(request, limit=limit, before=found[limit - 1].number) if more else {}
    return JSONResponse([revision_view(revision, versions) for revision in found[:limit]], headers=headers)


@router.get(
    "/revisions/{number}",
    dependencies=[access.may_read],
    summary="Describe a revision",
    responses=answers(Revision),
)
def get_revision(
    number: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)], store: Store, site: SiteName = DEFAULT_SITE
) -> JSONResponse:
    """Return where a revision came from, what it is made of, and what was overridden if it was forced."""
    revision = store.revisions.get(site, number)
    return JSONResponse(revision_view(revision, store.sites.versions(site)))


@router.get(
    "/diff/configdocs",
    dependencies=[access.may_read],
    summary="Compare two versions by document and field",
    responses=answers(Differences),
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
    headers = etag_headers_of(store, site, old, new)
    return JSONResponse(differences(store, site, old, new, rendered=rendered), headers=headers)
