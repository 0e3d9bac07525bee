"""What differs between two states of a site's documents, as the API shows it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from design_rendering.document_changes import Change, DocumentChange, FieldChange, SecretPaths, document_changes
from design_rendering.documents import Document
from site_store import SiteStore, Version
from slipway_api.documents.site_documents import documents_of, named, rendering_of, texts_or_nothing
from slipway_api.http.turns import READING

MOST_FIELDS = 20_000
"""Differing fields in one answer; of the documents after them only the names are given."""


def differences(
    store: SiteStore, site: str, before: Version | int, after: Version | int, *, rendered: bool
) -> dict[str, Any]:
    """Return the collections, documents and fields that differ.

    Parameters
    ----------
    rendered
        Compare the rendered documents: also those that nobody touched, and that differ because others do.

    Raises
    ------
    VersionNotFound
        The site has no such version.
    ApiError
        400: the rendered documents are to be compared, and some cannot be rendered.
    """
    numbers = store.versions(site)
    old, new = texts_or_nothing(store, site, before), texts_or_nothing(store, site, after)
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if not rendered:
        old = {name: old[name] for name in changed if name in old}
        new = {name: new[name] for name in changed if name in new}
    with READING.one():
        documents = [*_documents(_changes(site, old, before, new, after, rendered=rendered))]
    return {
        "site": site,
        "from": _state(before, numbers.get(before) if isinstance(before, Version) else before),
        "to": _state(after, numbers.get(after) if isinstance(after, Version) else after),
        "rendered": rendered,
        "collections": [{"name": name, "change": _collection_change(old, new, name)} for name in changed],
        "documents": documents,
    }


def _changes(
    site: str, old: dict[str, str], before: Version | int, new: dict[str, str], after: Version | int, *, rendered: bool
) -> Iterable[DocumentChange]:
    if not rendered:
        return document_changes(documents_of(old), documents_of(new))
    sides = []
    for texts, version in ((old, before), (new, after)):
        rendering = rendering_of(texts, f"{named(version)} of site {site}")
        secrets: SecretPaths = {
            _key(item.document): item.secret_paths for item in rendering.documents if item.secret_paths
        }
        sides.append(([item.document for item in rendering.documents], secrets))
    (old_documents, old_secrets), (new_documents, new_secrets) = sides
    return document_changes(old_documents, new_documents, old_secrets, new_secrets)


def _key(document: Document) -> tuple[str, str | None, str]:
    return (document.schema, document.layer, document.name)


def _state(version: Version | int, number: int | None) -> dict[str, Any]:
    return {"version": version.value if isinstance(version, Version) else None, "revision": number}


def _collection_change(old: dict[str, str], new: dict[str, str], name: str) -> str:
    if name not in old:
        return Change.ADDED.value
    return Change.MODIFIED.value if name in new else Change.REMOVED.value


def _documents(changes: Iterable[DocumentChange]) -> Iterable[dict[str, Any]]:
    left = MOST_FIELDS
    for change in changes:
        entry: dict[str, Any] = {
            "collection": change.collection,
            "schema": change.schema,
            "name": change.name,
            "layer": change.layer,
            "change": change.change.value,
            "fields": [_field(field) for field in islice(change.fields, left)],
        }
        if change.moved_from is not None:
            entry["moved_from"] = change.moved_from
        if len(change.fields) > left:
            entry["fields_left_out"] = len(change.fields) - left
        left -= len(entry["fields"])
        yield entry


def _field(field: FieldChange) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": field.path, "change": field.change.value}
    if field.change is not Change.ADDED:
        shown["from"] = field.before
    if field.change is not Change.REMOVED:
        shown["to"] = field.after
    return shown
