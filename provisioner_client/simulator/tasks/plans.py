"""The course of one node through one task, decided at its start: attempts with times, lists, machine changes. Pure.

Times are seconds since the epoch (real clock), already divided by the speed, so that a stored plan survives a restart.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from provisioner_client.simulator.machines import (
    AT_ONCE_SECONDS,
    DONE,
    DURING,
    FAILED,
    MachineStatus,
    Start,
    Work,
    start_of,
)
from provisioner_client.simulator.scripts import HARDWARE_STAGE, STAGES, Behaviour, Script

# Drydock repeats what has failed, except labels.
ATTEMPTS_OF_A_FAILURE = {Work.PREPARE: 4, Work.DEPLOY: 4, Work.DESTROY: 4, Work.RELABEL: 1}
LONGEST_HOSTNAME = 32
_RETRY_SHARE = 0.1
# What Drydock's own retry says where the first attempt has run out of time.
_SKIPPED = {
    Work.PREPARE: "Node {} already being commissioned, skipping",
    Work.DEPLOY: "Node {} already deployed or deploying, skipping",
    Work.DESTROY: "Could not locate machine for node {}",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One leaf of Drydock's task tree: `stage` from 1, `retry` from 0, `ok` None for a crash, `end` None for never.

    `both`: it failed, and has the node among its successes besides.
    """

    stage: int
    retry: int
    start: float
    end: float | None
    ok: bool | None
    message: str | None = None
    both: bool = False


@dataclass(frozen=True, slots=True)
class MachineChange:
    """What MAAS does on its own once begun at `at`: the status `during` it, and `after` it at `then` (None: never)."""

    at: float
    during: MachineStatus | None
    then: float | None = None
    after: MachineStatus | None = None
    power: str | None = None


@dataclass(frozen=True, slots=True)
class NodePlan:
    """The whole course; `start` None: no thread was ever free for it, `end` None: it never ends."""

    node: str
    start: float | None
    end: float | None
    attempts: tuple[Attempt, ...] = ()
    succeeded: bool = False
    failed: bool = False
    change: MachineChange | None = None

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_data(data: dict[str, Any]) -> NodePlan:
        change = data["change"]
        if change is not None:
            during, after = (change[key] and MachineStatus(change[key]) for key in ("during", "after"))
            change = MachineChange(change["at"], during, change["then"], after, change["power"])
        attempts = tuple(Attempt(**attempt) for attempt in data["attempts"])
        return NodePlan(**{**data, "attempts": attempts, "change": change})


@dataclass(frozen=True, slots=True)
class Submission:
    """A node as a task finds it; `attempt` counts its submissions from 1, `seconds` are simulated, per stage.

    `booted`: the design has boot actions, be it for other nodes.
    """

    node: str
    phase: Work
    status: MachineStatus
    attempt: int
    script: Script | None
    seconds: tuple[float, ...]
    booted: bool = True


class _Ending(StrEnum):
    OK = "ok"
    FAIL = "fail"
    CRASH = "crash"
    STUCK = "stuck"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class _Course:
    """How and at which stage (index) a submission ends, and what becomes of the machine (None: left alone).

    A failure is tried again: each retry says `echo` if there is one, else `message`. With `outlasts` the work on the
    machine itself runs out of time, the retry takes it for done, and MAAS ends it so many times as late; a machine that
    is released is deleted at once.
    """

    ending: _Ending
    stage: int
    succeeded: bool = False
    failed: bool = False
    after: MachineStatus | None = None
    message: str | None = None
    echo: str | None = None
    power: str | None = None
    outlasts: float | None = None


def schedule(submissions: Sequence[Submission], now: float, speed: float, fan_out: int) -> list[NodePlan]:
    """Plan all nodes of a task, `fan_out` of them at a time, in the order given."""
    free = [now] * fan_out
    plans = []
    for submission in submissions:
        if not free:
            plans.append(NodePlan(submission.node, None, None))
            continue
        plan = plan_node(submission, heapq.heappop(free), speed)
        if plan.end is not None:
            heapq.heappush(free, plan.end)
        plans.append(plan)
    return plans


def plan_node(submission: Submission, start: float, speed: float) -> NodePlan:
    """Plan one node that starts at `start`."""
    course = _course(submission)
    works = start_of(submission.phase, submission.status) is Start.WORK
    seconds = submission.seconds if works else (AT_ONCE_SECONDS,) * len(submission.seconds)
    factor = submission.script.factor if submission.script and submission.script.behaviour is Behaviour.SLOW else 1.0
    spans = [one * factor / speed for one in seconds]
    hardware = STAGES[submission.phase].index(HARDWARE_STAGE[submission.phase])
    attempts: list[Attempt] = []
    change = None if course.power is None else MachineChange(start, None, power=course.power)
    now: float | None = start
    for index, span in enumerate(spans):
        if now is None or index > course.stage:
            break
        if index == hardware and course.after is not None and (works or _is_deleted(submission)):
            stays = course.ending is _Ending.STUCK and index == course.stage
            # MAAS was not told to deploy a machine that stays allocated.
            during = course.after if course.after is MachineStatus.ALLOCATED else DURING[submission.phase]
            change = MachineChange(now, during, None if stays else now + span * (course.outlasts or 1.0), course.after)
        ending = course.ending if index == course.stage else _Ending.OK
        if index == hardware and course.outlasts is not None:
            ending = _Ending.SKIPPED
        attempts += _attempts(submission.phase, ending, index + 1, now, span, course)
        now = attempts[-1].end
    return NodePlan(submission.node, start, now, tuple(attempts), course.succeeded, course.failed, change)


def release(plan: NodePlan, submission: Submission, now: float, speed: float) -> NodePlan:
    """Let a stuck node go on from now: the stuck stage ends well at once, the others follow, the node succeeds."""
    stuck = plan.attempts[-1]
    attempts = [*plan.attempts[:-1], replace(stuck, end=now, ok=True)]
    for stage in range(stuck.stage + 1, len(submission.seconds) + 1):
        start = attempts[-1].end or now
        attempts.append(Attempt(stage, 0, start, start + submission.seconds[stage - 1] / speed, True))
    hardware = STAGES[submission.phase].index(HARDWARE_STAGE[submission.phase]) + 1
    change = plan.change
    if change is not None and change.then is None:
        change = replace(change, then=now)
    elif change is None and stuck.stage < hardware:
        worked = attempts[hardware - 1]
        change = _change(submission.phase, worked.start, worked.end)
    return replace(plan, end=attempts[-1].end, attempts=tuple(attempts), succeeded=True, change=change)


def _change(phase: Work, start: float, end: float | None) -> MachineChange | None:
    """Return what MAAS does for a phase that goes well; None where it has no part in it."""
    return MachineChange(start, DURING[phase], end, DONE[phase]) if phase in DONE else None


def _is_deleted(submission: Submission) -> bool:
    """Return whether a machine is only deleted: one that need not be released, and that MAAS knows of."""
    return submission.phase is Work.DESTROY and submission.status is not MachineStatus.NEW


def _attempts(phase: Work, ending: _Ending, stage: int, start: float, span: float, course: _Course) -> list[Attempt]:
    if ending is _Ending.OK:
        return [Attempt(stage, 0, start, start + span, True)]
    if ending is _Ending.CRASH:
        return [Attempt(stage, 0, start, start + span, None)]
    if ending is _Ending.STUCK:
        return [Attempt(stage, 0, start, None, None)]
    both = ending is _Ending.SKIPPED and phase is Work.DESTROY
    attempts = [Attempt(stage, 0, start, start + span, False, course.message, both)]
    said = course.echo or course.message
    if ending is _Ending.SKIPPED:
        return [*attempts, Attempt(stage, 1, start + span, start + span * (1 + _RETRY_SHARE), True, said)]
    for retry in range(1, ATTEMPTS_OF_A_FAILURE[phase]):
        before = attempts[-1].end or start
        attempts.append(Attempt(stage, retry, before, before + span * _RETRY_SHARE, False, said))
    return attempts


def _course(submission: Submission) -> _Course:
    phase, script = submission.phase, submission.script
    stages = STAGES[phase]
    last, hardware = len(stages) - 1, stages.index(HARDWARE_STAGE[phase])
    behaviour = _behaviour(submission)
    done, failed = DONE.get(phase), FAILED.get(phase)
    message = (script.message if script else None) or _failure_message(submission.node, phase)
    stage = stages.index(script.stage) if script and script.stage else hardware
    if len(submission.node) > LONGEST_HOSTNAME or behaviour is Behaviour.UNREPORTED:
        return _Course(_Ending.CRASH, hardware)
    if start_of(phase, submission.status) is Start.REFUSED:
        # A prepare gets as far as the hardware; that the stages before it went well puts the node into both lists.
        both = phase is Work.PREPARE
        refusal = f"Located node {submission.node} in MaaS, unknown status {submission.status}. Skipping."
        return _Course(_Ending.FAIL, hardware if both else 0, succeeded=both, failed=True, message=refusal)
    if behaviour is Behaviour.UNREPORTED_DONE:
        return _Course(_Ending.CRASH, hardware, after=done)
    works = start_of(phase, submission.status) is Start.WORK
    if behaviour is Behaviour.TAKEN_FOR_DONE and script is not None and works:
        released = phase is Work.DESTROY
        what = "release timed out" if released else f"timed out in {DURING[phase]}"
        return _Course(
            _Ending.OK,
            last,
            succeeded=True,
            after=done,
            message=script.message or f"Node {submission.node} {what}",
            echo=_SKIPPED[phase].format(submission.node),
            outlasts=1.0 if released else script.factor,
        )
    if behaviour is Behaviour.FALSE_SUCCESS:
        # A destroyed machine that is still there simply stays as it was.
        return _Course(_Ending.OK, last, succeeded=True, after=None if phase is Work.DESTROY else failed)
    if behaviour is Behaviour.BOTH_LISTS:
        echo = _echo(submission, failed)
        return _Course(_Ending.FAIL, hardware, succeeded=True, failed=True, after=failed, message=message, echo=echo)
    if behaviour is Behaviour.POWER:
        if phase is Work.PREPARE:
            # Drydock's own IPMI; its driver's error is not caught: no node is reported, and the leaf stays running.
            return _Course(_Ending.CRASH, 0, power="unknown")
        return _Course(_Ending.FAIL, 0, failed=True, message=f"Node {submission.node} has no power", power="unknown")
    if behaviour is Behaviour.STUCK:
        return _Course(_Ending.STUCK, stage, after=done if stage >= hardware else None)
    if behaviour is Behaviour.FAIL:
        # A prepare that got past its first stage is reported as succeeded there and failed here: both lists.
        after = {True: failed, False: done if stage > hardware else None}[stage == hardware]
        both = phase is Work.PREPARE and stage > 0
        echo = _echo(submission, after)
        return _Course(_Ending.FAIL, stage, succeeded=both, failed=True, after=after, message=message, echo=echo)
    if phase is Work.DEPLOY and not submission.booted and works:
        # The driver takes for granted that there are boot actions: no node is reported.
        return _Course(_Ending.CRASH, hardware, after=MachineStatus.ALLOCATED)
    return _Course(_Ending.OK, last, succeeded=True, after=done)


def _echo(submission: Submission, after: MachineStatus | None) -> str | None:
    """Return what Drydock's retries say where they only find the machine as the first attempt left it."""
    if submission.phase is not Work.DEPLOY or after is not MachineStatus.FAILED_DEPLOYMENT:
        return None
    return f"Unexpected status {after} for node {submission.node}, skipping deployment."


def _failure_message(node: str, phase: Work) -> str:
    if phase is Work.DESTROY:
        return f"Error Releasing node {node}, skipping"
    if phase is Work.RELABEL:
        return f"Failed to label node {node}"
    said = FAILED[phase].value
    return f"Node {node} {said[0].lower()}{said[1:]}"


def _behaviour(submission: Submission) -> Behaviour:
    script = submission.script
    if script is None:
        return Behaviour.OK
    if script.behaviour is Behaviour.FLAKY:
        return Behaviour.FAIL if submission.attempt <= script.times else Behaviour.OK
    return script.behaviour
