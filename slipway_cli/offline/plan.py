"""`slipway plan`: show or draw the groups, their order and their nodes. It changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.text import Text

from slipway_cli.offline.graph import to_dot, to_mermaid, to_svg
from slipway_cli.offline.strategy_input import (
    StrategyInput,
    by_policy_data,
    load_strategy_input,
    print_by_policy,
    strategy_option,
)
from slipway_cli.options import examples, output_file_option
from slipway_cli.output import (
    OutputFormat,
    console,
    counted,
    deliver,
    listed,
    listed_nodes,
    output_option,
    print_problems,
    printable,
    problem_data,
    serialised,
    table,
)
from slipway_cli.terminal.plan_table import PLANNED_KINDS, PlannedGroup, print_groups
from strategy_lib.errors import Problem
from strategy_lib.groups.batch_words import announcements
from strategy_lib.groups.node_order import node_edges
from strategy_lib.groups.waves import order_between_groups
from strategy_lib.node import Node
from strategy_lib.ordering import order_groups
from strategy_lib.selectors import resolve
from strategy_lib.simulation import rehearse
from strategy_lib.strategy import Group, Strategy, SuccessCriteria, group_to_data
from strategy_lib.warnings import strategy_warnings


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is deployed when.

    Attributes
    ----------
    groups : in the order in which they are processed when all succeed (rule 8).
    members : sorted node names of each group; None when no nodes are known.
    overlaps : several groups, in the order of processing, to the nodes that are in all of these (rule 7).
    unassigned : nodes in no group.
    batches : what is said of groups whose nodes go in batches, if every node succeeds (rule 59).
    """

    groups: tuple[Group, ...]
    members: Mapping[str, tuple[str, ...]] | None = None
    overlaps: Mapping[tuple[str, ...], Sequence[str]] = field(default_factory=dict)
    unassigned: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()

    def shown(self) -> list[PlannedGroup]:
        """Return the groups as tables and drawings show them."""
        return [
            PlannedGroup(
                name=group.name,
                position=position,
                critical=group.critical,
                depends_on=group.depends_on,
                nodes=None if self.members is None else len(self.members[group.name]),
                words=criteria_words(group.criteria),
            )
            for position, group in enumerate(self.groups, start=1)
        ]


def make_plan(strategy: Strategy, nodes: Sequence[Node]) -> Plan:
    """Resolve the selectors of a valid strategy; without nodes the plan has an order only."""
    resolved = resolve(strategy, nodes)
    before = order_between_groups(resolved, node_edges(strategy, nodes))
    groups = tuple(strategy.group(name) for name in order_groups(strategy, before))
    if not nodes:
        return Plan(groups)
    members = {group.name: tuple(sorted(resolved[group.name])) for group in groups}
    groups_of: dict[str, list[str]] = {name: [] for name in sorted(node.name for node in nodes)}
    for group, names in members.items():
        for name in names:
            groups_of[name].append(group)
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, its_groups in groups_of.items():
        if len(its_groups) > 1:
            shared.setdefault(tuple(its_groups), []).append(name)
    unassigned = tuple(name for name, its_groups in groups_of.items() if not its_groups)
    return Plan(groups, members, shared, unassigned, _batches(strategy, nodes, members))


def _batches(strategy: Strategy, nodes: Sequence[Node], members: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Say of groups that go in batches how many there are, and which nodes are canaries."""
    if not any(group.has_batches for group in strategy.groups):
        return ()
    sizes = [(group, len(members[group.name])) for group in strategy.groups]
    return announcements(sizes, rehearse(strategy, nodes).submissions)


def criteria_words(criteria: SuccessCriteria | None) -> str:
    """Return the criteria in a few characters each: `≥ 90 %, ≥ 3 nodes, ≤ 1 failed`."""
    if criteria is None:
        return ""
    percent, least, most = (
        criteria.percent_successful_nodes,
        criteria.minimum_successful_nodes,
        criteria.maximum_failed_nodes,
    )
    words = (
        "" if percent is None else f"≥ {percent} %",
        "" if least is None else f"≥ {counted(least, 'node')}",
        "" if most is None else f"≤ {most} failed",
    )
    return ", ".join(filter(None, words))


DRAWINGS = {"svg": to_svg, "dot": to_dot, "mermaid": to_mermaid}


def _complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    kinds = [CompletionItem(kind) for kind in PLANNED_KINDS if kind.startswith(incomplete)]
    return [*kinds, CompletionItem(incomplete, type="file")]


class PlanCommand(click.Command):
    """Plans what stands in files, or what a server would do: where a kind of action stands for the files."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments; those of a plan that a server makes with the command for it."""
        if not set(PLANNED_KINDS).isdisjoint(args):
            from slipway_cli.online.actions.plan import plan_action

            valued = {name for each in plan_action.params if not getattr(each, "is_flag", True) for name in each.opts}
            valued |= {name for each in self.params if not getattr(each, "is_flag", True) for name in each.opts}
            if any(word in PLANNED_KINDS and before not in valued for before, word in pairwise(["", *args])):
                return plan_action.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    cls=PlanCommand, epilog=examples("slipway plan site.yaml", "slipway plan site.yaml --graph svg -f groups.svg")
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=_complete)
@click.option("--site", "sites", metavar="SITE-FILE", multiple=True, help="Where the nodes are, if not in FILE.")
@strategy_option
@click.option(
    "--graph",
    type=click.Choice(list(DRAWINGS)),
    help="Draw the groups instead of listing them.",
)
@output_file_option
@output_option
def plan(
    files: tuple[str, ...],
    sites: tuple[str, ...],
    strategy: str | None,
    graph: str | None,
    output_file: Path | None,
    output: str,
) -> None:
    """Show or draw the groups of a strategy: their order, their nodes, overlaps, and nodes in no group.

    FILE is a strategy document or a whole site design; - is standard input. SITE-FILE is a site design or a plain
    list of nodes; only its nodes are used.

    With deploy_site or update_site in place of files the server says what that action would do now:
    `slipway plan deploy_site --help`.

    \b
    slipway plan site.yaml
    slipway plan strategy.yaml --site site.yaml
    slipway plan site.yaml --graph svg -f groups.svg
    slipway plan update_site --site lab-7
    """
    if graph and output != OutputFormat.TABLE:
        raise click.UsageError("--graph and --output are two forms of one result: choose one of them.")
    wanted = load_strategy_input(files, strategy, sites)
    result = make_plan(wanted.strategy, wanted.nodes)
    warnings = [*wanted.warnings, *strategy_warnings(wanted.strategy, wanted.nodes, wanted.document)]
    if graph:
        print_problems(console(stderr=True), wanted.warnings)
        deliver(DRAWINGS[graph](result.shown(), f"Strategy {wanted.name}"), output_file)
    elif output != OutputFormat.TABLE:
        deliver(serialised(_data(wanted, result, warnings), output), output_file)
    elif output_file:
        paper = StringIO()
        _show(console(file=paper), wanted, result, warnings)
        deliver(paper.getvalue(), output_file)
    else:
        _show(console(), wanted, result, warnings)


def _data(wanted: StrategyInput, result: Plan, warnings: list[Problem]) -> dict[str, Any]:
    groups = []
    for position, group in enumerate(result.groups, start=1):
        members = None if result.members is None else list(result.members[group.name])
        groups.append({"position": position, **group_to_data(group), "nodes": members})
    return {
        "strategy": wanted.name,
        "order": [group.name for group in result.groups],
        "groups": groups,
        "overlaps": [{"groups": list(groups), "nodes": names} for groups, names in result.overlaps.items()],
        "unassigned": list(result.unassigned),
        **({"batches": list(result.batches)} if result.batches else {}),
        "warnings": [problem_data(problem) for problem in warnings],
        **by_policy_data(wanted.by_policy),
    }


def _show(target: Console, wanted: StrategyInput, result: Plan, warnings: list[Problem]) -> None:
    nodes = counted(len(wanted.nodes), "node") if wanted.nodes else "no nodes known"
    heading = f"Strategy {printable(wanted.name)}: {counted(len(result.groups), 'group')}, {nodes}"
    target.print(Text(heading, style="bold"))
    print_groups(target, result.shown(), "Criteria")
    target.print()
    if result.members is None:
        target.print(Text("Which nodes the groups have is not known: give the site design with --site."))
    else:
        names = table("Group", "Its nodes", folds=("Group", "Its nodes"))
        for name, nodes_of_group in result.members.items():
            names.add_row(name, listed_nodes(nodes_of_group) or "none")
        target.print(names)
    if result.overlaps:
        columns = ("In several groups", "Groups, the first one deploys them")
        overlaps = table(*columns, folds=columns)
        for groups, names_in_all in result.overlaps.items():
            overlaps.add_row(listed_nodes(names_in_all), listed(groups))
        target.print()
        target.print(overlaps)
    if wanted.by_policy:
        target.print()
    print_by_policy(target, wanted.by_policy)
    asking = [group.approval.announcement(group.name) for group in result.groups if group.approval is not None]
    if asking:
        target.print()
    for said in asking:
        target.print(Text(printable(said), style="yellow"), soft_wrap=True)
    if result.batches:
        target.print()
    for said in result.batches:
        target.print(Text(printable(said)), soft_wrap=True)
    if warnings:
        target.print()
        print_problems(target, warnings)
