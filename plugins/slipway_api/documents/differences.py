"""What differs between two versions of a site's documents: by collection, by document and field, and for one node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from pydantic import BaseModel, Field

from design_rendering.changes import Change, DocumentChange, SecretPaths, document_changes
from design_rendering.kinds.objects import ObjectKey, kind_of
from design_rendering.reading.documents import Document
from site_engine.designs import documents_between
from site_store import SiteStore, Version
from slipway_api.documents.versions import documents_of, policed_rendering_of, read_or_empty, texts_or_empty
from slipway_api.http.concurrency import READING, answer_within
from slipway_api.http.kept import Kept

ChangeName = Literal["added", "modified", "removed"]


class State(BaseModel):
    """One side of a comparison."""

    version: str | None = Field(examples=["committed"])
    revision: int | None = Field(examples=[2])


class ChangedCollection(BaseModel):
    """A collection that differs."""

    name: str = Field(examples=["site"])
    change: ChangeName = Field(examples=["modified"])


class ChangedField(BaseModel):
    """A field that differs, by its JSON path."""

    path: str = Field(examples=["$.data.groups[1].critical"])
    change: ChangeName = Field(examples=["modified"])
    from_: Any = Field(default=None, alias="from", examples=[False])
    to: Any = Field(default=None, examples=[True])


class ChangedDocument(BaseModel):
    """A document that differs, was moved, or is in one version only."""

    collection: str = Field(examples=["site"])
    schema_: str = Field(alias="schema", examples=["shipyard/DeploymentStrategy/v1"])
    name: str = Field(examples=["deployment-strategy"])
    layer: str | None = Field(examples=["site"])
    change: ChangeName | Literal["moved"] = Field(examples=["modified"])
    fields_: list[ChangedField] = Field(alias="fields")
    moved_from: str = Field(default_factory=str)
    by_policy: list[str] = Field(default_factory=list, description="Policies that changed it; with `rendered` only.")
    fields_left_out: int = Field(default_factory=int)


class Differences(BaseModel):
    """What differs between two versions of a site's documents."""

    site: str = Field(examples=["default"])
    from_: State = Field(alias="from")
    to: State = Field(examples=[{"version": "buffer", "revision": 3}])
    rendered: bool = Field(examples=[False])
    collections: list[ChangedCollection]
    documents: list[ChangedDocument]


class CollectionStatus(BaseModel):
    """A collection in two versions."""

    collection_name: str = Field(examples=["site"])
    base_version: str = Field(examples=["committed"])
    base_revision: int | None = Field(examples=[2])
    new_version: str = Field(examples=["buffer"])
    new_revision: int | None = Field(examples=[3])
    base_status: Literal["present", "not present"]
    new_status: Literal["unmodified", "modified", "created", "deleted"] = Field(examples=["modified"])


MOST_FIELDS = 20_000
"""Differing fields in one answer; of the documents after them only the names are given."""


def differences(
    store: SiteStore, site: str, before: Version | int, after: Version | int, *, rendered: bool
) -> dict[str, Any]:
    """Return the collections, documents and fields that differ.

    Parameters
    ----------
    rendered : compare the rendered documents: also those that nobody touched, and that differ because others do.

    Raises
    ------
    RevisionNotFound : the site has no such version.
    ApiError : 400: the rendered documents are to be compared, and some cannot be rendered.
    """
    numbers = store.sites.versions(site)
    old, new = texts_or_empty(store, site, before), texts_or_empty(store, site, after)
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if not rendered:
        old = {name: old[name] for name in changed if name in old}
        new = {name: new[name] for name in changed if name in new}
    with READING.slot():
        if rendered:
            changes, by_policy = _rendered_changes(store, site, (before, old), (after, new))
        else:
            changes, by_policy = document_changes(documents_of(old), documents_of(new)), {}
        documents = [*_documents(changes, by_policy)]
    return {
        "site": site,
        "from": _state(before, numbers.get(before) if isinstance(before, Version) else before),
        "to": _state(after, numbers.get(after) if isinstance(after, Version) else after),
        "rendered": rendered,
        "collections": [{"name": name, "change": _collection_change(old, new, name)} for name in changed],
        "documents": documents,
    }


def _rendered_changes(
    store: SiteStore, site: str, *sides: tuple[Version | int, dict[str, str]]
) -> tuple[Iterable[DocumentChange], Mapping[ObjectKey, tuple[str, ...]]]:
    """Return what differs in the rendered documents, and the objects of the newer side that policies changed."""
    documents, secrets = [], list[SecretPaths]()
    for version, texts in sides:
        policed = policed_rendering_of(store, site, version, texts)
        found = policed.rendering.documents
        documents.append([item.document for item in found])
        secrets.append({_key(item.document): item.secret_paths for item in found if item.secret_paths})
    return document_changes(documents[0], documents[1], secrets[0], secrets[1]), policed.by_policy


def _key(document: Document) -> tuple[str, str | None, str]:
    return (document.schema, document.layer, document.name)


def _state(version: Version | int, number: int | None) -> dict[str, Any]:
    return {"version": version.value if isinstance(version, Version) else None, "revision": number}


def _collection_change(old: dict[str, str], new: dict[str, str], name: str) -> str:
    if name not in old:
        return Change.ADDED.value
    return Change.MODIFIED.value if name in new else Change.REMOVED.value


def _documents(
    changes: Iterable[DocumentChange], by_policy: Mapping[ObjectKey, tuple[str, ...]]
) -> Iterable[dict[str, Any]]:
    for change, entry in _with_fields(changes, MOST_FIELDS):
        entry |= {"collection": change.collection, "layer": change.layer}
        if change.moved_from is not None:
            entry["moved_from"] = change.moved_from
        if who := by_policy.get(ObjectKey(kind_of(change.schema), change.name)):
            entry["by_policy"] = list(who)
        yield entry


def _with_fields(changes: Iterable[DocumentChange], left: int) -> Iterator[tuple[DocumentChange, dict[str, Any]]]:
    """Yield documents that differ with what an answer says of each; `left`: so many fields are shown of all of them."""
    for change in changes:
        fields = [field.to_data() for field in islice(change.fields, left)]
        entry: dict[str, Any] = {
            "schema": change.schema,
            "name": change.name,
            "change": change.change.value,
            "fields": fields,
        }
        if len(change.fields) > left:
            entry["fields_left_out"] = len(change.fields) - left
        left -= len(fields)
        yield change, entry


def collection_statuses(store: SiteStore, site: str, older: Version, newer: Version) -> list[dict[str, Any]]:
    """Return one entry for each collection of either version, by name.

    Raises `RevisionNotFound`: there was no action yet that one of the versions is version_name after. An empty buffer
    is like `committed`, and before the first commit `committed` is empty.
    """
    numbers = store.sites.versions(site)
    base, new = _digests(store, site, older), _digests(store, site, newer)
    facts = {
        "base_version": older.value,
        "base_revision": numbers[older],
        "new_version": newer.value,
        "new_revision": numbers[Version.COMMITTED] if numbers[newer] is None else numbers[newer],
    }
    return [
        {
            "collection_name": name,
            **facts,
            "base_status": "present" if name in base else "not present",
            "new_status": _new_status(base.get(name), new.get(name)),
        }
        for name in sorted(base.keys() | new.keys())
    ]


def _digests(store: SiteStore, site: str, version: Version) -> dict[str, str]:
    return read_or_empty(lambda wanted: dict(store.sites.collection_digests(site, wanted)), version)


def _new_status(base: str | None, new: str | None) -> str:
    if base is None:
        return "created"
    if new is None:
        return "deleted"
    return "unmodified" if base == new else "modified"


MOST_FIELDS_OF_NODE = 200
"""Differing fields of one node."""
MOST_KEPT = 64
"""Comparisons that are kept: each is of one node between two revisions, and takes seconds in a very large design."""

Shown = list[dict[str, Any]]


class NodeDifference(BaseModel):
    """A document that makes a node, and that is another one in the wanted revision than in the done one."""

    schema_: str = Field(alias="schema", examples=["drydock/HostProfile/v1"])
    name: str = Field(examples=["compute"])
    change: ChangeName = Field(examples=["modified"])
    fields_: list[ChangedField] = Field(alias="fields", description="`from` as done, `to` as wanted.")
    fields_left_out: int = Field(default_factory=int)


COMPARISONS: Kept[Shown] = Kept(MOST_KEPT)
"""Of revisions, which never change."""


def node_differences(
    store: SiteStore, site: str, node: Mapping[str, Any] | None, wait: float | None = None
) -> Shown | None:
    """Return what differs for a node between what is done and what is wanted, as `NodeDifference` describes it.

    Parameters
    ----------
    node : as `site_engine.trees.nodes.node_to_dict` returns it; None: nothing is known of it.
    wait : seconds for which the answer is waited for. None: as long as it takes.

    Returns
    -------
    list or None
        Empty where it is as wanted, or one of the two is not there. None where the comparison takes longer: ask again.

    Raises
    ------
    RevisionUnreadable : one of the revisions cannot be read any more.
    """
    if node is None or node["as_wanted"]:
        return []
    name, done, wanted = node["node"], node["done_revision"], node["wanted_revision"]
    if done is None or wanted is None or done == wanted:
        return []

    def compare() -> Shown:
        with READING.slot():
            return shown_differences(name, documents_between(store, site, done, wanted, [name]).get(name, ()))

    def compared() -> Shown:
        return COMPARISONS.get((store.location, site, name, done, wanted), compare)

    try:
        return compared() if wait is None else answer_within(wait, "comparison", compared)
    except TimeoutError:
        # It goes on, and is kept for who asks again.
        return None


def shown_differences(node: str, changes: Sequence[DocumentChange]) -> Shown:
    """Return documents of a node that differ, as `NodeDifference` describes them, its own document first."""
    in_order = sorted(changes, key=lambda one: (one.name != node, one.schema, one.name))
    return [entry for _, entry in _with_fields(in_order, MOST_FIELDS_OF_NODE)]
