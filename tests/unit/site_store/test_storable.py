"""What YAML can hold and JSON cannot."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from site_store.sql.rows import plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (10**30, 10**30),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (date(2026, 11, 21), "2026-11-21"),
        (datetime(2026, 11, 21, 1, 2, tzinfo=UTC), "2026-11-21T01:02:00+00:00"),
        ({"b", "a"}, ["a", "b"]),
        (("a", {"x": b"\xff"}), ["a", {"x": "\\xff"}]),
        (
            {7: "a", None: "b", True: "c", date(2026, 1, 2): "d"},
            {"7": "a", "true": "c", "null": "b", "2026-01-02": "d"},
        ),
        ({(1, 2): "a"}, {"[1, 2]": "a"}),
    ],
)
def test_everything_becomes_json(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)
