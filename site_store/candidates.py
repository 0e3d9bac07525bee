"""Designs by the token that opens them: those of revisions, and candidates, which are looked at before a commit."""

from __future__ import annotations

import secrets
from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select

from site_store.errors import RevisionNotFound
from site_store.part import StorePart
from site_store.tables import candidate, content, revision

#: For how long a candidate can be read. The one who adds it also removes it; this is for those who died before.
CANDIDATE_LIFE = timedelta(hours=1)


class Candidates(StorePart):
    """Designs, as provisioners fetch them."""

    def add_candidate(self, site: str, text: str) -> str:
        """Keep a design that was not committed, for an hour at most, and return the unguessable token that opens it."""
        token = secrets.token_urlsafe(32)

        def work(tx: Connection) -> None:
            now = self._now()
            tx.execute(delete(candidate).where(candidate.c.created <= now - CANDIDATE_LIFE))
            tx.execute(insert(candidate).values(token=token, site=site, created=now, text=text))

        self._database.write(work)
        return token

    def remove_candidate(self, token: str) -> None:
        """Forget a candidate; once more changes nothing."""
        self._database.write(lambda tx: tx.execute(delete(candidate).where(candidate.c.token == token)))

    def design_by_token(self, token: str) -> str:
        """Return the rendered design of the revision, or of the candidate, whose token this is.

        Raises
        ------
        RevisionNotFound
            The token opens nothing, or nothing any more.
        """

        def work(tx: Connection) -> str:
            committed = select(content.c.text).join(revision, revision.c.design_id == content.c.id)
            design: str | None = tx.scalar(committed.where(revision.c.design_token == token))
            if design is None:
                alive = candidate.c.created > self._now() - CANDIDATE_LIFE
                design = tx.scalar(select(candidate.c.text).where(candidate.c.token == token, alive))
            if design is None:
                raise RevisionNotFound("no design has this token")
            return design

        return self._database.read(work)
