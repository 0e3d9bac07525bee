"""What is due next for one machine of a task that was not acted on yet: a table of phases and statuses.

And what is said to a person, in MAAS's words, of a request that MAAS refused, or whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from provisioner_client.errors import ProvisionerError
from provisioner_client.maas.machine import TRANSIENT, Machine, Status
from provisioner_client.maas.tasks.progress import Progress
from provisioner_client.piecewise.doubts import said_of
from strategy_lib.phase import Phase


class Act(StrEnum):
    """What is done: a request, a wait for what MAAS is at, or nothing any more."""

    COMMISSION = "commission"
    SET_UP = "set_up"
    ALLOCATE = "allocate"
    DEPLOY = "deploy"
    RELEASE = "release"
    RELABEL = "relabel"
    POWER_ON = "power_on"
    WAIT = "wait"
    SETTLE = "settle"


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step; `ok` and `why` are those of a node that is settled by it.

    `keeps`: the machine keeps its network and its storage as they are set up.
    """

    act: Act
    ok: bool = False
    why: str = ""
    keeps: bool = False


COMMISSIONED_FROM: Final = frozenset({Status.NEW, Status.FAILED_COMMISSIONING, Status.READY})
_RELEASED_FROM: Final = frozenset(
    {
        Status.ALLOCATED,
        Status.DEPLOYED,
        Status.DEPLOYING,
        Status.FAILED_DEPLOYMENT,
        Status.FAILED_DISK_ERASING,
        Status.RELEASING_FAILED,
        Status.RESERVED,
    }
)
_NOTHING_ON_IT: Final = frozenset(
    {
        Status.NEW,
        Status.READY,
        Status.BROKEN,
        Status.FAILED_COMMISSIONING,
        Status.FAILED_TESTING,
        Status.MISSING,
        Status.RETIRED,
    }
)
"""Unless it has an operating system: a deployed machine may have come to most of these."""
_HINTS: Final[Mapping[Status, str]] = {
    Status.BROKEN: "mark it fixed in MAAS",
    Status.FAILED_TESTING: "MAAS commissions no such machine: look at its tests there, or override them",
    Status.FAILED_DEPLOYMENT: "release it first",
    Status.ALLOCATED: "release it first",
}
_RESCUE: Final = frozenset({Status.RESCUE_MODE, Status.FAILED_TO_ENTER_RESCUE_MODE, Status.FAILED_TO_EXIT_RESCUE_MODE})


def next_step(
    phase: Phase, machine: Machine | None, known: Progress, account: str, *, recommission: bool = True
) -> NextStep:
    """Say what is due.

    Parameters
    ----------
    machine : as it is now; None: the site has no such machine.
    known : what the ledger says of it.
    account : the name under which we ask. What anybody else owns is left alone, and his name is told.
    recommission : a machine that is Ready is commissioned again; else it is prepared as it is.
    """
    if machine is None:
        return _refused("the machine is not, or no longer, in the site's part of MAAS")
    if machine.is_owned_by_other(account):
        return _refused(f"{machine.name} is owned by {machine.owner} in MAAS ({machine.shown}), and is left alone")
    if phase is Phase.RELABEL:
        return NextStep(Act.RELABEL)
    if machine.status is None:
        unknown = "a status that this version of Slipway does not know, and waits for"
        return NextStep(Act.WAIT, why=f"{machine.name} is {machine.shown} in MAAS, {unknown}")
    if machine.status in TRANSIENT and not _may_release(phase, machine):
        return NextStep(Act.WAIT, why=f"{machine.name} is {machine.shown} in MAAS, which is waited for")
    if phase is Phase.PREPARE:
        return _prepare(machine, recommission=recommission)
    if phase is Phase.DEPLOY:
        return _deploy(machine, known)
    if phase in (Phase.DESTROY, Phase.RELEASE):
        return _release(machine)
    raise ValueError(f"{phase} is not for machines")


def _may_release(phase: Phase, machine: Machine) -> bool:
    return phase in (Phase.DESTROY, Phase.RELEASE) and machine.status is Status.DEPLOYING


def _prepare(machine: Machine, *, recommission: bool) -> NextStep:
    if machine.status is Status.READY and not recommission:
        return NextStep(Act.SETTLE, ok=True, why="it was Ready, and the connection leaves such machines alone")
    if machine.status in COMMISSIONED_FROM:
        # MAAS would set up anew what a person has set up of a Ready machine; of others there is nothing to keep.
        return NextStep(Act.COMMISSION, keeps=machine.status is Status.READY)
    return _unfit(machine, "prepared")


def _deploy(machine: Machine, known: Progress) -> NextStep:
    if machine.status is Status.READY:
        if not known.acquired:
            return _ALLOCATE
        released = "somebody released it after it was allocated for this task"
        return _refused(f"{machine.name} is {machine.shown} in MAAS: {released}")
    if machine.status is Status.ALLOCATED:
        return NextStep(Act.DEPLOY)
    if machine.status is Status.DEPLOYED and not machine.is_half_released:
        return NextStep(Act.SETTLE, ok=True, why="it was Deployed already; nothing was done")
    return _unfit(machine, "deployed")


def _release(machine: Machine) -> NextStep:
    if machine.locked:
        return _refused(f"{machine.name} is {machine.shown} and locked in MAAS: unlock it there")
    if machine.status in _RELEASED_FROM:
        return NextStep(Act.RELEASE)
    if machine.status is Status.BROKEN and (machine.owner or machine.osystem):
        return NextStep(Act.RELEASE)
    if machine.status in _NOTHING_ON_IT and not machine.osystem:
        return NextStep(Act.SETTLE, ok=True, why=f"nothing is deployed on it: it was {machine.shown}")
    return _unfit(machine, "released")


def _unfit(machine: Machine, done: str) -> NextStep:
    status = machine.status
    hint = "let it leave rescue mode in MAAS" if status in _RESCUE else _HINTS.get(status) if status is not None else ""
    if machine.is_half_released:
        hint = "release it again"
    return _refused(f"{machine.name} is {machine.shown} in MAAS and cannot be {done}" + (f": {hint}" if hint else ""))


def _refused(why: str) -> NextStep:
    return NextStep(Act.SETTLE, ok=False, why=why)


_ALLOCATE: Final = NextStep(Act.ALLOCATE)


_FORBIDDEN: Final = 403
LOCKED: Final = "it is locked there, or somebody else has it by now: unlock it in MAAS"
"""What MAAS means by a 403 without a word."""
_VERBS: Final[Mapping[Act, str]] = {
    Act.COMMISSION: "commission",
    Act.SET_UP: "set up",
    Act.ALLOCATE: "allocate",
    Act.DEPLOY: "deploy",
    Act.RELEASE: "release",
    Act.RELABEL: "relabel",
    Act.POWER_ON: "power on",
}


def refusal_of(act: Act, name: str, system_id: str, refusal: ProvisionerError) -> str:
    """Say that MAAS refuses to do something with a machine, and why.

    Parameters
    ----------
    name, system_id : the node's name, which stands in MAAS's words where they have its id.
    """
    said = _words(name, system_id, refusal)
    if said:
        return f"MAAS refuses to {_VERBS[act]} {name}: {said}"
    if refusal.status == _FORBIDDEN:
        return f"MAAS refuses to {_VERBS[act]} {name}: {LOCKED}"
    return f"MAAS refuses to {_VERBS[act]} {name}, and does not say why (HTTP {refusal.status})"


def doubt_about(act: Act, name: str, system_id: str, trouble: ProvisionerError) -> str:
    """Say that MAAS did not do something with a machine, as far as its ledger knows, and what came of the request."""
    return f"MAAS did not {_VERBS[act]} {name}: {said_of(trouble, _words(name, system_id, trouble))}"


def _words(name: str, system_id: str, trouble: ProvisionerError) -> str:
    return trouble.said.replace(f"system ID {system_id}", f"name {name}").replace(system_id, name)
