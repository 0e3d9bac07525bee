"""The command `simulator`: starts the server process, says where it listens, ends on SIGTERM or SIGINT."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click
import yaml

from provisioner_client.simulator.errors import BadAdminRequest, SimulatorError
from provisioner_client.simulator.http.server import SimulatorServer, serve_in_background
from provisioner_client.simulator.scripts import Script, parse_fail_option, parse_script
from provisioner_client.simulator.settings import Ingester, RestartMode, Settings
from provisioner_client.simulator.simulation import Simulation

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("simulator")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 picks a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--site", "sites", type=_FILE, multiple=True, help="Preload a site design (repeatable).")
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Simulated seconds per second.",
)
@click.option(
    "--state", type=click.Path(dir_okay=False, path_type=Path), help="SQLite store. Default: a temporary file."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of latencies and list orders.")
@click.option(
    "--restart-mode",
    type=click.Choice([mode.value for mode in RestartMode]),
    default=RestartMode.ORPHAN.value,
    show_default=True,
    help="What becomes of the task that was running when the last process on this store ended.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=300.0,
    show_default=True,
    help="Simulated seconds the queue waits after a crash.",
)
@click.option(
    "--fan-out",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="Nodes worked on at a time inside one task.",
)
@click.option(
    "--task-cost",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Real seconds that each task, subtasks included, costs the list of tasks.",
)
@click.option(
    "--ingester",
    type=click.Choice([kind.value for kind in Ingester]),
    default=Ingester.DECKHAND.value,
    show_default=True,
    help="How designs are read. yaml is a real Drydock's default, and finds no nodes in Airship's documents.",
)
@click.option(
    "--fail", "fails", multiple=True, metavar="PHASE:NODE[:KIND]", help="Let nodes fail (repeatable), e.g. deploy:n1."
)
@click.option("--scripts", "script_file", type=_FILE, help="YAML or JSON list of scripts.")
@click.option("--token", "tokens", multiple=True, help="Ask for this X-Auth-Token (repeatable).")
def main(
    port: int,
    host: str,
    sites: Sequence[Path],
    speed: float,
    state: Path | None,
    seed: int,
    restart_mode: str,
    grace: float,
    fan_out: int,
    task_cost: float,
    ingester: str,
    fails: Sequence[str],
    script_file: Path | None,
    tokens: Sequence[str],
) -> None:
    """A real HTTP server with Airship Drydock's API over simulated machines.

    Prints one line, `listening on http://HOST:PORT`, once it answers. Its admin API is below /_sim/.
    """
    try:
        scripts = [*_read_scripts(script_file), *(parse_fail_option(fail) for fail in fails)]
    except BadAdminRequest as error:
        raise click.UsageError(str(error)) from error
    settings = Settings(
        speed=speed,
        seed=seed,
        restart_mode=RestartMode(restart_mode),
        grace=grace,
        fan_out=fan_out,
        task_cost=task_cost,
        ingester=Ingester(ingester),
        sites=tuple(sites),
        scripts=tuple(scripts),
        tokens=frozenset(tokens),
    )
    try:
        run(host, port, state, settings)
    except SimulatorError as error:
        raise click.ClickException(str(error)) from error


def run(host: str, port: int, state: Path | None, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Raises `SimulatorError` if the port, the store or a site file cannot be used."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with ExitStack() as stack:
        if state is None:
            state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drydock-simulator-"))) / "state.db"
        simulation = Simulation(state, settings)
        stack.callback(simulation.stop)
        server = SimulatorServer(host, port, simulation)
        stack.callback(server.server_close)
        simulation.start()
        serve_in_background(server)
        stack.callback(server.shutdown)
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"listening on http://{shown}:{server.server_port}")
        ended.wait()


def _read_scripts(file: Path | None) -> list[Script]:
    if file is None:
        return []
    try:
        data = yaml.safe_load(file.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise BadAdminRequest(f"{file}: {error}") from error
    return [parse_script(one) for one in (data if isinstance(data, list) else [data])]
