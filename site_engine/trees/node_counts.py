"""How many nodes of a group show which status, all phases together (rules 28 and 58)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from site_engine.trees.action_tasks import Tasks
from strategy_lib.node import TaskStatus
from strategy_lib.phase import GROUP_PHASES, Phase
from strategy_lib.status.roll_up import in_order
from strategy_lib.status.words import Status

_NEVER_BEGUN = (TaskStatus.PENDING, TaskStatus.WITHHELD)
# Of a node that waits for its deploy these are not shown of its prepare.
_OF_DEPLOY = (Status.PENDING, Status.DELETED, Status.SUCCESS)


@dataclass(frozen=True)
class NodeCounts:
    """Counts the nodes of one action's groups, and of its step on nodes (the group "")."""

    tasks: Tasks
    _counted: dict[Hashable, dict[Status, int]] = field(default_factory=dict)
    _never: dict[Hashable, int] = field(default_factory=dict)

    def not_started(self, group: str) -> int:
        """Return how many nodes of a group are errors although none of their phases failed: the next never began."""
        # Groups that stand in the same way have the same number.
        key = self._both_phases(group)
        found = self._never.get(key)
        if found is None:
            found = self._never[key] = self._not_started(group)
        return found

    def _both_phases(self, group: str) -> Hashable:
        """Return all that the phases of a group are judged by."""
        return tuple([self.tasks.judged_by(group, phase) for phase in self.tasks.phases(group)])

    def _not_started(self, group: str) -> int:
        bad = {
            phase: [
                cell
                for cell in self.tasks.cells.get((group, phase), ())
                if self.tasks.judge_cell(cell).status is Status.ERROR
            ]
            for phase in GROUP_PHASES
        }
        last = self.tasks.phases(group)[-1] if group else Phase.DEPLOY
        never = sum(cell.records for cell in bad[last] if cell.status in _NEVER_BEGUN)
        if last is Phase.READY:
            # Nor is a node asked that was not deployed.
            never -= sum(cell.records for cell in bad[Phase.DEPLOY] if cell.status not in _NEVER_BEGUN)
        # After a failed prepare a deploy does not begin either.
        return max(0, never - sum(cell.records for cell in bad[Phase.PREPARE] if cell.status not in _NEVER_BEGUN))

    def by_status(self, group: str) -> dict[Status, int]:
        """Return how many nodes show which status, all phases together.

        A node is where its deploy is; while that is pending, where its prepare is. One that is to be ready is where
        that is, once it is deployed (rule 58).
        """
        # Groups that stand in the same way have the same.
        key = self._both_phases(group)
        found = self._counted.get(key)
        if found is None:
            found = self._counted[key] = self._by_status(group)
        return dict(found)

    def _by_status(self, group: str) -> dict[Status, int]:
        counts = dict(self.tasks.tally(group, Phase.DEPLOY).numbers)
        prepare: dict[Status, int] = {}
        for cell in self.tasks.cells.get((group, Phase.PREPARE), ()):
            if cell.status != TaskStatus.WITHHELD:
                status = self.tasks.judge_cell(cell).status
                prepare[status] = prepare.get(status, 0) + cell.records
        self._count_ready(group, counts)
        begun_only = [status for status in prepare if status not in _OF_DEPLOY]
        if not begun_only:
            return in_order(counts)
        for status in sorted(begun_only, key=lambda status: -status.rank):
            begun = prepare[status]
            if status is Status.UNDEFINED:
                begun = max(0, begun - counts.get(status, 0))
            moved = min(begun, counts.get(Status.PENDING, 0))
            counts[status] = counts.get(status, 0) + moved
            counts[Status.PENDING] = counts.get(Status.PENDING, 0) - moved
        return in_order(counts)

    def _count_ready(self, group: str, counts: dict[Status, int]) -> None:
        """Move the nodes that were deployed to where they are in the phase ready."""
        cells = self.tasks.cells.get((group, Phase.READY), ()) if Phase.READY in self.tasks.phases(group) else ()
        if not cells:
            return
        deployed = counts.get(Status.SUCCESS, 0)
        not_deployed = sum(counts.values()) - deployed
        for cell in cells:
            status = self.tasks.judge_cell(cell).status
            if status is Status.SUCCESS:
                continue
            # Nodes that are not deployed are not asked: of those that wait only the others are deployed.
            moved = cell.records
            if cell.status in _NEVER_BEGUN:
                moved = max(0, moved - not_deployed)
                not_deployed = max(0, not_deployed - cell.records)
            moved = min(moved, counts.get(Status.SUCCESS, 0))
            counts[Status.SUCCESS] = counts.get(Status.SUCCESS, 0) - moved
            counts[status] = counts.get(status, 0) + moved
