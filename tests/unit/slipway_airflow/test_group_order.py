"""Whose turn it is while an earlier group has no verdict (rule 8)."""

from __future__ import annotations

import pytest

from slipway_airflow.group_order import Turn, whose_turn


@pytest.mark.parametrize("state", [None, "scheduled", "queued", "running", "deferred", "up_for_retry", "restarting"])
def test_rule_08_an_earlier_group_that_will_go_on_goes_first(state: str | None) -> None:
    assert whose_turn(state) is Turn.THEIRS


@pytest.mark.parametrize("state", ["failed", "success", "skipped", "upstream_failed", "removed"])
def test_an_earlier_group_whose_task_is_over_is_not_waited_for(state: str) -> None:
    assert whose_turn(state) is Turn.OURS
