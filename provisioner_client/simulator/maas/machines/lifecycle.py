"""What MAAS's operations do with a machine (commission, acquire, deploy, release, abort), and who may do so."""

from __future__ import annotations

import time
from typing import NoReturn

from provisioner_client.simulator.maas.events import EventLedger
from provisioner_client.simulator.maas.http.answers import BadParameters, Form, Refused, first, forbidden, is_true
from provisioner_client.simulator.maas.http.auth import User
from provisioner_client.simulator.maas.images import chosen_image
from provisioner_client.simulator.maas.machines.acts import Acts, find_reference
from provisioner_client.simulator.maas.machines.course import (
    POWER_SECONDS,
    Pace,
    behaviour_of,
    course,
    power_failure,
    rescue,
)
from provisioner_client.simulator.maas.machines.machine import INFO, WARNING, Machine, Step
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.machines.script_sets import COMMISSIONING, INSTALLATION, TESTING, ScriptSets
from provisioner_client.simulator.maas.machines.statuses import (
    AFTER_TESTS,
    COMMISSIONABLE,
    NO_WAY_BACK,
    RELEASABLE,
    RELEASED_ALREADY,
    TESTABLE,
)
from provisioner_client.simulator.maas.tags import Tags
from provisioner_client.simulator.machines import MachineStatus as S
from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.scripts import Behaviour, Script, ScriptBook, choose_script
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store

BMC_TROUBLE = (
    "Could not contact node's BMC: Connection timed out while performing power action. "
    "Check BMC configuration and connectivity and try again."
)
_UNABLE = "Unable to power control the node. Please check power credentials."
_UNAVAILABLE = "{} cannot be performed because of the current state of the machine."
_KNOWN_TESTS = frozenset({"none", "commissioning", "smartctl-validate", "stress-ng-cpu-short"})


_DEPLOYED = Step(0, status=S.DEPLOYED, events=((INFO, "Deployed", ""),), fields={"netboot": False})


class PowerTrouble(Refused):
    """The BMC does not answer: 500, or what MAAS's table of changes says of the way back. What was changed stays so."""

    def __init__(self, status: int = 500, message: str = BMC_TROUBLE) -> None:
        super().__init__(status, message)


class Lifecycle:
    """All methods are called inside a transaction of the store; they raise `Refused` before they change anything."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        park: MachinePark,
        events: EventLedger,
        sets: ScriptSets,
        acts: Acts,
        tags: Tags,
    ) -> None:
        self._settings, self._park, self._events = settings, park, events
        self._sets, self._acts, self._tags = sets, acts, tags
        self._scripts = ScriptBook(store)

    @property
    def power_delay(self) -> float:
        """Real seconds that a power action takes."""
        return POWER_SECONDS / self._settings.speed

    def commission(self, user: User, machine: Machine, form: Form) -> None:
        """Start commissioning.

        Raises `Refused` (400) in a wrong state, and `PowerTrouble`, which leaves a machine as it was, with an owner.
        """
        if not user.is_admin:
            raise forbidden()
        if machine.status not in COMMISSIONABLE or machine.unknown_status:
            raise BadParameters({"__all__": [_UNAVAILABLE.format("Commissioning")]})
        tests = [one for value in form.get("testing_scripts", ()) for one in value.split(",") if one]
        if unknown := set(tests) - _KNOWN_TESTS:
            said = f"Select a valid choice. {min(unknown)} is not one of the available choices."
            raise BadParameters({"testing_scripts": [said]})
        script, attempt = self._script(machine, Work.PREPARE, machine.prepares + 1)
        self._events.requested(machine, "User starting node commissioning", user.name)
        machine.prepares, machine.owner = attempt, user.name
        before = machine.status
        if behaviour_of(script, attempt) is not Behaviour.POWER:
            self._acts.begin(Work.PREPARE, machine, self._tags.task_of(machine))
        self._park.become(machine, S.COMMISSIONING)
        machine.commissioning_id = self._sets.begin(machine.system_id, COMMISSIONING)
        tested = "none" not in tests
        if tested:
            machine.testing_id = self._sets.begin(machine.system_id, TESTING)
        if behaviour_of(script, attempt) is Behaviour.POWER:
            self._revert_commissioning(user, machine, before)
            raise PowerTrouble
        stages = ("commissioning", "testing") if tested else ("commissioning",)
        power = "on" if is_true(form, "enable_ssh") else "off"
        made = {} if is_true(form, "skip_storage") else {"storage_layout": "flat"}
        made |= {} if is_true(form, "skip_networking") else {"link_mode": "auto"}
        ready = Step(0, status=S.READY, power=power, events=((INFO, "Ready", ""),), fields={"owner": None, **made})
        self._park.follow(machine, course(stages, ready, script, attempt, self._pace(machine)))

    def acquire(self, user: User, machine: Machine, agent_name: str, comment: str) -> None:
        """Allocate a machine that is Ready.

        Raises `Refused` (409) in any other status.
        """
        if machine.status is not S.READY or machine.unknown_status:
            raise Refused(409, f"No machine with system ID {machine.system_id} available.")
        self._events.requested(machine, "User acquiring node", user.name, comment)
        machine.owner, machine.agent_name = user.name, agent_name
        self._park.become(machine, S.ALLOCATED)

    def deploy(self, user: User, machine: Machine, form: Form) -> None:
        """Start a deployment; a Ready machine is acquired in the same transaction.

        Raises `Refused`: 403 for somebody else's machine (but not for an administrator), 409 in a wrong status, 400 for
        an unknown image, or a machine without a network or a root file system, 503 where there are no addresses.
        """
        if machine.status is not S.READY and machine.owner != user.name and not user.is_admin:
            raise forbidden()
        if machine.status not in (S.READY, S.ALLOCATED) or machine.unknown_status:
            said = machine.unknown_status or machine.status
            raise Refused(409, f"Can't deploy a machine that is in the '{said}' state")
        image = chosen_image(form)
        is_ephemeral = is_true(form, "ephemeral_deploy")
        attempt = machine.deploys + 1
        script, attempt = self._script(machine, Work.DEPLOY, attempt)
        behaviour = behaviour_of(script, attempt)
        if behaviour is Behaviour.NO_NETWORK:
            raise BadParameters({"network": ["Node must be configured to use a network"]})
        if behaviour is Behaviour.NO_ADDRESSES:
            raise Refused(503, "No more IPs available in subnet: 10.0.0.0/24.")
        if machine.storage_layout == "blank" and not is_ephemeral:
            raise BadParameters({"storage": ["Mount the root '/' filesystem to be able to deploy this node."]})
        comment = first(form, "comment")
        if machine.status is S.READY:
            self.acquire(user, machine, first(form, "agent_name"), comment)
        self._events.requested(machine, "User starting deployment", user.name, comment)
        self._acts.begin(Work.DEPLOY, machine, find_reference(comment, machine.agent_name))
        machine.deploys = attempt
        machine.osystem, machine.distro_series = image
        machine.hwe_kernel, machine.ephemeral_deploy = first(form, "hwe_kernel") or None, is_ephemeral
        machine.installation_id = self._sets.begin(machine.system_id, INSTALLATION)
        self._park.become(machine, S.DEPLOYING)
        if behaviour is Behaviour.POWER:
            self._park.follow(machine, power_failure(S.DEPLOYING, BMC_TROUBLE, self._pace(machine)))
            return
        self._park.follow(machine, course(("deploying",), _DEPLOYED, script, attempt, self._pace(machine)))

    def release(self, user: User, machine: Machine, form: Form, *, can_erase: bool = True) -> bool:
        """Start a release, and return whether anything was done: a Ready or Releasing machine is left alone.

        Raises `Refused`: 403 for a locked or somebody else's machine, 409 in a wrong status; and `PowerTrouble`,
        which leaves the machine half released (Deployed, without an operating system), or Failed disk erasing.
        """
        self.check_release(user, machine, one=can_erase)
        if machine.status in RELEASED_ALREADY:
            return False
        erase = can_erase and any(is_true(form, kind) for kind in ("erase", "quick_erase", "secure_erase"))
        script, attempt = self._script(machine, Work.DESTROY, machine.destroys + 1)
        comment, before = first(form, "comment"), machine.status
        # A release that erases is written down as an erasing.
        self._events.requested(machine, "User erasing disk" if erase else "User releasing node", user.name, comment)
        machine.destroys = attempt
        if erase and behaviour_of(script, attempt) is Behaviour.POWER:
            self._fail_erasing(user, machine, before)
        machine.begin_release()
        # The BMC of a machine that is off is not asked.
        is_off = not erase and machine.power_state == "off"
        if behaviour_of(script, attempt) is Behaviour.POWER and not is_off:
            self._park.become(machine, S.RELEASING)
            # There is no way back to Deploying.
            self._without_power(machine, S.RELEASING_FAILED if before is S.DEPLOYING else before)
            raise PowerTrouble
        self._acts.begin(Work.DESTROY, machine, find_reference(comment))
        after = S.READY if machine.commissioning_id is not None else S.NEW
        freed = {"owner": None, "installation_id": None}
        if erase:
            self._park.become(machine, S.DISK_ERASING)
            end = Step(0, status=after, power="off", fields=freed)
            pace = self._pace(machine)
            self._park.follow(machine, course(("erasing", "releasing"), end, script, attempt, pace))
        elif is_off and behaviour_of(script, attempt) in (Behaviour.OK, Behaviour.POWER):
            # There is nothing to wait for: it is free with the answer.
            for name, value in freed.items():
                setattr(machine, name, value)
            self._park.follow(machine, [])
            self._park.become(machine, S.RELEASING)
            self._park.become(machine, after)
            if machine.composed:
                self._park.remove(machine)
        else:
            self._park.become(machine, S.RELEASING)
            end = Step(0, status=after, power="off", fields=freed)
            self._park.follow(machine, course(("releasing",), end, script, attempt, self._pace(machine), power=""))
        return True

    def check_release(self, user: User, machine: Machine, *, one: bool = False) -> None:
        """Raise `Refused` if the user may not release a machine, or not in this status; `one`: not of many."""
        if machine.locked or (machine.owner not in (None, user.name) and not user.is_admin):
            raise forbidden()
        if machine.status not in RELEASABLE | RELEASED_ALREADY or machine.unknown_status:
            status = machine.unknown_status or machine.status
            if one:
                raise Refused(409, f"Machine cannot be released in its current state ('{status}').")
            said = f"Machine(s) cannot be released in their current state: {machine.system_id} ('{status}')."
            raise Refused(409, said)

    def abort(self, user: User, machine: Machine, comment: str) -> None:
        """End what is under way, if it can be: Commissioning → New, Deploying → Allocated.

        Tests that follow a commissioning are cut short, and the machine is Ready as if it had passed them.

        Raises `Refused` (409) for anything else that is under way, such as a release.
        """
        if machine.owner not in (None, user.name) and not user.is_admin:
            raise forbidden()
        endings = {
            S.COMMISSIONING: ("User aborting node commissioning", S.NEW),
            S.TESTING: ("User aborting node testing", S.READY),
            S.DEPLOYING: ("User aborting deployment", S.ALLOCATED),
            S.DISK_ERASING: ("User aborting disk erasing", S.FAILED_DISK_ERASING),
        }
        if machine.status not in endings:
            said = f"Cannot abort in current state: node {machine.system_id} is in state {machine.status}."
            raise Refused(409, said)
        kind, after = endings[machine.status]
        if machine.status is S.TESTING and machine.previous_status is not S.COMMISSIONING:
            after = NO_WAY_BACK.get(machine.previous_status, machine.previous_status)
        self._events.requested(machine, kind, user.name, comment)
        for set_id in (machine.commissioning_id, machine.testing_id, machine.installation_id):
            self._sets.end(set_id, "Aborted", "", time.time())
        if after in (S.NEW, S.READY):
            machine.owner = None
        machine.power_state = "off"
        self._park.follow(machine, [])
        self._park.become(machine, after)

    def test(self, user: User, machine: Machine) -> None:
        """Start testing; a broken or failed machine that passes is Ready, any other is what it was.

        Raises `BadParameters` in a wrong state.
        """
        if machine.status not in TESTABLE or machine.unknown_status:
            raise BadParameters({"__all__": [_UNAVAILABLE.format("Testing")]})
        self._events.requested(machine, "User starting node testing", user.name)
        before = machine.status
        machine.testing_id = self._sets.begin(machine.system_id, TESTING)
        self._park.become(machine, S.TESTING)
        after = AFTER_TESTS.get(before, before)
        end = Step(0, status=after, fields={"owner": None} if after in (S.NEW, S.READY) else {})
        self._park.follow(machine, course(("testing",), end, None, 1, self._pace(machine)))

    def break_down(self, user: User, machine: Machine, comment: str) -> None:
        """Mark a machine broken; what can be released is released by that, and is free at once if it is off."""
        self._events.requested(machine, "User marking node broken", user.name, comment)
        before = machine.status
        if before in RELEASABLE:
            machine.begin_release()
            self._park.become(machine, S.RELEASING)
            if machine.power_state == "off":
                machine.owner = None
                self._park.become(machine, S.READY)
            machine.power_state = "off"
        machine.error_description = comment
        self._park.follow(machine, [])
        self._park.become(machine, S.BROKEN)
        machine.previous_status = before

    def enter_rescue_mode(self, user: User, machine: Machine) -> None:
        """Boot a machine into rescue mode; it remembers what it was."""
        self._events.requested(machine, "User starting rescue mode", user.name)
        machine.before_rescue = machine.status
        self._park.become(machine, S.ENTERING_RESCUE_MODE)
        self._park.follow(machine, rescue(S.RESCUE_MODE, self._pace(machine)))

    def exit_rescue_mode(self, user: User, machine: Machine) -> None:
        """Bring a machine back to what it was before."""
        self._events.requested(machine, "User stopping rescue mode", user.name)
        self._park.become(machine, S.EXITING_RESCUE_MODE)
        self._park.follow(machine, rescue(machine.before_rescue, self._pace(machine)))

    def power(self, user: User, machine: Machine, state: str, comment: str) -> None:
        """Turn a machine on or off, some seconds from now; what it has before it goes on as it would.

        One that is Allocated is deployed by that, and has no operating system in the end.
        """
        self._events.requested(machine, f"User powering {'up' if state == 'on' else 'down'} node", user.name, comment)
        if state == "on" and machine.status is S.ALLOCATED:
            self._acts.begin(Work.DEPLOY, machine, find_reference(comment))
            self._park.become(machine, S.DEPLOYING)
            self._park.follow(machine, course(("deploying",), _DEPLOYED, None, machine.deploys, self._pace(machine)))
            return
        at = time.time() + self.power_delay
        turned = Step(at, power=state)
        before = [one for one in machine.steps if one.at is not None and one.at <= at]
        self._park.follow(machine, [*before, turned, *machine.steps[len(before) :]])

    def _revert_commissioning(self, user: User, machine: Machine, before: S) -> None:
        """Have a machine be what it was before its commissioning, but with an owner and with aborted scripts."""
        for set_id in (machine.commissioning_id, machine.testing_id):
            self._sets.end(set_id, "Aborted", "", time.time())
        reverting = f"Aborting COMMISSIONING and reverting to {before.name}"
        said = f"({user.name}) - {reverting}. {_UNABLE}"
        self._events.add(machine, WARNING, "Failed to query node's BMC", said)
        machine.power_state = "error"
        self._park.follow(machine, [])
        self._park.become(machine, before)

    def _without_power(self, machine: Machine, after: S) -> None:
        """Undo a change of status only: what else was changed stays. No event says that the BMC did not answer."""
        machine.power_state = "error"
        self._park.follow(machine, [])
        self._park.become(machine, after)

    def _fail_erasing(self, user: User, machine: Machine, before: S) -> NoReturn:
        """Have the disks not be erased, as the BMC does not answer: the answer is about the way back, which is none.

        Raises `PowerTrouble`: 409, or 500 for a machine that failed so before, which alone has an event.
        """
        self._park.become(machine, S.DISK_ERASING)
        if before is S.FAILED_DISK_ERASING:
            said = f"({user.name}) - Aborting DISK_ERASING and reverting to {before.name}. {_UNABLE}"
            self._events.add(machine, WARNING, "Failed to query node's BMC", said)
        self._without_power(machine, S.FAILED_DISK_ERASING)
        if before is S.FAILED_DISK_ERASING:
            raise PowerTrouble
        raise PowerTrouble(409, f"Invalid transition: {S.DISK_ERASING} -> {before}.")

    def _script(self, machine: Machine, phase: Work, attempt: int) -> tuple[Script | None, int]:
        return choose_script(self._scripts.all(), machine.hostname, phase, attempt), attempt

    def _pace(self, machine: Machine) -> Pace:
        return Pace(time.time(), self._settings.speed, self._settings.seed, machine.hostname)
