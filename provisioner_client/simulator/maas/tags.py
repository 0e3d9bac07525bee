"""Tags: made once, put on machines and taken from them. In Slipway's use a tag is also the mark of a task."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from provisioner_client.simulator.journal import split_reference
from provisioner_client.simulator.maas.http.answers import BASE, BadParameters, Form, Refused, first, no_such
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.store import Store

_NAME = re.compile(r"[a-zA-Z0-9_-]+")


class Tags:
    """All methods are called inside a transaction of the store."""

    def __init__(self, store: Store, park: MachinePark) -> None:
        self._store, self._park = store, park

    def create(self, form: Form) -> dict[str, Any]:
        """Make a tag; of two that make it at the same time, one is refused.

        Raises `BadParameters` if it exists, its name is none, or it has a definition: these are not played.
        """
        name = first(form, "name")
        if not name:
            raise BadParameters({"name": ["This field is required."]})
        if _NAME.fullmatch(name) is None:
            raise BadParameters(
                {"name": ["Invalid tag name (can only contain letters, numbers, dashes and underscores)."]}
            )
        if self._row(name) is not None:
            raise BadParameters({"name": ["Tag with this Name already exists."]})
        _refuse_definition(form)
        number = 1 + int(self._store.value("SELECT coalesce(max(number), 0) FROM maas_tag"))
        self._store.execute(
            "INSERT INTO maas_tag (name, comment, definition, kernel_opts, number, created) VALUES (?, ?, ?, ?, ?, 1)"
            " ON CONFLICT (name) DO UPDATE SET comment = excluded.comment, definition = excluded.definition,"
            " kernel_opts = excluded.kernel_opts, number = excluded.number, created = created + 1, gone = 0",
            (name, first(form, "comment"), first(form, "definition"), first(form, "kernel_opts"), number),
        )
        return self.read(name)

    def ensure(self, names: Sequence[str]) -> None:
        """Make tags that a site brings along."""
        for name in names:
            if self._row(name) is None:
                self.create({"name": [name]})

    def exists(self, name: str) -> bool:
        """Return whether there is a tag."""
        return self._row(name) is not None

    def read(self, name: str) -> dict[str, Any]:
        """Return a tag. Raises `Refused` (404) if there is none."""
        row = self._row(name)
        if row is None:
            raise no_such("Tag")
        return _document(row)

    def all(self) -> list[dict[str, Any]]:
        """Return all tags."""
        rows = self._store.rows("SELECT * FROM maas_tag WHERE NOT gone ORDER BY number")
        return [_document(row) for row in rows]

    def update(self, name: str, form: Form) -> dict[str, Any]:
        """Change a tag's comment or kernel options.

        Raises `BadParameters` for another name or a definition, which the simulator does not play.
        """
        self.read(name)
        _refuse_definition(form)
        if first(form, "name", name) != name:
            raise BadParameters({"name": ["The simulator does not rename tags."]})
        for field in ("comment", "kernel_opts"):
            if field in form:
                self._store.execute(f"UPDATE maas_tag SET {field} = ? WHERE name = ?", (first(form, field), name))  # noqa: S608 - names from this file
        return self.read(name)

    def rebuild(self, name: str) -> dict[str, str]:
        """Begin to put a tag on the machines that its definition fits: none has one. Raises as `read`."""
        self.read(name)
        return {"rebuilding": name}

    def delete(self, name: str) -> None:
        """Delete a tag, and take it from all machines."""
        self.read(name)
        self._store.execute("UPDATE maas_tag SET gone = 1 WHERE name = ?", (name,))
        for machine in self.machines(name):
            machine.tags.remove(name)
            self._park.touch(machine)

    def machines(self, name: str) -> list[Machine]:
        """Return the machines with a tag."""
        return [one for one in self._park.all() if name in one.tags]

    def update_nodes(self, name: str, form: Form) -> dict[str, int]:
        """Put a tag on machines and take it from others; ids that MAAS does not know are dropped without a word.

        Raises `Refused`: 404 if there is no such tag, 409 if it has another definition than the request says.
        """
        tag = self.read(name)
        definition = form.get("definition")
        if definition and definition[0] != tag["definition"]:
            said = f"Definition supplied '{definition[0]}' doesn't match current definition '{tag['definition']}'"
            raise Refused(409, said)
        added, removed = (self._known(form.get(part, ())) for part in ("add", "remove"))
        for machine in added:
            if name not in machine.tags:
                machine.tags.append(name)
                self._park.touch(machine)
        for machine in removed:
            if name in machine.tags:
                machine.tags.remove(name)
                self._park.touch(machine)
        return {"added": len(added), "removed": len(removed)}

    def task_of(self, machine: Machine) -> str | None:
        """Return the newest tag of a machine that is a task's reference: a commission has no comment to say it."""
        rows = self._store.rows("SELECT name FROM maas_tag WHERE NOT gone ORDER BY number DESC")
        mine = set(machine.tags)
        return next((row["name"] for row in rows if row["name"] in mine and split_reference(row["name"])[1]), None)

    def _known(self, system_ids: Sequence[str]) -> list[Machine]:
        found = [self._park.get(one) for one in dict.fromkeys(system_ids)]
        return [one for one in found if one is not None]

    def _row(self, name: str) -> sqlite3.Row | None:
        return self._store.row("SELECT * FROM maas_tag WHERE name = ? AND NOT gone", (name,))


def _refuse_definition(form: Form) -> None:
    """MAAS would take a tag with a definition from every machine that it does not fit."""
    if first(form, "definition"):
        raise BadParameters({"definition": ["The simulator does not play definitions."]})


def _document(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "name": row["name"],
        "definition": row["definition"],
        "comment": row["comment"],
        "kernel_opts": row["kernel_opts"],
        "resource_uri": f"{BASE}/tags/{row['name']}/",
    }
