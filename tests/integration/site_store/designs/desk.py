"""Someone who works on a site's documents, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from design_rendering.reading.documents import load_documents
from site_store import BufferMode, BufferRecord, NewRevision, RevisionRecord, SiteStore, Version
from site_store.tables import content, document
from tests.integration.site_store.scenario import SITE


def yaml(*names: str, layer: str = "site", data: Any = 0) -> str:
    """A collection of documents of these names, with a comment."""
    return "".join(
        f"---  # as written\nschema: test/Thing/v1\n"
        f"metadata: {{name: {name}, layeringDefinition: {{layer: {layer}}}}}\ndata: {data}\n"
        for name in names
    )


def written(store: SiteStore, version: Version | int, site: str = SITE) -> dict[str, str]:
    """The texts of all collections."""
    return {record.name: record.text for record in store.sites.collections(site, version)}


def counts(store: SiteStore) -> tuple[int | None, int | None]:
    """Number of stored texts and documents."""
    texts, documents = (select(func.count()).select_from(table) for table in (content, document))
    return store._database.read(lambda tx: (tx.scalar(texts), tx.scalar(documents)))


@dataclass
class Desk:
    """A user with a store."""

    store: SiteStore
    user: str = "ann"

    def put(
        self, name: str, text: str, mode: BufferMode = BufferMode.APPEND, if_version: int | None = None
    ) -> BufferRecord:
        return self.store.buffers.put(SITE, name, text, load_documents(text), mode, self.user, if_version=if_version)

    def commit(self, rendered: str | None = "rendered", **more: Any) -> RevisionRecord:
        """Commit the buffer as it is."""
        record, collections = self.store.buffers.preview(SITE)
        texts = {one.name: one.text for one in collections}
        return self.commit_texts(texts, rendered, **{"buffer_version": record.version, **more})

    def commit_texts(self, texts: Mapping[str, str], rendered: str | None = "rendered", **more: Any) -> RevisionRecord:
        documents = [(name, document) for name, text in texts.items() for document in load_documents(text)]
        version = more.pop("buffer_version", None)
        new = NewRevision(SITE, texts, documents, rendered, self.user, **more)
        return self.store.revisions.commit(new, buffer_version=version)

    def save(self, texts: Mapping[str, str]) -> RevisionRecord:
        """Put these collections into the buffer and commit them; each commit is rendered as what it holds."""
        for name, text in texts.items():
            self.put(name, text)
        record, collections = self.store.buffers.preview(SITE)
        return self.commit("".join(one.text for one in collections), buffer_version=record.version)

    def roll_back(self, number: int) -> RevisionRecord:
        texts = written(self.store, number)
        return self.commit_texts(texts, self.store.revisions.get(SITE, number).text, rollback_of=number)
