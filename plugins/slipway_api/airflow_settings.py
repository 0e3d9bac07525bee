"""The few of Airflow's own settings that Slipway reads; the only place that touches Airflow's configuration."""

from __future__ import annotations

from airflow.configuration import conf


def airflow_base_url() -> str | None:
    """Return ``[api] base_url``, None when it is not set."""
    return conf.get("api", "base_url", fallback=None) or None


def own_url() -> str:
    """Return where the API server finds itself: ``[api] base_url``, else its port on this machine."""
    url = airflow_base_url() or f"http://127.0.0.1:{conf.getint('api', 'port', fallback=8080)}"
    return url.rstrip("/")


def longest_mapping() -> int:
    """Return ``[core] max_map_length``: how many groups one run can have."""
    return conf.getint("core", "max_map_length", fallback=1024)


def secret_key() -> str:
    """Return ``[api] secret_key``, which all API servers of one Airflow share, and nobody else knows."""
    return conf.get_mandatory_value("api", "secret_key")
