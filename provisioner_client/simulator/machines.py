"""MAAS's machines: their statuses, what can start from which, how long it takes, and the list of them in the store."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from provisioner_client.node_agent.agent import STATES
from provisioner_client.simulator.designs import SiteDesign
from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.store import Store

SILENT: Final = "silent"
"""What is said of a machine whose agent does not run."""


class MachineStatus(StrEnum):
    """MAAS's status names (`status_name`), complete."""

    NEW = "New"
    COMMISSIONING = "Commissioning"
    FAILED_COMMISSIONING = "Failed commissioning"
    MISSING = "Missing"
    READY = "Ready"
    RESERVED = "Reserved"
    DEPLOYED = "Deployed"
    RETIRED = "Retired"
    BROKEN = "Broken"
    DEPLOYING = "Deploying"
    ALLOCATED = "Allocated"
    FAILED_DEPLOYMENT = "Failed deployment"
    RELEASING = "Releasing"
    RELEASING_FAILED = "Releasing failed"
    DISK_ERASING = "Disk erasing"
    FAILED_DISK_ERASING = "Failed disk erasing"
    RESCUE_MODE = "Rescue mode"
    ENTERING_RESCUE_MODE = "Entering rescue mode"
    FAILED_TO_ENTER_RESCUE_MODE = "Failed to enter rescue mode"
    EXITING_RESCUE_MODE = "Exiting rescue mode"
    FAILED_TO_EXIT_RESCUE_MODE = "Failed to exit rescue mode"
    TESTING = "Testing"
    FAILED_TESTING = "Failed testing"


class Work(StrEnum):
    """What is done to a node, as Drydock's action `<phase>_nodes` carries it out."""

    PREPARE = "prepare"
    DEPLOY = "deploy"
    DESTROY = "destroy"
    RELABEL = "relabel"


class Start(StrEnum):
    """What a phase does with a machine as it finds it."""

    WORK = "work"
    AT_ONCE = "at_once"
    REFUSED = "refused"


_S = MachineStatus

_STARTS: dict[Work, dict[MachineStatus, Start]] = {
    Work.PREPARE: {
        **dict.fromkeys((_S.NEW, _S.FAILED_COMMISSIONING, _S.BROKEN, _S.FAILED_TESTING), Start.WORK),
        # Drydock's driver takes a machine that is being commissioned for done; that is how failures turn into success.
        **dict.fromkeys((_S.READY, _S.DEPLOYED, _S.COMMISSIONING, _S.TESTING), Start.AT_ONCE),
        # It refuses a failed deployment: the machine has to be released (destroyed) before.
        **dict.fromkeys((_S.ALLOCATED, _S.DEPLOYING), Start.AT_ONCE),
    },
    # The driver means to release a failed deployment itself, but compares with a name that MAAS does not use.
    Work.DEPLOY: {_S.READY: Start.WORK, _S.DEPLOYED: Start.AT_ONCE},
    Work.DESTROY: {
        # MAAS releases a machine, and erases its disks, from these. Any other is only reset and deleted.
        **dict.fromkeys(_S, Start.AT_ONCE),
        **dict.fromkeys((_S.ALLOCATED, _S.DEPLOYED, _S.DEPLOYING, _S.FAILED_DEPLOYMENT), Start.WORK),
        **dict.fromkeys((_S.RELEASING_FAILED, _S.FAILED_DISK_ERASING), Start.WORK),
    },
    # Labels are Kubernetes' affair: MAAS knows nothing of them.
    Work.RELABEL: dict.fromkeys(_S, Start.WORK),
}

# What MAAS says meanwhile and afterwards; a phase that is not in these tables leaves the machine alone.
DURING = {Work.PREPARE: _S.COMMISSIONING, Work.DEPLOY: _S.DEPLOYING, Work.DESTROY: _S.RELEASING}
DONE = {Work.PREPARE: _S.READY, Work.DEPLOY: _S.DEPLOYED, Work.DESTROY: _S.NEW}
FAILED = {
    Work.PREPARE: _S.FAILED_COMMISSIONING,
    Work.DEPLOY: _S.FAILED_DEPLOYMENT,
    Work.DESTROY: _S.RELEASING_FAILED,
}

_POWERED = frozenset(
    {
        _S.COMMISSIONING,
        _S.DEPLOYING,
        _S.DEPLOYED,
        _S.TESTING,
        _S.RESCUE_MODE,
        _S.FAILED_COMMISSIONING,
        _S.FAILED_DEPLOYMENT,
    }
)


def require_agent_word(said: object) -> str:
    """Return what the agent of a machine is to say. Raises `BadAdminRequest`: it is no word of an agent's."""
    words = said.split() if isinstance(said, str) else None
    if words is None or (words and words[0] not in (*STATES, SILENT)):
        raise BadAdminRequest(f"agent must be {', '.join(STATES)} with a reason behind it, or {SILENT}, not {said!r}")
    return " ".join(words)


def start_of(phase: Work, status: MachineStatus) -> Start:
    """Return whether a phase works on a machine in this status, takes it for done at once, or refuses it."""
    return _STARTS[phase].get(status, Start.REFUSED)


def power_of(status: MachineStatus) -> str:
    """Return the power state (`on` or `off`) that a machine usually has in a status."""
    return "on" if status in _POWERED else "off"


# Typical of a rack server: commissioning takes minutes, installing an operating system about ten.
STAGE_SECONDS: Mapping[Work, tuple[float, ...]] = {
    Work.PREPARE: (5.0, 20.0, 100.0, 240.0),
    Work.DEPLOY: (20.0, 15.0, 540.0, 30.0),
    Work.DESTROY: (120.0,),
    Work.RELABEL: (5.0,),
}
AT_ONCE_SECONDS = 0.5
SITE_SECONDS: Mapping[str, float] = {
    "validate_design": 2.0,
    "verify_site": 8.0,
    "prepare_site": 30.0,
    "verify_nodes": 10.0,
}


def stage_seconds(seed: int, node: str, phase: Work, attempt: int) -> tuple[float, ...]:
    """Return the simulated seconds of each stage of one submission of a node (same order as `scripts.STAGES`)."""
    source = random.Random(f"{seed}:{node}:{phase}:{attempt}")
    pace = source.uniform(0.8, 1.25)
    return tuple(base * pace * source.uniform(0.85, 1.2) for base in STAGE_SECONDS[phase])


def site_seconds(seed: int, action: str, ordinal: int) -> float:
    """Return the simulated seconds of an action without a course for each node; `ordinal`: its place in the queue."""
    return SITE_SECONDS[action] * random.Random(f"{seed}:{action}:{ordinal}").uniform(0.85, 1.2)


class MachinePark:
    """MAAS's list of machines; one row per site and name, loaded when a design that names it is first used."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add_design(self, design: SiteDesign) -> None:
        """Add the design's nodes that are new to its site, as `New`; keep the state of those that are known."""
        with self._store.transaction():
            self._store.execute_many(
                "INSERT INTO node"
                " (site, name, position, rack, tags, labels, oob_address, boot_address, booted, addresses, status,"
                " power_state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'New', 'off')"
                " ON CONFLICT (site, name) DO UPDATE SET rack = excluded.rack,"
                " tags = excluded.tags, labels = excluded.labels, oob_address = excluded.oob_address,"
                " boot_address = excluded.boot_address, booted = excluded.booted, addresses = excluded.addresses",
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
                        int(design.boots),
                        json.dumps(node.addresses),
                    )
                    for position, node in enumerate(design.nodes)
                ],
            )

    def statuses(self, site: str) -> dict[str, MachineStatus]:
        rows = self._store.rows("SELECT name, status FROM node WHERE site = ?", (site,))
        return {row["name"]: MachineStatus(row["status"]) for row in rows}

    def booted(self, site: str) -> frozenset[str]:
        """Return the machines whose design, as last used, has boot actions, be it for others."""
        return frozenset(
            row["name"] for row in self._store.rows("SELECT name FROM node WHERE site = ? AND booted", (site,))
        )

    def wire_list(self) -> list[dict[str, Any]]:
        """Return Drydock's `GET /nodes`: every machine that MAAS lists, whatever its site."""
        rows = self._store.rows("SELECT * FROM node WHERE hidden = 0 ORDER BY site, position")
        return [_wire_node(row) for row in rows]

    def written(self) -> int:
        """Return how many rows were ever written: while it is the same, every machine is."""
        return self._store.written()

    def agents(self) -> list[sqlite3.Row]:
        """Return what is needed of every machine to answer in place of its agent."""
        return self._store.rows("SELECT site, name, status, power_state, hidden, addresses, agent FROM node")

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
        self._store.execute("UPDATE node SET power_state = ? WHERE site = ? AND name = ?", (power, site, name))

    def due(self) -> list[tuple[float, str, str]]:
        """Return (time, site, name) of everything that MAAS has under way."""
        rows = self._store.rows("SELECT due_at, site, name FROM node WHERE due_at IS NOT NULL")
        return [(row["due_at"], row["site"], row["name"]) for row in rows]

    def change(self, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Change a machine behind Drydock's back and return it; None when no such machine is known.

        Raises `BadAdminRequest` on an unknown field or status.
        """
        unknown = set(data) - {"status", "power_state", "hidden", "site", "agent"}
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
            if "agent" in data:
                word = require_agent_word(data["agent"])
                self._store.execute("UPDATE node SET agent = ? WHERE site = ? AND name = ?", (word, site, name))
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
        "agent": row["agent"] or "up",
        "rack": row["rack"],
        "tags": json.loads(row["tags"]),
        "labels": json.loads(row["labels"]),
        "prepares": row["prepares"],
        "deploys": row["deploys"],
        "destroys": row["destroys"],
        "relabels": row["relabels"],
    }
