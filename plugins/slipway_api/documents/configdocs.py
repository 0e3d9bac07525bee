"""Collections of documents at Shipyard's paths: put into the buffer, read, compare by collection, discard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from design_rendering.reading.documents import DocumentError
from design_rendering.validation import unknown_kinds
from site_store import BufferChanged, BufferMode, BufferRecord, DocumentElsewhere, SiteStore
from slipway_api.documents.differences import CollectionStatus, collection_statuses
from slipway_api.documents.validation import READ_ONCE
from slipway_api.documents.versions import (
    Requested,
    changed_meanwhile,
    collection_text,
    etag_headers_of,
    require_buffer,
    two_versions,
)
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import answers, shown, yaml_answer
from slipway_api.http.api_errors import ApiError, StatusBody, message_of, plain_message, status
from slipway_api.http.bodies import YAML_BODY, RawBody
from slipway_api.http.concurrency import READING
from slipway_api.http.dependencies import (
    DEFAULT_SITE,
    LONGEST_NAME,
    NAME_PATTERN,
    IfMatch,
    SiteName,
    Store,
    blocking_router,
    etag_headers,
)


class Buffer(BaseModel):
    """What is about to be committed."""

    version: int = Field(examples=[7])
    base_revision: int | None = Field(examples=[2])
    collections: list[str] = Field(examples=[["site"]])
    discarded: list[str] = Field(examples=[[]])


class Loaded(StatusBody):
    """A collection was put into the buffer."""

    site: str = Field(examples=["default"])
    buffer: Buffer


router = blocking_router("configdocs")

CollectionName = Annotated[
    str,
    Path(pattern=NAME_PATTERN, max_length=LONGEST_NAME, description="The collection.", examples=["site-bare-metal"]),
]
Mode = Annotated[
    str,
    Query(
        description="What to do with what is in the buffer: `rejectoncontents` refuses unless it is empty, `append` "
        "refuses if this collection is in it, `renew` puts it in place of itself, `replace` empties it first, of other "
        "collections too.",
        examples=["append"],
        json_schema_extra={"enum": [mode.value for mode in BufferMode]},
    ),
]


@dataclass(frozen=True, slots=True)
class GivenCollection:
    """Which collection is put into which buffer, and how."""

    collection: CollectionName
    site: SiteName = DEFAULT_SITE
    buffermode: Mode = BufferMode.REJECT.value
    empty: Annotated[
        bool, Query(alias="empty-collection", description="Take the collection away; the body must be empty.")
    ] = False
    if_match: IfMatch = None


@router.post(
    "/configdocs/{collection}",
    status_code=201,
    dependencies=[access.may_commit],
    openapi_extra=YAML_BODY,
    summary="Put a collection into the buffer",
    responses=answers(Loaded, 201),
)
def create_configdocs(
    request: Request, body: RawBody, store: Store, user: access.UserName, given: Annotated[GivenCollection, Depends()]
) -> JSONResponse:
    """Put a whole collection into the site's buffer, as the body has it; nothing takes effect before a commit.

    The documents are read here and judged by the commit. The `Content-Type` makes no difference: it must be YAML.
    """
    mode = _mode(given.buffermode)
    if not body and not given.empty:
        raise ApiError(400, "there is no body: send documents, or empty-collection=true to take the collection away")
    if body.strip() and given.empty:
        raise ApiError(400, "empty-collection=true takes no documents: leave the body empty")
    with READING.slot():
        buffer, warnings = _put(store, given, body, mode, user)
    answer = {**status(warnings, 201, "Validations succeeded"), "site": buffer.site}
    answer["buffer"] = shown(Buffer, buffer, collections=sorted(buffer.posted))
    # Without its site it would be the address of another collection.
    location = request.url.path if given.site == DEFAULT_SITE else f"{request.url.path}?site={given.site}"
    headers = {"Location": location, **etag_headers(buffer.version)}
    return JSONResponse(answer, 201, headers=headers)


def _put(
    store: SiteStore, given: GivenCollection, body: bytes, mode: BufferMode, user: str
) -> tuple[BufferRecord, list[dict[str, Any]]]:
    """Read and keep the collection; return the buffer, and what deserves a second look."""
    site, collection, if_match = given.site, given.collection, given.if_match
    wanted = require_buffer(store, site, if_match)
    try:
        documents = READ_ONCE.put(collection, body)
    except DocumentError as error:
        messages = [message_of(problem) for problem in error.problems]
        raise ApiError(400, f"collection {collection} cannot be read", "Validation", messages) from error
    if body.strip() and not documents:
        raise ApiError(400, "there is no document in the body; send empty-collection=true to take the collection away")
    try:
        buffer = store.buffers.put(site, collection, body.decode(), documents, mode, user, if_version=wanted)
    except BufferChanged as error:
        raise changed_meanwhile(error, store, site, if_match) from error
    except DocumentElsewhere as error:
        raise ApiError(409, str(error), "Conflict", [_elsewhere(*found) for found in error.found[:1000]]) from error
    warnings = [message_of(problem) for problem in unknown_kinds(documents)]
    return buffer, [*_discarded(buffer), *warnings]


def _discarded(buffer: BufferRecord) -> list[dict[str, Any]]:
    """Say what a replacement took out of the buffer: who meant one collection may not know of the others."""
    if not buffer.discarded:
        return []
    text = f"discarded from the buffer of site {buffer.site}, by the buffer mode replace: {', '.join(buffer.discarded)}"
    return [plain_message(text, "Warning", name="BufferReplaced")]


def _elsewhere(key: tuple[str, str | None, str], collection: str) -> dict[str, Any]:
    schema, layer, name = key
    of_layer = f" of layer {layer!r}" if layer else ""
    text = f"{schema} {name!r}{of_layer} is in collection {collection!r} already"
    message = plain_message(text, name="DocumentElsewhere")
    return {**message, "documents": [{"schema": schema, "name": name}], "collection": collection}


def _mode(text: str) -> BufferMode:
    try:
        return BufferMode(text.strip().lower())
    except ValueError:
        known = ", ".join(mode.value for mode in BufferMode)
        raise ApiError(400, f"there is no buffer mode {text[:64]!r}: use {known}", "Bad Request") from None


@router.get(
    "/configdocs",
    dependencies=[access.may_read],
    summary="Compare two versions by collection",
    responses=answers(list[CollectionStatus]),
)
def list_configdocs(
    store: Store,
    site: SiteName = DEFAULT_SITE,
    versions: Annotated[
        list[str] | None,
        Query(
            description="Two of `successful_site_action`, `last_site_action`, `committed`, `buffer`: as a repeated "
            "parameter, or separated by a comma. The older one comes first, whatever the order.",
            examples=["committed,buffer"],
        ),
    ] = None,
) -> JSONResponse:
    """Return every collection of two versions, and what the newer one makes of it; committed and buffer by default."""
    older, newer = two_versions(versions or [])
    headers = etag_headers_of(store, site, older, newer)
    return JSONResponse(collection_statuses(store, site, older, newer), headers=headers)


@router.get(
    "/configdocs/{collection}",
    dependencies=[access.may_read],
    summary="Read a collection",
    response_class=Response,
    responses=yaml_answer(),
)
def get_configdocs(collection: CollectionName, store: Store, requested: Requested) -> Response:
    """Return a collection as it was written; documents with secrets are written anew, without them."""
    return requested.answer(
        collection_text(store, requested.site, requested.version, collection, cleartext=requested.cleartext)
    )


@router.delete(
    "/configdocs",
    status_code=204,
    dependencies=[access.may_commit],
    summary="Discard the buffer",
    response_class=Response,
)
def discard_configdocs(
    store: Store, user: access.UserName, site: SiteName = DEFAULT_SITE, if_match: IfMatch = None
) -> Response:
    """Forget all collections that were put into the site's buffer; the revisions stay as they are."""
    wanted = require_buffer(store, site, if_match)
    try:
        buffer = store.buffers.discard(site, user, if_version=wanted)
    except BufferChanged as error:
        raise changed_meanwhile(error, store, site, if_match) from error
    return Response(status_code=204, headers=etag_headers(buffer.version))
