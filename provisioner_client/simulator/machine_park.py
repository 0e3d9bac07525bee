"""The machines in the store, keyed by site and name: loading them from designs, listing them, changing them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import Any

from provisioner_client.simulator.designs import SiteDesign
from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.machines import MachineStatus, power_of
from provisioner_client.simulator.store import Store


class MachinePark:
    """MAAS's list of machines; one row per site and name, loaded when a design that names it is first used."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add_design(self, design: SiteDesign) -> None:
        """Add the design's nodes that are new to its site, as `New`; keep the state of those that are known."""
        with self._store.transaction():
            self._store.execute_many(
                "INSERT INTO node"
                " (site, name, position, rack, tags, labels, oob_address, boot_address, booted, status, power_state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'New', 'off')"
                " ON CONFLICT (site, name) DO UPDATE SET rack = excluded.rack,"
                " tags = excluded.tags, labels = excluded.labels, oob_address = excluded.oob_address,"
                " boot_address = excluded.boot_address, booted = excluded.booted",
                [
                    (
                        design.site,
                        node.name,
                        position,
                        node.rack,
                        json.dumps(sorted(node.tags)),
                        json.dumps(dict(sorted(node.labels.items()))),
                        node.oob_address,
                        node.boot_address,
                        int(node.name in design.booted),
                    )
                    for position, node in enumerate(design.nodes)
                ],
            )

    def statuses(self, site: str) -> dict[str, MachineStatus]:
        """Return the status of every machine of a site."""
        rows = self._store.rows("SELECT name, status FROM node WHERE site = ?", (site,))
        return {row["name"]: MachineStatus(row["status"]) for row in rows}

    def booted(self, site: str) -> frozenset[str]:
        """Return the machines that a boot action of the design last used is for."""
        return frozenset(
            row["name"] for row in self._store.rows("SELECT name FROM node WHERE site = ? AND booted", (site,))
        )

    def wire_list(self) -> list[dict[str, Any]]:
        """Return Drydock's `GET /nodes`: every machine that MAAS lists, whatever its site."""
        rows = self._store.rows("SELECT * FROM node WHERE hidden = 0 ORDER BY site, position")
        return [_wire_node(row) for row in rows]

    def describe(self) -> list[dict[str, Any]]:
        """Return every machine with all that the simulator knows of it, sorted by site and name."""
        return [_description(row) for row in self._store.rows("SELECT * FROM node ORDER BY site, name")]

    def begin(
        self, site: str, name: str, during: MachineStatus, then: float | None, after: MachineStatus | None
    ) -> None:
        """Let MAAS start something on a machine, and note what it will come to."""
        self._store.execute(
            "UPDATE node SET status = ?, power_state = ?, hidden = 0, due_status = ?, due_at = ?"
            " WHERE site = ? AND name = ?",
            (during, power_of(during), after, then, site, name),
        )

    def finish(self, site: str, name: str, due: float) -> None:
        """Let MAAS come to the noted end, unless it was changed in between."""
        row = self._store.row(
            "SELECT due_status FROM node WHERE site = ? AND name = ? AND due_at = ?", (site, name, due)
        )
        if row is None or row["due_status"] is None:
            return
        status = MachineStatus(row["due_status"])
        self._set(site, name, status, power_of(status))
        if status is MachineStatus.NEW:  # the end of destroy_nodes: MAAS has deleted it
            self._store.execute("UPDATE node SET hidden = 1 WHERE site = ? AND name = ?", (site, name))

    def lose_power(self, site: str, name: str, power: str) -> None:
        """Set the power state alone."""
        self._store.execute("UPDATE node SET power_state = ? WHERE site = ? AND name = ?", (power, site, name))

    def due(self) -> list[tuple[float, str, str]]:
        """Return (time, site, name) of everything that MAAS has under way."""
        rows = self._store.rows("SELECT due_at, site, name FROM node WHERE due_at IS NOT NULL")
        return [(row["due_at"], row["site"], row["name"]) for row in rows]

    def change(self, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Change a machine behind Drydock's back and return it; None when no such machine is known.

        Raises
        ------
        BadAdminRequest
            On an unknown field or status.
        """
        unknown = set(data) - {"status", "power_state", "hidden", "site"}
        if unknown:
            raise BadAdminRequest(f"unknown field of a node: {', '.join(sorted(unknown))}")
        with self._store.transaction():
            rows = [
                r
                for r in self._store.rows("SELECT * FROM node WHERE name = ?", (name,))
                if data.get("site", r["site"]) == r["site"]
            ]
            if not rows:
                return None
            if len(rows) > 1:
                raise BadAdminRequest(f"{name} is in several sites: say which")
            site = rows[0]["site"]
            if "status" in data:
                try:
                    status = MachineStatus(data["status"])
                except ValueError:
                    raise BadAdminRequest(
                        f"{data['status']!r} is no status of MAAS: {', '.join(MachineStatus)}"
                    ) from None
                self._set(site, name, status, power_of(status))
            if "power_state" in data:
                self.lose_power(site, name, str(data["power_state"]))
            if "hidden" in data:
                hidden = int(bool(data["hidden"]))
                self._store.execute("UPDATE node SET hidden = ? WHERE site = ? AND name = ?", (hidden, site, name))
            changed = self._store.row("SELECT * FROM node WHERE site = ? AND name = ?", (site, name))
            return None if changed is None else _description(changed)

    def _set(self, site: str, name: str, status: MachineStatus, power: str) -> None:
        self._store.execute(
            "UPDATE node SET status = ?, power_state = ?, due_status = NULL, due_at = NULL WHERE site = ? AND name = ?",
            (status, power, site, name),
        )


def _wire_node(row: sqlite3.Row) -> dict[str, Any]:
    mac = hashlib.sha256(f"{row['site']}/{row['name']}".encode()).hexdigest()
    return {
        "hostname": row["name"],
        "memory": 131072,
        "cpu_count": 32,
        "status_name": row["status"],
        "boot_mac": "52:54:00:" + ":".join(mac[i : i + 2] for i in (0, 2, 4)),
        "power_state": row["power_state"],
        "power_address": row["oob_address"],
        "boot_ip": row["boot_address"],
    }


def _description(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "site": row["site"],
        "name": row["name"],
        "status": row["status"],
        "power_state": row["power_state"],
        "hidden": bool(row["hidden"]),
        "rack": row["rack"],
        "tags": json.loads(row["tags"]),
        "labels": json.loads(row["labels"]),
        "prepares": row["prepares"],
        "deploys": row["deploys"],
        "destroys": row["destroys"],
        "relabels": row["relabels"],
    }
