"""A strategy applied to the nodes of a site: the facts that `slipway plan` shows and draws."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slipway_cli.graph import GroupBox
from slipway_cli.printable import counted
from strategy_lib.criteria import SuccessCriteria
from strategy_lib.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.node import Node
from strategy_lib.ordering import order_groups
from strategy_lib.selectors import NodeIndex
from strategy_lib.strategy import Group, Strategy
from strategy_lib.warnings import strategy_warnings

NO_GROUPS = "there are no groups: nothing would be deployed"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Nodes that are in the same several groups; both are named in the order of processing."""

    groups: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is deployed when.

    Attributes
    ----------
    groups : tuple of Group
        In the order in which they are processed when all succeed (rule 8).
    members : mapping or None
        Sorted node names of each group; None when no nodes are known.
    overlaps : tuple of Overlap
        Nodes in more than one group (rule 7).
    unassigned : tuple of str
        Nodes in no group.
    """

    groups: tuple[Group, ...]
    members: Mapping[str, tuple[str, ...]] | None
    overlaps: tuple[Overlap, ...]
    unassigned: tuple[str, ...]

    def boxes(self) -> list[GroupBox]:
        """Return what a drawing says of each group."""
        return [
            GroupBox(
                name=group.name,
                position=position,
                critical=group.critical,
                depends_on=group.depends_on,
                nodes=None if self.members is None else len(self.members[group.name]),
                criteria=criteria_words(group.criteria),
            )
            for position, group in enumerate(self.groups, start=1)
        ]


def make_plan(strategy: Strategy, nodes: Sequence[Node]) -> Plan:
    """Resolve the selectors of a valid strategy; without nodes the plan has an order only."""
    groups = tuple(strategy.group(name) for name in order_groups(strategy))
    if not nodes:
        return Plan(groups, None, (), ())
    index = NodeIndex(nodes)
    members = {group.name: tuple(sorted(index.select(group.selectors))) for group in groups}
    groups_of: dict[str, list[str]] = {name: [] for name in sorted(index.names)}
    for group, names in members.items():
        for name in names:
            groups_of[name].append(group)
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, its_groups in groups_of.items():
        if len(its_groups) > 1:
            shared.setdefault(tuple(its_groups), []).append(name)
    overlaps = tuple(Overlap(its_groups, tuple(names)) for its_groups, names in shared.items())
    return Plan(groups, members, overlaps, tuple(name for name, its_groups in groups_of.items() if not its_groups))


class AnyNumber(Collection[str]):
    """Stands for the nodes of a group while no nodes are known: there may be any number of them."""

    def __len__(self) -> int:
        return sys.maxsize

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __contains__(self, name: object) -> bool:
        return False


def plan_warnings(strategy: Strategy, plan: Plan, document: Document | None) -> list[Problem]:
    """Return the warnings of rule 4, those about nodes only where nodes are known; and one if there are no groups."""
    if not strategy.groups:
        if document is None:
            return [Problem("$.data.groups", NO_GROUPS, level="warning")]
        return [replace(document.problem("$.data.groups", NO_GROUPS), level="warning")]
    if plan.members is None:
        return strategy_warnings(strategy, {group.name: AnyNumber() for group in plan.groups}, (), document)
    nodes = {name for names in plan.members.values() for name in names}.union(plan.unassigned)
    return strategy_warnings(strategy, plan.members, nodes, document)


def criteria_words(criteria: SuccessCriteria | None) -> tuple[str, ...]:
    """Return the criteria in a few characters each: `≥ 90 %`, `≥ 3 nodes`, `≤ 1 failed`."""
    if criteria is None:
        return ()
    words = []
    if criteria.percent_successful_nodes is not None:
        words.append(f"≥ {criteria.percent_successful_nodes} %")
    if (minimum := criteria.minimum_successful_nodes) is not None:
        words.append(f"≥ {counted(minimum, 'node')}")
    if criteria.maximum_failed_nodes is not None:
        words.append(f"≤ {criteria.maximum_failed_nodes} failed")
    return tuple(words)
