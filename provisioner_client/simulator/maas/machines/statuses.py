"""MAAS's statuses: their numbers, what each action may start from, what fails into what, and MAAS's own time limits."""

from __future__ import annotations

from collections.abc import Mapping

from provisioner_client.simulator.machines import MachineStatus as S

STATUS_IDS: Mapping[S, int] = {
    S.NEW: 0,
    S.COMMISSIONING: 1,
    S.FAILED_COMMISSIONING: 2,
    S.MISSING: 3,
    S.READY: 4,
    S.RESERVED: 5,
    S.DEPLOYED: 6,
    S.RETIRED: 7,
    S.BROKEN: 8,
    S.DEPLOYING: 9,
    S.ALLOCATED: 10,
    S.FAILED_DEPLOYMENT: 11,
    S.RELEASING: 12,
    S.RELEASING_FAILED: 13,
    S.DISK_ERASING: 14,
    S.FAILED_DISK_ERASING: 15,
    S.RESCUE_MODE: 16,
    S.ENTERING_RESCUE_MODE: 17,
    S.FAILED_TO_ENTER_RESCUE_MODE: 18,
    S.EXITING_RESCUE_MODE: 19,
    S.FAILED_TO_EXIT_RESCUE_MODE: 20,
    S.TESTING: 21,
    S.FAILED_TESTING: 22,
}

# Of a status that a later MAAS may have.
UNKNOWN_STATUS_ID = 99

# What the filter `status` takes: a word of its own for each status, and neither its number nor its name.
_OTHER_LABELS = {
    S.RELEASING_FAILED: "failed_releasing",
    S.FAILED_TO_ENTER_RESCUE_MODE: "failed_entering_rescue_mode",
    S.FAILED_TO_EXIT_RESCUE_MODE: "failed_exiting_rescue_mode",
}
LABELS: Mapping[str, S] = {_OTHER_LABELS.get(one, one.lower().replace(" ", "_")): one for one in S}

COMMISSIONABLE = frozenset({S.NEW, S.FAILED_COMMISSIONING, S.READY, S.BROKEN})
RELEASABLE = frozenset(
    {
        S.ALLOCATED,
        S.BROKEN,
        S.DEPLOYED,
        S.DEPLOYING,
        S.FAILED_DEPLOYMENT,
        S.FAILED_DISK_ERASING,
        S.RELEASING_FAILED,
        S.RESERVED,
    }
)
RELEASED_ALREADY = frozenset({S.READY, S.RELEASING})
LOCKABLE = frozenset({S.DEPLOYED, S.DEPLOYING})
UNDER_WAY = frozenset(
    {
        S.COMMISSIONING,
        S.DEPLOYING,
        S.RELEASING,
        S.DISK_ERASING,
        S.TESTING,
        S.ENTERING_RESCUE_MODE,
        S.EXITING_RESCUE_MODE,
    }
)
MARKABLE_BROKEN = (frozenset(S) - UNDER_WAY - {S.BROKEN, S.MISSING, S.RETIRED, S.RESERVED, S.RESCUE_MODE}) | {
    S.COMMISSIONING,
    S.DEPLOYING,
    S.DISK_ERASING,
    S.RELEASING,
    S.TESTING,
}
RESTORABLE = frozenset({S.READY, S.FAILED_TESTING})
RESCUABLE = frozenset(S) - UNDER_WAY - {S.RESCUE_MODE, S.RELEASING_FAILED}
IN_RESCUE = frozenset(
    {S.RESCUE_MODE, S.ENTERING_RESCUE_MODE, S.FAILED_TO_ENTER_RESCUE_MODE, S.FAILED_TO_EXIT_RESCUE_MODE}
)
TESTABLE = frozenset(S) - UNDER_WAY
# What a machine becomes after a test that came from a status to which MAAS has no way back.
NO_WAY_BACK: Mapping[S, S] = {S.FAILED_COMMISSIONING: S.NEW, S.RESCUE_MODE: S.FAILED_TESTING}
# What a test that passed makes of a machine that was this before; of any other, what it was.
AFTER_TESTS: Mapping[S, S] = {
    S.BROKEN: S.READY,
    S.FAILED_DEPLOYMENT: S.READY,
    S.FAILED_DISK_ERASING: S.READY,
    S.FAILED_TESTING: S.READY,
    S.FAILED_TO_ENTER_RESCUE_MODE: S.READY,
    S.FAILED_TO_EXIT_RESCUE_MODE: S.READY,
    S.RELEASING_FAILED: S.READY,
    **NO_WAY_BACK,
}

FAILURE_OF: Mapping[S, S] = {
    S.COMMISSIONING: S.FAILED_COMMISSIONING,
    S.DEPLOYING: S.FAILED_DEPLOYMENT,
    S.RELEASING: S.RELEASING_FAILED,
    S.DISK_ERASING: S.FAILED_DISK_ERASING,
    S.TESTING: S.FAILED_TESTING,
}

NODE_TIMEOUT_SECONDS = 1800.0
# Simulated seconds without a sign of life after which MAAS itself fails a machine; disk erasing has no limit.
TIME_LIMITS: Mapping[S, float] = {
    S.COMMISSIONING: NODE_TIMEOUT_SECONDS,
    S.TESTING: NODE_TIMEOUT_SECONDS,
    S.DEPLOYING: 2 * NODE_TIMEOUT_SECONDS,
    S.RELEASING: 300.0,
}
