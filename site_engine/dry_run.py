"""What a dry run shows: the submissions there would be if every node succeeded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_lib.deployment import Deployment, Finished
from strategy_lib.report import Submission

if TYPE_CHECKING:
    from site_store import PlannedGroup
    from strategy_lib.node import NodeState
    from strategy_lib.phase import NodeStep


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a dry run finds: the submissions, and the critical groups that would fail even so."""

    submissions: tuple[Submission, ...]
    critical_failures: tuple[str, ...]


def rehearse(
    groups: Sequence[PlannedGroup],
    states: Mapping[str, NodeState],
    step: NodeStep | None = None,
    targets: Sequence[str] = (),
    withheld: Collection[str] = (),
) -> Rehearsal:
    """Return every provisioner task that would be submitted, in order, then the groups without any.

    ``step`` is done to the ``targets`` before any group; ``withheld`` nodes are never submitted.
    """
    deployment = Deployment(
        [planned.group for planned in groups],
        {planned.group.name: planned.nodes for planned in groups},
        states,
        withheld=withheld,
    )
    submissions = [Submission(None, step.value, tuple(targets))] if step is not None else []
    while not isinstance(due := deployment.next(), Finished):
        submissions.append(Submission(due.group, due.phase.value, tuple(due.nodes)))
        deployment.record(due, due.nodes, ())
    submitted = {submission.group for submission in submissions}
    idle = [view.name for view in deployment.groups if view.name not in submitted]
    return Rehearsal((*submissions, *(Submission(name, None) for name in idle)), deployment.critical_failures)
