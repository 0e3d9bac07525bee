"""Airflow hooks with a connection that no Airflow has been asked for."""

from __future__ import annotations

import json
from typing import Any

from airflow.sdk import Connection

from slipway_airflow.hook import DrydockHook


def hook(host: str | None = "http://drydock:9000", extra: dict[str, Any] | None = None, **more: Any) -> DrydockHook:
    """Return a hook with this connection."""
    made = DrydockHook("slipway_provisioner")
    given = {"conn_id": "slipway_provisioner", "conn_type": "drydock", "host": host, "extra": json.dumps(extra or {})}
    vars(made)["connection"] = Connection(**{**given, **more})
    return made
