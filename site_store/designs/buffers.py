"""The buffer of each site: the change since the newest revision, before it is committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, delete, select

from design_rendering.reading.documents import Document
from design_rendering.redaction import holds_secret
from site_store.designs.contents import (
    EMPTY,
    BufferMode,
    BufferRecord,
    CollectionRecord,
    DocumentKey,
    Part,
    Text,
    buffer_row,
    changed,
    drop_unused,
    keep,
    newest_number,
    posted_parts,
    read_texts,
    revision_parts,
    seal_old,
)
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError, ValueRefused
from site_store.sql.postgresql import insert, one_at_a_time
from site_store.sql.rows import require_names
from site_store.sql.sealing import NoKey, Sealing
from site_store.tables import buffer, buffer_collection, document


class BufferNotEmpty(StoreError):
    """The buffer holds collections: commit them, discard them, or choose another buffer mode."""


class BufferEmpty(StoreError):
    """There is nothing to commit: put a collection into the buffer first."""


class BufferChanged(StoreError):
    """Somebody changed the buffer meanwhile: look at it again, then repeat."""


class CollectionUnchanged(ValueRefused):
    """The newest revision has the collection as it is: there is nothing to change."""


class DocumentElsewhere(StoreError):
    """A document is in another collection already: change it there, or take it away there first.

    Attributes
    ----------
    found : each such document, with the collection that holds it.
    """

    def __init__(self, found: Sequence[tuple[DocumentKey, str]]) -> None:
        self.found = tuple(found)
        (schema, layer, name), collection = self.found[0]
        more = f", and {len(self.found) - 1} more are elsewhere too" if len(self.found) > 1 else ""
        where = f" of layer {layer!r}" if layer else ""
        super().__init__(
            f"the document {schema} {name!r}{where} is in collection {collection!r} already{more}: "
            "change it there, or take it away there first"
        )

    def __reduce__(self) -> tuple[type[DocumentElsewhere], tuple[tuple[tuple[DocumentKey, str], ...]]]:
        """Pickle by what was found, so that the error survives the way between processes."""
        return (type(self), (self.found,))


def lock_documents(tx: Connection, site: str) -> None:
    """Be the only one who changes the site's buffer and revisions until the transaction ends."""
    one_at_a_time(tx, f"documents of {site}")


def require_version(tx: Connection, site: str, wanted: int | None) -> int:
    """Return the buffer's version. Raises `BufferChanged`: another was wanted."""
    row = buffer_row(tx, site)
    version: int = 0 if row is None else row.version
    if wanted is not None and wanted != version:
        by = "" if row is None else f" by {row.changed_by} at {row.changed:%Y-%m-%d %H:%M:%S} UTC"
        raise BufferChanged(
            f"the buffer of site {site!r} is at version {version}, not {wanted}: it was changed{by}; "
            "look at it again, then repeat"
        )
    return version


def require_empty(site: str, posted: Mapping[str, Part]) -> None:
    """Make sure that nothing is in the buffer. Raises `BufferNotEmpty`: there is."""
    if posted:
        raise BufferNotEmpty(
            f"the buffer of site {site!r} is not empty, it holds {', '.join(sorted(posted))}: commit it or discard it "
            "first, or put the collection with the buffer mode append (--append), or with replace (--replace), which "
            "discards what the buffer holds"
        )


def clear(tx: Connection, now: datetime, site: str, user: str, version: int) -> None:
    """Empty the buffer and write its next version."""
    old = {part.content_id for part in posted_parts(tx, site).values()}
    _write(tx, now, site, user, version + 1)
    tx.execute(delete(buffer_collection).where(buffer_collection.c.site == site))
    drop_unused(tx, old)


def read_buffer(tx: Connection, sealing: Sealing, site: str) -> BufferRecord:
    """Return the buffer in the caller's transaction. Raises `KeyMissing`."""
    row, newest = buffer_row(tx, site), newest_number(tx, site)
    if row is None:
        return BufferRecord(site, 0, newest, {})
    posted = {record.name: record for record in read_texts(tx, sealing, posted_parts(tx, site))}
    return BufferRecord(site, row.version, newest, posted, row.changed, row.changed_by)


class Buffers(Repository):
    """Buffers of sites."""

    def get(self, site: str) -> BufferRecord:
        """Return what is about to be committed to a site."""
        return self._database.read(lambda tx: read_buffer(tx, self._database.sealing, site))

    def version(self, site: str) -> int:
        """Return the version of a site's buffer without reading its texts."""
        return self._database.read(lambda tx: require_version(tx, site, None))

    def preview(self, site: str) -> tuple[BufferRecord, list[CollectionRecord]]:
        """Return the buffer together with all collections that a commit of it would make, read in one snapshot."""

        def work(tx: Connection) -> tuple[BufferRecord, list[CollectionRecord]]:
            record = read_buffer(tx, self._database.sealing, site)
            parts = changed(revision_parts(tx, site, record.base_revision), posted_parts(tx, site))
            return record, read_texts(tx, self._database.sealing, parts)

        return self._database.read(work)

    def put(
        self,
        site: str,
        name: str,
        text: str,
        documents: Sequence[Document],
        mode: BufferMode,
        user: str,
        *,
        if_version: int | None = None,
    ) -> BufferRecord:
        """Put a whole collection into the buffer, to be committed later. When it is refused, nothing has changed.

        Parameters
        ----------
        site, name : the site, which need not exist yet, and the collection.
        text : the collection as it was written; an empty one takes its documents away.
        documents : the same, read.
        mode : what to do with what is in the buffer already.
        user : who does it.
        if_version : the version that the buffer must have, None for any.

        Raises
        ------
        BufferChanged : the buffer has another version.
        BufferNotEmpty : the mode does not allow it.
        CollectionUnchanged : the newest revision has this very text.
        DocumentElsewhere : a document is in another collection already.
        ValueRefused : the name of the collection, or of a document, cannot be stored.
        NoKey : a document holds secrets, and the store has no key. KeyMissing : it is not the one that it needs.
        """
        require_names("the collection", [name])
        written = text if text.strip() else ""
        sealing = self._database.sealing
        try:
            stored = Text(sealing, written, holds_secret(documents))
        except NoKey as error:
            raise NoKey(f"collection {name!r} is refused: {error}") from error
        digest = stored.digest

        def work(tx: Connection) -> BufferRecord:
            lock_documents(tx, site)
            version = require_version(tx, site, if_version)
            old = posted_parts(tx, site)
            if mode is BufferMode.REJECT:
                require_empty(site, old)
            elif mode is BufferMode.APPEND and name in old:
                raise BufferNotEmpty(_already(site, name, old))
            seal_old(tx, site, [stored])
            base = revision_parts(tx, site, newest_number(tx, site))
            if (base[name].digest if name in base else EMPTY) == digest:
                there = "the same as in" if name in base else "not in"
                raise CollectionUnchanged(
                    f"collection {name!r} is {there} the newest revision of site {site!r}: there is nothing to change"
                )
            others = changed(base, old if mode in (BufferMode.APPEND, BufferMode.RENEW) else {})
            others.pop(name, None)
            _require_own(tx, documents, others)
            gone = dict(old) if mode is BufferMode.REPLACE else {}
            if mode is BufferMode.RENEW and name in old:
                gone = {name: old[name]}
            if gone:
                here = (buffer_collection.c.site == site) & buffer_collection.c.name.in_(gone)
                tx.execute(delete(buffer_collection).where(here))
            _write(tx, self._now(), site, user, version + 1)
            number = keep(tx, site, stored, documents)
            tx.execute(insert(buffer_collection).values(site=site, name=name, content_id=number))
            drop_unused(tx, {part.content_id for part in gone.values()})
            discarded = sorted(old.keys() - {name}) if mode is BufferMode.REPLACE else ()
            return replace(read_buffer(tx, sealing, site), discarded=tuple(discarded))

        return self._database.write(work)

    def discard(self, site: str, user: str, *, if_version: int | None = None) -> BufferRecord:
        """Forget what is in the buffer; an empty one stays as it is.

        Raises `BufferChanged`: the buffer has another version than `if_version`.
        """

        def work(tx: Connection) -> BufferRecord:
            lock_documents(tx, site)
            version = require_version(tx, site, if_version)
            if posted_parts(tx, site):
                clear(tx, self._now(), site, user, version)
            return read_buffer(tx, self._database.sealing, site)

        return self._database.write(work)


def _write(tx: Connection, now: datetime, site: str, user: str, version: int) -> None:
    facts = {"version": version, "changed": now, "changed_by": user}
    row = insert(buffer).values(site=site, **facts)
    tx.execute(row.on_conflict_do_update(index_elements=["site"], set_=facts))


def _already(site: str, name: str, posted: Mapping[str, Part]) -> str:
    """Say that a collection is in the buffer, and what the way out would cost."""
    others = ", ".join(sorted(posted.keys() - {name}))
    also = f", replace (--replace) also discards {others}" if others else ""
    return (
        f"collection {name!r} is in the buffer of site {site!r} already: the buffer mode renew (--renew) puts this one "
        f"in its place{also}"
    )


def _require_own(tx: Connection, documents: Sequence[Document], others: Mapping[str, Part]) -> None:
    """Make sure that no document is in one of the other collections."""
    keys = {DocumentKey(entry.schema, entry.layer, entry.name) for entry in documents}
    if not keys or not others:
        return
    holder = {part.content_id: name for name, part in others.items()}
    query = select(document.c.content_id, document.c.schema, document.c.layer, document.c.name).where(
        document.c.content_id.in_(holder)
    )
    found = [
        (key, holder[number])
        for number, *facts in tx.execute(query.order_by(document.c.content_id, document.c.position))
        if (key := DocumentKey(*facts)) in keys
    ]
    if found:
        raise DocumentElsewhere(found)
