"""Measurements as Airflow's own metrics, under the names of `/slipway/metrics` (StatsD or OpenTelemetry)."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk.observability import stats

from site_engine.monitoring.metrics import Distribution, Sample, Shape


def emit(sample: Sample) -> None:
    """Give one measurement to Airflow's metrics. Raises what they raise."""
    if isinstance(sample.value, Distribution):
        return
    name, tags = sample.metric.name, dict(sample.tags())
    match sample.metric.shape:
        case Shape.HISTOGRAM:
            stats.timing(name, timedelta(seconds=sample.value), tags=tags)
        case Shape.COUNTER:
            stats.incr(name, int(sample.value), tags=tags)
        case Shape.GAUGE:
            stats.gauge(name, sample.value, tags=tags)
