"""The report of an action (rules 19 and 20): its values, its verdict, its JSON form. Its text is `report_text.py`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from strategy_lib.goals.update import PlanRow
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Reason, Verdict
from strategy_lib.status.entry import Role
from strategy_lib.status.tree import GroupStanding, blame_groups
from strategy_lib.strategy import CriterionResult
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
class ReportedChanges:
    """What a dry run's plan does: the line that it opens with, and its rows."""

    summary: str = ""
    rows: tuple[PlanRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What became of an action (rule 20). `verdict_text` is one sentence that says why.

    `rehearsal` is what a dry run would submit, in order, if every node succeeded; None when it was no dry run.
    `changes` is what it says has to be done to nodes; None where it has no plan.
    `relabelled` are nodes that were to get new labels in place, `removed` those that left the design and were to be
    destroyed: each with what came of that. `left_alone` is how many nodes of critical groups were neither submitted nor
    proven though the action is a success.
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
    left_alone: int = 0

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
    critical = frozenset(group.name for group in judged if group.critical)
    left = [node for node in considered if node.state in _NOT_PROVEN and not critical.isdisjoint(node.groups)]
    if judgement.verdict is not Verdict.SUCCESS:
        left = []
    text = _sentence(judgement, steps, judged, _left_alone(left, judged))
    grouped = [node for node in considered if node.groups]
    told = {node.name for node in left}
    withheld = sum(1 for node in grouped if node.withheld and node.name not in told)
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
        left_alone=len(left),
    )


_NOT_PROVEN = frozenset({NodeState.NOT_STARTED, NodeState.PREPARED, NodeState.UNKNOWN})
_MOST_REASONS = 2


def culprits_of(groups: Iterable[ReportedGroup]) -> dict[str, str]:
    """Return for each group that did not run because of another the one at the root, which failed by itself."""
    blames = blame_groups(GroupStanding(group.name, group.depends_on, group.state, group.reason) for group in groups)
    return {name: blame.culprit for name, blame in blames.items() if blame.role is Role.VICTIM}


def _sentence(
    judgement: Judgement, failed_steps: Sequence[FailedStep], groups: Sequence[ReportedGroup], left: str
) -> str:
    """Return why this is the verdict, what matters most first; `left` says which nodes were left alone."""
    before = [step.step for step in failed_steps if not step.behind]
    if before:
        return f"failed before the groups: {', '.join(before)}"
    if judgement.critical:
        return _failures(groups)
    if judgement.unprocessed:
        return "no group was processed to its end"
    if judgement.nothing:
        return f"{judgement.nothing}, so nothing was deployed"
    good = "every critical group succeeded" if judgement.others else "every group succeeded"
    if left:
        good = f"success by its criteria; {left}"
    if judgement.others:
        good += f"; {_failures(groups)}"
    if failed_steps:
        return f"{good}, and what follows failed: {', '.join(step.step for step in failed_steps)}"
    return good


def _failures(groups: Sequence[ReportedGroup]) -> str:
    """Say which groups failed by themselves, and which were blocked by them and never ran."""
    failed = [group for group in groups if group.state is GroupState.FAILURE]
    roots = [group for group in failed if group.reason is not Reason.DEPENDENCY]
    critical = [group.name for group in roots if group.critical]
    others = [group.name for group in roots if not group.critical]
    said = [f"{_groups('critical', critical)} failed"] if critical else []
    if others:
        said.append(f"{_groups('non-critical', others)} failed{' too' if critical else ''}")
    culprits = culprits_of(groups)
    blocked: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for group in failed:
        if group.reason is Reason.DEPENDENCY:
            # That a critical one is among them makes the failure where no critical one failed by itself.
            decides = group.critical and not critical
            blocked[culprits.get(group.name, ""), decides].append(group.name)
    for (culprit, decides), names in blocked.items():
        by = "a failed group" if not culprit else "it" if len(roots) == 1 else culprit
        who = _groups("critical", names) if decides else _enumerated(names)
        said.append(f"{who} {'was' if len(names) == 1 else 'were'} blocked by {by}")
    return "; ".join(said)


def _left_alone(nodes: Sequence[ReportedNode], groups: Sequence[ReportedGroup]) -> str:
    """Say of nodes of critical groups that were neither submitted nor proven how many there are, and why."""
    unknown = [node for node in nodes if node.state is NodeState.UNKNOWN]
    rest = [node for node in nodes if node.state is not NodeState.UNKNOWN]
    said = []
    for found, one, many in ((rest, "was left alone", "were left alone"), (unknown, "is unknown", "are unknown")):
        if found:
            theirs = frozenset(name for node in found for name in node.groups)
            names = [group.name for group in groups if group.critical and group.name in theirs]
            number = f"{len(found)} {'node' if len(found) == 1 else 'nodes'}"
            said.append(f"{number} of {_enumerated(names)} {one if len(found) == 1 else many}: {_reasons(found)}")
    return "; ".join(said)


def _reasons(nodes: Sequence[ReportedNode]) -> str:
    """Return what is said of nodes, the most frequent first."""
    tally = Counter(node.message or "nothing was said" for node in nodes)
    if len(tally) == 1:
        return next(iter(tally))
    shown = [f"{message} ({number})" for message, number in tally.most_common(_MOST_REASONS)]
    rest = len(tally) - len(shown)
    return ", ".join(shown) + (f", and {rest} other reason{'s' if rest > 1 else ''}" if rest else "")


def _enumerated(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _judged(group: ReportedGroup) -> ReportedGroup:
    if group.state in (GroupState.SUCCESS, GroupState.FAILURE):
        return group
    return replace(group, state=GroupState.FAILURE, reason=Reason.INTERRUPTED)


def _groups(kind: str, names: Sequence[str]) -> str:
    return f"{kind} group{'s' if len(names) > 1 else ''} {', '.join(names)}"
