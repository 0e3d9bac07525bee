"""The tables of a plan, from files or from a server: the groups in their order, and their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from slipway_cli.output import listed, printable, table

PLANNED_KINDS = ("deploy_site", "update_site")
"""Kinds of actions that a server plans."""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A group as a plan shows it.

    Attributes
    ----------
    nodes : names; None where no nodes are known.
    last : what stands in the last column.
    """

    name: str
    position: int
    critical: bool
    depends_on: Sequence[str]
    nodes: Sequence[str] | None
    last: str


def print_groups(target: Console, groups: Iterable[PlannedGroup], last: str) -> None:
    """Print the groups in the order of processing; `last` is the heading of the last column."""
    columns = ("#", "Group", "Critical", "Nodes", "After", last)
    rows = table(*columns, right=("#", "Nodes"), folds=("Group", "After", last))
    for group in groups:
        rows.add_row(
            str(group.position),
            Text(printable(group.name)),
            Text("yes", style="bold") if group.critical else Text("no", style="dim"),
            "?" if group.nodes is None else str(len(group.nodes)),
            Text(listed(group.depends_on)),
            group.last,
        )
    target.print(rows)


def print_rounds(target: Console, waves: Sequence[Sequence[str]]) -> None:
    """Print which groups run side by side, where any do."""
    if all(len(wave) == 1 for wave in waves):
        return
    rows = table("Round", "Groups side by side", right=("Round",), folds=("Groups side by side",))
    for number, wave in enumerate(waves, start=1):
        rows.add_row(str(number), Text(", ".join(map(printable, wave))))
    target.print()
    target.print(rows)


def print_members(target: Console, groups: Iterable[PlannedGroup]) -> None:
    """Print the nodes of each group."""
    names = table("Group", "Its nodes", folds=("Group", "Its nodes"))
    for group in groups:
        names.add_row(Text(printable(group.name)), Text(listed(group.nodes or ()) or "none"))
    target.print(names)
