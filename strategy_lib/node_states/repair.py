"""Whether a node is repaired, how, and when: the decision only. Nothing here starts an action (rule 57)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from strategy_lib.node_condition import NodeCondition
from strategy_lib.status.node_row import DRIFTED
from strategy_lib.status.words import Status

FIRST_DELAY = 60.0
LONGEST_DELAY = 8 * 3600.0
JITTER = 0.25
# 60 s doubled this often is above eight hours: from here on the power of two need not be computed.
_DOUBLINGS = 9


def retry_delay(failures: int, jitter: float = 0.0) -> float:
    """Return how long to wait after a failure before a node is tried again.

    Parameters
    ----------
    failures : how often it has failed in a row.
    jitter : from -1 to 1: which part of the 25 % is added or taken away, so that nodes that failed together are not all
        tried again together. It is applied after the cap.

    Returns
    -------
    float
        Seconds: `min(8 h, 60 s x 2^(failures - 1))`, jittered; 0.0 without a failure.

    Raises
    ------
    ValueError : when `failures` is below 0, or `jitter` is not from -1 to 1.

    Examples
    --------
    >>> [retry_delay(n) for n in (0, 1, 2, 100)]
    [0.0, 60.0, 120.0, 28800.0]
    """
    if failures < 0:
        raise ValueError(f"failures is {failures}: a node cannot have failed less than never")
    if not -1 <= jitter <= 1:
        raise ValueError(f"jitter is {jitter}: it is from -1 to 1")
    if failures == 0:
        return 0.0
    delay = LONGEST_DELAY if failures > _DOUBLINGS else min(LONGEST_DELAY, FIRST_DELAY * 2 ** (failures - 1))
    return delay * (1 + JITTER * jitter)


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a node failed in a row, and when it may be tried next. The store counts (`site_store/nodes/tries.py`).

    Attributes
    ----------
    failures : failures in a row.
    next_time : when it may be tried again, in seconds of the caller's clock; None: at once.
    """

    failures: int = 0
    next_time: float | None = None

    def may_try(self, now: float) -> bool:
        """Tell whether the delay is over."""
        return self.next_time is None or now >= self.next_time


HOUR = 3600.0


class RepairMode(StrEnum):
    """What the site's settings allow. `OBSERVE`, the default, says what would be done."""

    OFF = "off"
    OBSERVE = "observe"
    ON = "on"
    REDEPLOY = "redeploy"


class Remedy(StrEnum):
    """What mends a node. `REDEPLOY` destroys what is on it first."""

    NOTHING = "nothing"
    POWER_ON = "power_on"
    DEPLOY = "deploy"
    REDEPLOY = "redeploy"


@dataclass(frozen=True, slots=True)
class Patient:
    """A node that may need repair.

    Attributes
    ----------
    condition : the provisioner's word for it.
    drifted : a drift is confirmed.
    failed : its newest attempt failed.
    as_done : as far as can be told, it carries the design that it was done for.
    powered_off : the provisioner shows it off.
    in_progress : something is at work on it, or its outcome is still to come.
    lost_power : that it is off is its drift, and nothing else is.
    """

    condition: NodeCondition
    drifted: bool = False
    failed: bool = False
    as_done: bool = True
    powered_off: bool = False
    in_progress: bool = False
    lost_power: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """What is to be done to a node, and whether the mode only allows to say so."""

    remedy: Remedy
    only_observed: bool = False


_CARRIES_NOTHING = frozenset(
    {
        NodeCondition.NEW,
        NodeCondition.READY,
        NodeCondition.FAILED_COMMISSIONING,
        NodeCondition.FAILED_DEPLOYMENT,
    }
)


def remedy_for(node: Patient, *, can_power_on: bool) -> Remedy:
    """Return what would mend a node, whatever is allowed.

    One that is not listed may well serve, and to prepare it would restart it. One that is broken, in rescue mode or
    somebody else's is left to a person, and what the provisioner works on is in progress.
    """
    if node.in_progress or not (node.drifted or node.failed):
        return Remedy.NOTHING
    if node.condition in _CARRIES_NOTHING:
        return Remedy.DEPLOY
    if node.condition is NodeCondition.NOT_LISTED:
        return Remedy.REDEPLOY
    if node.condition is not NodeCondition.DEPLOYED:
        return Remedy.NOTHING
    if node.drifted and node.powered_off and can_power_on:
        return Remedy.POWER_ON
    if node.lost_power and not node.powered_off:
        # It has its power again: the next look ends the drift.
        return Remedy.NOTHING
    return Remedy.REDEPLOY if node.drifted or not node.as_done else Remedy.NOTHING


def decide_repair(node: Patient, mode: RepairMode, *, can_power_on: bool = False) -> Repair:
    """Decide what is done to a node.

    Parameters
    ----------
    node : the facts. Nodes that are not to be up are not asked about (rule 51).
    mode : of the site. Only `REDEPLOY` destroys a node that the provisioner shows deployed.
    can_power_on : the backend can.

    Returns
    -------
    Repair
        A node that is up and deployed in the design it was done for is never touched.
    """
    remedy = remedy_for(node, can_power_on=can_power_on)
    if remedy is Remedy.NOTHING or mode is RepairMode.OFF:
        return Repair(Remedy.NOTHING)
    if mode is RepairMode.OBSERVE:
        return Repair(remedy, only_observed=True)
    if remedy is Remedy.REDEPLOY and mode is not RepairMode.REDEPLOY:
        return Repair(Remedy.NOTHING)
    return Repair(remedy)


_UNREPAIRED = {RepairMode.OFF: "repair is off on this site", RepairMode.OBSERVE: "repair only observes on this site"}


def why_unrepaired(
    mode: RepairMode, *, stopped: bool, wanted: bool, grouped: bool, user: str | None, known: bool = True
) -> str:
    """Return why nothing tries a failed node again by itself; "" where repair may, once it is due (rules 51 and 57).

    Parameters
    ----------
    mode : of the site.
    stopped : an administrator has stopped repair, on this site or on all.
    wanted, grouped : the node is in the design, and in a group of the strategy.
    user : what is set for it; None: it is simply up.
    known : which revision it is to be brought back to.
    """
    if not wanted:
        return "it has left the design"
    if not grouped:
        return "it is in no group"
    if user is not None:
        return f"it is set to {user}"
    why = _UNREPAIRED.get(mode, "repair is stopped" if stopped else "")
    why = why or ("" if known else "it is not known which revision it was done for")
    return f"{why}: the next update takes it up" if why else ""


def repairs_due(
    waiting: Iterable[tuple[str, Tries]], begun: Iterable[float], max_repairs_per_hour: int, now: float
) -> tuple[str, ...]:
    """Return which nodes may be repaired now, those that failed least often first.

    Parameters
    ----------
    waiting : nodes that need repair, with their tries so far: the next one waits for its delay.
    begun : times at which repairs of the site began.
    max_repairs_per_hour : of the site, in any hour.
    now : on the clock of the times.
    """
    left = max_repairs_per_hour - sum(now - HOUR < time <= now for time in begun)
    due = sorted((tries.failures, name) for name, tries in waiting if tries.may_try(now))
    return tuple(name for _, name in due[: max(left, 0)])


POWER_ON_RUN = "__power_on__"
"""Stands in the id of a repair that only powers nodes on: there is no run behind it."""
_HASHED = 26


def powers_on(run_id: str) -> bool:
    """Tell whether a repair of this id only powers nodes on."""
    return run_id[:-_HASHED].endswith(POWER_ON_RUN)


def repair_run_id(site: str, nodes: Mapping[str, tuple[str, int]], *, power_on: bool = False) -> str:
    """Return the id of the run that repairs these nodes, the same in each process.

    Parameters
    ----------
    nodes : node to what is wrong with it, such as its drift, and the number of the attempt at that.
    power_on : they are only powered on.
    """
    each = "\n".join(f"{name}\t{cause}\t{attempt}" for name, (cause, attempt) in sorted(nodes.items()))
    return f"{site}{POWER_ON_RUN if power_on else '__repair__'}{hashlib.sha256(each.encode()).hexdigest()[:_HASHED]}"


LOOKS = 2
POWER_IS_OFF = "power is off"
"""The reason of a drift that Slipway's own check gives where a node has lost its power, and nothing else is known."""


@dataclass(frozen=True, slots=True)
class Drift:
    """What the checks of a node have found so far.

    Attributes
    ----------
    reason : what is not as it was left, at the last look; "" where all is well.
    looks : in how many looks in a row something was found.
    since : time of the first of them.
    """

    reason: str = ""
    looks: int = 0
    since: float | None = None

    @property
    def confirmed(self) -> bool:
        """Whether it is a drift, and no blink."""
        return self.looks >= LOOKS

    def looked(self, reason: str, now: float) -> Drift:
        """Return the state after another look; "" is a look that found all well."""
        if not reason:
            return Drift()
        return Drift(reason, self.looks + 1, now if self.since is None else self.since)


def drift_status(drift: Drift, since: str) -> tuple[Status, str]:
    """Return the status of a node that was a success, and its message.

    Parameters
    ----------
    drift : what was found.
    since : time of the drift, in words.
    """
    return (Status.ERROR, f"{DRIFTED}{drift.reason}, since {since}") if drift.confirmed else (Status.SUCCESS, "")
