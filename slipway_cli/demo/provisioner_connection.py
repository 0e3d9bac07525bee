"""The connection in Airflow that leads to the provisioner beside an embedded Airflow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiUnreachable
from design_rendering.kinds.provisioner_kinds import IRONIC, MAAS, PROVISIONERS
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY

ALL_SITES = "slipway_provisioner"
"""The Airflow connection that is used for every site without one of its own."""
_MARK = "Made by Slipway: "
# Older demos called theirs so.
_MARKS = (_MARK, "The simulated Drydock of")
_RETRY = 1.0
"""Seconds between two attempts to connect it."""
_SERVER_ERROR = 500
USER, MACHINES = "slipway", "slipway"
"""The user of an embedded Ironic, and the resource class of the machines that Slipway enrols there."""


def noun(kind: str) -> str:
    """Return what messages call it: `simulated Drydock`, `embedded Ironic`.

    Parameters
    ----------
    kind : one of `PROVISIONERS`.
    """
    return f"{'embedded' if kind == IRONIC else 'simulated'} {PROVISIONERS[kind]}"


class PendingConnection:
    """A connection that is still to be made; tried again while Airflow's API server is away, which is restarted."""

    def __init__(self, attempt: Callable[[], None], patience: float) -> None:
        """Nothing is done yet.

        Parameters
        ----------
        attempt : makes the connection; safe to repeat.
        patience : seconds to try it.
        """
        self._attempt = attempt
        self._end = time.monotonic() + patience
        self._next = 0.0
        self.is_done = False

    def try_now(self) -> bool:
        """Try to make it, unless it is made, or the last attempt was less than a second ago.

        Returns
        -------
        Whether this attempt made it.

        Raises
        ------
        ApiError : Airflow refused, or did not answer for too long.
        """
        if self.is_done or time.monotonic() < self._next:
            return False
        try:
            self._attempt()
        except (ApiUnreachable, ApiRefused) as error:
            away = isinstance(error, ApiUnreachable) or error.status >= _SERVER_ERROR
            if not away or time.monotonic() > self._end:
                raise
            self._next = time.monotonic() + _RETRY
            return False
        self.is_done = True
        return True


def connection_fields(kind: str, url: str, password: str | None = None) -> dict[str, Any]:
    """Return the fields of a connection to a provisioner that runs here.

    Parameters
    ----------
    kind : one of `PROVISIONERS`.
    url : where it listens.
    password : of an embedded Ironic's user.
    """
    extra: dict[str, Any] = {"poll_interval": 1}
    # The button "Test" in Airflow sends port 0 where none is set, and then takes it for another server than the stored.
    fields: dict[str, Any] = {"conn_type": kind, "host": url, "port": 0, "password": password, "extra": extra}
    if kind == MAAS:
        fields |= {"host": f"{url}/MAAS", "password": DEFAULT_KEY, "extra": extra | {"pool": "default"}}
    elif kind == IRONIC:
        fields |= {"login": USER, "extra": extra | {"resource_class": MACHINES}}
    return fields


def connect(airflow: AirflowClient, connection_id: str, fields: Mapping[str, Any], whose: str) -> None:
    """Have Airflow use a provisioner that runs here.

    Parameters
    ----------
    fields : of `connection_fields`.
    whose : for the connection's description: "of the latest demo".

    Raises
    ------
    ApiError : there is a connection of this id that was not made here: it may lead to real machines.
    ApiRefused, ApiUnreachable
    """
    before = airflow.connection(connection_id)
    ours = ((before or {}).get("description") or "").startswith(_MARKS)
    if before is not None and not ours and before.get("host") != fields["host"]:
        raise ApiError(
            f"Airflow's connection {connection_id} leads to {before.get('host')} and was not made by Slipway, so it is "
            "left alone; remove it in Airflow (Admin, Connections), or go on without the simulator"
        )
    name = noun(fields["conn_type"])
    article = "an" if name[0] in "aeiou" else "a"
    sent = {**fields, "extra": json.dumps(fields["extra"]), "description": f"{_MARK}{article} {name}, {whose}."}
    airflow.set_connection(connection_id, sent)


def disconnect(airflow: AirflowClient, connection_id: str, fields: Mapping[str, Any] | None = None) -> None:
    """Remove a connection that `connect` has made; with `fields` only if it still leads there.

    Raises `ApiRefused` or `ApiUnreachable`.
    """
    found = airflow.connection(connection_id)
    if found is None or not (found.get("description") or "").startswith(_MARK):
        return
    if fields is None or found.get("host") == fields["host"]:
        airflow.remove_connection(connection_id)
