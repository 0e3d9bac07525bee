"""What became of each collection between two versions of a site's documents, in Shipyard's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from site_store import SiteStore, Version
from slipway_api.documents.document_version import or_nothing

Digests = Mapping[str, str]


def collection_statuses(store: SiteStore, site: str, older: Version, newer: Version) -> list[dict[str, Any]]:
    """Return one entry for each collection of either version, by name.

    Raises
    ------
    VersionNotFound
        There was no action yet that one of the versions is named after. An empty buffer is like `committed`, and
        before the first commit `committed` is empty.
    """
    numbers = store.versions(site)
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


def _digests(store: SiteStore, site: str, version: Version) -> Digests:
    return or_nothing(lambda wanted: dict(store.collection_digests(site, wanted)), version)


def _new_status(base: str | None, new: str | None) -> str:
    if base is None:
        return "created"
    if new is None:
        return "deleted"
    return "unmodified" if base == new else "modified"
