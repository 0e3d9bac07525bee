"""Which version of a site's documents a request is about, as which text, and the buffer's version as an `ETag`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query
from fastapi.responses import Response

from site_store import BufferChanged, RevisionNotFound, SiteStore, Version
from slipway_api.http.airflow_access import CallerDep
from slipway_api.http.answers import YAML_TYPE
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import DEFAULT_SITE, SiteName, Store
from slipway_api.http.etags import etag_headers, mismatch, require_match
from strategy_lib.did_you_mean import did_you_mean

NAMES = tuple(version.value for version in Version)
# From the oldest to the newest; a comparison goes in this order.
ORDER = (Version.SUCCESSFUL_SITE_ACTION, Version.LAST_SITE_ACTION, Version.COMMITTED, Version.BUFFER)
_LONGEST_NUMBER = 9
BUFFER = "the buffer"


def parse_version(text: str) -> Version | int:
    """Return the version that a query parameter names, or the number of a revision.

    Raises `ApiError` 400: it is neither.
    """
    wanted = text.strip()
    if wanted.isascii() and wanted.isdecimal() and len(wanted) <= _LONGEST_NUMBER:
        return int(wanted)
    return _version_of(wanted, (*NAMES, "or the number of a revision"))


def _version_of(text: str, known: Collection[str]) -> Version:
    wanted = text.strip()
    if wanted in NAMES:
        return Version(wanted)
    hint = did_you_mean(wanted, NAMES, f"known are {', '.join(known)}")
    raise ApiError(400, f"there is no version {wanted[:64]!r}; {hint}", "Bad Request")


def version_name(version: Version | int) -> str:
    """Return how a sentence calls a version."""
    return f"revision {version}" if isinstance(version, int) else f"version {version.value}"


def read_or_empty(read: Callable[[Version | int], dict[str, str]], version: Version | int) -> dict[str, str]:
    """Return what `read` gives for a version: an empty buffer is like `committed`, which is nothing before any commit.

    Raises `RevisionNotFound`: there is no other version or revision of this name.
    """
    try:
        return read(version)
    except RevisionNotFound:
        if version is Version.BUFFER:
            return read_or_empty(read, Version.COMMITTED)
        if version is Version.COMMITTED:
            return {}
        raise


def two_versions(given: Collection[str]) -> tuple[Version, Version]:
    """Return the two versions to compare, the older one first, by the repeated parameter or the form with commas.

    Raises `ApiError` 400: they are not two different versions' names.
    """
    texts = [text for item in given for text in item.split(",")]
    if not texts:
        return Version.COMMITTED, Version.BUFFER
    versions = {_version_of(text, NAMES) for text in texts}
    if len(texts) != 2 or len(versions) != 2:
        raise ApiError(400, "versions needs two different names of versions, such as committed,buffer", "Bad Request")
    older, newer = sorted(versions, key=ORDER.index)
    return older, newer


def etag_headers_of(store: SiteStore, site: str, *versions: Version | int) -> dict[str, str]:
    """Return the headers of an answer about these versions: the buffer's tag if it is one of them."""
    return etag_headers(store.buffers.version(site)) if Version.BUFFER in versions else {}


def require_buffer(store: SiteStore, site: str, if_match: str | None) -> int | None:
    """Return the version that the site's buffer has to keep; None without a condition. Raises `ApiError` 412."""
    return require_match(if_match, lambda: store.buffers.version(site), BUFFER)


def changed_meanwhile(error: BufferChanged, store: SiteStore, site: str, if_match: str | None) -> ApiError:
    """Return the answer to a request that another one overtook: 412 if it set a condition, else 409."""
    version = store.buffers.version(site)
    if if_match is not None:
        return mismatch(BUFFER, version, if_match)
    return ApiError(409, str(error), "Buffer Changed", retry=True, headers=etag_headers(version))


VersionText = Annotated[
    str,
    Query(
        alias="version",
        description="`buffer`, `committed`, `last_site_action`, `successful_site_action`, or the number of a revision.",
        examples=["committed"],
    ),
]
Cleartext = Annotated[
    bool,
    Query(
        alias="cleartext-secrets",
        description="Show secrets, and the text exactly as written; for those who may read Airflow's connections.",
    ),
]


@dataclass(frozen=True, slots=True)
class RequestedDocuments:
    """Which documents a request is for; the caller may read them."""

    site: str
    version: Version | int
    cleartext: bool
    headers: Mapping[str, str]

    def answer(self, text: str) -> Response:
        """Return the documents; they may hold what nobody else should find in a cache."""
        return Response(text, media_type=YAML_TYPE, headers={"Cache-Control": "no-store", **self.headers})


def requested_documents(
    store: Store,
    caller: CallerDep,
    site: SiteName = DEFAULT_SITE,
    version_text: VersionText = Version.BUFFER.value,
    cleartext: Cleartext = False,
) -> RequestedDocuments:
    """Return which documents a request is for.

    Raises `ApiError` 400: there is no such version; 403: the caller may not see secrets.
    """
    version = parse_version(version_text)
    if cleartext:
        caller.require_read_cleartext()
    return RequestedDocuments(site, version, cleartext, etag_headers_of(store, site, version))


Requested = Annotated[RequestedDocuments, Depends(requested_documents)]
"""A route's parameter ``requested: Requested``."""
