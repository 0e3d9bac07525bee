"""Batches within a group (rule 59): how many nodes are under way at once, which are the canaries, and when it stops.

What is under way follows from the rounds of the attempt and the states of its nodes, so that a batch goes on after a
crash.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

from strategy_lib.groups.group_plan import NO_PLAN
from strategy_lib.groups.group_run import (
    GroupRun,
    Known,
    find_submittable,
    is_tried_again,
    may_be_taken,
    nodes_to_ask,
    successful_nodes,
)
from strategy_lib.groups.rolling import first_to_go, needed_by_batch, new_redeploy_batch
from strategy_lib.groups.waves import waves
from strategy_lib.node import NodeState
from strategy_lib.phase import GROUP_PHASES, Phase, Reason, Step
from strategy_lib.verdict import evaluate

CRITERIA_REASONS = {
    Phase.PREPARE: Reason.PREPARE_CRITERIA,
    Phase.DEPLOY: Reason.DEPLOY_CRITERIA,
    Phase.READY: Reason.READY_CRITERIA,
}
_MOST_NAMED = 3
_UNDER_WAY = (NodeState.PREPARING, NodeState.DEPLOYING)
_OPEN = frozenset((NodeState.NOT_STARTED, NodeState.PREPARED, *_UNDER_WAY))


@dataclass(frozen=True, slots=True)
class Stop:
    """No more batches begin: the group fails for this reason. `why` is said of the nodes that are not begun."""

    reason: Reason
    why: str


class Batches:
    """The batches of one group.

    Parameters
    ----------
    run, known : what has happened to the group, and what is known beyond it: both change while it runs.
        Nodes that earlier attempts have submitted, and that succeeded, are canaries that are done.
    """

    def __init__(self, run: GroupRun, known: Known) -> None:
        self._run, self._known = run, known
        total = len(run.nodes)
        self._most = total if run.group.max_in_flight is None else run.group.max_in_flight.of(total)
        self._canaries = 0 if run.group.canary is None else run.group.canary.of(total)
        self._begun = run.rounds.submitted.intersection(run.nodes)
        self._done_before = frozenset(name for name in run.nodes if name in known.sent_before and self._is_done(name))
        self._order = [
            name
            for name in _in_order(run)
            if name in self._done_before or self._belongs(name) or self._may_still_begin(name)
        ]
        self._queue = deque(name for name in self._order if self._may_still_begin(name))
        self._has_prepared = any(known.state(name) is NodeState.PREPARED for name in self._queue)
        self._passed_over: set[str] = set()
        self._unmet: Stop | None = None
        self._is_news = True

    def note(self, nodes: Iterable[str]) -> None:
        """Take note of nodes that were submitted; what came of them is known."""
        self._begun.update(nodes)

    def next(self) -> Step | Stop | None:
        """Return what the group sends next; None: nothing more, and it is judged.

        First nodes whose prepare failed are tried again. Then the batch is deployed, also with nodes that were prepared
        for others; then failed deploys are tried again; then those that are deployed are asked whether they are ready.
        Then comes the next batch.
        """
        run, known = self._run, self._known
        asked = nodes_to_ask(run, known)
        self._drain()
        prepared, again = self._look(asked)
        ready = prepared
        if run.plan != NO_PLAN:
            found = find_submittable(run, known, frozenset((*self._hopeful(), *asked)))
            # Who is held stays so, and is no candidate any more.
            run.held = {**run.held, **{name: why for name, why in found.held.items() if name not in asked}}
            run.waiting = found.waiting
            self._settle(self._begun.intersection(run.held).difference(asked))
            ready = [name for name in prepared if name in found.ready]
            again = [name for name in again if name not in found.held]
        first = [name for name in again if name not in run.rounds.deployed and name not in run.plan.redeploy]
        if first:
            return run.step(Phase.PREPARE, tuple(first))
        # What was taken away comes back first.
        stop = None if run.plan.redeploy & self._begun else self._failed_canaries() or self._unreachable(Phase.PREPARE)
        if stop is None:
            # Others of the batch may wait for those that were prepared for other groups.
            ready = [*ready, *self._prepared_for_others(asked)] if prepared else ready
            if ready:
                return run.step(Phase.DEPLOY, tuple(sorted(ready)))
            needed = needed_by_batch(run, known, again) if run.plan.redeploy else frozenset()
            if needed:
                return run.step(Phase.RELEASE, first_to_go(run, needed))
            if again:
                return run.step(Phase.PREPARE, tuple(again))
        if asked:
            return run.step(Phase.READY, asked)
        stop = stop or self._failed_canaries() or self._unreachable()
        if stop is not None:
            self._leave(stop.why)
            return stop
        return self._begin()

    def _look(self, asked: Collection[str]) -> tuple[list[str], list[str]]:
        """Return which nodes that were begun are prepared, and which are prepared again; forget what is settled."""
        run, known = self._run, self._known
        prepared, again, settled = [], [], []
        for name in sorted(self._begun):
            state = known.state(name)
            if state is NodeState.PREPARED and self._may_begin(name, begun=True):
                prepared.append(name)
            elif is_tried_again(run, known, name) and not self._may_begin(name):
                again.append(name)
            elif not self._is_under_way(name) and name not in asked and not self._may_begin(name):
                settled.append(name)
        self._settle(settled)
        return prepared, again

    def _drain(self) -> None:
        """Take nodes off the queue that were begun, or cannot be any more."""
        while self._queue and not self._may_still_begin(self._queue[0]):
            self._is_news = self._queue.popleft() not in self._run.rounds.submitted or self._is_news

    def _settle(self, names: Iterable[str]) -> None:
        """Forget nodes of which nothing more comes."""
        for name in names:
            self._begun.discard(name)
            self._is_news = self._is_news or self._known.state(name) is not NodeState.SUCCESS

    def _belongs(self, name: str) -> bool:
        """Whether the group has begun the node in this attempt, or may begin it."""
        return name in self._run.rounds.submitted or self._may_begin(name) or may_be_taken(self._run, self._known, name)

    def _may_begin(self, name: str, *, begun: bool = False) -> bool:
        """Whether a node that does not serve may be in the next batch; `begun`: whether it may go on to its deploy."""
        run, known = self._run, self._known
        if name in known.withheld or name in known.beside or not (begun or self._is_untouched(name)):
            return False
        state = known.state(name)
        if state is NodeState.PREPARED:
            return not run.rounds.is_left_out(Phase.DEPLOY, name)
        if state is not NodeState.NOT_STARTED or run.rounds.is_left_out(Phase.PREPARE, name):
            return False
        return name not in run.plan.redeploy and name not in known.serving

    def _is_untouched(self, name: str) -> bool:
        """Whether the node is still to be begun: at most it was released, so that it can be prepared."""
        rounds = self._run.rounds
        return name not in rounds.submitted or (rounds.is_only_released(name) and name not in self._run.plan.redeploy)

    def _is_done(self, name: str) -> bool:
        return self._known.state(name) is NodeState.SUCCESS and name not in self._known.not_ready

    def _hopeful(self) -> set[str]:
        """Return the nodes that are not at an end, as far as this group alone is concerned."""
        run, known = self._run, self._known
        get, not_begun, submitted = known.states.get, NodeState.NOT_STARTED, run.rounds.submitted
        found = {name for name in self._queue if name not in submitted and get(name, not_begun) in _OPEN}
        found |= self._begun
        return found.union(name for name in run.nodes if may_be_taken(run, known, name)) if run.plan.redeploy else found

    def _find_canaries(self) -> list[str]:
        """Return the canaries: the first nodes that the group has begun, or may begin."""
        if not self._canaries:
            return []
        known = (name for name in self._order if name in self._done_before or self._belongs(name))
        free = (
            name
            for name in known
            if name in self._run.rounds.submitted or (name not in self._run.held and name not in self._passed_over)
        )
        return list(islice(free, self._canaries))

    def _failed_canaries(self) -> Stop | None:
        """Return that canaries failed of which nothing more comes."""
        lost = [
            name
            for name in self._find_canaries()
            if name in self._run.rounds.submitted and name not in self._begun and not self._is_done(name)
        ]
        if not lost:
            return None
        named = ", ".join(f"{name} ({self._fate(name)})" for name in lost[:_MOST_NAMED])
        more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        return Stop(Reason.CANARY, f"the canaries failed: {named}{more}")

    def _fate(self, name: str) -> str:
        state = self._known.state(name)
        if state is NodeState.UNKNOWN:
            return self._known.errors.get(name) or "what came of it is not known"
        if state is NodeState.FAILURE:
            return self._known.errors.get(name) or "failed"
        return self._run.held.get(name) or f"it was not deployed, and is {state.replace('_', ' ')}"

    def _unreachable(self, phase: Phase | None = None) -> Stop | None:
        """Return that the criteria can no longer be met after a phase, or after any; the first such phase decides."""
        if self._is_news:
            self._is_news = False
            self._unmet = self._judge_best()
        if self._unmet is None or phase is None:
            return self._unmet
        return self._unmet if self._unmet.reason is CRITERIA_REASONS[phase] else None

    def _judge_best(self) -> Stop | None:
        """Judge the criteria as if all succeeded of which nothing is known yet."""
        run, known = self._run, self._known
        if run.group.criteria is None or (known.below_criteria and run.plan.redeploy):
            return None
        hopeful = self._hopeful().difference(run.held).union(nodes_to_ask(run, known))
        for phase in GROUP_PHASES if run.group.ready is not None else GROUP_PHASES[:2]:
            best = len(successful_nodes(run, known, phase) | hopeful)
            for result in evaluate(run.group.criteria, phase, len(run.nodes), best):
                if not result.met:
                    said = f"{result.criterion} needs {result.needed}, and {result.actual} is the best there can be"
                    return Stop(CRITERIA_REASONS[phase], f"its {phase} criteria can no longer be met: {said}")
        return None

    def _leave(self, why: str) -> None:
        """Keep why the nodes that were not begun never will be."""
        run, known = self._run, self._known
        serving = [name for name in run.nodes if may_be_taken(run, known, name)] if run.plan.redeploy else []
        if serving:
            run.kept = {**run.kept, **dict.fromkeys(serving, why)}
        left = {name: why for name in self._queue if self._may_begin(name)}
        run.held = {**left, **run.held}

    def _begin(self) -> Step | Stop | None:
        """Return the beginning of the next batch; None where no node is left that may go."""
        run, known = self._run, self._known
        if any(map(self._is_under_way, self._begun)):
            # Its batch is not over: a group beside this one deploys what this one has prepared.
            return None
        while True:
            pending = [name for name in self._find_canaries() if not self._is_done(name)]
            pool = frozenset(pending) if pending else None
            new = self._new_batch(pool)
            to_prepare = tuple(sorted(name for name in new if known.state(name) is NodeState.NOT_STARTED))
            if to_prepare:
                return run.step(Phase.PREPARE, to_prepare)
            if new:
                return run.step(Phase.DEPLOY, tuple(sorted(new)))
            if run.plan.redeploy:
                kept = run.kept
                batch = new_redeploy_batch(run, known, self._most, pool)
                if batch:
                    return run.step(Phase.RELEASE, first_to_go(run, batch))
                if run.kept is not kept:
                    # What waits for the nodes that stay as they are is held now.
                    self._is_news = True
                    return self.next()
            if pool is None:
                return None
            # They cannot go: others are the canaries.
            self._passed_over.update(pool)

    def _new_batch(self, pool: Collection[str] | None) -> list[str]:
        """Return the first nodes that may begin, in order, each with all that it waits for done or before it."""
        chosen: list[str] = []
        for name in self._queue:
            if len(chosen) == self._most:
                break
            if (pool is None or name in pool) and self._may_begin(name) and self._is_free(name, chosen):
                chosen.append(name)
            elif pool is not None and len(chosen) == len(pool):
                break
        if any(self._known.state(name) is NodeState.NOT_STARTED for name in chosen):
            return chosen
        return [name for name in chosen if self._is_free(name, ())]

    def _may_still_begin(self, name: str) -> bool:
        """Whether a node may be begun now, or once the group that works on it is over."""
        return self._may_begin(name) or self._is_under_way(name)

    def _is_under_way(self, name: str) -> bool:
        """Whether the group, or one beside it, is at work on the node."""
        return self._known.state(name) in _UNDER_WAY or name in self._known.beside

    def _prepared_for_others(self, asked: Collection[str]) -> list[str]:
        """Return nodes that were prepared for other groups, as many as fit into the batch that is deployed now."""
        if not self._has_prepared:
            return []
        pending = [name for name in self._find_canaries() if not self._is_done(name)]
        room = self._most - len(self._begun.difference(asked))
        found = (
            name
            for name in self._queue
            if self._known.state(name) is NodeState.PREPARED
            and name not in self._begun
            and (not pending or name in pending)
            and self._may_begin(name)
            and self._is_free(name, ())
        )
        return list(islice(found, max(room, 0)))

    def _is_free(self, name: str, chosen: Collection[str]) -> bool:
        """Whether all that the node waits for is done, or chosen with it."""
        run = self._run
        others = run.plan.waits_for.get(name, ())
        return name not in run.held and all(
            other in run.plan.met or other in chosen or self._known.state(other) is NodeState.SUCCESS
            for other in others
        )


def _in_order(run: GroupRun) -> list[str]:
    """Return a group's nodes by name, each behind all that it waits for; of each wave those that serve come last."""
    edges, redeploy = run.plan.waits_for, run.plan.redeploy
    order = waves(run.nodes, run.nodes, edges) if edges else [run.nodes]
    return [name for wave in order for name in sorted(wave, key=lambda name: (name in redeploy, name))]
