"""MAAS's face of a machine: its status names, its power, and what each phase can start from. No I/O."""

from __future__ import annotations

from enum import StrEnum


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


class Phase(StrEnum):
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

_STARTS: dict[Phase, dict[MachineStatus, Start]] = {
    Phase.PREPARE: {
        **dict.fromkeys((_S.NEW, _S.FAILED_COMMISSIONING, _S.BROKEN, _S.FAILED_TESTING), Start.WORK),
        # Drydock's driver takes a machine that is being commissioned for done; that is how failures turn into success.
        **dict.fromkeys((_S.READY, _S.DEPLOYED, _S.COMMISSIONING, _S.TESTING), Start.AT_ONCE),
        # It refuses a failed deployment: the machine has to be released (destroyed) before.
        **dict.fromkeys((_S.ALLOCATED, _S.DEPLOYING), Start.AT_ONCE),
    },
    # The driver means to release a failed deployment itself, but compares with a name that MAAS does not use.
    Phase.DEPLOY: {_S.READY: Start.WORK, _S.DEPLOYED: Start.AT_ONCE},
    Phase.DESTROY: {
        # MAAS releases a machine, and erases its disks, from these. Any other is only reset and deleted.
        **dict.fromkeys(_S, Start.AT_ONCE),
        **dict.fromkeys((_S.ALLOCATED, _S.DEPLOYED, _S.DEPLOYING, _S.FAILED_DEPLOYMENT), Start.WORK),
        **dict.fromkeys((_S.RELEASING_FAILED, _S.FAILED_DISK_ERASING), Start.WORK),
    },
    # Labels are Kubernetes' affair: MAAS knows nothing of them.
    Phase.RELABEL: dict.fromkeys(_S, Start.WORK),
}

# What MAAS says meanwhile and afterwards; a phase that is not in these tables leaves the machine alone.
DURING = {Phase.PREPARE: _S.COMMISSIONING, Phase.DEPLOY: _S.DEPLOYING, Phase.DESTROY: _S.RELEASING}
DONE = {Phase.PREPARE: _S.READY, Phase.DEPLOY: _S.DEPLOYED, Phase.DESTROY: _S.NEW}
FAILED = {
    Phase.PREPARE: _S.FAILED_COMMISSIONING,
    Phase.DEPLOY: _S.FAILED_DEPLOYMENT,
    Phase.DESTROY: _S.RELEASING_FAILED,
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


def start_of(phase: Phase, status: MachineStatus) -> Start:
    """Return whether a phase works on a machine in this status, takes it for done at once, or refuses it."""
    return _STARTS[phase].get(status, Start.REFUSED)


def power_of(status: MachineStatus) -> str:
    """Return the power state (`on` or `off`) that a machine usually has in a status."""
    return "on" if status in _POWERED else "off"
