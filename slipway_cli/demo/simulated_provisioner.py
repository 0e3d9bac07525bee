"""The provisioners that run beside an embedded Airflow, for the demo and `slipway up`: simulated, or a real Ironic."""

from __future__ import annotations

import hashlib
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from design_rendering.kinds.provisioner_kinds import DRYDOCK, IRONIC, MAAS
from provisioner_client.ironic_server.installation import IronicServerError, installed
from provisioner_client.private_files import write_private
from slipway_cli import SlipwayCliError
from slipway_cli.demo.provisioner_connection import connection_fields, noun
from slipway_cli.demo.provisioner_process import ProvisionerProcess
from slipway_cli.embedded.postgres import PostgresCluster
from slipway_cli.embedded.processes import tied_command
from slipway_cli.embedded.settings import EmbeddedSettings
from strategy_lib.settings import SLIPWAY_NODE_KEY_FILE, SLIPWAY_NODE_PROXY


def embedded_provisioner(
    settings: EmbeddedSettings,
    name: str,
    speed: float,
    fail: Sequence[str] = (),
    *,
    anew: bool = False,
    kind: str = DRYDOCK,
    sites: Sequence[Path] = (),
) -> ProvisionerProcess:
    """Return a provisioner of a kind, which is not started yet; the parameters are those of its class."""
    if kind == IRONIC:
        return EmbeddedIronic(settings, name, speed, fail, anew=anew)
    return SimulatedProvisioner(settings, name, speed, fail, anew=anew, kind=kind, sites=sites)


def remove_machines(settings: EmbeddedSettings, name: str) -> None:
    """Remove the machines of each kind of provisioner that was started by this name; the home's PostgreSQL runs.

    Raises `SlipwayCliError`: PostgreSQL does not answer.
    """
    for file in settings.home.glob(f"{name}*"):
        if file.name.removeprefix(name).startswith((".", f"-{MAAS}.")):
            file.unlink()
    folder, arguments = _ironic_arguments(settings, name)
    if folder.exists():
        # The port is not used.
        command = tied_command("provisioner_client.ironic_server", *arguments, "--port", "1", "--remove")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SlipwayCliError(f"the machines of the {noun(IRONIC)} cannot be removed: {done.stderr.strip()}")


def _ironic_arguments(settings: EmbeddedSettings, name: str) -> tuple[Path, list[str]]:
    """Return the folder of an embedded Ironic, and where it has its files and its database."""
    environments = settings.home / "ironic"
    folder = environments / name
    arguments = ["--folder", str(folder), "--environments", str(environments)]
    arguments += ["--sockets", str(PostgresCluster(settings.home).sockets)]
    # A site's name may be longer than a database's.
    return folder, [*arguments, "--database", f"ironic_{hashlib.sha256(name.encode()).hexdigest()[:12]}"]


class SimulatedProvisioner(ProvisionerProcess):
    """A simulator."""

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
        kind : one of `PROVISIONERS` that is simulated.
        sites : files of documents whose machines a MAAS has; it never reads a design.

        Raises
        ------
        SlipwayCliError : its port is in use.
        """
        super().__init__(settings, kind)
        self._state = settings.home / f"{name}{'' if kind == DRYDOCK else f'-{kind}'}.db"
        self._anew = anew
        self.node_key = settings.home / "node.key"
        """File with the key that its machines' agents answer to; it is there once it was started."""
        self._arguments = ["--port", str(self.port), "--speed", f"{speed:g}", "--state", str(self._state)]
        self._arguments += ["--node-key", str(self.node_key)] if kind == DRYDOCK else ["--provisioner", kind]
        for site in sites:
            self._arguments += ["--site", str(site)]
        for text in fail:
            self._arguments += ["--fail", text]

    @property
    def connection(self) -> dict[str, Any]:
        return connection_fields(self.kind, self.address)

    def command(self) -> list[str]:
        return tied_command("provisioner_client.simulator", *self._arguments)

    def start(self, say: Callable[[str], None] = lambda _: None) -> Self:
        if self._anew:
            for old in self._state.parent.glob(self._state.name + "*"):
                old.unlink()
        if not self.node_key.exists():
            write_private(self.node_key, secrets.token_hex(32))
        return super().start(say)

    def node_variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what has Airflow and the controller ask its machines; nothing where somebody has said otherwise."""
        if self.kind != DRYDOCK or SLIPWAY_NODE_KEY_FILE.name in environ or SLIPWAY_NODE_PROXY.name in environ:
            return {}
        return {SLIPWAY_NODE_KEY_FILE.name: str(self.node_key), SLIPWAY_NODE_PROXY.name: self.address}


class EmbeddedIronic(ProvisionerProcess):
    """A real Ironic with machines that are only pretended; its database is in the home's PostgreSQL."""

    # It waits for PostgreSQL, which is started with Airflow.
    patience = 400.0

    def __init__(
        self, settings: EmbeddedSettings, name: str, speed: float, fail: Sequence[str] = (), *, anew: bool = False
    ) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        name, speed, fail, anew : as for a simulator.

        Raises
        ------
        SlipwayCliError : its port is in use.
        """
        super().__init__(settings, IRONIC)
        self._folder, arguments = _ironic_arguments(settings, name)
        self._arguments = [*arguments, "--port", str(self.port), "--speed", f"{speed:g}"]
        self._anew = anew
        for text in fail:
            self._arguments += ["--fail", text]
        self._password = secrets.token_urlsafe(24)

    @property
    def connection(self) -> dict[str, Any]:
        return connection_fields(self.kind, self.address, self._password)

    def command(self) -> list[str]:
        anew, self._anew = ["--anew"] if self._anew else [], False
        return tied_command("provisioner_client.ironic_server", *self._arguments, *anew)

    def start(self, say: Callable[[str], None] = lambda _: None) -> Self:
        try:
            installed(self._folder.parent, say)
        except IronicServerError as error:
            raise SlipwayCliError(str(error)) from error
        write_private(self._folder / "password", self._password)
        return super().start(say)
