"""Tables on narrow terminals: they fold, and lose nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from slipway_cli.folding_table import FoldingTable

ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
VERDICT = "critical group control-nodes failed; non-critical group compute-nodes-1 failed too"


def printed(width: int, rows: FoldingTable) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, markup=False).print(rows)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines


@pytest.fixture
def actions() -> FoldingTable:
    rows = FoldingTable(("Action", "State", "Rev", "Verdict"), right=("Rev",), folds=("Verdict",))
    rows.add_row(ID, Text("failed", "red"), "3", VERDICT)
    rows.add_row(ID[::-1], "running", "12", "")
    return rows


def test_where_there_is_room_it_is_a_table(actions: FoldingTable) -> None:
    assert printed(140, actions)[2] == f"{ID}  failed     3  {VERDICT}"


def test_a_column_that_folds_does_so_as_long_as_it_can_be_read(actions: FoldingTable) -> None:
    lines = printed(72, actions)
    assert lines[2].startswith(f"{ID}  failed     3  critical group")
    assert " ".join(" ".join(lines[2:-1]).split()).endswith("compute-nodes-1 failed too")


def test_then_it_stands_below_its_row(actions: FoldingTable) -> None:
    assert printed(60, actions) == [
        "Action                      State    Rev",
        "─" * 60,
        f"{ID}  failed     3",
        "  Verdict: critical group control-nodes failed; non-critical",
        "  group compute-nodes-1 failed too",
        f"{ID[::-1]}  running   12",
    ]


def test_then_others_follow_it_with_their_headings(actions: FoldingTable) -> None:
    assert printed(30, actions)[2:4] == [ID, "  State: failed  Rev: 3"]


# Both sides of each width at which a column goes below its row, or a cell folds.
@pytest.mark.parametrize("width", [8, 9, 12, 15, 20, 25, 26, 27, 28, 34, 35, 36, 39, 40, 63, 64, 72, 89, 125, 126])
def test_nothing_is_ever_lost(width: int, actions: FoldingTable) -> None:
    text = "".join("".join(printed(width, actions)).split())
    for word in (ID, ID[::-1], "failed", "running", "12"):
        assert word in text
    assert all(word in text for word in VERDICT.split() if len(word) < width // 2)


def test_a_first_column_that_folds_is_folded() -> None:
    rows = FoldingTable(("Group", "State", "Nodes"), right=("Nodes",), folds=("Group",))
    rows.add_row("g" * 50, "failure (deploy_criteria)", "12")
    lines = printed(48, rows)
    assert "".join(line.split()[0] for line in lines[2:5]) == "g" * 50
    assert "failure (deploy_criteria)" in lines[2]
    assert lines[-1] == "  Nodes: 12"


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        FoldingTable(("a", "b")).add_row("x")
