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
from click.core import ParameterSource

from provisioner_client.finite_range import FiniteRange
from provisioner_client.node_agent.agent import SHORTEST_KEY
from provisioner_client.private_files import read_private
from provisioner_client.simulator.errors import BadAdminRequest, SimulatorError
from provisioner_client.simulator.http.server import SimulatorServer, serve_in_background
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY, DEFAULT_USER, parse_key
from provisioner_client.simulator.maas.machines.course import MAAS_SCRIPTS
from provisioner_client.simulator.maas.simulation import MaasSimulation
from provisioner_client.simulator.scripts import DRYDOCK_SCRIPTS, Script, ScriptForm, parse_fail_option, parse_script
from provisioner_client.simulator.settings import FASTEST, Ingester, RestartMode, Settings
from provisioner_client.simulator.simulation import Simulation
from strategy_lib.settings import SettingError

# Options that only one of the provisioners has.
_ONLY = {
    "drydock": (
        "restart_mode",
        "grace",
        "fan_out",
        "task_cost",
        "node_cost",
        "threads",
        "ingester",
        "tokens",
        "node_key",
    ),
    "maas": ("machines", "pool", "api_keys", "user_keys"),
}
_TICK = 0.1
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("simulator", epilog="\b\nExample:\n  slipway simulator --provisioner maas --machines 20 --port 5240")
@click.option(
    "--provisioner",
    type=click.Choice(["drydock", "maas"]),
    default="drydock",
    show_default=True,
    help="Whose API to serve.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 picks a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--site", "sites", type=_FILE, multiple=True, help="Preload a site design (repeatable).")
@click.option(
    "--speed",
    type=FiniteRange(0, FASTEST, min_open=True),
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
    type=FiniteRange(0, 1_000_000_000),
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
    type=FiniteRange(0, 3600),
    default=0.0,
    show_default=True,
    help="Real seconds that each task, subtasks included, costs the list of tasks.",
)
@click.option(
    "--node-cost",
    type=FiniteRange(0, 3600),
    default=0.0,
    show_default=True,
    help="Real seconds that each node costs the list of nodes.",
)
@click.option(
    "--threads",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Requests that are answered at a time, others wait; 0: any number.",
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
@click.option(
    "--node-key",
    type=_FILE,
    help="Answer for the agents of machines that are up, as an HTTP proxy, with the key of the site in this file.",
)
@click.option("--token", "tokens", multiple=True, help="Ask for this X-Auth-Token (repeatable).")
@click.option("--machines", type=click.IntRange(0), default=0, show_default=True, help="MAAS: so many plain machines.")
@click.option("--pool", default="default", show_default=True, help="MAAS: the pool of the machines of --site.")
@click.option(
    "--api-key",
    "api_keys",
    multiple=True,
    metavar="[NAME=]CONSUMER:TOKEN:SECRET",
    help=f"MAAS: an administrator's key (repeatable). Without any: {DEFAULT_KEY}, of {DEFAULT_USER}.",
)
@click.option(
    "--user-key",
    "user_keys",
    multiple=True,
    metavar="NAME=CONSUMER:TOKEN:SECRET",
    help="MAAS: the key of a user who is no administrator (repeatable).",
)
@click.pass_context
def main(
    context: click.Context,
    provisioner: str,
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
    node_cost: float,
    threads: int,
    ingester: str,
    fails: Sequence[str],
    script_file: Path | None,
    node_key: Path | None,
    tokens: Sequence[str],
    machines: int,
    pool: str,
    api_keys: Sequence[str],
    user_keys: Sequence[str],
) -> None:
    """A real HTTP server with the API of Airship Drydock, or of MAAS, over simulated machines.

    Prints one line, `listening on http://HOST:PORT`, once it answers. Its admin API is below /_sim/.
    """
    _refuse_options_of_another(context, provisioner)
    form = DRYDOCK_SCRIPTS if provisioner == "drydock" else MAAS_SCRIPTS
    try:
        agents_key = None if node_key is None else read_private(node_key, "--node-key", SHORTEST_KEY).encode()
        scripts = [*_read_scripts(script_file, form), *(parse_fail_option(fail, form) for fail in fails)]
        users = [parse_key(key) for key in api_keys] + [parse_key(key, is_admin=False) for key in user_keys]
    except (BadAdminRequest, SettingError) as error:
        raise click.UsageError(str(error)) from error
    settings = Settings(
        speed=speed,
        seed=seed,
        restart_mode=RestartMode(restart_mode),
        grace=grace,
        fan_out=fan_out,
        task_cost=task_cost,
        node_cost=node_cost,
        ingester=Ingester(ingester),
        sites=tuple(sites),
        scripts=tuple(scripts),
        tokens=frozenset(tokens),
        users=tuple(users),
        machines=machines,
        pool=pool,
        node_key=agents_key,
    )
    try:
        run(host, port, state, settings, MaasSimulation if provisioner == "maas" else Simulation, threads)
    except SimulatorError as error:
        raise click.ClickException(str(error)) from error


def run(
    host: str,
    port: int,
    state: Path | None,
    settings: Settings,
    kind: type[Simulation] | type[MaasSimulation] = Simulation,
    threads: int = 0,
) -> None:
    """Serve until SIGTERM or SIGINT. Raises `SimulatorError` if the port, the store or a site file cannot be used."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with ExitStack() as stack:
        if state is None:
            state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slipway-simulator-"))) / "state.db"
        simulation = kind(state, settings)
        stack.callback(simulation.stop)
        server = SimulatorServer(host, port, simulation, threads)
        stack.callback(server.server_close)
        simulation.start()
        serve_in_background(server)
        stack.callback(server.shutdown)
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"listening on http://{shown}:{server.server_port}")
        # The system may hand a signal to any thread, and its handler runs once this one wakes.
        while not ended.wait(_TICK):
            pass


def _refuse_options_of_another(context: click.Context, provisioner: str) -> None:
    """Raise a usage error for an option that only the other provisioner has."""
    for option in _ONLY["maas" if provisioner == "drydock" else "drydock"]:
        source = context.get_parameter_source(option)
        if source is not None and source is not ParameterSource.DEFAULT:
            spelled = next(one.opts[0] for one in context.command.params if one.name == option)
            raise click.UsageError(f"{spelled} does not go with --provisioner {provisioner}")


def _read_scripts(file: Path | None, form: ScriptForm) -> list[Script]:
    if file is None:
        return []
    try:
        data = yaml.safe_load(file.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise BadAdminRequest(f"{file}: {error}") from error
    return [parse_script(one, form) for one in (data if isinstance(data, list) else [data])]
