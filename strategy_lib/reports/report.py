"""The report of an action (rules 19 and 20): its values, its verdict, its JSON form. Its text is `report_text.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from strategy_lib.criteria import CriterionResult
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Reason, Verdict
from strategy_lib.reports.report_changes import ReportedChanges
from strategy_lib.verdict import GroupCounts, Judgement, verdict_on

NO_NODES = GroupCounts(total=0, prepared=0, succeeded=0, failed=0, unknown=0, not_started=0)


@dataclass(frozen=True, slots=True)
class ReportedAction:
    """The request that the report is about. Times carry a time zone; None where they are not known."""

    id: str
    site: str
    kind: str
    revision: int | None = None
    dag_id: str | None = None
    run_id: str | None = None
    user: str | None = None
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step outside of the groups that failed, such as `verify_site`, and what was said about it.

    `behind` says that it is one that comes after the groups.
    """

    step: str
    message: str
    behind: bool = False


@dataclass(frozen=True, slots=True)
class ReportedGroup:
    """A group at the end of the action, in processing order.

    Attributes
    ----------
    criteria : every criterion that was judged, met or not.
    counts : states of its nodes at the end.
    attempt : 1 for the first; more when a person had it run again (rule 23).
    """

    name: str
    critical: bool
    state: GroupState
    reason: Reason | None = None
    depends_on: tuple[str, ...] = ()
    criteria: tuple[CriterionResult, ...] = ()
    counts: GroupCounts = NO_NODES
    attempt: int = 1
    started: datetime | None = None
    ended: datetime | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took, in seconds."""
        return seconds_between(self.started, self.ended)


@dataclass(frozen=True, slots=True)
class ReportedNode:
    """A node at the end of the action: its state, the groups it is in, and the provisioner's words about it.

    `as_wanted` is a success that the action found and did not bring about: the node was not submitted (rule 21).
    `withheld` is a node that was not submitted though it is not as wanted: the message says why.
    """

    name: str
    state: NodeState
    groups: tuple[str, ...] = ()
    message: str | None = None
    as_wanted: bool = False
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """What a dry run would submit: `nodes` of a `group` for a `phase`; without phase, a group has nothing to submit.

    A node step, such as destroy_nodes, is done to named nodes before any group: it has no `group`.
    """

    group: str | None
    phase: str | None
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What became of an action (rule 20). `verdict_text` is one sentence that says why.

    `rehearsal` is what a dry run would submit, in order, if every node succeeded; None when it was no dry run.
    `changes` is what it says has to be done to nodes; None where it has no plan.
    `relabelled` are nodes that were to get new labels in place, `removed` those that left the design and were to be
    destroyed: each with what came of that.
    """

    action: ReportedAction
    verdict: Verdict
    verdict_text: str
    groups: tuple[ReportedGroup, ...] = ()
    nodes: tuple[ReportedNode, ...] = ()
    failed_steps: tuple[FailedStep, ...] = ()
    notes: tuple[str, ...] = ()
    rehearsal: tuple[Submission, ...] | None = None
    changes: ReportedChanges | None = None
    relabelled: tuple[ReportedNode, ...] = ()
    removed: tuple[ReportedNode, ...] = ()

    @property
    def failed_groups(self) -> tuple[ReportedGroup, ...]:
        """All groups that failed, critical or not."""
        return tuple(group for group in self.groups if group.state is GroupState.FAILURE)


def seconds_between(started: datetime | None, ended: datetime | None) -> float | None:
    """Return the seconds between two times, None when one of them is not known."""
    return (ended - started).total_seconds() if started is not None and ended is not None else None


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as JSON values; times as ISO 8601 text. `from_dict` reads it back to an equal report."""
    data: dict[str, Any] = _plain(asdict(report))
    for group, record in zip(data["groups"], report.groups, strict=True):
        group["seconds"] = record.seconds
    return data


def from_dict(data: Mapping[str, Any]) -> Report:
    """Read a report written by `to_dict`, also by an older version."""
    return msgspec.convert(data, Report)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(below) for below in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, str) else value


def build_report(
    action: ReportedAction,
    groups: Iterable[ReportedGroup] = (),
    nodes: Iterable[ReportedNode] = (),
    failed_steps: Iterable[FailedStep] = (),
    notes: Iterable[str] = (),
    *,
    relabelled: Iterable[ReportedNode] = (),
    removed: Iterable[ReportedNode] = (),
) -> Report:
    """Make the report of an action that is over.

    Parameters
    ----------
    groups : in processing order. One that is still pending or running was interrupted, and so has failed.
    relabelled, removed : see `Report`.
    """
    in_place, gone = tuple(relabelled), tuple(removed)
    judged, considered = tuple(_judged(group) for group in groups), tuple(nodes)
    steps = tuple(failed_steps)
    judgement = verdict_on(judged, steps)
    text = _sentence(judgement, steps)
    grouped = [node for node in considered if node.groups]
    withheld = sum(1 for node in grouped if node.withheld)
    if judgement.verdict is Verdict.SUCCESS and grouped and all(node.as_wanted for node in grouped) and not gone:
        text += "; nothing was submitted, as every node was as wanted already"
    if withheld:
        text += f"; {withheld} {'node was' if withheld == 1 else 'nodes were'} not submitted: the report says why"
    for word, nodes_of_step in (("relabelled", in_place), ("removed", gone)):
        number = sum(1 for node in nodes_of_step if node.state is NodeState.SUCCESS)
        if number:
            text += f"; {number} {'node was' if number == 1 else 'nodes were'} {word}"
    return Report(
        action,
        judgement.verdict,
        text,
        judged,
        considered,
        steps,
        tuple(notes),
        relabelled=in_place,
        removed=gone,
    )


def _sentence(judgement: Judgement, failed_steps: Sequence[FailedStep]) -> str:
    """Return why this is the verdict, what matters most first."""
    others = _groups("non-critical", judgement.others) if judgement.others else ""
    before = [step.step for step in failed_steps if not step.behind]
    if before:
        return f"failed before the groups: {', '.join(before)}"
    if judgement.critical:
        return f"{_groups('critical', judgement.critical)} failed" + (f"; {others} failed too" if others else "")
    if judgement.unprocessed:
        return "no group was processed to its end"
    if judgement.nothing:
        return f"{judgement.nothing}, so nothing was deployed"
    good = f"every critical group succeeded; {others} failed" if others else "every group succeeded"
    if failed_steps:
        return f"{good}, and what follows failed: {', '.join(step.step for step in failed_steps)}"
    return good


def _judged(group: ReportedGroup) -> ReportedGroup:
    if group.state in (GroupState.SUCCESS, GroupState.FAILURE):
        return group
    return replace(group, state=GroupState.FAILURE, reason=Reason.INTERRUPTED)


def _groups(kind: str, names: Sequence[str]) -> str:
    return f"{kind} group{'s' if len(names) > 1 else ''} {', '.join(names)}"
