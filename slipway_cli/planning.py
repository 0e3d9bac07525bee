"""A strategy applied to the nodes of a site: the facts that `slipway plan` shows and draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipway_cli.graph import GroupBox
from slipway_cli.printable import counted
from strategy_lib.criteria import SuccessCriteria
from strategy_lib.node import Node
from strategy_lib.ordering import order_groups
from strategy_lib.selectors import resolve
from strategy_lib.strategy import Group, Strategy


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
    resolved = resolve(strategy, nodes)
    members = {group.name: tuple(sorted(resolved[group.name])) for group in groups}
    groups_of: dict[str, list[str]] = {name: [] for name in sorted(node.name for node in nodes)}
    for group, names in members.items():
        for name in names:
            groups_of[name].append(group)
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, its_groups in groups_of.items():
        if len(its_groups) > 1:
            shared.setdefault(tuple(its_groups), []).append(name)
    overlaps = tuple(Overlap(its_groups, tuple(names)) for its_groups, names in shared.items())
    return Plan(groups, members, overlaps, tuple(name for name, its_groups in groups_of.items() if not its_groups))


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
