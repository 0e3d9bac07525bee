"""The few of Airflow's own settings that Slipway reads; the only place that touches Airflow's configuration."""

from __future__ import annotations

from airflow.configuration import conf


def airflow_base_url() -> str | None:
    """Return ``[api] base_url``, None when it is not set."""
    return conf.get("api", "base_url", fallback=None) or None


def longest_mapping() -> int:
    """Return ``[core] max_map_length``: how many groups one run can have."""
    return conf.getint("core", "max_map_length", fallback=1024)
