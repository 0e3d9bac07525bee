"""With which keys the texts of a store that hold secrets are encrypted, and encrypting them anew (rule 62)."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Connection, LargeBinary, Row, func, literal, select, text, union_all, update

from design_rendering.kinds.objects import DigestKey
from design_rendering.reading.documents import load_documents
from design_rendering.redaction import holds_secret
from site_store.designs.buffers import lock_documents
from site_store.designs.contents import Text, digests, revision_parts
from site_store.sql.database import Repository
from site_store.sql.sealing import plain_digest, print_of
from site_store.tables import candidate, content, revision, revision_collection, store_state
from strategy_lib.errors import StrategyLibError

_SEALED: Final = literal(b"\x02", LargeBinary)


class SecretTexts(Repository):
    """Texts that hold secrets: collections, designs, what of them is secret, candidates, the key of digests."""

    def fingerprints(self) -> tuple[str, ...]:
        """Return what the keys of this process are called; the first encrypts."""
        return self._database.sealing.prints()

    def used(self) -> dict[str, int]:
        """Return how many texts are encrypted with which key, by its fingerprint."""
        stored = union_all(
            select(func.substring(content.c.text, 1, 9).label("head")),
            select(func.substring(candidate.c.text, 1, 9)),
            select(func.substring(store_state.c.digest_key, 1, 9)),
        ).subquery()
        name = func.encode(func.substring(stored.c.head, 2), "hex")
        query = select(name, func.count()).where(func.substring(stored.c.head, 1, 1) == _SEALED).group_by(text("1"))
        return self._database.read(lambda tx: {row[0]: row[1] for row in tx.execute(query)})

    def require_readable(self) -> None:
        """Make sure that one text of each key can be read. Raises `KeyMissing`, `StoreError`."""
        first = select(func.min(content.c.id)).where(func.substring(content.c.text, 1, 1) == _SEALED)
        ids = first.group_by(func.substring(content.c.text, 2, 8))
        found = select(content.c.text).where(content.c.id.in_(ids))
        for stored in self._database.read(lambda tx: tx.scalars(found).all()):
            self._database.sealing.open_if(stored)
        self.digest_key()

    def digest_key(self) -> DigestKey:
        """Return the key of the digests of nodes and objects of this store (`KeyedDesign`); it never changes.

        Raises `KeyMissing`: it is encrypted with a key that this process does not have.
        """
        return self._database.sealing.digest_key()

    def token_of(self, handle: str) -> str:
        """Return the token that opens the design of a handle; it is stored nowhere. Raises `KeyMissing`."""
        return self._database.sealing.design_token(handle)

    def rotate_common(self) -> int:
        """Encrypt what is no text of a site anew: the key of digests, and candidates; return how many that were.

        Raises `NoKey`; `KeyMissing`: one needs a key that this process does not have.
        """
        sealing = self._database.sealing
        sealing.require_key()
        newest = sealing.prints()[0]

        def work(tx: Connection) -> int:
            changed = 0
            kept = tx.scalar(select(store_state.c.digest_key).with_for_update())
            if kept is not None and print_of(kept) != newest:
                sealed = sealing.seal_digest_key(sealing.open_digest_key(kept))
                tx.execute(update(store_state).values(digest_key=sealed))
                changed += 1
            for row in tx.execute(select(candidate.c.token, candidate.c.text).with_for_update()).all():
                if print_of(row.text) != newest:
                    sealed = sealing.seal(sealing.open(row.text), True)
                    tx.execute(update(candidate).where(candidate.c.token == row.token).values(text=sealed))
                    changed += 1
            return changed

        return self._database.write(work)

    def rotate_next(self, after: int) -> tuple[int, bool] | None:
        """Encrypt the next text of a site with the first key, where it holds secrets and is not; None: there is none.

        Each is a transaction of its own: so others work on, and who is killed goes on where he stood. A text that was
        in clear gets a keyed digest with it, and so do the revisions that have it.

        Parameters
        ----------
        after : the number of the last text that was looked at; 0: none was.

        Returns
        -------
        tuple
            The number of the text, and whether it was encrypted anew.

        Raises
        ------
        KeyMissing : it needs a key that this process does not have. NoKey : the store has none.
        """
        sealing = self._database.sealing
        newest = sealing.prints()[0]
        query = select(content.c.id, content.c.site, content.c.documents, content.c.text)
        following = query.where(content.c.id > after).order_by(content.c.id).limit(1)
        found = self._database.read(lambda tx: tx.execute(following).one_or_none())
        if found is None:
            return None
        sealed_with = print_of(found.text)
        if sealed_with == newest:
            return found.id, False
        written = sealing.open(found.text)
        if sealed_with is None and not self._holds_secret(found, written):
            return found.id, False
        made = Text(sealing, written, secret=True)

        def work(tx: Connection) -> None:
            lock_documents(tx, found.site)
            made.replace(tx, found.site, found.id)
            if sealed_with is None:
                _digest_revisions_anew(tx, found.site, made.digest)

        self._database.write(work)
        return found.id, True

    def _holds_secret(self, row: Row[*tuple[Any, ...]], written: str) -> bool:
        """Return whether a text in clear is to be encrypted: a collection, a design, or what of one is secret."""
        of_it = select(revision.c.id).where(revision.c.secrets_id == row.id).limit(1)
        hidden = (
            select(content.c.text)
            .join(revision, revision.c.secrets_id == content.c.id)
            .where(revision.c.design_id == row.id)
            .distinct()
        )

        def work(tx: Connection) -> list[str]:
            if tx.scalar(of_it) is not None:
                return [written]
            return [self._database.sealing.open(stored) for stored in tx.scalars(hidden)]

        known = self._database.read(work)
        if any(json.loads(one)[0] for one in known):
            return True
        try:
            return not known and holds_secret(load_documents(written))
        except StrategyLibError:
            # It was read when it came; nobody knows what it holds.
            return True


def _digest_revisions_anew(tx: Connection, site: str, digest: str) -> None:
    """Have the digests of revisions follow that of a collection of theirs."""
    having = (
        select(revision_collection.c.revision_id)
        .join(content, content.c.id == revision_collection.c.content_id)
        .where(content.c.site == site, content.c.digest == digest)
    )
    for row in tx.execute(select(revision.c.id, revision.c.number).where(revision.c.id.in_(having))).all():
        made = plain_digest(json.dumps(digests(revision_parts(tx, site, row.number))))
        tx.execute(update(revision).where(revision.c.id == row.id).values(digest=made))
