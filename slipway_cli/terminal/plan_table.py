"""The tables of a plan, from files or from a server: the groups in their order, rounds, and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from slipway_cli.output import counted, listed, listed_nodes, print_table, printable, table
from strategy_lib.goals.update import ERASING, Deed, PlanRow, document_lines, waits

PLANNED_KINDS = ("deploy_site", "update_site")
"""Kinds of actions that a server plans."""
_MOST_ROWS = 100
_MOST_NAMES = 100
_MOST_FIELDS = 3
_LONGEST_VALUE = 40
_STYLES = {**dict.fromkeys(ERASING, "bold red"), Deed.WITHHOLD: "yellow"}


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A group as a plan shows it, in a table or in a drawing.

    Attributes
    ----------
    position : place in the order of processing, from 1.
    nodes : how many; None where no nodes are known.
    words : what is said of it at last: its criteria, or what is submitted.
    """

    name: str
    position: int
    critical: bool
    depends_on: Sequence[str]
    nodes: int | None
    words: str

    @property
    def facts(self) -> str:
        """Return the second line of its box: `critical · 10 nodes`."""
        known = ["critical"] if self.critical else []
        return " · ".join(known if self.nodes is None else [*known, counted(self.nodes, "node")])


def print_groups(target: Console, groups: Iterable[PlannedGroup], last: str) -> None:
    """Print the groups in the order of processing; `last` is the heading of the last column."""
    columns = ("#", "Group", "Critical", "Nodes", "After", last)
    rows = table(*columns, right=("#", "Nodes"), folds=("Group", "After", last))
    for group in groups:
        rows.add_row(
            str(group.position),
            group.name,
            Text("yes", style="bold") if group.critical else Text("no", style="dim"),
            "?" if group.nodes is None else str(group.nodes),
            listed(group.depends_on),
            group.words,
        )
    target.print(rows)


def print_rounds(target: Console, waves: Sequence[Sequence[str]]) -> None:
    """Print which groups run side by side, where any do."""
    if all(len(wave) == 1 for wave in waves):
        return
    rows = table("Round", "Groups side by side", right=("Round",), folds=("Groups side by side",))
    for number, wave in enumerate(waves, start=1):
        rows.add_row(str(number), Text(", ".join(map(printable, wave))))
    print_table(target, rows)


def print_rows(target: Console, rows: Sequence[PlanRow], *, explain: bool) -> None:
    """Print the nodes of a plan, folded by what is done with them and why; `explain` with every field that differs."""
    shown = table("Done", "Nodes", "Why", "What differs", folds=("Nodes", "Why", "What differs"))
    for row in rows[:_MOST_ROWS]:
        done = f"{row.change} withheld" if row.deed is Deed.WITHHOLD else row.deed.value
        why = f"{row.why} ({row.allowed_by} changes that)" if row.allowed_by else row.why
        differs = list(document_lines(row.documents or (), _LONGEST_VALUE))
        most = len(differs) if explain else _MOST_FIELDS
        more = [f"and {len(differs) - most} more: --explain shows them"] if len(differs) > most else []
        nodes, style = listed_nodes(row.nodes, _MOST_NAMES), _STYLES.get(row.deed, "")
        lines = "\n".join(map(printable, [*differs[:most], *more]))
        shown.add_row(Text(done, style=style), Text(nodes), why, Text(lines))
    if rows:
        target.print(shown)
    if len(rows) > _MOST_ROWS:
        target.print(Text(f"and {len(rows) - _MOST_ROWS} more: -o json names them all", style="dim"))


def print_edges(target: Console, edges: Iterable[Mapping[str, str]]) -> None:
    """Print which groups and nodes wait for which."""
    waiting = waits(edges)
    for kind, later, earlier in waiting:
        target.print(Text(f"{kind} {printable(later)} waits for {listed(earlier)}"), soft_wrap=True)
    if not waiting:
        target.print(Text("No edge of the order is used: nothing waits for anything."), soft_wrap=True)
