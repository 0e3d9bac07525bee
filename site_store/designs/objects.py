"""What the newest design of each site consists of: its objects with their versions, and what uses what."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Text, and_, delete, literal, select, tuple_
from sqlalchemy import insert as plain_insert

from design_rendering.changes.objects import DesignObject, ObjectKey
from site_store.sql.database import Repository
from site_store.sql.postgresql import insert, text_rows
from site_store.tables import design_object, object_use

_AT_ONCE = 5000
_USES_AT_ONCE = 100_000
_JUDGED = ":"
"""In `policed_set`, between the set of policies and the digest in which it left the object as it is."""


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """An object of a site's newest design.

    `digest` is of its own data alone; `version` grows with each change of that, and `revision` brought this one.
    `policed` is the version, and the set of policies, that it was judged in (rule 43); None: never. `by_policy` names
    the policies that changed it.
    """

    key: ObjectKey
    digest: str
    version: int
    revision: int
    policed: tuple[int, str] | None = None
    by_policy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What a revision did to an object: `added`, `changed` or `removed`; the version that it has now, or had."""

    key: ObjectKey
    change: str
    version: int


@dataclass(frozen=True, slots=True)
class CommittedObjects:
    """The objects of a design that is committed, the set of policies that judged them, and what these changed.

    `judged` has the digest of each object in which the policies leave it as it is (`design_rendering.policies.police`).
    """

    objects: Sequence[DesignObject]
    policies: str | None = None
    by_policy: Mapping[ObjectKey, tuple[str, ...]] | None = None
    judged: Mapping[ObjectKey, str] | None = None


def write_objects(tx: Connection, site: str, revision: int, committed: CommittedObjects) -> list[ObjectChange]:
    """Say in the caller's transaction what the newest design consists of; only what differs is written.

    Returns
    -------
    list of ObjectChange
        What differs from the design before, by kind and name. That another policy set judged an object is no change.
    """
    of_site = select(design_object).where(design_object.c.site == site)
    before = {ObjectKey(row.kind, row.name): row for row in tx.execute(of_site)}
    changes: list[ObjectChange] = []
    rows: list[dict[str, Any]] = []
    used_anew: list[DesignObject] = []
    for one in committed.objects:
        old = before.get(one.key)
        uses = _uses_digest(one.uses)
        policies = list((committed.by_policy or {}).get(one.key, ())) or None
        version, since = _version(old, one.digest, revision)
        judged = None if committed.judged is None else committed.judged.get(one.key)
        judged_in = committed.policies if judged is None else f"{committed.policies}{_JUDGED}{judged}"
        policed = (version, judged_in) if committed.policies is not None else (None, None)
        row = {
            "site": site,
            "kind": one.key.kind,
            "name": one.key.name,
            "digest": one.digest,
            "uses_digest": uses,
            "version": version,
            "revision": since,
            "policed_version": policed[0],
            "policed_set": policed[1],
            "by_policy": policies,
        }
        if old is None or old.digest != one.digest:
            changes.append(ObjectChange(one.key, "added" if old is None else "changed", version))
        if old is None or any(getattr(old, column) != value for column, value in row.items()):
            rows.append(row)
        if old is None or old.uses_digest != uses:
            used_anew.append(one)
    gone = sorted(before.keys() - {one.key for one in committed.objects})
    changes += [ObjectChange(key, "removed", before[key].version) for key in gone]
    _forget(tx, design_object, site, gone)
    _forget(tx, object_use, site, [*gone, *(one.key for one in used_anew if one.key in before)])
    for part in _parts(rows):
        given = insert(design_object)
        new = {name: given.excluded[name] for name in part[0] if name not in ("site", "kind", "name")}
        tx.execute(given.on_conflict_do_update(index_elements=["site", "kind", "name"], set_=new), part)
    _write_uses(tx, site, used_anew)
    return sorted(changes, key=lambda change: change.key)


def _version(old: Row[*tuple[Any, ...]] | None, digest: str, revision: int) -> tuple[int, int]:
    """Return an object's version, and the revision that brought it."""
    if old is None:
        return 1, revision
    return (old.version, old.revision) if old.digest == digest else (old.version + 1, revision)


def _uses_digest(uses: Iterable[ObjectKey]) -> str:
    return hashlib.sha256(json.dumps([[used.kind, used.name] for used in uses]).encode()).hexdigest()


def _write_uses(tx: Connection, site: str, objects: Sequence[DesignObject]) -> None:
    """Write what these objects use; nothing is there of them. One statement is for very many."""
    columns = ("kind", "name", "uses_kind", "uses_name")
    uses = [(one.key.kind, one.key.name, used.kind, used.name) for one in objects for used in one.uses]
    for start in range(0, len(uses), _USES_AT_ONCE):
        rows = text_rows(columns, uses[start : start + _USES_AT_ONCE])
        facts = select(literal(site, Text()), *(rows.c[column] for column in columns))
        tx.execute(plain_insert(object_use).from_select(["site", *columns], facts))


def _forget(tx: Connection, table: Any, site: str, keys: Collection[ObjectKey]) -> None:
    for part in _parts(sorted(keys)):
        these = tuple_(table.c.kind, table.c.name).in_([(key.kind, key.name) for key in part])
        tx.execute(delete(table).where(table.c.site == site, these))


def _parts(rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]


class Objects(Repository):
    """Objects of sites, as their newest designs have them."""

    def of_site(self, site: str, kind: str | None = None) -> list[ObjectRecord]:
        """Return the objects of a site, by kind and name; empty where no design that could be read was committed."""
        query = select(design_object).where(design_object.c.site == site)
        if kind is not None:
            query = query.where(design_object.c.kind == kind)
        found = self._database.read(lambda tx: [_record(row) for row in tx.execute(query)])
        return sorted(found, key=lambda record: record.key)

    def page(
        self, site: str, limit: int, kind: str | None = None, after: tuple[str, str] = ("", "")
    ) -> list[tuple[ObjectRecord, tuple[ObjectKey, ...]]]:
        """Return objects of a site with what each uses directly, by kind and name, as the database sorts them.

        Parameters
        ----------
        limit, after : how many at most, behind which kind and name.
        kind : only objects of this kind.
        """
        place = (design_object.c.kind, design_object.c.name)
        query = select(design_object).where(design_object.c.site == site, tuple_(*place) > tuple_(*map(literal, after)))
        if kind is not None:
            query = query.where(design_object.c.kind == kind)

        def work(tx: Connection) -> list[tuple[ObjectRecord, tuple[ObjectKey, ...]]]:
            records = [_record(row) for row in tx.execute(query.order_by(*place).limit(limit))]
            user = tuple_(object_use.c.kind, object_use.c.name)
            uses: dict[ObjectKey, list[ObjectKey]] = {record.key: [] for record in records}
            for part in _parts([(key.kind, key.name) for key in uses]):
                used = select(object_use).where(object_use.c.site == site, user.in_(part))
                for row in tx.execute(used):
                    uses[ObjectKey(row.kind, row.name)].append(ObjectKey(row.uses_kind, row.uses_name))
            return [(record, tuple(sorted(uses[record.key]))) for record in records]

        return self._database.read(work)

    def judged(self, site: str, policies: str) -> dict[ObjectKey, str] | None:
        """Return the digest of each object in which this set of policies leaves it as it is (rule 43).

        Objects that it has not judged are left out of it. None: there are no objects, or it has judged none of them.
        """
        columns = (design_object.c.kind, design_object.c.name, design_object.c.policed_set)
        query = select(*columns).where(design_object.c.site == site)
        found: dict[ObjectKey, str] = {}
        other = False
        for kind, name, policed in self._database.read(lambda tx: tx.execute(query).all()):
            by, _, digest = (policed or "").partition(_JUDGED)
            other |= by != policies or not digest
            found[ObjectKey(kind, name)] = digest
        return None if other or not found else found

    def uses(self, site: str, key: ObjectKey) -> list[ObjectKey]:
        """Return what an object uses directly, by kind and name; it may be missing."""
        query = select(object_use.c.uses_kind, object_use.c.uses_name).where(
            object_use.c.site == site, object_use.c.kind == key.kind, object_use.c.name == key.name
        )
        return sorted(self._database.read(lambda tx: [ObjectKey(*row) for row in tx.execute(query)]))

    def used_by(self, site: str, key: ObjectKey, kind: str | None = None) -> list[ObjectKey]:
        """Return what uses an object, directly or through others, by kind and name.

        Parameters
        ----------
        kind : only objects of this kind, such as `node`.
        """
        users = (
            select(object_use.c.kind, object_use.c.name)
            .where(object_use.c.site == site, object_use.c.uses_kind == key.kind, object_use.c.uses_name == key.name)
            .cte("users", recursive=True)
        )
        further = select(object_use.c.kind, object_use.c.name).join(
            users, and_(object_use.c.uses_kind == users.c.kind, object_use.c.uses_name == users.c.name)
        )
        found = users.union(further.where(object_use.c.site == site))
        query = select(found.c.kind, found.c.name)
        if kind is not None:
            query = query.where(found.c.kind == kind)
        return sorted(self._database.read(lambda tx: [ObjectKey(*row) for row in tx.execute(query)]))


def _record(row: Row[*tuple[Any, ...]]) -> ObjectRecord:
    judged_by = None if row.policed_set is None else row.policed_set.partition(_JUDGED)[0]
    policed = None if judged_by is None else (row.policed_version, judged_by)
    return ObjectRecord(
        ObjectKey(row.kind, row.name), row.digest, row.version, row.revision, policed, tuple(row.by_policy or ())
    )
