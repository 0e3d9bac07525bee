"""Texts of a site with their documents, each stored once; collections, buffers and revisions as plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, delete, exists, func, insert, select, update

from design_rendering.reading.documents import Document
from site_store.sql.errors import NotFound
from site_store.sql.postgresql import insert_rows
from site_store.sql.rows import require_text
from site_store.sql.sealing import Sealing, plain_digest
from site_store.tables import buffer, buffer_collection, content, document, revision, revision_collection


class BufferMode(StrEnum):
    """What a collection that is put into the buffer does with what is there already.

    `REJECT`: the buffer must be empty. `APPEND`: the collection must not be in it yet. `RENEW`: it takes the place of
    what is in it of this collection; the others stay. `REPLACE`: it is emptied first.
    """

    REJECT = "rejectoncontents"
    APPEND = "append"
    RENEW = "renew"
    REPLACE = "replace"


class Version(StrEnum):
    """Names for states of a site's documents.

    `BUFFER`: the newest revision with what was put into the buffer; it exists only when it differs. `COMMITTED`: the
    newest revision. `LAST_SITE_ACTION`: that of the newest deployment or update of the whole site that took the site
    and is over, and `SUCCESSFUL_SITE_ACTION` of the newest such that succeeded. Dry runs and actions for some nodes
    do not count.
    """

    BUFFER = "buffer"
    COMMITTED = "committed"
    LAST_SITE_ACTION = "last_site_action"
    SUCCESSFUL_SITE_ACTION = "successful_site_action"


class DocumentKey(NamedTuple):
    """What tells a document from all others of its site."""

    schema: str
    layer: str | None
    name: str


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A named part of a site's documents, as it was written. An empty text takes the collection away."""

    name: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class BufferRecord:
    """The change since the newest revision: the collections that differ from it, each whole.

    `version` only grows, also over commits, and is 0 for a site whose buffer was never used. `discarded`, where this is
    the answer to a collection put with `BufferMode.REPLACE`: the other collections that had to go for it.
    """

    site: str
    version: int
    base_revision: int | None
    posted: Mapping[str, CollectionRecord]
    changed: datetime | None = None
    changed_by: str | None = None
    discarded: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.posted


@dataclass(frozen=True, slots=True)
class RevisionRecord:
    """One immutable revision of a site's documents.

    `text` is the rendered design: empty in listings (`Revisions.newest`), None when the revision was forced
    although it could not be rendered. `created` says whether the call that returned it made it. `problems` are what
    was overridden when it was `forced`. `base` is the revision that was the newest before it, and `collections` gives
    the digest of each collection's text. `by_policy` names the objects that policies changed, each with those that did.
    `design_handle` names the design in addresses, and opens nothing (`SecretTexts.token_of`).
    """

    site: str
    number: int
    digest: str
    design_handle: str
    created_at: datetime
    created_by: str
    text: str | None = ""
    created: bool = False
    forced: bool = False
    problems: tuple[str, ...] = ()
    rollback_of: int | None = None
    base: int | None = None
    collections: Mapping[str, str] = field(default_factory=dict)
    by_policy: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RevisionSecrets:
    """What of a revision must not be seen: `texts`. `exposed`: a problem for each secret in groups and settings."""

    texts: frozenset[str]
    exposed: tuple[str, ...] = ()


# Documents go to the database in portions, so that a large site is not in memory once more.
_PORTION = 1000


class RevisionNotFound(NotFound):
    """There is no such revision of this site: commit the site's documents first, or name an existing revision."""


# What refers to a text.
_REFERENCES = (
    revision_collection.c.content_id,
    revision.c.design_id,
    revision.c.secrets_id,
    buffer_collection.c.content_id,
)

#: The digest of the text that takes a collection away.
EMPTY = plain_digest("")


class Text:
    """A text of a site that is to be stored, with its digest. It is made outside of the transaction that stores it.

    Raises `NoKey`: it holds secrets, and the store has no key; `KeyMissing`.

    Parameters
    ----------
    secret : whether it holds secrets (`design_rendering.redaction.holds_secret`).
    """

    def __init__(self, sealing: Sealing, written: str, secret: bool) -> None:
        self._sealing, self._written, self.secret = sealing, written, secret
        self.digest = sealing.digest(written, secret)

    def sealed(self) -> bytes:
        """Return it as it is stored."""
        return self._sealing.seal(self._written, self.secret)

    def plain(self) -> str | None:
        """Return the digest that it had in clear; None where it holds no secret. Nothing may send that anywhere."""
        return plain_digest(self._written) if self.secret else None

    def replace(self, tx: Connection, site: str, number: int) -> None:
        """Put it in place of the same text that is stored otherwise; where the site has it as it is, it becomes one."""
        query = select(content.c.id, content.c.documents)
        same = tx.execute(query.where(content.c.site == site, content.c.digest == self.digest)).one_or_none()
        if same is None or same.id == number:
            kept = update(content).where(content.c.id == number)
            tx.execute(kept.values(digest=self.digest, text=self.sealed()))
            return
        if same.documents is None:
            counted = tx.scalar(select(content.c.documents).where(content.c.id == number))
            tx.execute(update(document).where(document.c.content_id == number).values(content_id=same.id))
            tx.execute(update(content).where(content.c.id == same.id).values(documents=counted))
        for column in _REFERENCES:
            tx.execute(update(column.table).where(column == number).values({column: same.id}))
        tx.execute(delete(content).where(content.c.id == number))


def seal_old(tx: Connection, site: str, texts: Iterable[Text]) -> None:
    """Encrypt those of these texts that the site has in clear, from a time before there was a key.

    So their digests are keyed ones. What they were is compared here: in a statement the database's log would have it.
    """
    wanted = {plain: text for text in texts if (plain := text.plain()) is not None}
    if not wanted:
        return
    found = tx.execute(select(content.c.id, content.c.digest).where(content.c.site == site)).all()
    for number, digest in found:
        if digest in wanted:
            wanted[digest].replace(tx, site, number)


def keep(tx: Connection, site: str, text: Text, documents: Sequence[Document] | None) -> int:
    """Store a text unless the site has it, and return its number. The caller must be the only one at the site's texts.

    Parameters
    ----------
    documents : what stands in the text, stored with it the first time they are given; None for a rendered design.

    Raises
    ------
    ValueRefused : a document's schema, name or layer cannot be stored.
    """
    known = tx.execute(
        select(content.c.id, content.c.documents).where(content.c.site == site, content.c.digest == text.digest)
    ).one_or_none()
    if known is None:
        number: int = tx.scalars(
            insert(content).values(site=site, digest=text.digest, text=text.sealed()).returning(content.c.id)
        ).one()
    else:
        number = known.id
    if documents is not None and (known is None or known.documents is None):
        rows = _rows(number, documents)
        while portion := list(islice(rows, _PORTION)):
            tx.execute(insert_rows(document, portion[0]), {"rows": portion})
        tx.execute(update(content).where(content.c.id == number).values(documents=len(documents)))
    return number


def drop_unused(tx: Connection, ids: Collection[int]) -> None:
    """Delete those of these texts that nothing refers to any more."""
    used = [exists().where(column == content.c.id) for column in _REFERENCES]
    if ids:
        tx.execute(delete(content).where(content.c.id.in_(ids), *(~use for use in used)))


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


def read_texts(tx: Connection, sealing: Sealing, parts: Mapping[str, Part]) -> list[CollectionRecord]:
    """Return the collections with their texts, by name. Raises `KeyMissing`."""
    wanted = {part.content_id for part in parts.values()}
    found = tx.execute(select(content.c.id, content.c.text).where(content.c.id.in_(wanted))) if wanted else ()
    texts: dict[int, str] = {row.id: sealing.open(row.text) for row in found}
    return [CollectionRecord(name, texts[parts[name].content_id], parts[name].digest) for name in sorted(parts)]


def _parts(tx: Connection, query: Select[Any]) -> dict[str, Part]:
    return {name: Part(number, digest) for name, number, digest in tx.execute(query)}


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
        }
