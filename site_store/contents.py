"""Texts of a site and the documents in them, each stored once however many revisions and buffers have it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, delete, exists, insert, select, update

from design_rendering.documents import Document
from site_store.names import require_text
from site_store.plain_json import plain
from site_store.tables import buffer_collection, content, document, revision, revision_collection

# Documents go to the database in portions, so that a large site is not in memory once more.
_PORTION = 1000


def digest_of(text: str) -> str:
    """Return the digest by which a text is found again."""
    return hashlib.sha256(text.encode()).hexdigest()


#: The digest of the text that takes a collection away.
EMPTY = digest_of("")


def keep(tx: Connection, site: str, text: str, documents: Sequence[Document] | None) -> int:
    """Store a text unless the site has it, and return its number. The caller must be the only one at the site's texts.

    Parameters
    ----------
    documents
        What stands in the text, stored with it the first time they are given; None for a rendered design.

    Raises
    ------
    ValueRefused
        A document's schema, name or layer cannot be stored.
    """
    digest = digest_of(text)
    known = tx.execute(
        select(content.c.id, content.c.documents).where(content.c.site == site, content.c.digest == digest)
    ).one_or_none()
    if known is None:
        number: int = tx.scalars(
            insert(content).values(site=site, digest=digest, text=text).returning(content.c.id)
        ).one()
    else:
        number = known.id
    if documents is not None and (known is None or known.documents is None):
        rows = _rows(number, documents)
        while portion := list(islice(rows, _PORTION)):
            tx.execute(insert(document), portion)
        tx.execute(update(content).where(content.c.id == number).values(documents=len(documents)))
    return number


def drop_unused(tx: Connection, ids: Collection[int]) -> None:
    """Delete those of these texts that nothing refers to any more."""
    used = [
        exists().where(column == content.c.id)
        for column in (
            revision_collection.c.content_id,
            revision.c.design_id,
            revision.c.secrets_id,
            buffer_collection.c.content_id,
        )
    ]
    if ids:
        tx.execute(delete(content).where(content.c.id.in_(ids), *(~use for use in used)))


def _rows(number: int, documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
    for position, entry in enumerate(documents):
        for text in (entry.schema, entry.name, entry.layer or ""):
            require_text("a document's schema, name or layer", text)
        yield {
            "content_id": number,
            "position": position,
            "schema": entry.schema,
            "name": entry.name,
            "layer": entry.layer,
            "data": plain(entry.data),
        }
