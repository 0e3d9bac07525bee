"""Versions of a site's documents: which one a request is about, its texts as written and rendered, its `ETag`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Query
from fastapi.responses import Response

from design_rendering.kinds.objects import ObjectKey, kind_of
from design_rendering.policies import PolicedRendering, police
from design_rendering.reading.documents import Document, RenderingError, load_documents
from design_rendering.redaction import redacted, redacted_text
from design_rendering.rendering import RenderedDocument, Rendering, design_text, render
from site_engine.extensions import installed_policies
from site_store import BufferChanged, RevisionNotFound, RevisionRecord, SiteStore, Version
from slipway_api.http.airflow_access import CallerDep
from slipway_api.http.answers import YAML_TYPE
from slipway_api.http.api_errors import ApiError, message_of
from slipway_api.http.concurrency import READING
from slipway_api.http.dependencies import DEFAULT_SITE, SiteName, Store, etag_headers, mismatch, require_match
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import StrategyLibError

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


def collection_text(store: SiteStore, site: str, version: Version | int, collection: str, *, cleartext: bool) -> str:
    """Return a collection of a version; exactly as it was written in `cleartext`, else without its secrets.

    The buffer has the collections that were put into it, and not those that a commit would carry over unchanged.

    Raises `RevisionNotFound`: the site has no such version; `ApiError` 404: the version has no such collection.
    """
    text = _texts(store, site, version).get(collection)
    if text is None:
        raise ApiError(404, f"{version_name(version)} of site {site} has no collection {collection!r}", "Not Found")
    if version is Version.BUFFER and collection not in store.buffers.get(site).posted:
        text = f"the buffer of site {site} does not have collection {collection!r}: it is as in version committed"
        raise ApiError(404, text, "Not Found")
    if cleartext:
        return text
    with READING.slot():
        return redacted_text(text, load_documents(text, collection))


def rendered_text(store: SiteStore, site: str, version: Version | int, *, cleartext: bool) -> str:
    """Return the rendered documents of a version: in `cleartext` what a provisioner gets, else without secrets.

    Raises `RevisionNotFound`: the site has no such version. Raises `ApiError` 400: the documents cannot be rendered;
    each reason is a message.
    """
    if cleartext and version is not Version.BUFFER:
        number = version if isinstance(version, int) else store.sites.version_number(site, version)
        if number is not None and (text := store.revisions.get(site, number).text) is not None:
            return text
    texts = _texts(store, site, version)
    with READING.slot():
        rendering = policed_rendering_of(store, site, version, texts).rendering
        return design_text(rendering if cleartext else without_secrets(rendering))


def policed_rendering_of(
    store: SiteStore, site: str, version: Version | int, texts: dict[str, str]
) -> PolicedRendering:
    """Return the rendered documents of a version, with the objects that policies changed.

    The buffer is as a commit would make it now. A revision is as it was committed, whatever policies there are now.

    Parameters
    ----------
    texts : the collections of the version, each by its name.

    Raises
    ------
    ApiError : 400: they cannot be rendered; each reason is a message.
    """
    what = f"{version_name(version)} of site {site}"
    revision = _revision_of(store, site, version)
    try:
        rendering = render(documents_of(texts))
        return police(rendering, installed_policies().policies) if revision is None else _committed(rendering, revision)
    except (StrategyLibError, RenderingError) as error:
        raise ApiError(
            400, f"{what} cannot be rendered", "Validation", [message_of(problem) for problem in error.problems]
        ) from error


def _revision_of(store: SiteStore, site: str, version: Version | int) -> RevisionRecord | None:
    """Return the revision that a version is; None for a buffer with something in it, and before the first commit."""
    number = version if isinstance(version, int) else store.sites.version_number(site, version)
    if version is Version.BUFFER:
        # An empty one is like the newest revision.
        number = store.sites.version_number(site, Version.COMMITTED) if number is None else None
    return None if number is None else store.revisions.get(site, number)


def _committed(rendering: Rendering, revision: RevisionRecord) -> PolicedRendering:
    """Return the rendering of a revision with the objects that policies changed then, as the commit has stored them."""
    if revision.text is None or not revision.by_policy:
        return PolicedRendering(rendering)
    stored = {_key(one): one for one in load_documents(revision.text, "<text>")}
    changed = {key: who for key in stored if (who := revision.by_policy.get(str(key))) is not None}
    documents = [
        one if key not in changed else replace(one, document=_stored(stored[key], one.document), changed=True)
        for one in rendering.documents
        for key in (_key(one.document),)
    ]
    added = changed.keys() - {_key(one.document) for one in rendering.documents}
    documents += [RenderedDocument(stored[key], changed=True) for key in changed if key in added]
    return PolicedRendering(replace(rendering, documents=tuple(documents)), changed)


def _key(document: Document) -> ObjectKey:
    return ObjectKey(kind_of(document.schema), document.name)


def _stored(stored: Document, written: Document) -> Document:
    return replace(stored, source=written.source, line=written.line, marks=None)


def documents_of(texts: dict[str, str]) -> list[Document]:
    """Return the documents of collections, each with its collection as its source."""
    return [document for name, text in texts.items() for document in load_documents(text, name)]


def without_secrets(rendering: Rendering) -> Rendering:
    """Return the rendering as everybody may see it."""
    shown = []
    for rendered in rendering.documents:
        document = redacted(rendered.document, rendered.secret_paths)
        hidden = document is not rendered.document
        shown.append(replace(rendered, document=document, changed=True) if hidden else rendered)
    return replace(rendering, documents=tuple(shown))


def _texts(store: SiteStore, site: str, version: Version | int) -> dict[str, str]:
    return {record.name: record.text for record in store.sites.collections(site, version)}


def texts_or_empty(store: SiteStore, site: str, version: Version | int) -> dict[str, str]:
    """Return the text of each collection of a version.

    An empty buffer is like `committed`, and before the first commit `committed` is empty.

    Raises `RevisionNotFound`: there is no other version or revision of this name.
    """
    return read_or_empty(lambda wanted: _texts(store, site, wanted), version)
