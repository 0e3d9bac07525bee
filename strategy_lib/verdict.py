"""Whether a group meets its criteria, how groups stand, and the verdict on all of them (rules 16, 17, 19 and 20)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason, Verdict
from strategy_lib.strategy import CriterionResult, SuccessCriteria

# The states of a node that count as a success after each phase (rule 15).
SUCCESSFUL = {
    Phase.PREPARE: frozenset({NodeState.PREPARED, NodeState.DEPLOYING, NodeState.SUCCESS}),
    Phase.DEPLOY: frozenset({NodeState.SUCCESS}),
    Phase.READY: frozenset({NodeState.SUCCESS}),
}

_UNPROCESSED = (Reason.INTERRUPTED, Reason.DEPENDENCY)


def evaluate(
    criteria: SuccessCriteria | None, phase: Phase, total: int, successful: int
) -> tuple[CriterionResult, ...]:
    """Judge every criterion that is set, each on its own, over all nodes of a group (rules 16 and 17).

    The group fails when one of them is not met; where none is set, it cannot.

    Parameters
    ----------
    successful : how many of them were successful; every other one counts as failed (rule 15).
    """
    if criteria is None:
        return ()
    results = []
    failed = total - successful
    percent = criteria.percent_successful_nodes
    if percent is not None:
        # Integers only: 29 of 50 is exactly 58 %. With no nodes both sides are 0, and percent is met.
        met = successful * 100 >= percent * total
        results.append(CriterionResult(phase, "percent_successful_nodes", percent, f"{successful}/{total}", met))
    minimum = criteria.minimum_successful_nodes
    if minimum is not None:
        met = successful >= minimum
        results.append(CriterionResult(phase, "minimum_successful_nodes", minimum, successful, met))
    maximum = criteria.maximum_failed_nodes
    if maximum is not None:
        results.append(CriterionResult(phase, "maximum_failed_nodes", maximum, failed, failed <= maximum))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How many nodes of a group are where, at this moment.

    `prepared` counts those whose prepare succeeded, as the criteria do (rule 15), also when their deploy then failed.
    """

    total: int
    prepared: int
    succeeded: int
    failed: int
    unknown: int
    not_started: int


def counts_of(states: Iterable[NodeState]) -> GroupCounts:
    """Return how many of these nodes, given by their states, are where (rule 20).

    Of a node that failed its state does not say whether it had been prepared: here it counts as if it had not.
    """
    tally = Counter(states)
    return GroupCounts(
        total=tally.total(),
        prepared=sum(tally[state] for state in SUCCESSFUL[Phase.PREPARE]),
        succeeded=tally[NodeState.SUCCESS],
        failed=tally[NodeState.FAILURE],
        unknown=tally[NodeState.UNKNOWN],
        not_started=tally[NodeState.NOT_STARTED],
    )


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as it stands: state, reason, what was judged, and its nodes.

    `held` are nodes that are not sent because of others that they wait for, `kept` nodes that are not redeployed, and
    serve as they are: each with the reason. `waiting` are nodes that are sent once another one is done, each with that
    one; None where that was not looked at.
    """

    name: str
    critical: bool
    state: GroupState
    reason: Reason | None
    criteria: tuple[CriterionResult, ...]
    nodes: tuple[str, ...]
    counts: GroupCounts
    held: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[str, str] | None = None

    @property
    def failed_criteria(self) -> tuple[CriterionResult, ...]:
        """The criteria that were not met."""
        return tuple(result for result in self.criteria if not result.met)


class StandingGroup(Protocol):
    """A group as a verdict sees it."""

    @property
    def name(self) -> str: ...
    @property
    def critical(self) -> bool: ...
    @property
    def state(self) -> GroupState: ...
    @property
    def reason(self) -> Reason | None: ...
    @property
    def counts(self) -> GroupCounts: ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a deployment, and what it rests on.

    Attributes
    ----------
    critical, others : names of the groups that failed: critical ones, and not critical ones.
    blocked : those of them that never ran, because of a group that failed before.
    nothing : why there is nothing to deploy, as a clause without an end; "" where there is something.
    unprocessed : no group was processed to its end.
    """

    verdict: Verdict
    critical: tuple[str, ...]
    others: tuple[str, ...]
    nothing: str
    unprocessed: bool
    blocked: frozenset[str] = frozenset()


def verdict_on(groups: Sequence[StandingGroup], failed_steps: Sequence[object] = ()) -> Judgement:
    """Return the verdict on groups at their end, and on the steps before them (rule 19).

    A failure is any critical group that failed, any earlier step that failed, no groups at all, no group that came to a
    verdict, or no node in any group: nothing deployed is never a success.
    """
    failed = [group for group in groups if group.state is GroupState.FAILURE]
    critical = tuple(group.name for group in failed if group.critical)
    others = tuple(group.name for group in failed if not group.critical)
    nothing = nothing_to_deploy([group.counts.total for group in groups])
    unprocessed = bool(groups) and all(group.reason in _UNPROCESSED for group in groups)
    wrong = failed_steps or critical or nothing or unprocessed
    blocked = frozenset(group.name for group in failed if group.reason is Reason.DEPENDENCY)
    return Judgement(Verdict.FAILURE if wrong else Verdict.SUCCESS, critical, others, nothing, unprocessed, blocked)


def nothing_to_deploy(group_sizes: Sequence[int]) -> str:
    """Say why groups of these numbers of nodes have nothing to deploy, which is never a success (rule 19).

    Returns a clause without an end, and "" where there is something. An empty group beside others is no reason.
    """
    if not group_sizes:
        return "there are no groups"
    return "" if any(group_sizes) else "no group has a node"
