"""From a design and what is known of its nodes to the plan of one action. Pure: everything comes in as arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from site_store import PlannedGroup
from strategy_lib.node import Node
from strategy_lib.ordering import order_groups
from strategy_lib.outcome import NodeCondition
from strategy_lib.selectors import resolve
from strategy_lib.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Plan:
    """What an action will do.

    ``groups`` stand in processing order; ``done`` are nodes that are already as wanted (rule 21); ``other`` are nodes
    of the site in no group.
    """

    groups: tuple[PlannedGroup, ...]
    done: frozenset[str]
    other: frozenset[str]


def make_plan(strategy: Strategy, nodes: Sequence[Node], done: Collection[str]) -> Plan:
    """Order the groups and resolve their selectors (rules 5-8)."""
    members = resolve(strategy, nodes)
    groups = tuple(PlannedGroup(strategy.group(name), tuple(sorted(members[name]))) for name in order_groups(strategy))
    grouped = frozenset(name for planned in groups for name in planned.nodes)
    return Plan(groups, grouped.intersection(done), frozenset(node.name for node in nodes) - grouped)


def already_done(
    wanted: Mapping[str, str], done: Mapping[str, str], conditions: Mapping[str, NodeCondition]
) -> frozenset[str]:
    """Return the nodes that are as wanted: last done with this design, and still deployed there (rule 21)."""
    return frozenset(
        name
        for name, digest in wanted.items()
        if done.get(name) == digest and conditions.get(name) is NodeCondition.DEPLOYED
    )
