"""A rehearsal in memory: what a deployment would do if these nodes failed. The state machine is that of a real one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

from strategy_lib.deployment import Deployment
from strategy_lib.errors import Problem, StrategyLibError, extend
from strategy_lib.garbage import garbage_put_off
from strategy_lib.groups.group_plan import GroupPlan, plan_of_group
from strategy_lib.groups.group_run import GroupRun, prepare_again
from strategy_lib.groups.node_order import node_edges, require_order
from strategy_lib.groups.waves import order_between_groups
from strategy_lib.node import Node, NodeState
from strategy_lib.ordering import order_groups
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy
from strategy_lib.phase import GROUP_PHASES, Finished, GroupState, Phase, Reason, Step
from strategy_lib.selectors import resolve
from strategy_lib.strategy import Group, Strategy
from strategy_lib.verdict import GroupView, verdict_on

_NOT_VALID = "The outcomes to rehearse are not valid. Name a phase, a node, and success, failure or unknown."


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
            self._steps.append(run.step(phase, nodes))


class NodeOutcome(StrEnum):
    """What comes of one node in one phase. `UNKNOWN` is a node that was sent and outran its timeout."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A deployment at its end, its groups, what would have been sent to the provisioner, in order, and the rounds."""

    deployment: Deployment
    groups: tuple[GroupView, ...]
    submissions: tuple[Step, ...] = field(default=())
    waves: tuple[tuple[str, ...], ...] = field(default=())


def rehearse(
    strategy: Strategy,
    nodes: Sequence[Node],
    outcomes: Mapping[Phase, Mapping[str, NodeOutcome]] | None = None,
    max_parallel_groups: int = 1,
) -> Rehearsal:
    """Play a deployment to its end.

    Parameters
    ----------
    outcomes : what comes of a node in a phase, should it be sent for it; what is not given succeeds.
    max_parallel_groups : how many groups run side by side; more than one run in rounds (`RoundDeployment`).

    Raises
    ------
    StrategyError : nodes, or groups through their nodes, wait for each other.
    ValueError : `max_parallel_groups` is below 1, or no whole number.
    """
    require_at_once(max_parallel_groups)
    members = resolve(strategy, nodes)
    edges = node_edges(strategy, nodes)
    before = order_between_groups(members, edges)
    groups = [strategy.group(name) for name in order_groups(strategy, before)]
    plans = {name: plan_of_group(names, edges) for name, names in members.items()}
    if max_parallel_groups == 1:
        deployment = Deployment(groups, members, plans=plans)
    else:
        names = [group.name for group in strategy.groups]
        deployment = RoundDeployment(groups, members, max_parallel_groups, names, plans, before)
    submissions: list[Step] = []
    given = outcomes or {}
    while not isinstance(step := deployment.next(), Finished):
        submissions.append(step)
        fates = given.get(step.phase, {})
        succeeded = step.nodes
        failed: list[str] = []
        if fates:
            succeeded = tuple(name for name in step.nodes if fates.get(name) in (None, NodeOutcome.SUCCESS))
            failed = [name for name in step.nodes if fates.get(name) is NodeOutcome.FAILURE]
        deployment.record(step, succeeded, failed)
    views = deployment.groups
    if isinstance(deployment, RoundDeployment):
        waves = deployment.waves
    else:
        waves = tuple((group.name,) for group in views if group.reason is not Reason.DEPENDENCY)
    return Rehearsal(deployment, views, tuple(submissions), waves)


def simulate(
    strategy: dict[str, Any],
    nodes: list[dict[str, Any]],
    outcomes: dict[str, Any] | None = None,
    *,
    max_parallel_groups: int = 1,
) -> dict[str, Any]:
    """Rehearse a deployment, from plain data to plain data.

    Parameters
    ----------
    strategy : the `data` of a strategy document: `{"groups": [...]}`.
    nodes : `[{"name": "n1", "tags": [], "labels": {"k": "v"}, "rack": "r1"}]`; only the name is required.
    outcomes : `{"prepare": {"n1": "failure"}, "deploy": {"n2": "unknown"}}`. What is not given succeeds. It is the same
        in each try. `ready` counts for nodes of groups that ask for it (rule 58), and else is ignored.
    max_parallel_groups : how many groups run side by side. A round takes the first ready groups in document order;
        all claim their prepare in that order and are judged, then the same for deploy; then comes the next round.

    Returns
    -------
    dict
        `verdict`: "success" or "failure". `order`: names of all groups in processing order. `groups`: for each name
        its `state`, `reason` (None, "prepare_criteria", "deploy_criteria", "ready_criteria", "canary" or
        "dependency"),
        `critical`, `nodes` (sorted) and `failed_criteria` (each `phase`, `criterion`, `needed`, `actual`). `nodes`:
        name to state. `held`: for nodes that were not deployed because of others, why: of those that they wait for,
        or of those that made their group begin no more batches (rule 59); it is left out where there are none.
        `submissions`: in order, each `group`, `phase`, `nodes` (sorted). `waves`: the rounds, each a list of groups;
        groups that failed by dependency are in none.

    Raises
    ------
    StrategyError : when the strategy is not valid; its `problems` lists everything, also names of nodes that do not
        exist, and cycles of nodes.
    InventoryError : when the list of nodes is not valid.
    StrategyLibError : when the outcomes name an unknown phase or outcome.
    ValueError : when `max_parallel_groups` is below 1, or no whole number.

    Examples
    --------
    >>> group = {"name": "g", "critical": True, "depends_on": [], "selectors": []}
    >>> simulate({"groups": [group]}, [{"name": "n1"}], {"deploy": {"n1": "failure"}})["nodes"]
    {'n1': 'failure'}
    """
    with garbage_put_off():
        parsed = parse_strategy(strategy)
        inventory = nodes_from_inventory(nodes)
        require_order(parsed, inventory)
        rehearsal = rehearse(parsed, inventory, parse_outcomes(outcomes), max_parallel_groups)
        return rehearsal_to_dict(rehearsal, inventory)


def rehearsal_to_dict(rehearsal: Rehearsal, nodes: Sequence[Node]) -> dict[str, Any]:
    """Return a rehearsal as the plain data that `simulate` returns."""
    deployment, groups = rehearsal.deployment, rehearsal.groups
    # Plain text: callers need not know our enumerations.
    states = {state: str(state) for state in NodeState}
    names = [node.name for node in nodes]
    held = {
        name: reason
        for group in groups
        for name, reason in group.held.items()
        if deployment.state_of(name) is not NodeState.SUCCESS
    }
    return {
        **({"held": held} if held else {}),
        "verdict": str(verdict_on(groups).verdict),
        "order": [group.name for group in groups],
        "groups": {
            group.name: {
                "state": str(group.state),
                "reason": None if group.reason is None else str(group.reason),
                "critical": group.critical,
                "nodes": list(group.nodes),
                "failed_criteria": [
                    {
                        "phase": str(result.phase),
                        "criterion": result.criterion,
                        "needed": result.needed,
                        "actual": result.actual,
                    }
                    for result in group.failed_criteria
                ],
            }
            for group in groups
        },
        "nodes": dict(zip(names, map(states.__getitem__, deployment.states_of(names)), strict=True)),
        "submissions": [
            {"group": step.group, "phase": str(step.phase), "nodes": list(step.nodes)} for step in rehearsal.submissions
        ],
        "waves": [list(wave) for wave in rehearsal.waves],
    }


def parse_outcomes(outcomes: object) -> dict[Phase, dict[str, NodeOutcome]]:
    """Read outcomes from plain data; None means that all succeed.

    Nodes that are not sent, or do not exist, are ignored: what is not sent has no outcome.

    Raises `StrategyLibError` with every unknown phase and unknown outcome.
    """
    problems: list[Problem] = []
    parsed: dict[Phase, dict[str, NodeOutcome]] = {}
    if outcomes is not None and not isinstance(outcomes, Mapping):
        raise StrategyLibError([Problem("$", 'must be a mapping such as {"deploy": {"n1": "failure"}}')], _NOT_VALID)
    for phase, fates in (outcomes or {}).items():
        if phase not in GROUP_PHASES:
            problems.append(Problem(extend("$", str(phase)), "must be prepare, deploy or ready"))
        elif not isinstance(fates, Mapping):
            problems.append(Problem(extend("$", str(phase)), "must be a mapping of node names to outcomes"))
        else:
            wrong = [(name, fate) for name, fate in fates.items() if fate not in tuple(NodeOutcome)]
            problems += [
                Problem(extend("$", str(phase), str(name)), f"must be success, failure or unknown, not {fate!r}")
                for name, fate in wrong
            ]
            if not wrong:
                parsed[Phase(phase)] = {name: NodeOutcome(fate) for name, fate in fates.items()}
    if problems:
        raise StrategyLibError(problems, _NOT_VALID)
    return parsed
