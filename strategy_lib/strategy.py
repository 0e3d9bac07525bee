"""The deployment strategy as values: groups, selectors, labels. `strategy_parser.py` reads one from data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from strategy_lib.errors import Problem, StrategyError
from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class SuccessCriteria:
    """Conditions a group must meet after each phase; None means "not asked for", 0 is a value."""

    percent_successful_nodes: int | None = None
    minimum_successful_nodes: int | None = None
    maximum_failed_nodes: int | None = None


EVERY_NODE = SuccessCriteria(percent_successful_nodes=100)
"""What is asked for where nobody says otherwise, and of named nodes (rules 21 and 22)."""


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """One criterion after one phase: what was needed, what there was, and whether that is enough.

    `actual` of `percent_successful_nodes` is the exact fraction as text, such as "29/50".
    """

    phase: Phase
    criterion: str
    needed: int
    actual: int | str
    met: bool


class ApprovalMoment(StrEnum):
    """When a group asks for approval: before anything is submitted, or before its verdict."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Approval:
    """What a group asks a person for.

    Attributes
    ----------
    moment : when it asks.
    text : what it asks; "" for the default (`question`).
    approvers : names of the users who may answer; none: who may start an action of the kind.
    timeout : seconds after which nobody's answer is a refusal; None: it waits for ever.
    """

    moment: ApprovalMoment
    text: str = ""
    approvers: tuple[str, ...] = ()
    timeout: int | None = None

    def question(self, group: str) -> str:
        """Return what the person is asked."""
        if self.text:
            return self.text
        if self.moment is ApprovalMoment.BEFORE:
            return f"Shall group {group} be deployed?"
        return f"Is group {group} as it should be?"

    def announcement(self, group: str) -> str:
        """Say in the plan that the group is going to ask."""
        when = "before it begins" if self.moment is ApprovalMoment.BEFORE else "before its verdict"
        who = f" by {', '.join(self.approvers)}" if self.approvers else ""
        return f"Group {group} asks for approval{who} {when}; while it waits no other group starts."


STRATEGY_SCHEMA = "shipyard/DeploymentStrategy/v1"
TARGET_GROUP = "target-group"


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """A label of a node: a key and its value, both text."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Which nodes belong to a group: the criteria that are not empty must all match (rules 5 and 6)."""

    node_names: tuple[str, ...] = ()
    node_tags: tuple[str, ...] = ()
    node_labels: tuple[Label, ...] = ()
    rack_names: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        """True when no criterion is given: the selector stands for all nodes (rule 6)."""
        return not (self.node_names or self.node_tags or self.node_labels or self.rack_names)


NodeChoice = str | Selector
"""Nodes that others depend on: one by its name, or those that a selector matches."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often the failed nodes of a group are tried again in a phase, before its criteria are judged."""

    prepare: int = 0
    deploy: int = 0


NO_RETRIES = Retries()
_SHARE = re.compile(r"([1-9][0-9]*)\s*(%?)")


@dataclass(frozen=True, slots=True)
class Share:
    """Some of a group's nodes: a number from 1, or a percentage of them."""

    amount: int
    is_percent: bool = False

    @classmethod
    def parse(cls, given: float | str) -> Share:
        """Read 3, or "25%", as it stands in a document. Raises `ValueError` for anything else."""
        found = _SHARE.fullmatch(given if isinstance(given, str) else str(int(given)))
        if found is None or (found[2] and int(found[1]) > 100):
            raise ValueError(f"{given!r} is no share: it is a number from 1, or a percentage such as 25%")
        return cls(int(found[1]), is_percent=bool(found[2]))

    def of(self, total: int) -> int:
        """Return how many of so many nodes it stands for, at least 1; a percentage is rounded down."""
        return max(1, total * self.amount // 100) if self.is_percent else self.amount

    def to_data(self) -> int | str:
        """Return it as it stands in a document."""
        return f"{self.amount}%" if self.is_percent else self.amount


@dataclass(frozen=True, slots=True)
class Ready:
    """That nodes of a group have to be ready once they are deployed: within `timeout` seconds of being asked first."""

    timeout: int


@dataclass(frozen=True, slots=True)
class Group:
    """A named set of nodes that is deployed together.

    Attributes
    ----------
    name : unique in the strategy.
    critical : when it fails, the whole deployment is a failure (rule 19).
    depends_on : groups that must have succeeded before this one starts (rule 8).
    selectors : which nodes are members; empty means all nodes (rule 6).
    criteria : what must hold after each phase; None means nothing is asked for (rule 17).
    release_failed : release nodes whose deployment has failed before they are prepared, as provisioners refuse them so
        (rule 11). Where one group of a node does not want that, no other does it.
    approval : what a person has to approve of; None: nobody is asked.
    depends_on_nodes : nodes that each node of the group waits for before it is deployed (rule 39).
    retries : how often its failed nodes are tried again within an action.
    allow_redeploy : destroy, prepare and deploy nodes that are deployed in another design, a batch after the other.
    max_unavailable : how many nodes may be away at once meanwhile; None: as many as the criteria leave room for.
    monitor : whether its nodes are looked at between actions, and repaired (rule 56).
    ready : how long its nodes may take to become ready once they are deployed; None: they are not asked (rule 58).
    max_in_flight : how many of its nodes are under way at once; None: all of them.
    canary : how many of its nodes are deployed first, and must all succeed before another begins; None: none (rule 59).
    """

    name: str
    critical: bool
    depends_on: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()
    criteria: SuccessCriteria | None = None
    release_failed: bool = True
    approval: Approval | None = None
    depends_on_nodes: tuple[NodeChoice, ...] = ()
    retries: Retries = NO_RETRIES
    allow_redeploy: bool = False
    max_unavailable: Share | None = None
    monitor: bool = True
    ready: Ready | None = None
    max_in_flight: Share | None = None
    canary: Share | None = None

    @property
    def has_batches(self) -> bool:
        """Whether its nodes are deployed a batch after the other."""
        return self.max_in_flight is not None or self.canary is not None


@dataclass(frozen=True, slots=True)
class Strategy:
    """The groups of a deployment, in document order."""

    groups: tuple[Group, ...]
    _by_name: dict[str, Group] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {group.name: group for group in self.groups})

    def group(self, name: str) -> Group:
        """Return the group of this name; KeyError if there is none."""
        return self._by_name[name]


def default_strategy() -> Strategy:
    """Return what is used when the configuration names no strategy: one critical group, all nodes (rule 22)."""
    return Strategy((Group("default", critical=True, criteria=EVERY_NODE),))


def targeted_strategy(names: Iterable[str]) -> Strategy:
    """Return the strategy of a targeted action: exactly these nodes, as one critical group, 100 percent (rule 21).

    Raises `StrategyError` when no name is given: an empty list would select all nodes.
    """
    chosen = tuple(dict.fromkeys(names))
    if not chosen:
        raise StrategyError([Problem("$.target_nodes", "name at least one node")])
    group = Group(
        TARGET_GROUP,
        critical=True,
        selectors=(Selector(node_names=chosen),),
        criteria=EVERY_NODE,
    )
    return Strategy((group,))


def strategy_to_data(strategy: Strategy) -> dict[str, Any]:
    """Return the strategy as plain JSON values that `parse_strategy` reads back to an equal strategy."""
    return {"groups": [group_to_data(group) for group in strategy.groups]}


def group_to_data(group: Group) -> dict[str, Any]:
    """Return one group as plain JSON values, as it would stand in `data.groups`."""
    data: dict[str, Any] = {
        "name": group.name,
        "critical": group.critical,
        "depends_on": list(group.depends_on),
        "selectors": [_selector_to_data(selector) for selector in group.selectors],
    }
    if group.criteria is not None:
        data["success_criteria"] = {
            name: value
            for name in ("percent_successful_nodes", "minimum_successful_nodes", "maximum_failed_nodes")
            if (value := getattr(group.criteria, name)) is not None
        }
    if not group.release_failed:
        data["release_failed"] = False
    if group.approval is not None:
        data["approval"] = group.approval.moment.value
        data["approval_text"] = group.approval.text
        data["approvers"] = list(group.approval.approvers)
        data["approval_timeout"] = group.approval.timeout
        for name in ("approval_text", "approvers", "approval_timeout"):
            if not data[name]:
                del data[name]
    if group.depends_on_nodes:
        data["depends_on_nodes"] = [
            choice if isinstance(choice, str) else _selector_to_data(choice) for choice in group.depends_on_nodes
        ]
    if group.retries != NO_RETRIES:
        data["retries"] = {"prepare": group.retries.prepare, "deploy": group.retries.deploy}
    if group.allow_redeploy:
        data["allow_redeploy"] = True
    if group.max_unavailable is not None:
        data["max_unavailable"] = group.max_unavailable.to_data()
    if not group.monitor:
        data["monitor"] = False
    if group.ready is not None:
        data["ready"] = {"timeout": group.ready.timeout}
    if group.max_in_flight is not None:
        data["max_in_flight"] = group.max_in_flight.to_data()
    if group.canary is not None:
        data["canary"] = group.canary.to_data()
    return data


def _selector_to_data(selector: Selector) -> dict[str, Any]:
    return {
        "node_names": list(selector.node_names),
        "node_tags": list(selector.node_tags),
        "node_labels": [{label.key: label.value} for label in selector.node_labels],
        "rack_names": list(selector.rack_names),
    }
