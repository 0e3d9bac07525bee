"""All collections of a site at one version: which there are, and in which texts. For the store's own use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select

from site_store.contents import EMPTY
from site_store.design_records import CollectionRecord
from site_store.tables import buffer, buffer_collection, content, revision, revision_collection


class Part(NamedTuple):
    """The text of a collection, by its number and its digest."""

    content_id: int
    digest: str


def newest_number(tx: Connection, site: str) -> int | None:
    """Return the number of the site's newest revision, None when it has none."""
    number: int | None = tx.scalar(select(func.max(revision.c.number)).where(revision.c.site == site))
    return number


def buffer_row(tx: Connection, site: str) -> Row[*tuple[Any, ...]] | None:
    """Return the site's buffer without its collections, None when it was never used."""
    return tx.execute(select(buffer).where(buffer.c.site == site)).one_or_none()


def revision_parts(tx: Connection, site: str, number: int | None) -> dict[str, Part]:
    """Return the collections of a revision; none for None."""
    if number is None:
        return {}
    query = select(revision_collection.c.name, content.c.id, content.c.digest)
    return _parts(
        tx,
        query.join(revision, revision.c.id == revision_collection.c.revision_id)
        .join(content, content.c.id == revision_collection.c.content_id)
        .where(revision.c.site == site, revision.c.number == number),
    )


def posted_parts(tx: Connection, site: str) -> dict[str, Part]:
    """Return the collections in the buffer, also those that are to be taken away."""
    query = select(buffer_collection.c.name, content.c.id, content.c.digest)
    return _parts(
        tx, query.join(content, content.c.id == buffer_collection.c.content_id).where(buffer_collection.c.site == site)
    )


def changed(base: Mapping[str, Part], posted: Mapping[str, Part]) -> dict[str, Part]:
    """Return the collections that there are when those of the buffer are put over those of a revision."""
    return {name: part for name, part in {**base, **posted}.items() if part.digest != EMPTY}


def digests(parts: Mapping[str, Part]) -> dict[str, str]:
    """Return the digest of each collection, by name."""
    return {name: parts[name].digest for name in sorted(parts)}


def read_texts(tx: Connection, parts: Mapping[str, Part]) -> list[CollectionRecord]:
    """Return the collections with their texts, by name."""
    wanted = {part.content_id for part in parts.values()}
    found = tx.execute(select(content.c.id, content.c.text).where(content.c.id.in_(wanted))) if wanted else ()
    texts: dict[int, str] = {row.id: row.text for row in found}
    return [CollectionRecord(name, texts[parts[name].content_id], parts[name].digest) for name in sorted(parts)]


def _parts(tx: Connection, query: Select[Any]) -> dict[str, Part]:
    return {name: Part(number, digest) for name, number, digest in tx.execute(query)}
