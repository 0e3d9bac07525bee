"""The documents of a version of a site, as they may be shown: as written, and rendered."""

from __future__ import annotations

from dataclasses import replace

from design_rendering.kinds.objects import ObjectKey, kind_of
from design_rendering.policies import PolicedRendering, police
from design_rendering.reading.documents import Document, RenderingError, load_documents
from design_rendering.redaction import redacted, redacted_text
from design_rendering.rendering import RenderedDocument, Rendering, design_text, render
from site_engine.extensions import installed_policies
from site_store import RevisionRecord, SiteStore, Version
from slipway_api.documents.versions import read_or_empty, version_name
from slipway_api.http.api_errors import ApiError, message_of
from slipway_api.http.concurrency import READING
from strategy_lib.errors import StrategyLibError


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
