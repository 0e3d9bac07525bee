"""`slipway plan`: show or draw the groups, their order and their nodes. It changes nothing."""

from io import StringIO
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from slipway_cli.graph import GraphFormat, to_dot, to_mermaid
from slipway_cli.output import (
    OutputFormat,
    console,
    deliver,
    output_option,
    print_problems,
    problem_data,
    serialised,
    table,
)
from slipway_cli.planning import Plan, make_plan
from slipway_cli.printable import counted, listed, printable
from slipway_cli.strategy_input import Wanted, load_wanted, strategy_option
from slipway_cli.svg import to_svg
from strategy_lib.errors import Problem
from strategy_lib.strategy import group_to_data
from strategy_lib.warnings import draft_warnings

DRAWINGS = {GraphFormat.SVG: to_svg, GraphFormat.DOT: to_dot, GraphFormat.MERMAID: to_mermaid}


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--site", "sites", metavar="SITE-FILE", multiple=True, help="Where the nodes are, if not in FILE.")
@strategy_option
@click.option(
    "--graph",
    type=click.Choice([form.value for form in GraphFormat]),
    help="Draw the groups instead of listing them.",
)
@click.option(
    "-f",
    "--output-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output.",
)
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

    \b
    slipway plan site.yaml
    slipway plan strategy.yaml --site site.yaml
    slipway plan site.yaml --graph svg -f groups.svg
    """
    if graph and output != OutputFormat.TABLE:
        raise click.UsageError("--graph and --output are two forms of one result: choose one of them.")
    wanted = load_wanted(files, strategy, sites)
    result = make_plan(wanted.strategy, wanted.nodes)
    warnings = [*wanted.warnings, *draft_warnings(wanted.strategy, wanted.nodes, wanted.document)]
    if graph:
        print_problems(console(stderr=True), wanted.warnings)
        deliver(DRAWINGS[GraphFormat(graph)](result.boxes(), f"Strategy {wanted.name}"), output_file)
    elif output != OutputFormat.TABLE:
        deliver(serialised(_data(wanted, result, warnings), output), output_file)
    elif output_file:
        paper = StringIO()
        _show(console(file=paper), wanted, result, warnings)
        deliver(paper.getvalue(), output_file)
    else:
        _show(console(), wanted, result, warnings)


def _data(wanted: Wanted, result: Plan, warnings: list[Problem]) -> dict[str, Any]:
    groups = []
    for position, group in enumerate(result.groups, start=1):
        members = None if result.members is None else list(result.members[group.name])
        groups.append({"position": position, **group_to_data(group), "nodes": members})
    return {
        "strategy": wanted.name,
        "order": [group.name for group in result.groups],
        "groups": groups,
        "overlaps": [{"groups": list(item.groups), "nodes": list(item.nodes)} for item in result.overlaps],
        "unassigned": list(result.unassigned),
        "warnings": [problem_data(problem) for problem in warnings],
    }


def _show(target: Console, wanted: Wanted, result: Plan, warnings: list[Problem]) -> None:
    nodes = counted(len(wanted.nodes), "node") if wanted.nodes else "no nodes known"
    heading = f"Strategy {printable(wanted.name)}: {counted(len(result.groups), 'group')}, {nodes}"
    target.print(Text(heading, style="bold"))
    rows = table(
        "#",
        "Group",
        "Critical",
        "Nodes",
        "After",
        "Criteria",
        right=("#", "Nodes"),
        folds=("Group", "After", "Criteria"),
    )
    for box in result.boxes():
        rows.add_row(
            str(box.position),
            Text(printable(box.name)),
            Text("yes", style="bold") if box.critical else Text("no", style="dim"),
            "?" if box.nodes is None else str(box.nodes),
            Text(listed(box.depends_on)),
            ", ".join(box.criteria),
        )
    target.print(rows)
    target.print()
    if result.members is None:
        target.print(Text("Which nodes the groups have is not known: give the site design with --site."))
    else:
        names = table("Group", "Its nodes", folds=("Group", "Its nodes"))
        for group in result.groups:
            names.add_row(Text(printable(group.name)), Text(listed(result.members[group.name]) or "none"))
        target.print(names)
    if result.overlaps:
        columns = ("In several groups", "Groups, the first one deploys them")
        overlaps = table(*columns, folds=columns)
        for overlap in result.overlaps:
            overlaps.add_row(Text(listed(overlap.nodes)), Text(listed(overlap.groups)))
        target.print()
        target.print(overlaps)
    if warnings:
        target.print()
        print_problems(target, warnings)
