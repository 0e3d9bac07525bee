"""Zones and resource pools."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from provisioner_client.simulator.maas.http.answers import BASE, BadParameters, Form, Refused, first, no_such
from provisioner_client.simulator.store import Store

ZONE, POOL = "zone", "pool"
_MODEL = {ZONE: "Zone", POOL: "ResourcePool"}
_WORDS = {ZONE: "physical zone", POOL: "resource pool"}


class Places:
    """All methods are called inside a transaction of the store. `default` is always there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def ensure(self, kind: str, names: Sequence[str]) -> None:
        """Make places that a site brings along."""
        for name in ("default", *names):
            if self._store.row("SELECT 1 FROM maas_place WHERE kind = ? AND name = ?", (kind, name)) is None:
                self._insert(kind, name, "")

    def create(self, kind: str, form: Form) -> dict[str, Any]:
        """Make a place. Raises `BadParameters` if it exists, or has no name."""
        name = first(form, "name")
        if not name:
            raise BadParameters({"name": ["This field is required."]})
        if self.exists(kind, name):
            raise BadParameters({"name": [f"{_WORDS[kind].capitalize()} with this Name already exists."]})
        self._insert(kind, name, first(form, "description"))
        return self.read(kind, name)

    def exists(self, kind: str, name: str) -> bool:
        """Return whether there is a place."""
        return self._store.row("SELECT 1 FROM maas_place WHERE kind = ? AND name = ?", (kind, name)) is not None

    def read(self, kind: str, name: str) -> dict[str, Any]:
        """Return a place. Raises `Refused` (404) if there is none."""
        row = self._store.row("SELECT * FROM maas_place WHERE kind = ? AND name = ?", (kind, name))
        if row is None:
            raise no_such(_MODEL[kind])
        return _document(row)

    def by_id(self, kind: str, place_id: str) -> dict[str, Any]:
        """Return a place by its id. Raises `Refused` (404) if there is none."""
        row = self._store.row("SELECT * FROM maas_place WHERE kind = ? AND id = ?", (kind, place_id))
        if row is None:
            raise no_such(_MODEL[kind])
        return _document(row)

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Return all places of a kind."""
        rows = self._store.rows("SELECT * FROM maas_place WHERE kind = ? ORDER BY id", (kind,))
        return [_document(row) for row in rows]

    def delete(self, kind: str, name: str) -> None:
        """Delete a place. Raises `Refused` (400) for `default`; deleting what is not there is no error."""
        if name == "default":
            raise Refused(400, f"The default {_WORDS[kind]} cannot be deleted.")
        self._store.execute("DELETE FROM maas_place WHERE kind = ? AND name = ?", (kind, name))

    def _insert(self, kind: str, name: str, description: str) -> None:
        self._store.execute(
            "INSERT INTO maas_place (kind, name, description) VALUES (?, ?, ?)", (kind, name, description)
        )


def _document(row: sqlite3.Row) -> dict[str, Any]:
    where = f"zones/{row['name']}" if row["kind"] == ZONE else f"resourcepool/{row['id']}"
    return {
        "id": row["id"],
        "name": row["name"],
        "description": row["description"],
        "resource_uri": f"{BASE}/{where}/",
    }
