"""What the newest design of each site consists of: its objects with their versions, and what each uses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, literal, select, tuple_

from design_rendering.kinds.objects import DesignObject, ObjectKey
from site_store.sql.database import Repository
from site_store.sql.postgresql import insert_rows
from site_store.status.object_changes import ObjectChange
from site_store.tables import design_object

_AT_ONCE = 5000
_JUDGED = ":"
"""In `policed_set`, between the set of policies and the digest in which it left the object as it is."""


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """An object of a site's newest design.

    `digest` is of its own data alone; `version` grows with each change of that, and `revision` brought this one.
    `policed` is the version, and the set of policies, that it was judged in (rule 43); None: never. `by_policy` names
    the policies that changed it. What it `uses` directly may be missing.
    """

    key: ObjectKey
    digest: str
    version: int
    revision: int
    policed: tuple[int, str] | None = None
    by_policy: tuple[str, ...] = ()
    uses: tuple[ObjectKey, ...] = ()


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
    for one in committed.objects:
        old = before.get(one.key)
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
            "uses": [[used.kind, used.name] for used in one.uses],
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
    gone = sorted(before.keys() - {one.key for one in committed.objects})
    changes += [ObjectChange(key, "removed", before[key].version) for key in gone]
    for keys in _parts(gone):
        these = tuple_(design_object.c.kind, design_object.c.name).in_([(key.kind, key.name) for key in keys])
        tx.execute(delete(design_object).where(design_object.c.site == site, these))
    for part in _parts(rows):
        made = insert_rows(design_object, part[0])
        new = {name: made.excluded[name] for name in part[0] if name not in ("site", "kind", "name")}
        texts = [{**row, "uses": json.dumps(row["uses"]), "by_policy": _as_text(row["by_policy"])} for row in part]
        tx.execute(made.on_conflict_do_update(index_elements=["site", "kind", "name"], set_=new), {"rows": texts})
    return sorted(changes, key=lambda change: change.key)


def _as_text(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _version(old: Row[*tuple[Any, ...]] | None, digest: str, revision: int) -> tuple[int, int]:
    """Return an object's version, and the revision that brought it."""
    if old is None:
        return 1, revision
    return (old.version, old.revision) if old.digest == digest else (old.version + 1, revision)


def _parts(rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]


class Objects(Repository):
    """Objects of sites, as their newest designs have them."""

    def page(
        self, site: str, limit: int, kind: str | None = None, after: tuple[str, str] = ("", "")
    ) -> list[ObjectRecord]:
        """Return objects of a site, by kind and name, as the database sorts them.

        Parameters
        ----------
        limit, after : how many at most, behind which kind and name.
        kind : only objects of this kind, such as `node`.
        """
        place = (design_object.c.kind, design_object.c.name)
        query = select(design_object).where(design_object.c.site == site, tuple_(*place) > tuple_(*map(literal, after)))
        if kind is not None:
            query = query.where(design_object.c.kind == kind)
        ordered = query.order_by(*place).limit(limit)
        return self._database.read(lambda tx: [_record(row) for row in tx.execute(ordered)])

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


def _record(row: Row[*tuple[Any, ...]]) -> ObjectRecord:
    judged_by = None if row.policed_set is None else row.policed_set.partition(_JUDGED)[0]
    policed = None if judged_by is None else (row.policed_version, judged_by)
    return ObjectRecord(
        ObjectKey(row.kind, row.name),
        row.digest,
        row.version,
        row.revision,
        policed,
        tuple(row.by_policy or ()),
        tuple(ObjectKey(*used) for used in row.uses),
    )
