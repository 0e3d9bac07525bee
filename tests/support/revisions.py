"""A design that is one text, committed as one collection without a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from design_rendering.documents import Document, load_documents
from site_store import RevisionRecord, SiteStore

COLLECTION = "design"


def commit_design(
    store: SiteStore, site: str, text: str, documents: Sequence[Document] | None = None, user: str = "tester"
) -> RevisionRecord:
    """Commit a text as it is, rendered as itself; its documents are read from it unless they are given."""
    read = load_documents(text) if documents is None else documents
    return store.revisions.commit(site, {COLLECTION: text}, [(COLLECTION, document) for document in read], text, user)
