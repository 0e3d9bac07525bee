"""A simulated provisioner beside an embedded Airflow, and its connection there: for the demo and `slipway up`."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiUnreachable
from design_rendering.kinds.provisioner_kinds import DRYDOCK, MAAS, PROVISIONERS
from provisioner_client.private_files import write_private
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from slipway_cli.embedded.component import end_process, failed_with_log, spawn
from slipway_cli.embedded.processes import tied_command
from slipway_cli.embedded.settings import LOOPBACK, EmbeddedSettings, claim_port
from strategy_lib.settings import SLIPWAY_NODE_KEY_FILE, SLIPWAY_NODE_PROXY, SLIPWAY_SIMULATOR_PORT

DEFAULT_SPEED = 400.0
"""How much faster than real machines the simulated ones are."""
ALL_SITES = "slipway_provisioner"
"""The Airflow connection that is used for every site without one of its own."""
_MARK = "Made by Slipway: a simulated"
_PAUSE = 2.0
"""Seconds between two starts."""
_TICK = 0.05
_GRACE = 5.0
"""Seconds it has to end by itself."""
_RETRY = 1.0
"""Seconds between two attempts to connect it."""
_SERVER_ERROR = 500


class SimulatedProvisioner:
    """A simulator on a port that it keeps; started again when it dies."""

    def __init__(
        self,
        settings: EmbeddedSettings,
        name: str,
        speed: float,
        fail: Sequence[str] = (),
        *,
        anew: bool = False,
        kind: str = DRYDOCK,
        sites: Sequence[Path] = (),
    ) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        name : of its file of machines in the home.
        speed : simulated seconds per second.
        fail : `PHASE:NODE[:KIND]`, as the simulator takes them.
        anew : with new machines, not those in the file.
        kind : one of `PROVISIONERS`.
        sites : files of documents whose machines a MAAS has; it never reads a design.

        Raises
        ------
        SlipwayCliError : its port is in use.
        """
        self._kind = kind
        port = claim_port(SLIPWAY_SIMULATOR_PORT.read(os.environ), f"the {self.noun}", SLIPWAY_SIMULATOR_PORT.name)
        self._state = settings.home / f"{name}{'' if kind == DRYDOCK else f'-{kind}'}.db"
        self._anew = anew
        self.log = settings.logs / "simulator.log"
        self.address = f"http://{LOOPBACK}:{port}"
        self.node_key = settings.home / "node.key"
        """File with the key that its machines' agents answer to; it is there once it was started."""
        self._arguments = ["--port", str(port), "--speed", f"{speed:g}", "--state", str(self._state)]
        self._arguments += ["--node-key", str(self.node_key)] if kind == DRYDOCK else ["--provisioner", kind]
        for site in sites:
            self._arguments += ["--site", str(site)]
        for text in fail:
            self._arguments += ["--fail", text]
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self._born = 0.0

    @property
    def noun(self) -> str:
        """What messages call it: `simulated Drydock`."""
        return f"simulated {PROVISIONERS[self._kind]}"

    @property
    def connection(self) -> dict[str, Any]:
        """The fields of a connection that leads to it."""
        return connection_fields(self._kind, self.address)

    def start(self) -> Self:
        """Start it without waiting for anything. Start it from the main thread."""
        if self._anew:
            for old in self._state.parent.glob(self._state.name + "*"):
                old.unlink()
        if not self.node_key.exists():
            write_private(self.node_key, secrets.token_hex(32))
        self._start()
        return self

    def node_variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what has Airflow and the controller ask its machines; nothing where somebody has said otherwise.

        Parameters
        ----------
        environ : the caller's environment.
        """
        if self._kind != DRYDOCK or SLIPWAY_NODE_KEY_FILE.name in environ or SLIPWAY_NODE_PROXY.name in environ:
            return {}
        return {SLIPWAY_NODE_KEY_FILE.name: str(self.node_key), SLIPWAY_NODE_PROXY.name: self.address}

    def _start(self) -> None:
        self._born = time.monotonic()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = spawn(tied_command("provisioner_client.simulator", *self._arguments), environment, self.log)

    @property
    def pid(self) -> int:
        assert self._process is not None, "it is started first"
        return self._process.pid

    def wait_ready(self, timeout: float = 30.0) -> str:
        """Its base URL, once it answers.

        Raises `SlipwayCliError`: it has ended, or does not answer in `timeout` seconds; the message has the end of its
        log.
        """
        end = time.monotonic() + timeout
        while self.is_running() and time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self._port), 1.0):
                return self.address
            time.sleep(_TICK)
        raise failed_with_log("the provisioner's simulator cannot be started", self.log, self._log_start)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def look_after(self, say: Callable[[str], None]) -> None:
        """Start it again when it is dead; its machines are as they were."""
        if not self.is_running() and time.monotonic() - self._born > _PAUSE:
            say(f"the {self.noun} ended; starting it again (its log: {self.log})")
            self.stop()
            self._start()

    def stop(self) -> None:
        if self._process is not None:
            end_process(self._process, _GRACE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


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


def connection_fields(kind: str, url: str) -> dict[str, Any]:
    """Return the fields of a connection to a simulated provisioner.

    Parameters
    ----------
    kind : one of `PROVISIONERS`.
    url : where it listens.
    """
    # The button "Test" in Airflow sends port 0 where none is set, and then takes it for another server than the stored.
    fields = {"conn_type": kind, "host": url, "port": 0, "password": None, "extra": {"poll_interval": 1}}
    if kind == MAAS:
        fields |= {"host": f"{url}/MAAS", "password": DEFAULT_KEY, "extra": {"poll_interval": 1, "pool": "default"}}
    return fields


def connect(airflow: AirflowClient, connection_id: str, fields: Mapping[str, Any], whose: str) -> None:
    """Have Airflow use a simulated provisioner.

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
    description = (before or {}).get("description") or ""
    # Older demos called theirs so.
    ours = description.startswith((_MARK, "The simulated Drydock of"))
    if before is not None and not ours and before.get("host") != fields["host"]:
        raise ApiError(
            f"Airflow's connection {connection_id} leads to {before.get('host')} and was not made by Slipway, so it is "
            "left alone; remove it in Airflow (Admin, Connections), or go on without the simulator"
        )
    noun = PROVISIONERS[fields["conn_type"]]
    sent = {**fields, "extra": json.dumps(fields["extra"]), "description": f"{_MARK} {noun}, {whose}."}
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
