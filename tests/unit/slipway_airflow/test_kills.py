"""Airflow tells a task that it is killed, and lets it go on: every task of Slipway's has to end itself."""

from __future__ import annotations

import pytest

from site_engine.process import Stopping
from slipway_airflow.operators.action import ReportOperator
from slipway_airflow.operators.base import SiteOperator
from slipway_airflow.operators.begin_action import BeginActionOperator


@pytest.mark.parametrize(
    "operator",
    [
        BeginActionOperator(task_id="t", kind="deploy_site", steps=["validate_design"]),
        ReportOperator(task_id="t"),
    ],
)
def test_a_task_that_only_reads_knows_that_it_was_killed(
    operator: SiteOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = Stopping()
    monkeypatch.setattr(SiteOperator, "_stopping", stopping)
    operator.on_kill()
    assert stopping.told
