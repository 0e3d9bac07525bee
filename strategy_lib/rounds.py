"""A deployment whose groups run side by side, as a rehearsal reads it: in rounds of the first groups that are ready."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush

from strategy_lib.deployment import Deployment, Finished, GroupRun, Step
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group


class RoundDeployment(Deployment):
    """A deployment in rounds.

    A round takes the first groups in document order that are ready, at most so many. All of them claim their nodes for
    prepare, in that order, and are judged when all results are there; then the same for deploy; then comes the next
    round. A node of two groups of a round is sent by the first of them, and counts for both. With one group at once
    it does what `Deployment` does.

    Parameters
    ----------
    groups : in processing order (`order_groups`).
    members : names of each group's nodes.
    at_once : how many groups run side by side, at least 1.
    document_order : names of all groups as they stand in the document.

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
    ) -> None:
        if at_once < 1:
            raise ValueError(f"max_parallel_groups is {at_once}: at least one group runs at a time")
        super().__init__(groups, members)
        self._at_once = at_once
        self._names = tuple(document_order)
        self._missing = {group.name: len(set(group.depends_on)) for group in groups}
        self._needed_by: defaultdict[str, list[str]] = defaultdict(list)
        for group in groups:
            for other in set(group.depends_on):
                self._needed_by[other].append(group.name)
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
        """Judge the groups of the round: all results of their phase are there."""
        reason = Reason.PREPARE_CRITERIA if self._phase is Phase.PREPARE else Reason.DEPLOY_CRITERIA
        met = []
        for run in self._round:
            if self._meets(run, self._phase):
                met.append(run)
            else:
                self._fail(run, reason)
        self._round = met
        if self._phase is Phase.PREPARE:
            self._claim_all(Phase.DEPLOY)
            return
        for run in met:
            self._close(run, GroupState.SUCCESS, None)
            for name in self._needed_by[run.group.name]:
                self._missing[name] -= 1
                if not self._missing[name]:
                    heappush(self._ready, self._position[name])
        self._round = []

    def _claim_all(self, phase: Phase) -> None:
        self._phase = phase
        self._steps.extend(step for run in self._round if (step := self._claim(run, phase)) is not None)

    def _fail(self, run: GroupRun, reason: Reason) -> None:
        """Fail a group, and all groups below it, each once (rule 9)."""
        self._close(run, GroupState.FAILURE, reason)
        below = list(self._needed_by[run.group.name])
        while below:
            name = below.pop()
            if self._runs[name].state is GroupState.PENDING:
                self._close(self._runs[name], GroupState.FAILURE, Reason.DEPENDENCY)
                below += self._needed_by[name]
