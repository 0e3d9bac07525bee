"""What is wanted of a site: its revisions, each immutable. What is about to be committed is `buffers.py`."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, select
from sqlalchemy import insert as plain_insert

from design_rendering.reading.documents import Document
from design_rendering.redaction import holds_secret
from site_store.designs import contents
from site_store.designs.buffers import BufferChanged, BufferEmpty, clear, lock_documents, require_empty, require_version
from site_store.designs.contents import (
    RevisionNotFound,
    RevisionRecord,
    RevisionSecrets,
    Text,
    changed,
    keep,
    newest_number,
    posted_parts,
    revision_parts,
    seal_old,
)
from site_store.designs.objects import CommittedObjects, write_objects
from site_store.designs.sites import newest_settings, write_order, write_racks, write_site_groups
from site_store.nodes.goals import write_wanted
from site_store.nodes.user_states import forget_states
from site_store.records import PlannedGroup
from site_store.sql.database import Repository
from site_store.sql.postgresql import insert
from site_store.sql.rows import filled, plain, require_names
from site_store.sql.sealing import hashed_token, plain_digest
from site_store.status.object_changes import write_changes
from site_store.tables import candidate, content, node, revision, revision_collection, site_group_node
from site_store.tables import site as site_table
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS, SiteSettings, parse_site_settings

#: For how long a candidate can be read. The one who adds it also removes it; this is for those who died before.
CANDIDATE_LIFE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class NewRevision:
    """What is committed to a site.

    Attributes
    ----------
    site : the site's name; a site begins to exist with its first revision.
    collections : all collections of the revision, each as it was written; empty ones are left out.
    documents : the same, read, each with the name of its collection.
    rendered : the design made from them; a provisioner may fetch exactly this by its token. None when it could
        not be made, which only a forced commit may say.
    user : who commits.
    forced, problems : whether problems were overridden, and which.
    rollback_of : the revision that is brought back; the buffer must be empty.
    hidden : what of it must not be seen; None where that is not known.
    digests : the digest of each node's design (`design_rendering.kinds.objects.node_digests`): from now on these
        nodes are wanted, and no others. None where the design cannot be read: what was wanted before stays.
    notifications : who is told what (`strategy_lib.parsing.notifications.Notifications.to_data`). None where the
        design cannot be read: who was told before still is.
    settings : those of the site (`strategy_lib.parsing.site_settings.SiteSettings.to_data`). None where the
        design cannot be read: what held before still does.
    groups : the groups of its strategy in processing order, each with its nodes. None where it cannot be read: the
        site keeps those that it has.
    racks : the rack of each node that stands in one; with `digests` only.
    objects : what the design consists of. None where it cannot be read: the site keeps what it has.
    """

    site: str
    collections: Mapping[str, str]
    documents: Sequence[tuple[str, Document]]
    rendered: str | None
    user: str
    forced: bool = False
    problems: Sequence[str] = ()
    rollback_of: int | None = None
    hidden: RevisionSecrets | None = None
    digests: Mapping[str, str] | None = None
    notifications: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] | None = None
    groups: Sequence[PlannedGroup] | None = None
    racks: Mapping[str, str] | None = None
    objects: CommittedObjects | None = None


class Revisions(Repository):
    """Revisions of sites, and designs by the token that opens them: theirs, and candidates before a commit."""

    def commit(self, new: NewRevision, *, buffer_version: int | None = None) -> RevisionRecord:
        """Make a site's next revision, and empty its buffer. When it is refused, nothing has changed.

        Parameters
        ----------
        buffer_version : the version of the buffer that is committed: it must have this version still, and the
            collections must be those that it makes. None: no buffer is committed, and it must be empty.

        Returns
        -------
        RevisionRecord
            The new revision, or, with `created` False, the newest one when that is the very same.

        Raises
        ------
        BufferChanged : the buffer was changed meanwhile.
        BufferEmpty : there is nothing in the buffer that is committed.
        BufferNotEmpty : there is something in the buffer, and it is not committed by this.
        RevisionNotFound : there is no revision to bring back.
        ValueRefused : the name of a collection, or of a document, cannot be stored.
        NoKey : a document holds secrets, and the store has no key. KeyMissing : it is not the one that it needs.
        """
        site = new.site
        require_names("the collection", new.collections)
        require_names("the node", new.digests or ())
        require_names("the group", (planned.group.name for planned in new.groups or ()))
        texts = {name: text for name, text in new.collections.items() if text.strip()}
        members: defaultdict[str, list[Document]] = defaultdict(list)
        for name, entry in new.documents:
            members[name].append(entry)
        sealing = self._database.sealing
        stored = {name: Text(sealing, texts[name], holds_secret(members[name])) for name in sorted(texts)}
        hides = new.hidden is not None and bool(new.hidden.texts)
        # What the collections hold may have been put into any document.
        of_design = hides or any(text.secret for text in stored.values())
        rendered = None if new.rendered is None else Text(sealing, new.rendered, of_design)
        wanted = {name: text.digest for name, text in stored.items()}
        design = None if rendered is None else rendered.digest
        handle = secrets.token_urlsafe(12)
        said = None if new.hidden is None else json.dumps([sorted(new.hidden.texts), list(new.hidden.exposed)])
        hidden = None if said is None else Text(sealing, said, hides)

        def want(tx: Connection, number: int) -> None:
            if new.digests is not None:
                write_wanted(tx, site, number, new.digests, new.racks)
                forget_states(tx, site, new.digests)
                write_racks(tx, site, new.racks or {})
            if new.groups is not None:
                write_site_groups(tx, site, new.groups)
                write_order(tx, site, new.groups)
            if new.objects is not None:
                changes = write_objects(tx, site, number, new.objects)
                write_changes(tx, self._shared_now(tx), site, changes, new.user, number)

        def work(tx: Connection) -> RevisionRecord:
            lock_documents(tx, site)
            version = require_version(tx, site, buffer_version)
            seal_old(tx, site, [*stored.values(), *(text for text in (rendered, hidden) if text is not None)])
            number = newest_number(tx, site)
            if buffer_version is None or new.rollback_of is not None:
                require_empty(site, posted_parts(tx, site))
            else:
                _require_same(tx, site, number, wanted)
            if new.rollback_of is not None:
                _read(tx, site, new.rollback_of)
            if number is not None:
                newest = _read(tx, site, number)
                if newest.design_digest == design and contents.digests(revision_parts(tx, site, number)) == wanted:
                    want(tx, number)
                    return _record(newest, wanted, new.rendered)
            now = self._now()
            tx.execute(insert(site_table).values(name=site, created=now).on_conflict_do_nothing())
            parts = {name: keep(tx, site, text, members[name]) for name, text in stored.items()}
            design_id = None if rendered is None else keep(tx, site, rendered, None)
            made = tx.scalars(
                plain_insert(revision)
                .values(
                    site=site,
                    number=(number or 0) + 1,
                    digest=plain_digest(json.dumps(wanted)),
                    design_token=handle,
                    created=now,
                    created_by=new.user,
                    design_id=design_id,
                    secrets_id=None if hidden is None else keep(tx, site, hidden, None),
                    base=number,
                    rollback_of=new.rollback_of,
                    forced=new.forced,
                    problems=list(new.problems),
                    notifications=None if new.notifications is None else plain(new.notifications),
                    settings=None if new.settings is None else plain(new.settings),
                    policies=None if new.objects is None or new.objects.policies is None else _policies(new.objects),
                )
                .returning(revision.c.id)
            ).one()
            if parts:
                tx.execute(
                    plain_insert(revision_collection),
                    [{"revision_id": made, "name": name, "content_id": part} for name, part in parts.items()],
                )
            want(tx, (number or 0) + 1)
            clear(tx, now, site, new.user, version)
            return _record(_read(tx, site, (number or 0) + 1), wanted, new.rendered, created=True)

        record = self._database.write(work)
        self._database.refresh_statistics(len(new.digests or ()), node, site_group_node)
        return record

    def get(self, site: str, number: int | None = None) -> RevisionRecord:
        """Return a revision with its rendered design; None is the newest.

        Raises `RevisionNotFound`: the site has no such revision.
        """

        def work(tx: Connection) -> RevisionRecord:
            row = _read(tx, site, newest_number(tx, site) if number is None else number, with_design=True)
            return _record(row, contents.digests(revision_parts(tx, site, row.number)), self._open_if(row.design))

        return self._database.read(work)

    def design_handle(self, site: str, number: int | None) -> str:
        """Return what names the design of a revision in an address, and opens nothing. Raises as `get`."""
        read = self._database.read(
            lambda tx: _read(tx, site, newest_number(tx, site) if number is None else number).design_token
        )
        return str(read)

    def secrets(self, site: str, number: int) -> RevisionSecrets | None:
        """Return what of a revision must not be seen; None where that was not known when it was committed."""
        query = (
            select(content.c.text)
            .join(revision, revision.c.secrets_id == content.c.id)
            .where(revision.c.site == site, revision.c.number == number)
        )
        return _secrets(self._open_if(self._database.read(lambda tx: tx.scalar(query))))

    def designs(self, site: str, numbers: Collection[int]) -> dict[int, tuple[str | None, RevisionSecrets | None]]:
        """Return the designs of revisions with what of them must not be seen, by one statement; None: not kept.

        Raises `RevisionNotFound`: the site has no such revision.
        """
        hidden = content.alias("hidden")
        query = (
            select(revision.c.number, content.c.text, hidden.c.text.label("hidden"))
            .outerjoin(content, content.c.id == revision.c.design_id)
            .outerjoin(hidden, hidden.c.id == revision.c.secrets_id)
            .where(revision.c.site == site, revision.c.number.in_(numbers))
        )
        rows = self._database.read_once(lambda tx: tx.execute(query).all())
        found = {row.number: (self._open_if(row.text), _secrets(self._open_if(row.hidden))) for row in rows}
        for number in numbers:
            if number not in found:
                raise _not_found(site, number)
        return found

    def settings(self, site: str, number: int | None = None) -> SiteSettings:
        """Return the settings of a site, by its newest revision of which they are known; the defaults without one.

        With a ``number``, those of this revision.
        """
        query = newest_settings(site)
        if number is not None:
            query = query.where(revision.c.number == number)
        found = self._database.read(lambda tx: tx.scalar(query))
        return DEFAULT_SETTINGS if found is None else parse_site_settings(found)

    def newest(self, site: str, limit: int = 50, before: int | None = None) -> list[RevisionRecord]:
        """Return the newest revisions of a site, newest first, without their designs.

        Parameters
        ----------
        site : the site.
        limit : how many at most.
        before : only those with a smaller number, for the next page.
        """
        query = _select().where(revision.c.site == site).order_by(revision.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(revision.c.number < before)

        def work(tx: Connection) -> list[RevisionRecord]:
            rows = tx.execute(query).all()
            names: defaultdict[int, dict[str, str]] = defaultdict(dict)
            held = (
                select(revision_collection.c.revision_id, revision_collection.c.name, content.c.digest)
                .join(content, content.c.id == revision_collection.c.content_id)
                .where(revision_collection.c.revision_id.in_([row.id for row in rows]))
            )
            for made, name, digest in tx.execute(held):
                names[made][name] = digest
            return [_record(row, dict(sorted(names[row.id].items())), "") for row in rows]

        return self._database.read(work)

    def number_of_handle(self, site: str, handle: str) -> int | None:
        """Return which revision of a site has this handle; None where none has."""
        query = select(revision.c.number).where(revision.c.site == site, revision.c.design_token == handle)
        return self._database.read(lambda tx: tx.scalar(query))

    def design_by_token(self, token: str) -> str:
        """Return the rendered design of the revision, or of the candidate, whose token this is.

        Raises `RevisionNotFound`: the token opens nothing, or nothing any more.
        """
        handle = self._database.sealing.handle_of(token)

        def work(tx: Connection) -> bytes:
            committed = select(content.c.text).join(revision, revision.c.design_id == content.c.id)
            design: bytes | None = tx.scalar(committed.where(revision.c.design_token == handle))
            if design is None:
                alive = candidate.c.created > self._shared_now(tx) - CANDIDATE_LIFE
                design = tx.scalar(select(candidate.c.text).where(candidate.c.token == handle, alive))
            if design is None:
                raise RevisionNotFound("no design has this token")
            return design

        return self._database.sealing.open(self._database.read(work))

    def add_candidate(self, site: str, text: str) -> str:
        """Keep a design that was not committed, for an hour at most, and return the unguessable token that opens it.

        It is encrypted where the store has a key; without one, no documents with secrets came so far.
        """
        token = secrets.token_urlsafe(32)
        stored = self._database.sealing.seal(text, bool(self._database.sealing.keys))

        def work(tx: Connection, now: datetime) -> None:
            tx.execute(delete(candidate).where(candidate.c.created <= now - CANDIDATE_LIFE))
            tx.execute(plain_insert(candidate).values(token=hashed_token(token), site=site, created=now, text=stored))

        self._transact(work)
        return token

    def _open_if(self, stored: bytes | None) -> str | None:
        return self._database.sealing.open_if(stored)

    def remove_candidate(self, token: str) -> None:
        """Forget a candidate; once more changes nothing."""
        work = delete(candidate).where(candidate.c.token == hashed_token(token))
        self._database.write(lambda tx: tx.execute(work))


def _select(*, with_design: bool = False) -> Select[Any]:
    """Return the query of revisions, each with its design's digest and, when asked for, the design itself."""
    design = [content.c.text.label("design")] if with_design else []
    return select(revision, content.c.digest.label("design_digest"), *design).outerjoin(
        content, content.c.id == revision.c.design_id
    )


def _read(tx: Connection, site_name: str, number: int | None, *, with_design: bool = False) -> Row[*tuple[Any, ...]]:
    query = _select(with_design=with_design).where(revision.c.site == site_name, revision.c.number == number)
    row = tx.execute(query).one_or_none()
    if row is None:
        raise _not_found(site_name, number)
    return row


def _not_found(site_name: str, number: int | None) -> RevisionNotFound:
    wanted = "revision" if number is None else f"revision {number}"
    return RevisionNotFound(f"site {site_name!r} has no {wanted}: commit its documents first, or name an existing one")


def _secrets(text: str | None) -> RevisionSecrets | None:
    if text is None:
        return None
    texts, exposed = json.loads(text)
    return RevisionSecrets(frozenset(texts), tuple(exposed))


def _require_same(tx: Connection, site_name: str, number: int | None, wanted: Mapping[str, str]) -> None:
    """Make sure that what is committed is what the buffer makes, so that nobody's change is lost."""
    posted = posted_parts(tx, site_name)
    if not posted:
        raise BufferEmpty(
            f"the buffer of site {site_name!r} is empty, there is nothing to commit: put a collection into it first"
        )
    if contents.digests(changed(revision_parts(tx, site_name, number), posted)) != wanted:
        raise BufferChanged(
            f"the buffer of site {site_name!r} holds something else than what is to be committed: "
            "look at it again, then repeat"
        )


def _policies(objects: CommittedObjects) -> dict[str, Any]:
    """Return which set of policies judged a design, and what each changed object was changed by."""
    changed = {str(key): list(who) for key, who in sorted((objects.by_policy or {}).items())}
    return {"set": objects.policies, "changed": changed}


def _record(
    row: Row[*tuple[Any, ...]], collections: Mapping[str, str], text: str | None, *, created: bool = False
) -> RevisionRecord:
    return filled(
        RevisionRecord,
        row,
        design_handle=row.design_token,
        created_at=row.created,
        text=text,
        created=created,
        problems=tuple(row.problems),
        collections=collections,
        by_policy={name: tuple(who) for name, who in (row.policies or {}).get("changed", {}).items()},
    )
