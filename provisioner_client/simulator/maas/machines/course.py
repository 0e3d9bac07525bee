"""The course of one action on a machine, decided as it begins: what happens when, and what its script changes. Pure.

Times are seconds since the epoch (real clock), already divided by the speed, so that stored steps survive a restart.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from provisioner_client.simulator.maas.events import MARKED_FAILED
from provisioner_client.simulator.maas.machines.machine import DEBUG, ERROR, INFO, Step
from provisioner_client.simulator.maas.machines.script_sets import COMMISSIONING, INSTALLATION, SCRIPTS, TESTING
from provisioner_client.simulator.maas.machines.statuses import FAILURE_OF, TIME_LIMITS
from provisioner_client.simulator.machines import MachineStatus as S
from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.scripts import Behaviour, Script, ScriptForm

STAGES = {
    Work.PREPARE: ("commissioning", "testing"),
    Work.DEPLOY: ("deploying",),
    Work.DESTROY: ("releasing", "erasing"),
}
_ALWAYS = frozenset(
    {
        Behaviour.OK,
        Behaviour.FAIL,
        Behaviour.SLOW,
        Behaviour.STUCK,
        Behaviour.FLAKY,
        Behaviour.POWER,
        Behaviour.SILENT,
    }
)
MAAS_SCRIPTS = ScriptForm(
    STAGES,
    {
        Work.PREPARE: _ALWAYS,
        Work.DEPLOY: _ALWAYS | {Behaviour.NO_NETWORK, Behaviour.NO_ADDRESSES},
        Work.DESTROY: _ALWAYS,
    },
)

POWER_SECONDS = 6.0
_SECONDS = {"commissioning": 240.0, "testing": 60.0, "deploying": 570.0, "releasing": 15.0, "erasing": 400.0}
# The machine reports so often in a stage; MAAS's time limit begins anew with each report.
_REPORTS = {"commissioning": 8, "testing": 4, "deploying": 4, "releasing": 1, "erasing": 1}
_STATUS = {
    "commissioning": S.COMMISSIONING,
    "testing": S.TESTING,
    "deploying": S.DEPLOYING,
    "releasing": S.RELEASING,
    "erasing": S.DISK_ERASING,
}
_SET = {"commissioning": COMMISSIONING, "testing": TESTING, "deploying": INSTALLATION}
# What MAAS writes down of a failed script is its name alone, and no error.
_SCRIPTS_FAILED = {"commissioning": f"{SCRIPTS[COMMISSIONING][-1]} failed", "testing": f"{SCRIPTS[TESTING][-1]} failed"}
_REASONS = {
    "deploying": "Installation failed (refer to the installation log for more information).",
    "releasing": "Failed to power off node",
    "erasing": "Failed to erase disks.",
}
_BETWEEN = {
    ("commissioning", "testing"): ((INFO, "Performing hardware testing", ""),),
    # MAAS itself asks for the release then, and for nobody.
    ("erasing", "releasing"): ((INFO, "Disks erased", ""), (DEBUG, "User releasing node", "")),
}


@dataclass(frozen=True, slots=True)
class Pace:
    """What the times of a course are made from; `seed`, node and attempt give the same times in every run."""

    now: float
    speed: float
    seed: int
    node: str

    def seconds(self, stage: str, attempt: int) -> float:
        """Return the simulated seconds of a stage."""
        source = random.Random(f"{self.seed}:{self.node}:{stage}:{attempt}")
        return _SECONDS[stage] * source.uniform(0.75, 1.35)


def course(
    stages: Sequence[str], end: Step, script: Script | None, attempt: int, pace: Pace, power: str = "on"
) -> list[Step]:
    """Return the steps of an action, the power first and `end` last.

    Parameters
    ----------
    stages : of `STAGES`; the machine is in the first one's status already.
    end : what success comes to; its time is set here.
    script : what shall become of it; None: it goes well. Without a stage it is about the first one; one about a stage
        that the action does not have changes nothing.
    power : what the machine's power becomes at the beginning.
    """
    behaviour = _behaviour(script, attempt)
    turned = Step(0, POWER_SECONDS, power=power)
    steps = [turned] if power else []
    stuck_at = len(stages) + 1
    for number, stage in enumerate(stages):
        seconds = pace.seconds(stage, attempt)
        struck = script is not None and behaviour is not Behaviour.OK and stage == (script.stage or stages[0])
        if struck and script is not None and behaviour is Behaviour.SLOW:
            seconds *= script.factor
        limit = TIME_LIMITS.get(_STATUS[stage])
        silent = struck and behaviour is Behaviour.SILENT
        # Where MAAS has no limit, it waits for ever: until it is let go.
        stuck = struck and (behaviour is Behaviour.STUCK or (silent and limit is None))
        if limit is not None and (silent or seconds / _REPORTS[stage] > limit):
            minutes = int(limit / 60)
            said = f"Node operation '{_STATUS[stage]}' timed out after {minutes} minutes."
            return _timed([*steps, _failure(stage, limit, said, "Timed out")], pace)
        if struck and script is not None and behaviour is Behaviour.FAIL:
            steps.append(_failed(stage, seconds, script.message))
            if stage == "deploying":
                # It phones home all the same; MAAS writes that down, and the deployment stays failed.
                steps.append(Step(0, 30.0, events=((DEBUG, "Node installation", "'cloudinit' phoned home"),)))
            return _timed(steps, pace)
        last = number == len(stages) - 1
        result = {_SET[stage]: "Passed"} if stage in _SET else {}
        if last:
            steps.append(replace(end, after=seconds, results={**end.results, **result}))
        else:
            following = stages[number + 1]
            events = _BETWEEN.get((stage, following), ())
            steps.append(Step(0, seconds, status=_STATUS[following], results=result, events=events))
        if stuck:
            stuck_at = len(steps) - 1
    timed = _timed(steps, pace)
    return [*timed[:stuck_at], *(replace(step, at=None) for step in timed[stuck_at:])]


def power_failure(status: S, reason: str, pace: Pace) -> list[Step]:
    """Return what becomes of a deployment whose BMC does not answer: a failure, some seconds after the answer."""
    failed = ((ERROR, MARKED_FAILED, reason),)
    return _timed([Step(0, POWER_SECONDS, status=FAILURE_OF[status], power="error", events=failed)], pace)


def rescue(after: S, pace: Pace) -> list[Step]:
    """Return the way into rescue mode, or out of it."""
    return _timed([Step(0, 60.0, status=after, power="on")], pace)


def behaviour_of(script: Script | None, attempt: int) -> Behaviour:
    """Return what a script makes of this attempt; a flaky one comes to a failure or to nothing."""
    return _behaviour(script, attempt)


def _behaviour(script: Script | None, attempt: int) -> Behaviour:
    if script is None:
        return Behaviour.OK
    if script.behaviour is Behaviour.FLAKY:
        return Behaviour.FAIL if attempt <= script.times else Behaviour.OK
    return script.behaviour


def _failed(stage: str, seconds: float, message: str | None) -> Step:
    """Return the failure of a stage; of one that is made of scripts MAAS writes down no reason."""
    if stage not in _SCRIPTS_FAILED:
        return _failure(stage, seconds, message or _REASONS[stage], "Failed")
    told = ((INFO, "Script", _SCRIPTS_FAILED[stage]), (INFO, str(FAILURE_OF[_STATUS[stage]]), ""))
    return replace(_failure(stage, seconds, message or "", "Failed"), events=told)


def _failure(stage: str, seconds: float, reason: str, result: str) -> Step:
    results = {_SET[stage]: result} if stage in _SET else {}
    if stage == "commissioning":
        # The tests that were to follow never run.
        results[TESTING] = "Aborted"
    return Step(
        0,
        seconds,
        status=FAILURE_OF[_STATUS[stage]],
        events=((ERROR, MARKED_FAILED, reason),),
        results=results,
        output=reason,
    )


def _timed(steps: Sequence[Step], pace: Pace) -> list[Step]:
    """Turn simulated seconds after each other into times."""
    at, timed = pace.now, []
    for step in steps:
        real = step.after / pace.speed
        at += real
        timed.append(replace(step, at=at, after=real))
    return timed
