"""The two sentences with which each view of a site begins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from strategy_lib.status.serves import Serves
from strategy_lib.status.site import first_line
from strategy_lib.status.words import Status

SINCE = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("serves", "more", "sentence"),
    [
        ({Serves.WANTED: 3}, {}, "in sync with the design"),
        ({}, {}, "in sync with the design"),
        (
            {Serves.OLDER: 12, Serves.NOTHING: 1, Serves.WANTED: 3},
            {"since": SINCE},
            "behind the design since 2026-03-01 12:00:00 UTC: 12 nodes serve an older revision, 1 serves nothing",
        ),
        ({Serves.OLDER: 1}, {}, "behind the design: 1 node serves an older revision"),
        # Nobody knows since when a node serves nothing.
        ({Serves.NOTHING: 40}, {"since": SINCE}, "behind the design: 40 nodes serve nothing"),
        ({Serves.WANTED: 3}, {"to_be_removed": 2}, "behind the design: 2 nodes are to be removed"),
        ({Serves.WANTED: 3}, {"asked_again": 1}, "in sync with the design; 1 node is asked for again"),
    ],
)
def test_rule_27_in_sync_with_the_design_or_behind(
    serves: dict[Serves, int], more: dict[str, Any], sentence: str
) -> None:
    line = first_line(serves, {}, **more)
    assert (line.sync, line.in_sync, line.health, line.healthy) == (
        sentence,
        sentence.startswith("in sync"),
        "healthy",
        True,
    )


@pytest.mark.parametrize(
    ("counts", "others", "sentence"),
    [
        ({Status.SUCCESS: 3, Status.PENDING: 2, Status.PROCESSING: 1}, [], "healthy"),
        ({Status.ERROR: 1}, [], "not healthy: 1 node in error"),
        (
            {Status.UNRESPONSIVE: 1, Status.ERROR: 2, Status.UNDEFINED: 3},
            [],
            "not healthy: 2 nodes in error, 3 undefined, 1 unresponsive",
        ),
        ({Status.SUCCESS: 3}, ["watching: nobody looks"], "not healthy: watching: nobody looks"),
        ({Status.ERROR: 1}, ["watching: nobody looks"], "not healthy: 1 node in error; watching: nobody looks"),
    ],
)
def test_rule_27_healthy_or_not(counts: dict[Status, int], others: list[str], sentence: str) -> None:
    line = first_line({}, counts, others=others)
    assert (line.health, line.healthy) == (sentence, sentence == "healthy")
