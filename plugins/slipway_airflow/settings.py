"""What can be set on the provisioner's connection in Airflow, read once and checked. Not the design's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from site_engine.errors import SettingsError

DEFAULT_CONNECTION = "slipway_provisioner"


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The fields of a ``drydock`` connection's extra; times in seconds."""

    poll_interval: float = 30.0
    poll_in_worker: float = 60.0
    queue_timeout: float = 86400.0
    connect_timeout: float = 5.0
    read_timeout: float = 60.0
    verify_tls: bool = True
    ca_bundle: str | None = None
    auth_token: str | None = None
    auth_url: str | None = None
    project_name: str | None = None
    user_domain_name: str | None = None
    project_domain_name: str | None = None
    design_base_url: str | None = None

    @classmethod
    def from_extra(cls, extra: Mapping[str, Any]) -> ConnectionSettings:
        """Read the connection's extra; a field that is missing, null or empty takes its default.

        Raises
        ------
        SettingsError
            A number is not a number or is negative, a switch is not a boolean, a text is not a text.
        """
        values: dict[str, Any] = {}
        for item in fields(cls):
            value = extra.get(item.name)
            if value is None or value == "":
                continue
            if isinstance(item.default, bool):
                values[item.name] = _boolean(item.name, value)
            elif isinstance(item.default, float):
                values[item.name] = _seconds(item.name, value)
            elif isinstance(value, str):
                values[item.name] = value
            else:
                raise SettingsError(f"connection field {item.name} must be a text")
        return cls(**values)


def _seconds(name: str, value: object) -> float:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever it is, float() tells
    except (TypeError, ValueError):
        raise SettingsError(f"connection field {name} must be a number of seconds") from None
    if isinstance(value, bool) or not 0 <= seconds < float("inf"):
        raise SettingsError(f"connection field {name} must be a number of seconds, 0 or more")
    return seconds


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    # Connections given by environment variables are texts.
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise SettingsError(f"connection field {name} must be true or false")


def connection_candidates(site: str) -> tuple[str, str]:
    """Return the connection ids tried for a site, in order: its own first, then the one for all sites."""
    return (f"{DEFAULT_CONNECTION}_{site}", DEFAULT_CONNECTION)


def design_base_url(settings: ConnectionSettings, airflow_base_url: str | None) -> str:
    """Return the URL below which the provisioner finds Slipway's API, without a trailing slash."""
    url = settings.design_base_url or os.environ.get("SLIPWAY_URL") or airflow_base_url or "http://127.0.0.1:8080"
    return url.rstrip("/")
