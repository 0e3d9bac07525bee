"""Names that differ in a number alone are said once, and which they are can be read from it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.folded_names import fold_names


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([f"r1-compute-{n:02}" for n in range(1, 13)], ["r1-compute-[01-12]"]),
        (["n1", "n2"], ["n1", "n2"]),
        (["n1", "n2", "n3"], ["n[1-3]"]),
        (["n3", "n1", "n7"], ["n[1,3,7]"]),
        (["a01", "mon", "a02", "b1", "a04"], ["a[01-02,04]", "mon", "b1"]),
        (["n8", "n9", "n10", "n11", "n12"], ["n8", "n9", "n[10-12]"]),
        (["n1.dc", "n2.dc", "n3.dc", "n3"], ["n[1-3].dc", "n3"]),
        (["r1-c1", "r2-c1", "r3-c1"], ["r1-c1", "r2-c1", "r3-c1"]),
        (["n1", "n1", "n1"], ["n1"]),
        (["", "9" * 30], ["", "9" * 30]),
        ([], []),
    ],
)
def test_what_is_folded(names: list[str], folded: list[str]) -> None:
    found = fold_names(names)
    assert [text for text, _ in found] == folded
    assert sum(number for _, number in found) == len(set(names))


def _unfolded(text: str) -> list[str]:
    match = re.fullmatch(r"(.*)\[([\d,-]+)\](.*)", text, re.DOTALL)
    if match is None:
        return [text]
    found = []
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        found += [f"{match[1]}{n:0{len(first)}}{match[3]}" for n in range(int(first), int(last or first) + 1)]
    return found


@given(st.lists(st.from_regex(r"[ab]-?[0-9]{0,3}(\.x)?", fullmatch=True)))
def test_every_name_can_be_read_from_it_and_no_other(names: list[str]) -> None:
    assert sorted(name for text, _ in fold_names(names) for name in _unfolded(text)) == sorted(set(names))
