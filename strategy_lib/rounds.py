"""A deployment whose groups run side by side, as a rehearsal reads it: in rounds of the first groups that are ready."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush

from strategy_lib.deployment import Deployment
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.groups.group_run import GroupRun, prepare_again
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.steps import Finished, Step, step_of
from strategy_lib.strategy import Group


def require_at_once(groups: object) -> None:
    """Refuse a number of groups side by side that is none. Raises `ValueError`."""
    if not isinstance(groups, int) or isinstance(groups, bool) or groups < 1:
        raise ValueError(f"max_parallel_groups is {groups!r}: it is a whole number, and at least one group at a time")


class RoundDeployment(Deployment):
    """A deployment in rounds.

    A round takes the first groups in document order that are ready, at most so many. All of them claim their nodes for
    prepare, in that order, and are judged when all results are there; then the same for deploy, and for ready where
    that is asked for; then comes the next round. A node of two groups of a round is sent by the first of them, and
    counts for both. With one group at once it does what `Deployment` does.

    Parameters
    ----------
    groups : in processing order (`order_groups`).
    members : names of each group's nodes.
    at_once : how many groups run side by side, at least 1.
    document_order : names of all groups as they stand in the document.
    plans : the order of the nodes of each group.
    before : group to the groups that are judged before it, however (rule 39).

    Raises
    ------
    ValueError : when `at_once` is below 1.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        members: Mapping[str, Collection[str]],
        at_once: int,
        document_order: Sequence[str],
        plans: Mapping[str, GroupPlan] | None = None,
        before: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        require_at_once(at_once)
        super().__init__(groups, members, plans=plans)
        self._at_once = at_once
        self._names = tuple(document_order)
        self._missing: dict[str, int] = {}
        self._needed_by: defaultdict[str, list[str]] = defaultdict(list)
        self._first_for: defaultdict[str, list[str]] = defaultdict(list)
        for group in groups:
            needed = set(group.depends_on)
            first = set((before or {}).get(group.name, ())) - needed
            self._missing[group.name] = len(needed) + len(first)
            for other in needed:
                self._needed_by[other].append(group.name)
            for other in first:
                self._first_for[other].append(group.name)
        self._position = {name: i for i, name in enumerate(self._names)}
        self._ready = [i for i, name in enumerate(self._names) if not self._missing[name]]
        self._round: list[GroupRun] = []
        self._phase = Phase.DEPLOY
        self._steps: deque[Step] = deque()
        self._waves: list[tuple[str, ...]] = []

    @property
    def waves(self) -> tuple[tuple[str, ...], ...]:
        """The rounds so far: names of groups in document order. Groups that failed by dependency are in none."""
        return tuple(self._waves)

    def next(self) -> Step | Finished:
        """Return the next step; the same one until it has been recorded."""
        while self._pending is None:
            if self._steps:
                self._pending = self._steps.popleft()
            elif self._round:
                self._judge_round()
            elif self._ready:
                self._begin_round()
            else:
                self._waiting.clear()
                return Finished()
        return self._pending

    def _begin_round(self) -> None:
        chosen = [self._names[heappop(self._ready)] for _ in range(min(self._at_once, len(self._ready)))]
        self._waves.append(tuple(chosen))
        self._round = [self._runs[name] for name in chosen]
        for run in self._round:
            run.state = GroupState.RUNNING
        self._claim_all(Phase.PREPARE)

    def _judge_round(self) -> None:
        """Go on with the round: all results of what was sent are there."""
        if self._phase is Phase.PREPARE:
            again = [(run, prepare_again(run, self._known)) for run in self._round]
            if any(nodes for _, nodes in again):
                for run, nodes in again:
                    self._claim(run, Phase.PREPARE, nodes)
                return
            self._phase = Phase.DEPLOY
        for run in self._round:
            due = self._due(run) if run.state is GroupState.RUNNING else None
            if due is not None:
                self._claim(run, due.phase, due.nodes)
        if self._steps:
            return
        for run in self._round:
            if run.state is GroupState.RUNNING:
                self._judge_end(run)
            self._settle(run)
        self._round = []

    def _settle(self, run: GroupRun) -> None:
        """Make groups ready that have waited for this one alone; where it failed, fail all groups below it (rule 9)."""
        name = run.group.name
        self._make_ready(self._first_for[name])
        if run.state is GroupState.SUCCESS:
            self._make_ready(self._needed_by[name])
            return
        below = list(self._needed_by[name])
        while below:
            name = below.pop()
            if self._runs[name].state is GroupState.PENDING:
                self._close(self._runs[name], GroupState.FAILURE, Reason.DEPENDENCY)
                self._make_ready(self._first_for[name])
                below += self._needed_by[name]

    def _make_ready(self, names: Iterable[str]) -> None:
        for name in names:
            self._missing[name] -= 1
            if not self._missing[name] and self._runs[name].state is GroupState.PENDING:
                heappush(self._ready, self._position[name])

    def _claim_all(self, phase: Phase) -> None:
        self._phase = phase
        for run in self._round:
            nodes = self._eligible(run)
            self._claim(run, phase, nodes)
            if not nodes:
                run.over.add(phase)

    def _claim(self, run: GroupRun, phase: Phase, nodes: tuple[str, ...]) -> None:
        """Take the nodes that a group sends for a phase, so that no group beside it takes them too (rule 11)."""
        if nodes:
            if phase is Phase.READY:
                # No other group of the round asks them, too.
                self._awaited.difference_update(nodes)
            else:
                under_way = NodeState.PREPARING if phase is Phase.PREPARE else NodeState.DEPLOYING
                self._states.update(dict.fromkeys(nodes, under_way))
            self._steps.append(step_of(run.group.name, phase, nodes))
