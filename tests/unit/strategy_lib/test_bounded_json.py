"""JSON from outside: its depth has a bound."""

from __future__ import annotations

import pytest

from strategy_lib.parsing.bounded_json import DEEPEST, read_json


def test_what_is_meant_is_read() -> None:
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert read_json(deepest) is not None
    assert read_json(b'{"a": ["[[[[", {"b": 1.5}], "c": null}') == {"a": ["[[[[", {"b": 1.5}], "c": None}
    assert read_json("7") == 7


@pytest.mark.parametrize(
    "text",
    [
        "[" * 30_000,
        '{"a":' * 30_000,
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        '{"a":' * 900 + "1" + "}" * 900,
        "",
        "{",
        b"\xff",
    ],
)
def test_all_else_is_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)
