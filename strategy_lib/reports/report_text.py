"""The text of a report for the log, failures first (rule 20).

Nodes that succeeded are counted and not listed: a large site has thousands, and the stored report has each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from strategy_lib.goals.update import document_lines
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.reports.report import (
    Report,
    ReportedChanges,
    ReportedGroup,
    ReportedNode,
    Submission,
    culprits_of,
    seconds_between,
)
from strategy_lib.status.words import duration_words
from strategy_lib.strategy import CriterionResult

_MOST_TROUBLED = 500
_MOST_NAMES = 20
"""Names of nodes on one line."""
_WHY = {
    Reason.PREPARE_CRITERIA: "the prepare criteria were not met, so it deployed no more nodes",
    Reason.DEPLOY_CRITERIA: "the deploy criteria were not met",
    Reason.READY_CRITERIA: "the ready criteria were not met",
    Reason.DEPENDENCY: "a group it depends on failed, so it was not started",
    Reason.INTERRUPTED: "its task ended before it came to a verdict",
    Reason.NODE_STEP: "not every node is proven done",
    Reason.APPROVAL: "it was not approved",
    Reason.CANARY: "not every canary succeeded, so it began no other node",
}
# What has become of the nodes that succeeded, by the action's kind: never "deployed" of one that was destroyed.
_DONE = {Phase.DESTROY: "destroyed", Phase.RELABEL: "relabelled"}
_MOST_ROWS = 200
_LONGEST_VALUE = 60


def render(report: Report) -> str:
    """Return the report as lines of plain text for a log, what matters most first."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    action = report.action
    revision = f", revision {action.revision}" if action.revision is not None else ""
    took = duration_words(seconds_between(action.started, action.ended))
    yield f"{action.kind} of site {action.site}{revision}: {report.verdict.upper()}: {report.verdict_text}"
    run = f", run {action.run_id} of {action.dag_id}" if action.run_id is not None else ""
    user = f", asked for by {action.user}" if action.user is not None else ""
    yield f"Action {action.id}{run}{user}, {_span(action.started, action.ended)}{f', took {took}' if took else ''}"
    for title, behind in (("Failed before the groups:", False), ("Failed behind the groups:", True)):
        steps = [failed for failed in report.failed_steps if failed.behind is behind]
        if steps:
            yield title
            yield from (f"  {failed.step}: {failed.message}" for failed in steps)
    if report.rehearsal:
        yield "If every node succeeds, this is submitted, in this order:"
        yield from (f"  {_submission(submission)}" for submission in report.rehearsal)
    if report.changes is not None:
        yield from _changes(report.changes)
    critical = [group for group in report.failed_groups if group.critical]
    others = [group for group in report.failed_groups if not group.critical]
    states = {group.name: group.state for group in report.groups}
    culprits = culprits_of(report.groups)
    for title, failed_groups in (("Critical groups that failed:", critical), ("Other groups that failed:", others)):
        if failed_groups:
            yield title
            for group in failed_groups:
                yield from _failed_group(group, states, culprits)
    yield from _troubled_nodes(report.nodes)
    yield from _nodes_of_steps(report)
    if report.notes:
        yield "Notes:"
        yield from (f"  {note}" for note in report.notes)
    if report.groups:
        yield "All groups, in the order they were processed:"
        done = {str(step): word for step, word in _DONE.items()}.get(action.kind)
        as_wanted = Counter(name for node in report.nodes if node.as_wanted for name in node.groups)
        yield from _group_table(report.groups, done, as_wanted, culprits)
    if report.nodes and report.rehearsal is None:
        yield _node_counts(report.nodes)


def _changes(changes: ReportedChanges) -> Iterator[str]:
    """Yield what would be done to which nodes, why, and which fields differ."""
    yield f"The plan {changes.summary}"
    for row in changes.rows[:_MOST_ROWS]:
        more = f" and {len(row.nodes) - _MOST_NAMES} more" if len(row.nodes) > _MOST_NAMES else ""
        allowed = f" ({row.allowed_by} changes that)" if row.allowed_by else ""
        yield f"  {row.deed} {', '.join(row.nodes[:_MOST_NAMES])}{more}: {row.why}{allowed}"
        yield from (f"    {line}" for line in document_lines(row.documents or (), _LONGEST_VALUE))
    if len(changes.rows) > _MOST_ROWS:
        yield f"  and {len(changes.rows) - _MOST_ROWS} more, which are in the stored report"


def _submission(submission: Submission) -> str:
    number = len(submission.nodes)
    nodes = f"{number} node{'s' if number != 1 else ''}: {', '.join(submission.nodes)}"
    if submission.group is None:
        return f"{submission.phase}: {nodes}"
    return f"{submission.group}: {f'{submission.phase} {nodes}' if submission.phase else 'nothing to submit'}"


def why_failed(group: ReportedGroup, states: Mapping[str, GroupState], culprits: Mapping[str, str]) -> str:
    """Say why a group failed.

    Parameters
    ----------
    group : one that failed.
    states : the state of each group of the action.
    culprits : what `culprits_of` said.
    """
    why = _WHY[group.reason] if group.reason is not None else "no reason is known"
    blocking = [name for name in group.depends_on if states.get(name) is GroupState.FAILURE]
    if group.reason is Reason.CANARY and group.counts.not_started:
        left = group.counts.not_started
        why += f": {left} {'was' if left == 1 else 'were'} not started"
    if group.reason is Reason.DEPENDENCY and blocking:
        root = culprits.get(group.name, blocking[0])
        because = f" because of {root}" if root not in blocking else ""
        why = f"it depends on {', '.join(blocking)}, which failed{because}, so it was not started"
    return why


def _failed_group(group: ReportedGroup, states: Mapping[str, GroupState], culprits: Mapping[str, str]) -> Iterator[str]:
    yield f"  {group.name}: {why_failed(group, states, culprits)}"
    for result in group.criteria:
        yield f"    {criterion_text(result)}"


def criterion_text(result: CriterionResult) -> str:
    """Say what a criterion needed, what there was, and whether it was met."""
    mark = "met" if result.met else "NOT MET"
    return f"{result.phase}: {result.criterion} needed {result.needed}, actual {result.actual}: {mark}"


def troubled_nodes(nodes: Sequence[ReportedNode]) -> Iterator[tuple[str, list[ReportedNode]]]:
    """Yield nodes in trouble, of each sort together, with what they have in common."""
    for title, state in (
        ("Nodes that failed", NodeState.FAILURE),
        ("Nodes whose outcome could not be learnt in time", NodeState.UNKNOWN),
    ):
        yield title, [node for node in nodes if node.state is state]


def _troubled_nodes(nodes: Sequence[ReportedNode]) -> Iterator[str]:
    for title, troubled in troubled_nodes(nodes):
        yield from _titled(title, [([node.name], _said_of(node.groups, node.message)) for node in troubled])
    alike = nodes_alike(node for node in nodes if node.withheld)
    withheld = [(names, _said_of(groups, message)) for names, groups, message in alike]
    yield from _titled("Nodes that were not submitted", withheld)
    not_begun = [node for node in nodes if node.state is NodeState.NOT_STARTED and not node.withheld]
    if not_begun:
        yield f"Nodes that were not started ({len(not_begun)}):"
        yield from _names_by_groups(not_begun)


def _said_of(groups: Sequence[str], message: str | None) -> str:
    return f" (in {', '.join(groups) or 'no group'}): {message or 'nothing was said'}"


def _titled(title: str, lines: Sequence[tuple[Sequence[str], str]]) -> Iterator[str]:
    """Yield a title and so many lines at most, each with its nodes and what is said of them; nothing without a line."""
    if lines:
        yield f"{title} ({sum(len(names) for names, _ in lines)}):"
        yield from (f"  {', '.join(names)}{said}" for names, said in lines[:_MOST_TROUBLED])
    if len(lines) > _MOST_TROUBLED:
        yield f"  and {sum(len(names) for names, _ in lines[_MOST_TROUBLED:])} more"


def nodes_alike(nodes: Iterable[ReportedNode]) -> Iterator[tuple[list[str], tuple[str, ...], str | None]]:
    """Yield nodes of which the same is said together: their names, a few in each, their groups, and the message.

    What keeps one node of a group often keeps hundreds.
    """
    alike: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
    for node in nodes:
        alike.setdefault((node.groups, node.message), []).append(node.name)
    for (groups, message), names in alike.items():
        for first in range(0, len(names), _MOST_NAMES):
            yield names[first : first + _MOST_NAMES], groups, message


def nodes_of_steps(report: Report) -> Iterator[tuple[str, list[ReportedNode]]]:
    """Yield nodes that got new labels, or were removed, below their titles: those first of which that is not proven."""
    for nodes, good, bad in (
        (report.relabelled, "Nodes with new labels", "Nodes whose new labels are not proven"),
        (report.removed, "Nodes that left the design and were destroyed", "Nodes that left the design and remain"),
    ):
        done = [node for node in nodes if node.state is NodeState.SUCCESS]
        not_done = [node for node in nodes if node.state is not NodeState.SUCCESS]
        yield from ((title, found) for title, found in ((bad, not_done), (good, done)) if found)


def _nodes_of_steps(report: Report) -> Iterator[str]:
    for title, nodes in nodes_of_steps(report):
        if nodes[0].state is NodeState.SUCCESS:
            yield f"{title} ({len(nodes)}):"
            yield from _names_by_groups(nodes, "")
        else:
            yield from _titled(title, [([node.name], f": {node.message or node.state}") for node in nodes])


def _names_by_groups(nodes: Sequence[ReportedNode], no_group: str = "in no group: ") -> Iterator[str]:
    """Yield a line for all nodes of the same groups: why they were not started is said of the groups."""
    names: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        names.setdefault(node.groups, []).append(node.name)
    for groups, found in names.items():
        more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
        where = f"in {', '.join(groups)}: " if groups else no_group
        yield f"  {where}{', '.join(found[:_MOST_NAMES])}{more}"


def _group_table(
    groups: Sequence[ReportedGroup], done: str | None, as_wanted: Mapping[str, int], culprits: Mapping[str, str]
) -> Iterator[str]:
    """Yield one line for each group.

    Parameters
    ----------
    done : the word for a node step's success, None where groups are deployed.
    as_wanted : how many of each group's nodes were not submitted (rule 21); the column is left out when there is none.
    culprits : the group at the root of each that did not run because of another.
    """
    progress: tuple[str, ...] = ("prepared", "deployed") if done is None else (done,)
    progress += ("as wanted",) if as_wanted else ()
    header = ("group", "critical", "state", "reason", "nodes", *progress, "failed", "unknown", "took")
    rows = [
        (
            group.name if group.attempt == 1 else f"{group.name} (attempt {group.attempt})",
            "yes" if group.critical else "no",
            str(group.state),
            f"blocked by {culprits[group.name]}" if group.name in culprits else str(group.reason or "-"),
            str(group.counts.total),
            *((str(group.counts.prepared),) if done is None else ()),
            str(group.counts.succeeded),
            *((str(as_wanted.get(group.name, 0)),) if as_wanted else ()),
            str(group.counts.failed),
            str(group.counts.unknown),
            duration_words(group.seconds) or "-",
        )
        for group in groups
    ]
    yield from _table([header, *rows])
    judged = [(group.name, result) for group in groups for result in group.criteria]
    if judged:
        yield "Criteria:"
        yield from (f"  {name}: {criterion_text(result)}" for name, result in judged)


def _node_counts(nodes: Sequence[ReportedNode]) -> str:
    states = Counter(node.state for node in nodes)
    as_wanted = sum(1 for node in nodes if node.as_wanted)
    already = f" ({as_wanted} as wanted already, not submitted)" if as_wanted else ""
    counted = (
        f"{states[state]} {state}{already if state is NodeState.SUCCESS else ''}"
        for state in reversed(NodeState)
        if states[state]
    )
    every = "The one node, which is" if len(nodes) == 1 else f"All {len(nodes)} nodes, which are"
    return f"{every} in the stored report: {', '.join(counted)}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _span(started: datetime | None, ended: datetime | None) -> str:
    def shown(time: datetime | None) -> str:
        return time.isoformat(sep=" ", timespec="seconds") if time is not None else "not known"

    return f"started {shown(started)}, ended {shown(ended)}"
