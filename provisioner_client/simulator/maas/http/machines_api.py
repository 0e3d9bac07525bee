"""Routes of the collection of machines: the filtered list, allocation, and operations on many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.maas.cost import CostBook
from provisioner_client.simulator.maas.http.answers import (
    BadParameters,
    Refused,
    document,
    first,
    forbidden,
    is_true,
    nothing,
)
from provisioner_client.simulator.maas.http.call import Call
from provisioner_client.simulator.maas.http.filters import NOT_PLAYED, MachineFilter
from provisioner_client.simulator.maas.machines.hardware import mac_address
from provisioner_client.simulator.maas.machines.lifecycle import Lifecycle
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.machines.representation import represent
from provisioner_client.simulator.maas.machines.script_sets import ScriptSets
from provisioner_client.simulator.maas.places import POOL, ZONE, Places
from provisioner_client.simulator.machines import MachineStatus

_ALLOCATE_FILTERS = ("zone", "pool", "tags", "not_tags", "not_in_zone", "not_in_pool", "arch")


class MachinesApi:
    """All methods are called inside a transaction of the store."""

    def __init__(
        self,
        park: MachinePark,
        lifecycle: Lifecycle,
        filters: MachineFilter,
        places: Places,
        sets: ScriptSets,
        cost: CostBook,
    ) -> None:
        self._park, self._lifecycle, self._filter, self._places = park, lifecycle, filters, places
        self._sets, self._cost = sets, cost

    def show(self, machines: Sequence[Machine]) -> list[dict[str, Any]]:
        """Return machines as the API shows them."""
        runs = [one for machine in machines for one in (machine.commissioning_id, machine.testing_id)]
        statuses = self._sets.statuses([one for one in runs if one is not None])
        places = {(kind, one["name"]): one for kind in (ZONE, POOL) for one in self._places.all(kind)}

        def status_of(set_id: int | None) -> str:
            return "Unknown" if set_id is None else statuses.get(set_id, "Unknown")

        return [represent(one, status_of, lambda kind, name: places[kind, name]) for one in machines]

    def list(self, call: Call) -> Answer:
        """GET machines/: the whole list, without pages."""
        found = self._filter.select(call.query, self._park.all())
        self._cost.count("list", len(found))
        return document(self.show(found))

    def list_allocated(self, call: Call) -> Answer:
        """GET machines/op-list_allocated: the user's own."""
        mine = [
            one
            for one in self._park.all()
            if one.owner == call.user.name and one.status in (MachineStatus.ALLOCATED, MachineStatus.DEPLOYED)
        ]
        self._cost.count("list", len(mine))
        return document(self.show(mine))

    def power_parameters(self, call: Call) -> Answer:
        """GET machines/op-power_parameters: by system id."""
        call.need_admin()
        wanted = {one for one in call.query.get("id", ()) if one}
        found = [one for one in self._park.all() if not wanted or one.system_id in wanted]
        self._cost.count("other")
        return document({one.system_id: power_parameters(one) for one in found})

    def allocate(self, call: Call) -> Answer:
        """POST machines/op-allocate: a Ready machine by its id; by anything else MAAS may compose a VM.

        Raises `Refused`: 409 if no machine is Ready, 400 for an unknown zone, pool or tag.
        """
        self._cost.count("allocate")
        form = call.form
        constraints = {name: form[name] for name in (*_ALLOCATE_FILTERS, *NOT_PLAYED) if name in form}
        ready = [one for one in self._park.all() if one.status is MachineStatus.READY and not one.unknown_status]
        found = self._filter.select(constraints, ready)
        system_id, name = first(form, "system_id"), first(form, "name")
        if system_id:
            found = [one for one in found if one.system_id == system_id]
        if name:
            found = [one for one in found if one.hostname == name]
        if not found and system_id:
            raise Refused(409, f"No machine with system ID {system_id} available.")
        if is_true(form, "dry_run"):
            if not found:
                raise Refused(409, "No machine available.")
            return document(self.show(found[:1])[0], effect="dry run")
        machine = found[0] if found else self._compose()
        self._lifecycle.acquire(call.user, machine, first(form, "agent_name"), first(form, "comment"))
        return document(self.show([machine])[0], effect=f"allocated {machine.hostname}")

    def release_many(self, call: Call) -> Answer:
        """POST machines/op-release: all or none, without erasing.

        Raises `Refused`: 400 for an unknown id, 403, or 409 if one is in a wrong status.
        """
        self._cost.count("release")
        machines = []
        for system_id in call.form.get("machines", ()):
            machine = self._park.get(system_id)
            if machine is None:
                raise Refused(400, f"Unknown machine(s): {system_id}.")
            machines.append(machine)
        if not machines:
            raise BadParameters({"machines": ["This field is required."]})
        for machine in machines:
            self._lifecycle.check_release(call.user, machine)
        released = [one for one in machines if self._lifecycle.release(call.user, one, call.form, can_erase=False)]
        return document([one.system_id for one in released], effect=f"released {len(released)} machines")

    def set_zone(self, call: Call) -> Answer:
        """POST machines/op-set_zone. Raises `Refused` (400) for an unknown zone."""
        call.need_admin()
        self._cost.count("other")
        zone = first(call.form, "zone")
        if not self._places.exists(ZONE, zone):
            raise BadParameters({"zone": [f"No such zone: '{zone}'."]})
        for system_id in call.form.get("nodes", ()):
            machine = self._park.get(system_id)
            if machine is None:
                raise forbidden()
            machine.zone = zone
            self._park.touch(machine)
        return nothing("set zones")

    def _compose(self) -> Machine:
        number = 1
        while self._park.named(f"composed-{number}") is not None:
            number += 1
        return self._park.add(f"composed-{number}", status=MachineStatus.READY, composed=True)


def power_parameters(machine: Machine) -> dict[str, str]:
    """Return how MAAS reaches a machine's BMC."""
    return {
        "power_address": f"10.1.{machine.position // 250}.{machine.position % 250 + 1}",
        "power_user": "maas",
        "power_pass": "",
        "mac_address": mac_address(machine.system_id),
    }
