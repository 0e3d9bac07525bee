"""Routes of one machine: reading it, and every operation on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.maas.cost import CostBook
from provisioner_client.simulator.maas.events import EventLedger
from provisioner_client.simulator.maas.http.answers import (
    BadParameters,
    Refused,
    document,
    first,
    forbidden,
    no_such,
    nothing,
)
from provisioner_client.simulator.maas.http.call import Call
from provisioner_client.simulator.maas.http.machines_api import MachinesApi, power_parameters
from provisioner_client.simulator.maas.machines.lifecycle import Lifecycle, PowerTrouble
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.machines.statuses import (
    IN_RESCUE,
    LOCKABLE,
    MARKABLE_BROKEN,
    RESCUABLE,
    RESTORABLE,
)
from provisioner_client.simulator.maas.places import POOL, ZONE, Places
from provisioner_client.simulator.machines import MachineStatus as S

_UPDATABLE = frozenset({"hostname", "description", "zone", "pool", "op"})
_LABEL = re.compile(r"(?!-)[a-zA-Z0-9-]{1,63}(?<!-)")
_LAYOUTS = frozenset({"flat", "lvm", "bcache", "blank", "custom", "vmfs6", "vmfs7"})


class MachineApi:
    """All methods are called inside a transaction of the store; of an unknown machine all raise `Refused` (404)."""

    def __init__(
        self,
        park: MachinePark,
        lifecycle: Lifecycle,
        events: EventLedger,
        places: Places,
        machines: MachinesApi,
        cost: CostBook,
    ) -> None:
        self._park, self._lifecycle, self._events = park, lifecycle, events
        self._places, self._machines, self._cost = places, machines, cost

    def read(self, _: Call, system_id: str) -> Answer:
        """GET machines/{system_id}/."""
        self._cost.count("machine")
        return self._show(self._find(system_id), "read")

    def update(self, call: Call, system_id: str) -> Answer:
        """PUT machines/{system_id}/: hostname, description, zone and pool."""
        call.need_admin()
        self._cost.count("other")
        machine, form = self._unlocked(system_id), call.form
        if unplayed := sorted(set(form) - _UPDATABLE):
            raise BadParameters({name: ["The simulator does not change this field."] for name in unplayed})
        for kind in (ZONE, POOL):
            value = first(form, kind)
            if value and not self._places.exists(kind, value):
                raise BadParameters({kind: ["Select a valid choice. That choice is not one of the available choices."]})
        hostname = first(form, "hostname")
        if hostname and _LABEL.fullmatch(hostname) is None:
            raise BadParameters({"hostname": [f"Label contains disallowed characters: {hostname!r}."]})
        if hostname and hostname != machine.hostname:
            if self._park.named(hostname) is not None:
                raise BadParameters({"hostname": ["Node with this Hostname already exists."]})
            self._park.rename(machine, hostname)
        machine.zone, machine.pool = first(form, "zone") or machine.zone, first(form, "pool") or machine.pool
        machine.description = first(form, "description", machine.description)
        self._park.touch(machine)
        return self._show(machine, "changed")

    def delete(self, call: Call, system_id: str) -> Answer:
        """DELETE machines/{system_id}/: its events go with it."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._park.remove(machine)
        return nothing(f"deleted {machine.hostname}")

    def commission(self, call: Call, system_id: str) -> Answer:
        """POST op-commission: answers when the power action is over."""
        self._cost.count("commission")
        machine = self._unlocked(system_id)
        return self._powered(machine, "commissioned", lambda: self._lifecycle.commission(call.user, machine, call.form))

    def deploy(self, call: Call, system_id: str) -> Answer:
        """POST op-deploy: answers at once; trouble with the BMC shows later."""
        self._cost.count("deploy")
        machine = self._unlocked(system_id)
        self._lifecycle.deploy(call.user, machine, call.form)
        return self._show(machine, f"deployed {machine.hostname}")

    def release(self, call: Call, system_id: str) -> Answer:
        """POST op-release: answers when the power action is over."""
        self._cost.count("release")
        machine = self._unlocked(system_id)
        return self._powered(machine, "released", lambda: self._lifecycle.release(call.user, machine, call.form))

    def abort(self, call: Call, system_id: str) -> Answer:
        """POST op-abort: the answer has the status from before."""
        self._cost.count("other")
        machine = self._unlocked(system_id)
        before = self._show(machine, f"aborted {machine.hostname}")
        self._lifecycle.abort(call.user, machine, first(call.form, "comment"))
        return before

    def mark_broken(self, call: Call, system_id: str) -> Answer:
        """POST op-mark_broken: the owner only, not even an administrator; so nobody, where there is no owner."""
        self._cost.count("other")
        machine = self._unlocked(system_id)
        if machine.owner != call.user.name:
            raise forbidden()
        self._need(machine, machine.status in MARKABLE_BROKEN, "mark broken")
        self._lifecycle.break_down(call.user, machine, first(call.form, "comment"))
        return self._show(machine, "marked broken")

    def mark_fixed(self, call: Call, system_id: str) -> Answer:
        """POST op-mark_fixed: Ready; what was Deployed is so again, and has no operating system."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._need(machine, machine.status is S.BROKEN, "mark fixed")
        self._events.requested(machine, "User marking node fixed", call.user.name, first(call.form, "comment"))
        machine.error_description, machine.osystem, machine.distro_series = "", "", ""
        machine.installation_id = None
        was_deployed = machine.previous_status is S.DEPLOYED
        machine.owner = machine.owner if was_deployed else None
        self._park.become(machine, S.DEPLOYED if was_deployed else S.READY)
        return self._show(machine, "marked fixed")

    def lock(self, call: Call, system_id: str) -> Answer:
        """POST op-lock: of a machine that is or will be deployed."""
        self._cost.count("other")
        machine = self._find(system_id)
        self._need_mine(call, machine)
        if machine.locked:
            raise Refused(409, "Machine is already locked")
        if machine.status not in LOCKABLE:
            raise Refused(409, "Can't lock, node is not deployed or deploying")
        machine.locked = True
        self._events.requested(machine, "User locking node", call.user.name, first(call.form, "comment"))
        self._park.touch(machine)
        return self._show(machine, "locked")

    def unlock(self, call: Call, system_id: str) -> Answer:
        """POST op-unlock."""
        self._cost.count("other")
        machine = self._find(system_id)
        self._need_mine(call, machine)
        if not machine.locked:
            raise Refused(409, "Machine is not locked")
        machine.locked = False
        self._events.requested(machine, "User unlocking node", call.user.name, first(call.form, "comment"))
        self._park.touch(machine)
        return self._show(machine, "unlocked")

    def set_owner_data(self, call: Call, system_id: str) -> Answer:
        """POST op-set_owner_data and op-set_workload_annotations: the owner only; an empty value removes a key."""
        self._cost.count("other")
        machine = self._unlocked(system_id)
        if machine.owner is None:
            raise Refused(409, "Cannot set workload annotation: it hasn't been acquired.")
        if machine.owner != call.user.name:
            raise forbidden()
        for key, values in call.form.items():
            if key == "op":
                continue
            machine.owner_data.pop(key, None)
            if values[0]:
                machine.owner_data[key] = values[0]
        self._park.touch(machine)
        return self._show(machine, f"annotated {machine.hostname}")

    def test(self, call: Call, system_id: str) -> Answer:
        """POST op-test."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._lifecycle.test(call.user, machine)
        return self._show(machine, "tested")

    def set_storage_layout(self, call: Call, system_id: str) -> Answer:
        """POST op-set_storage_layout: of a machine that is Ready."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        if machine.status is not S.READY or machine.unknown_status:
            raise Refused(409, "Cannot change the storage layout on a machine that is not Ready.")
        layout = first(call.form, "storage_layout")
        if layout not in _LAYOUTS:
            raise BadParameters({"storage_layout": [f"'{layout}' is not a valid storage layout."]})
        machine.storage_layout = layout
        self._park.touch(machine)
        return self._show(machine, f"laid out {machine.hostname}")

    def restore(self, call: Call, system_id: str, *, storage: bool = True, network: bool = True) -> Answer:
        """POST op-restore_…_configuration: of a machine that is Ready, or failed its tests."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._need(machine, machine.status in RESTORABLE, "restore the configuration")
        machine.storage_layout = "flat" if storage else machine.storage_layout
        machine.link_mode = "auto" if network else machine.link_mode
        self._park.touch(machine)
        return self._show(machine, f"restored {machine.hostname}")

    def rescue_mode(self, call: Call, system_id: str) -> Answer:
        """POST op-rescue_mode. Its action names a status that MAAS's table of changes then refuses."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        can_enter = machine.status in RESCUABLE - {S.FAILED_TO_EXIT_RESCUE_MODE}
        self._need(machine, can_enter, "enter rescue mode")
        self._lifecycle.enter_rescue_mode(call.user, machine)
        return self._show(machine, "entered rescue mode")

    def exit_rescue_mode(self, call: Call, system_id: str) -> Answer:
        """POST op-exit_rescue_mode: the machine comes back to what it was."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._need(machine, machine.status in IN_RESCUE, "exit rescue mode")
        self._lifecycle.exit_rescue_mode(call.user, machine)
        return self._show(machine, "left rescue mode")

    def override_failed_testing(self, call: Call, system_id: str) -> Answer:
        """POST op-override_failed_testing: Ready, or Deployed if it has an operating system."""
        call.need_admin()
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._need(machine, machine.status is S.FAILED_TESTING, "override failed testing")
        self._events.requested(machine, "User overrode 'Failed testing' status", call.user.name)
        machine.owner = machine.owner if machine.osystem else None
        self._park.become(machine, S.DEPLOYED if machine.osystem else S.READY)
        return self._show(machine, "overrode failed testing")

    def power(self, call: Call, system_id: str, state: str) -> Answer:
        """POST op-power_on and op-power_off: answers before the power action. Only what is somebody's is powered on.

        What is allocated is deployed by that.
        """
        self._cost.count("other")
        machine = self._unlocked(system_id)
        self._need_mine(call, machine)
        if state == "on" and machine.owner is None:
            raise Refused(409, "Can't start node: it hasn't been allocated.")
        self._lifecycle.power(call.user, machine, state, first(call.form, "comment"))
        return self._show(machine, f"powered {state}")

    def power_state(self, _: Call, system_id: str) -> Answer:
        """GET op-query_power_state."""
        self._cost.count("other")
        return document({"state": self._find(system_id).power_state})

    def power_parameters(self, call: Call, system_id: str) -> Answer:
        """GET op-power_parameters."""
        call.need_admin()
        self._cost.count("other")
        return document(power_parameters(self._find(system_id)))

    def _powered(self, machine: Machine, said: str, act: Callable[[], object]) -> Answer:
        """Act, and answer after the time that a power action takes, also where it fails: what was changed stays."""
        before = machine.status
        try:
            act()
        except PowerTrouble as trouble:
            return replace(
                trouble.answer(), effect=f"{said} {machine.hostname} half", delay=self._lifecycle.power_delay
            )
        answer = self._show(machine, f"{said} {machine.hostname}")
        return answer if before is machine.status else replace(answer, delay=self._lifecycle.power_delay)

    def _show(self, machine: Machine, effect: str) -> Answer:
        return document(self._machines.show([machine])[0], effect=effect)

    def _find(self, system_id: str) -> Machine:
        machine = self._park.get(system_id)
        if machine is None:
            raise no_such("Machine")
        return machine

    def _unlocked(self, system_id: str) -> Machine:
        """Find a machine to change it. Raises `Refused` (403) for a locked one, which can only be read and unlocked."""
        machine = self._find(system_id)
        if machine.locked:
            raise forbidden()
        return machine

    @staticmethod
    def _need_mine(call: Call, machine: Machine) -> None:
        if not call.user.is_admin and machine.owner != call.user.name:
            raise forbidden()

    @staticmethod
    def _need(machine: Machine, can: bool, what: str) -> None:
        if not can:
            raise Refused(409, f"Cannot {what}: the machine is in state {machine.status}.")
