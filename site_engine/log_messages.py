"""The log that an operator reads: what takes it, and the sentences about groups and operations. Decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from site_store import GroupRecord, Operation
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import CriterionResult
from strategy_lib.verdict import GroupView

_SHOWN = 40


class TaskLog(Protocol):
    """Takes sentences with ``%`` arguments."""

    def info(self, event: str, /, *args: Any) -> Any:
        """Tell what happens."""

    def warning(self, event: str, /, *args: Any) -> Any:
        """Tell what deserves a second look."""

    def error(self, event: str, /, *args: Any) -> Any:
        """Tell what went wrong."""


class Level(StrEnum):
    """How loud a line is: each level is also the name of a method of `TaskLog`."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A sentence, and how loud it is said."""

    text: str
    level: Level = Level.INFO

    def write(self, log: TaskLog) -> None:
        """Say it. A percent sign in it is one, and no placeholder."""
        getattr(log, self.level.value)("%s", self.text)


def names(nodes: Collection[str]) -> str:
    """Return node names, sorted; a long list is cut and says by how much."""
    ordered = sorted(nodes)
    if len(ordered) <= _SHOWN:
        return ", ".join(ordered) or "none"
    return f"{', '.join(ordered[:_SHOWN])} and {len(ordered) - _SHOWN} more"


def count(number: int, noun: str) -> str:
    """Return ``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def opening(record: GroupRecord) -> str:
    """Say which group this is, and whether it is another attempt."""
    kind = "critical" if record.critical else "not critical"
    again = f", attempt {record.attempt}" if record.attempt > 1 else ""
    return f"Group {record.name} ({kind}{again}): {count(len(record.nodes), 'node')}: {names(record.nodes)}."


def word(phase: Phase) -> str:
    """Return ``Prepare``, ``Destroy``, …"""
    return phase.value.removesuffix("_nodes").capitalize()


def submission(phase: Phase, operation: Operation) -> str:
    """Say what is sent."""
    return (
        f"{word(phase)}: sending {count(len(operation.nodes), 'node')}: {names(operation.nodes)} "
        f"(reference {operation.reference})."
    )


def withheld(reasons: Mapping[str, str]) -> Iterator[str]:
    """Say which nodes are not submitted, and why: those with the same reason on one line."""
    for reason, nodes in by_reason(reasons).items():
        yield f"Not submitted: {names(nodes)}: {reason}."


def by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason, []).append(name)
    return grouped


def _origin(operation: Operation) -> str:
    what = f"{operation.phase} of group {operation.group}" if operation.group is not None else operation.phase.value
    return f"{what}, action {operation.action_id}"


def older_operation(operation: Operation) -> str:
    """Say that an earlier provisioner task may still hold nodes."""
    task = f"Provisioner task {operation.provisioner_task}" if operation.provisioner_task else "A provisioner task"
    return f"{task} ({_origin(operation)}) was not seen to be over: looking at it first."


def held(operation: Operation, unreachable: str = "") -> str:
    """Say for a node what holds it, since when, and what helps. A sentence without its full stop.

    ``unreachable`` names the connection over which its provisioner cannot be asked about it, and why; empty if it can.
    """
    if operation.provisioner_task is None:
        since = f"was sent at {_moment(operation.sending)}, its answer was lost, and it may still take effect"
        task = f"a provisioner task ({_origin(operation)}), which {since}"
    else:
        running, queued = operation.running_since, operation.submitted
        since = f"runs since {_moment(running)}" if running else f"was submitted at {_moment(queued)}"
        task = f"provisioner task {operation.provisioner_task} ({_origin(operation)}), which {since}"
    if unreachable:
        return (
            f"held by {task}, and cannot be asked about: {unreachable}. What helps: mend that connection in Airflow, "
            "then clear the failed task, or create the action again; or create it with ignore_older_tasks"
        )
    return (
        f"held by {task}, and was not seen to be over. What helps: wait until it is over, then clear the failed task "
        "in Airflow, or create the action again; or create it with ignore_older_tasks"
    )


def left_out(phase: Phase, nodes: Collection[str], why: str) -> str:
    """Say which nodes are not submitted, because an older provisioner task holds them: ``why`` is from `held`."""
    return f"{word(phase)}: left out: {names(nodes)}: {why}"


def _moment(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else "an unknown time"


def outcome(
    phase: Phase,
    operation: Operation,
    ended: str,
    result: Outcome,
    superseded: Collection[str],
) -> Iterator[LogLine]:
    """Say what came back, node by node where it is not plain success: failed nodes as errors.

    Parameters
    ----------
    ended : how the provisioner task ended, in words.
    """
    yield LogLine(
        f"{word(phase)}: provisioner task {operation.provisioner_task} {ended}: "
        f"{len(result.succeeded)} succeeded, {len(result.failed)} failed, {len(result.unknown)} unknown."
    )
    for state, nodes, level in (
        ("failed", result.failed, Level.ERROR),
        ("unknown", result.unknown, Level.WARNING),
    ):
        for name in sorted(nodes)[:_SHOWN]:
            yield LogLine(f"  {name} {state}: {result.notes.get(name, 'no message')}", level)
        if len(nodes) > _SHOWN:
            yield LogLine(f"  and {len(nodes) - _SHOWN} more {state}", level)
    if result.ignored:
        yield LogLine(f"  Ignored, because they were not sent: {names(result.ignored)}.")
    if superseded:
        yield LogLine(f"  Not applied, because a newer operation owns them: {names(superseded)}.")


def judged(result: CriterionResult) -> LogLine:
    """Say one criterion with needed and actual: one that is not met as an error."""
    return LogLine(criterion(result), Level.INFO if result.met else Level.ERROR)


def criterion(result: CriterionResult) -> str:
    """Say one criterion with needed and actual."""
    verdict = "met" if result.met else "NOT met"
    return f"After {result.phase.value}: {result.criterion} needed {result.needed}, actual {result.actual}: {verdict}."


def verdict(view: GroupView) -> LogLine:
    """Say a group's verdict; a failure is an error, unless another group is to blame."""
    reason = f" ({view.reason.value})" if view.reason else ""
    own_failure = view.state is GroupState.FAILURE and view.reason is not Reason.DEPENDENCY
    return LogLine(f"Verdict: {view.state.value}{reason}.", Level.ERROR if own_failure else Level.INFO)


def failure(record: GroupRecord) -> str:
    """Return the one sentence with which a failed group's task ends."""
    reason = record.reason.value if record.reason else "unknown"
    unmet = [criterion(result) for result in record.criteria if not result.met]
    return f"group {record.name} failed: {reason}" + (f". {' '.join(unmet)}" if unmet else "")


def failed_critical(groups: Iterable[GroupRecord]) -> str:
    """Say which critical groups have not succeeded; "" where all have."""
    missing = [group.name for group in groups if group.critical and group.state is not GroupState.SUCCESS]
    return f"critical group{'s' if len(missing) > 1 else ''} {', '.join(missing)} failed" if missing else ""
