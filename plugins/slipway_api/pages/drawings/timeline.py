"""When each group waited, prepared and deployed: a lane for each, on one scale of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from site_store import OperationStatus
from site_store.trees.tree_facts import OperationSpan
from slipway_api.pages.wording import duration
from strategy_lib.drawing import shortened
from strategy_lib.phase import Phase
from strategy_lib.status.entry import Entry

LABEL, SCALE, LANE, TOP = 190.0, 780.0, 22.0, 24.0
_LEAST = 2.0
_PHASES: Mapping[str, str] = {
    Phase.PREPARE: "prepare",
    Phase.DEPLOY: "deploy",
    Phase.READY: "ready",
    Phase.RELEASE: "release",
    Phase.DESTROY: "destroy",
    Phase.RELABEL: "deploy",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a lane: what happened in it, and a sentence about it."""

    what: str
    x: float
    width: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A group in the timeline; a victim did not run because another group failed it."""

    name: str
    short: str
    failed: bool
    victim: bool
    y: float
    spans: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The drawing: its lanes, and the marks of its scale, each with its words."""

    width: float
    height: float
    lanes: Sequence[Lane]
    marks: Sequence[tuple[float, str]]

    @property
    def kinds(self) -> frozenset[str]:
        """Return what happened in any of the lanes, such as `destroy`."""
        return frozenset(span.what for lane in self.lanes for span in lane.spans)


def draw(
    groups: Sequence[Entry], operations: Sequence[OperationSpan], begun: datetime, until: datetime
) -> Timeline | None:
    """Draw the groups of an action that have begun.

    Parameters
    ----------
    groups : in the order of processing.
    operations : of the action's groups.
    begun, until : the time from the action's beginning to its end, or to now.

    Returns
    -------
    Timeline or None
        None where no group has begun.
    """
    whole = (until - begun).total_seconds()
    if whole <= 0:
        return None
    of_group: defaultdict[str, list[OperationSpan]] = defaultdict(list)
    for operation in operations:
        of_group[operation.group].append(operation)

    def x(at: datetime) -> float:
        return LABEL + min(max((at - begun).total_seconds() / whole, 0.0), 1.0) * SCALE

    def span(what: str, start: datetime, end: datetime | None, sentence: str) -> Span:
        left = x(start)
        took = duration(((end or until) - start).total_seconds())
        return Span(what, left, max(_LEAST, x(end or until) - left), f"{sentence}: {took}{'' if end else ' so far'}")

    lanes: list[Lane] = []
    for group in groups:
        details = group.group
        if details is None or details.started is None:
            continue
        spans = [span("waiting", details.started, details.ended or None, f"{group.name} at work or waiting")]
        for operation in sorted(of_group[group.name], key=lambda one: one.op):
            what = _PHASES.get(operation.phase, "deploy")
            if operation.status in (OperationStatus.TIMED_OUT, OperationStatus.ABANDONED):
                what = "failed"
            sentence = f"{group.name} {operation.phase}, attempt {operation.attempt}, {operation.status}"
            spans.append(span(what, operation.begun, operation.ended, sentence))
        failed = details.state == "failure"
        victim = group.blame is not None and group.blame.role == "victim"
        lanes.append(Lane(group.name, shortened(group.name), failed, victim, TOP + len(lanes) * LANE, spans))
    if not lanes:
        return None
    marks = [(LABEL + part * SCALE, duration(part * whole)) for part in (0, 0.25, 0.5, 0.75, 1)]
    return Timeline(LABEL + SCALE + 16, TOP + len(lanes) * LANE + 8, lanes, marks)
