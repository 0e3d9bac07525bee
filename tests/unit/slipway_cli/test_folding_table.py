"""Text and tables on narrow terminals: they fold, lose nothing, and words and commands stay whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from slipway_cli.folding_table import FoldingTable, longest_word, whole_lines

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


def lines(text: str, width: int) -> list[str]:
    return [line.plain for line in whole_lines(Text(text), width)]


def test_a_command_stays_whole_where_it_fits_and_the_text_behind_it_is_none_of_it() -> None:
    said = "group a waits for approval: slipway approve action/X --group a: Is the rack cabled?"
    assert lines(said, 50) == [
        "group a waits for approval:",
        "slipway approve action/X --group a: Is the rack",
        "cabled?",
    ]
    assert lines("go on with `slipway plan update_site`, then wait", 30) == [
        "go on with",
        "`slipway plan update_site`,",
        "then wait",
    ]


def test_what_is_longer_than_a_line_is_folded_between_words_or_else_broken() -> None:
    assert lines("see slipway stop action/01ARZ", 15) == ["see slipway", "stop", "action/01ARZ"]
    assert lines("x" * 12, 5) == ["xxxxx", "xxxxx", "xx"]


def test_lines_below_an_indented_one_are_indented_more() -> None:
    assert lines("1 warning:\n  site.yaml:7: there is no group", 20) == [
        "1 warning:",
        "  site.yaml:7:",
        "    there is no",
        "    group",
    ]


def test_colours_stay_with_their_words() -> None:
    found = list(whole_lines(Text.assemble("one two three ", ("red words", "red")), 14))
    assert [[(line.plain[a.start : a.end], a.style) for a in line.spans] for line in found][-1] == [
        ("red words", "red")
    ]


@pytest.mark.parametrize(("most", "longest"), [(40, 24), (20, 11)])
def test_a_command_counts_as_one_word_where_it_fits(most: int, longest: int) -> None:
    assert longest_word(Text("try slipway plan update_site"), most) == longest
