"""Measurements reach Airflow's own metrics under their names, and never fail the work."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from site_engine.monitoring import metrics
from site_engine.monitoring.metrics import GROUP_OUTCOMES, GROUP_SECONDS, NODES, Sample, measure, use_sink
from slipway_airflow import airflow_stats
from slipway_airflow.airflow_stats import emit


class Stats:
    """Airflow's metrics, as a list."""

    def __init__(self) -> None:
        self.taken: list[tuple[Any, ...]] = []

    def timing(self, *what: Any, tags: dict[str, str]) -> None:
        self.taken.append(("timing", *what, tags))

    def incr(self, *what: Any, tags: dict[str, str]) -> None:
        self.taken.append(("incr", *what, tags))

    def gauge(self, *what: Any, tags: dict[str, str]) -> None:
        self.taken.append(("gauge", *what, tags))


def test_each_shape_goes_where_airflow_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = Stats()
    monkeypatch.setattr(airflow_stats, "stats", stats)
    emit(Sample(GROUP_SECONDS, ("a",), 90.0))
    emit(Sample(GROUP_OUTCOMES, ("a", "failure", "deploy_criteria", "true"), 1))
    emit(Sample(NODES, ("a", "success"), 5))
    assert stats.taken == [
        ("timing", "slipway_group_duration_seconds", timedelta(seconds=90), {"site": "a"}),
        (
            "incr",
            "slipway_group_outcomes_total",
            1,
            {"site": "a", "state": "failure", "reason": "deploy_criteria", "critical": "true"},
        ),
        ("gauge", "slipway_nodes", 5, {"site": "a", "status": "success"}),
    ]


def test_the_installed_airflow_takes_them() -> None:
    for sample in (Sample(GROUP_SECONDS, ("a",), 90.0), Sample(GROUP_OUTCOMES, ("a", "b", "c", "true"), 1)):
        emit(sample)


def test_a_measurement_that_cannot_be_taken_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_sample: Sample) -> None:
        raise OSError("no route")

    monkeypatch.setattr(metrics, "_sinks", [])
    measure(NODES, ("a", "success"), 5)
    use_sink(broken)
    measure(NODES, ("a", "success"), 5)
    assert "slipway_nodes was lost: no route" in caplog.text
