"""The documents of a version of a site, as they may be shown: as written, and rendered."""

from __future__ import annotations

from dataclasses import replace

from design_rendering.diagnostics import RenderingError
from design_rendering.documents import Document, load_documents
from design_rendering.policies import PolicedRendering, police
from design_rendering.rendering import Rendering, design_text, render
from design_rendering.secrets import redacted, redacted_text
from site_engine.extensions import installed_policies
from site_store import SiteStore, Version
from slipway_api.documents.versions import read_or_empty, version_name
from slipway_api.http.api_errors import ApiError, message_of
from slipway_api.http.concurrency import READING
from strategy_lib.errors import StrategyLibError


def collection_text(store: SiteStore, site: str, version: Version | int, collection: str, *, cleartext: bool) -> str:
    """Return a collection of a version; exactly as it was written in `cleartext`, else without its secrets.

    The buffer has the collections that were put into it, and not those that a commit would carry over unchanged.

    Raises `VersionNotFound`: the site has no such version; `ApiError` 404: the version has no such collection.
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

    Raises `VersionNotFound`: the site has no such version. Raises `ApiError` 400: the documents cannot be rendered;
    each reason is a message.
    """
    if cleartext and version is not Version.BUFFER:
        number = version if isinstance(version, int) else store.sites.version_number(site, version)
        if number is not None and (text := store.revisions.get(site, number).text) is not None:
            return text
    texts = _texts(store, site, version)
    with READING.slot():
        rendering = rendering_of(texts, f"{version_name(version)} of site {site}")
        return design_text(rendering if cleartext else without_secrets(rendering))


def rendering_of(texts: dict[str, str], what: str) -> Rendering:
    """Render collections, each a text by its name, as a commit would: policies included.

    Raises `ApiError` 400: they cannot be rendered; each reason is a message.
    """
    return policed_rendering_of(texts, what).rendering


def policed_rendering_of(texts: dict[str, str], what: str) -> PolicedRendering:
    """Return the same, with the objects that policies changed."""
    try:
        return police(render(documents_of(texts)), installed_policies().policies)
    except (StrategyLibError, RenderingError) as error:
        raise ApiError(
            400, f"{what} cannot be rendered", "Validation", [message_of(problem) for problem in error.problems]
        ) from error


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

    Raises `VersionNotFound`: there is no other version or revision of this name.
    """
    return read_or_empty(lambda wanted: _texts(store, site, wanted), version)
