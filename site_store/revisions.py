"""What is wanted of a site: its revisions, each immutable, with their documents."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select
from sqlalchemy import insert as plain_insert

from site_store.dialects import insert
from site_store.errors import RevisionNotFound
from site_store.part import StorePart
from site_store.plain_json import plain
from site_store.records import DocumentRecord, RevisionRecord
from site_store.tables import document, revision, site
from strategy_lib.documents import Document

_WITHOUT_TEXT = (
    revision.c.site,
    revision.c.number,
    revision.c.digest,
    revision.c.design_token,
    revision.c.created,
    revision.c.created_by,
)


def newest_number(tx: Connection, site_name: str) -> int | None:
    """Return the number of the site's newest revision, None when it has none."""
    number: int | None = tx.scalar(select(func.max(revision.c.number)).where(revision.c.site == site_name))
    return number


class Revisions(StorePart):
    """Revisions of sites."""

    def commit_revision(self, site: str, text: str, documents: Sequence[Document], user: str) -> RevisionRecord:
        """Store a site's documents as its next revision.

        Parameters
        ----------
        site
            The site's name; a site begins to exist with its first revision.
        text
            The documents as they were written; a provisioner may fetch exactly this by `design_token`.
        documents
            The same, read.
        user
            Who commits.

        Returns
        -------
        RevisionRecord
            The new revision, or, with `created` False, the newest one when that has this very text.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        token = secrets.token_urlsafe(32)
        return self._database.write(lambda tx: self._commit(tx, site, text, digest, token, documents, user))

    def revision(self, site: str, number: int | None = None) -> RevisionRecord:
        """Return a revision with its text; None is the newest.

        Raises
        ------
        RevisionNotFound
            The site has no such revision.
        """
        query = select(revision).where(revision.c.site == site).order_by(revision.c.number.desc()).limit(1)
        if number is not None:
            query = query.where(revision.c.number == number)
        wanted = "revision" if number is None else f"revision {number}"
        return self._one(query, f"site {site!r} has no {wanted}: commit its documents first, or name an existing one")

    def revision_by_token(self, token: str) -> RevisionRecord:
        """Return the revision whose unguessable token this is, with its text.

        Raises
        ------
        RevisionNotFound
            No revision has it.
        """
        return self._one(select(revision).where(revision.c.design_token == token), "no revision has this token")

    def revisions(self, site: str, limit: int = 50) -> list[RevisionRecord]:
        """Return the newest revisions of a site, newest first, without their text."""
        query = select(*_WITHOUT_TEXT).where(revision.c.site == site).order_by(revision.c.number.desc()).limit(limit)
        return self._database.read(lambda tx: [_record(row) for row in tx.execute(query)])

    def documents(self, site: str, number: int) -> list[DocumentRecord]:
        """Return the documents of a revision in their order; empty when there is no such revision."""
        query = (
            select(document)
            .join(revision, revision.c.id == document.c.revision_id)
            .where(revision.c.site == site, revision.c.number == number)
            .order_by(document.c.position)
        )
        return self._database.read(
            lambda tx: [
                DocumentRecord(row.position, row.schema, row.name, row.layer, row.data) for row in tx.execute(query)
            ]
        )

    def sites(self) -> list[str]:
        """Return the names of all sites that have a revision, sorted."""
        return self._database.read(lambda tx: list(tx.scalars(select(site.c.name).order_by(site.c.name))))

    def _one(self, query: Select[Any], missing: str) -> RevisionRecord:
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        if row is None:
            raise RevisionNotFound(missing)
        return _record(row, row.text)

    def _commit(
        self,
        tx: Connection,
        site_name: str,
        text: str,
        digest: str,
        token: str,
        documents: Sequence[Document],
        user: str,
    ) -> RevisionRecord:
        now = self._now()
        tx.execute(insert(tx, site).values(name=site_name, created=now).on_conflict_do_nothing())
        # Two who commit to one site at the same moment go one after the other from here.
        tx.execute(select(site.c.name).where(site.c.name == site_name).with_for_update())
        newest = tx.execute(
            select(*_WITHOUT_TEXT).where(revision.c.site == site_name).order_by(revision.c.number.desc()).limit(1)
        ).one_or_none()
        if newest is not None and newest.digest == digest:
            return _record(newest, text)
        number = 1 if newest is None else newest.number + 1
        row = tx.execute(
            plain_insert(revision)
            .values(
                site=site_name,
                number=number,
                digest=digest,
                text=text,
                design_token=token,
                created=now,
                created_by=user,
            )
            .returning(revision)
        ).one()
        rows = [
            {
                "revision_id": row.id,
                "position": position,
                "schema": entry.schema,
                "name": entry.name,
                "layer": entry.layer,
                "data": plain(entry.data),
            }
            for position, entry in enumerate(documents)
        ]
        if rows:
            tx.execute(plain_insert(document), rows)
        return _record(row, text, created=True)


def _record(row: Row[*tuple[Any, ...]], text: str = "", *, created: bool = False) -> RevisionRecord:
    return RevisionRecord(
        row.site, row.number, row.digest, row.design_token, row.created, row.created_by, text, created
    )
