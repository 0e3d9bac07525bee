"""Text on a terminal: words and commands stay whole."""

from __future__ import annotations

import pytest
from rich.text import Text

from slipway_cli.folding_table import longest_word, whole_lines


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
