"""MAAS's machines: held in memory, written to the store with every change, and going on by themselves."""

from __future__ import annotations

import hashlib
import heapq
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.maas.events import MARKED_FAILED, STATUS_CHANGED, EventLedger
from provisioner_client.simulator.maas.machines.acts import Acts
from provisioner_client.simulator.maas.machines.machine import DEBUG, ERROR, Machine, Step
from provisioner_client.simulator.maas.machines.script_sets import COMMISSIONING, INSTALLATION, TESTING, ScriptSets
from provisioner_client.simulator.maas.machines.statuses import UNDER_WAY
from provisioner_client.simulator.machines import MachineStatus, power_of
from provisioner_client.simulator.store import Store

_LETTERS = "abcdefghkmnpqrtwxy346789"
# Statuses that leave the message of the one before; and those whose failure leaves no description.
_SILENT = frozenset({MachineStatus.TESTING, MachineStatus.ALLOCATED})
_UNDESCRIBED = frozenset({MachineStatus.COMMISSIONING, MachineStatus.TESTING})
# What may be changed behind everybody's back, and the types of each.
_CHANGEABLE: Mapping[str, tuple[type, ...]] = {
    "power_state": (str,),
    "owner": (str, NoneType),
    "locked": (bool,),
    "osystem": (str,),
    "distro_series": (str,),
    "pool": (str,),
    "zone": (str,),
    "agent_name": (str,),
    "storage_layout": (str,),
    "link_mode": (str,),
    "unknown_status": (str,),
}


class MachinePark:
    """All methods are called inside a transaction of the store; `save` at its end writes what changed."""

    def __init__(self, store: Store, events: EventLedger, sets: ScriptSets, acts: Acts) -> None:
        self._store, self._events, self._sets, self._acts = store, events, sets, acts
        self._machines: dict[str, Machine] = {}
        self._names: dict[str, Machine] = {}
        self._changed: set[str] = set()
        self._due: list[tuple[float, str]] = []

    def load(self) -> None:
        """Take everything from the store: after a start or a reset."""
        rows = self._store.rows("SELECT data FROM maas_machine")
        found = sorted((Machine.from_data(json.loads(row["data"])) for row in rows), key=lambda one: one.position)
        self._machines = {one.system_id: one for one in found}
        self._names = {one.hostname: one for one in found}
        self._changed = set()
        self._due = [(one.due, one.system_id) for one in found if one.due is not None]
        heapq.heapify(self._due)

    def save(self) -> None:
        """Write the machines that changed."""
        for system_id in self._changed:
            machine = self._machines.get(system_id)
            if machine is None:
                self._store.execute("DELETE FROM maas_machine WHERE system_id = ?", (system_id,))
            else:
                self._store.execute(
                    "INSERT OR REPLACE INTO maas_machine (system_id, data) VALUES (?, ?)",
                    (system_id, json.dumps(machine.to_data())),
                )
        self._changed = set()

    def add(self, hostname: str, **fields: Any) -> Machine:
        """Add a machine that is new; the id is made of its name, so that it is the same in every run."""
        machine = Machine(self._new_id(hostname), hostname, len(self._machines), **fields)
        self._machines[machine.system_id] = self._names[hostname] = machine
        self.touch(machine)
        return machine

    def remove(self, machine: Machine) -> None:
        """Delete a machine, its events and its results."""
        del self._machines[machine.system_id], self._names[machine.hostname]
        self._events.drop(machine.system_id)
        self._sets.drop(machine.system_id)
        self._acts.end(machine, time.time())
        self._changed.add(machine.system_id)

    def rename(self, machine: Machine, hostname: str) -> None:
        """Give a machine another name."""
        del self._names[machine.hostname]
        machine.hostname = hostname
        self._names[hostname] = machine
        self.touch(machine)

    def all(self) -> Iterable[Machine]:
        """Return the machines in the order in which they came."""
        return self._machines.values()

    def get(self, system_id: str) -> Machine | None:
        """Return a machine by its id."""
        return self._machines.get(system_id)

    def named(self, hostname: str) -> Machine | None:
        """Return a machine by its name."""
        return self._names.get(hostname)

    def touch(self, machine: Machine) -> None:
        """Say that a machine was changed."""
        self._changed.add(machine.system_id)

    def become(self, machine: Machine, status: MachineStatus, at: float | None = None) -> None:
        """Change a status, with its event. What was begun on the machine is over when nothing is under way."""
        if status is not machine.status:
            to = f" (to {machine.owner})" if status is MachineStatus.ALLOCATED else ""
            said = f"From '{machine.status}' to '{status}'{to}"
            self._events.add(machine, DEBUG, STATUS_CHANGED, said, at=at)
            machine.previous_status, machine.status = machine.status, status
        if status not in UNDER_WAY:
            self._acts.end(machine, time.time() if at is None else at)
        if status not in _SILENT:
            machine.status_message = str(status)
        self.touch(machine)

    def follow(self, machine: Machine, steps: list[Step]) -> None:
        """Have a machine take these steps from now on, instead of any that it had."""
        machine.steps = steps
        if machine.due is not None:
            heapq.heappush(self._due, (machine.due, machine.system_id))
        self.touch(machine)

    def advance(self, now: float) -> None:
        """Take every step that is due, in the order of time."""
        while self._due and self._due[0][0] <= now:
            due, system_id = heapq.heappop(self._due)
            machine = self._machines.get(system_id)
            if machine is not None and machine.due == due:
                self._take(machine, due)

    def let_go(self, name: str | None) -> list[str]:
        """Let stuck machines go on from now: that one, or all; return their names."""
        stuck = [
            one
            for one in self._machines.values()
            if one.steps and one.steps[0].at is None and name in (None, one.hostname)
        ]
        for machine in stuck:
            at, steps = time.time(), []
            for step in machine.steps:
                at += step.after
                steps.append(replace(step, at=at))
            self.follow(machine, steps)
        return sorted(one.hostname for one in stuck)

    def change(self, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Change a machine behind everybody's back, without events; None when no machine has this name.

        Raises `BadAdminRequest` on an unknown field, status or type.
        """
        for field, value in data.items():
            if field != "status" and not isinstance(value, _CHANGEABLE.get(field, ())):
                known = ", ".join(["status", *_CHANGEABLE])
                raise BadAdminRequest(f"{field} is no field of a machine, or {value!r} no value of it: {known}")
        machine = self._names.get(name)
        if machine is None:
            return None
        if "status" in data:
            if data["status"] not in set(MachineStatus):
                raise BadAdminRequest(f"{data['status']!r} is no status of MAAS: {', '.join(MachineStatus)}")
            machine.previous_status, machine.status = machine.status, MachineStatus(data["status"])
            machine.power_state = power_of(machine.status)
            self._acts.end(machine, time.time())
            self.follow(machine, [])
        for field in _CHANGEABLE.keys() & data.keys():
            setattr(machine, field, data[field])
        self.touch(machine)
        return machine.describe()

    def _take(self, machine: Machine, due: float) -> None:
        step, *machine.steps = machine.steps
        self.touch(machine)
        for name, value in step.fields.items():
            setattr(machine, name, value)
        if step.power is not None:
            machine.power_state = step.power
        for level, kind, text in step.events:
            self._events.add(machine, level, kind, text, at=due)
            if (level, kind) == (ERROR, MARKED_FAILED) and machine.status not in _UNDESCRIBED:
                machine.error_description = text
        ids = {COMMISSIONING: machine.commissioning_id, TESTING: machine.testing_id}
        ids[INSTALLATION] = machine.installation_id
        for kind, result in step.results.items():
            self._sets.end(ids[kind], result, step.output, due)
        if step.status is not None:
            self.become(machine, step.status, due)
            if machine.composed and step.status is MachineStatus.READY:
                self.remove(machine)
                return
        self.follow(machine, machine.steps)

    def _new_id(self, hostname: str) -> str:
        for attempt in range(1000):
            digest = hashlib.sha256(f"{hostname}/{attempt}".encode()).digest()
            found = "".join(_LETTERS[one % len(_LETTERS)] for one in digest[:6])
            if found not in self._machines:
                return found
        raise AssertionError("no id is free")
