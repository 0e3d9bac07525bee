"""In which rounds the groups of a plan run (rule 8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from site_engine.plans.schedules import WaitingGroup, rounds_of
from strategy_lib import simulate
from tests.unit.strategy_lib.test_simulation_against_the_rules import nodes, strategies


def test_the_first_that_are_ready_run_together() -> None:
    groups = [
        WaitingGroup("a"),
        WaitingGroup("b"),
        WaitingGroup("c", ["a"]),
        WaitingGroup("d"),
        WaitingGroup("e", ["c"]),
    ]
    assert rounds_of(groups, 1) == (("a",), ("b",), ("c",), ("d",), ("e",))
    assert rounds_of(groups, 2) == (("a", "b"), ("c", "d"), ("e",))
    assert rounds_of(groups, 16) == (("a", "b", "d"), ("c",), ("e",))


def test_one_without_anything_to_submit_takes_no_place_and_one_behind_a_failed_one_neither() -> None:
    groups = [
        WaitingGroup("idle", submits=False),
        WaitingGroup("fails", fails=True),
        WaitingGroup("behind", ["fails"]),
        WaitingGroup("far behind", ["behind"]),
        WaitingGroup("after", after=["fails"]),
        WaitingGroup("passed on", ["idle"]),
    ]
    assert rounds_of(groups, 2) == (("fails", "passed on"), ("after",))


def test_what_waits_for_itself_is_in_no_round() -> None:
    assert rounds_of([WaitingGroup("a", after=["b"]), WaitingGroup("b", after=["a"]), WaitingGroup("c")], 2) == (
        ("c",),
    )


@pytest.mark.parametrize("number", [60, pytest.param(2000, marks=pytest.mark.soak)])
def test_rounds_are_those_of_the_rehearsal(number: int) -> None:
    @settings(max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategies(), nodes, st.integers(2, 5))
    def check(strategy: dict[str, Any], site: list[dict[str, Any]], at_once: int) -> None:
        rehearsed = simulate(strategy, site, None, max_parallel_groups=at_once)
        failed = {name for name, group in rehearsed["groups"].items() if group["reason"]}
        # By the document, as the rehearsal does.
        groups = [
            WaitingGroup(group["name"], group["depends_on"], fails=group["name"] in failed)
            for group in strategy["groups"]
        ]
        assert [list(wave) for wave in rounds_of(groups, at_once)] == rehearsed["waves"]

    check()
