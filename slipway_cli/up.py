"""`slipway up`: Slipway with its embedded Airflow in the foreground, until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import click

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from provisioner_client.finite_range import FiniteRange
from provisioner_client.simulator.settings import FASTEST
from site_engine.extensions import check_installed
from slipway_cli.embedded.environment import PASSWORDS, Credentials
from slipway_cli.embedded.home import STOPPING, Runtime, find_running, home_in_use
from slipway_cli.embedded.settings import START_TIMEOUT, EmbeddedSettings
from slipway_cli.embedded.supervisor import Supervisor
from slipway_cli.options import embedded_options, examples

_ANSWER = 5.0
"""Seconds for an answer of Airflow's, while nothing else is looked after."""


@click.command(epilog=examples("slipway up", "slipway up --simulator --fail deploy:r1-compute-07"))
@embedded_options
@click.option("--simulator", is_flag=True, help="Also run a simulated provisioner, and connect it for all sites.")
@click.option(
    "--provisioner",
    type=click.Choice(["drydock", "maas", "ironic"]),
    help="Which one; Ironic is a real one with simulated machines.  [drydock]",
)
@click.option(
    "--site",
    "sites",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    help="Site design whose machines a simulated MAAS has; may be repeated.  [the example site on MAAS]",
)
@click.option("--speed", type=FiniteRange(min=0.01, max=FASTEST), help="How much faster its machines are.  [400]")
@click.option("--fail", metavar="PHASE:NODE[:KIND]", multiple=True, help="Have a node fail there; may be repeated.")
def up(
    port: int | None,
    home: Path | None,
    simulator: bool,
    provisioner: str | None,
    sites: tuple[Path, ...],
    speed: float | None,
    fail: tuple[str, ...],
) -> None:
    """Run Slipway in the foreground until Ctrl-C.

    Starts PostgreSQL and Airflow's API server, scheduler, DAG processor and triggerer, reachable from this machine
    only, and prints where they are and how to log in. Passwords are taken from SLIPWAY_ADMIN_PASSWORD and
    SLIPWAY_VIEWER_PASSWORD, or made up and kept in passwords.json in the home.

    With --simulator there are simulated machines as well, so that sites can be deployed without any hardware.
    """
    if not simulator and (speed is not None or fail or provisioner or sites):
        raise click.UsageError(
            "--provisioner, --site, --speed and --fail are about simulated machines: add --simulator"
        )
    if sites and provisioner != "maas":
        raise click.UsageError("--site is for a simulated MAAS: the others take their machines from the designs")
    kind = (provisioner or "drydock") if simulator else None
    _run(EmbeddedSettings.from_environment(home, port), kind, sites, speed, fail)
    click.echo("stopped")


def _run(
    settings: EmbeddedSettings, kind: str | None, sites: tuple[Path, ...], speed: float | None, fail: tuple[str, ...]
) -> None:
    began = time.monotonic()
    check_installed()
    if kind is None:
        Supervisor(settings, click.echo).run(
            lambda runtime, credentials: click.echo(welcome(runtime, credentials, began))
        )
        return
    # Only now: without a simulator its libraries are not needed.
    from slipway_cli.demo.order import example_site, read_fail
    from slipway_cli.demo.provisioner_connection import ALL_SITES, PendingConnection, connect
    from slipway_cli.demo.provisioner_process import DEFAULT_SPEED
    from slipway_cli.demo.simulated_provisioner import embedded_provisioner

    for text in fail:
        read_fail(text, kind)
    running = find_running(settings.home)
    if running is not None and running.state != STOPPING:
        raise home_in_use(settings.home, f"process {running.pid}, {running.url}")
    with contextlib.ExitStack() as stack:
        machines = (sites or (stack.enter_context(example_site(kind)),)) if kind == "maas" else ()
        speed = speed or DEFAULT_SPEED
        simulated = stack.enter_context(
            embedded_provisioner(settings, "simulator", speed, fail, kind=kind, sites=machines)
        )
        supervisor = Supervisor(settings, click.echo, {**os.environ, **simulated.node_variables(os.environ)})
        begun: list[tuple[PendingConnection, Callable[[], None]]] = []

        def on_ready(runtime: Runtime, credentials: Credentials) -> None:
            simulated.start(click.echo)  # now that the home is ours

            def attempt() -> None:
                session = ApiSession(runtime.url, "admin", runtime.password("admin"), _ANSWER)
                with contextlib.closing(session):
                    connect(AirflowClient(session), ALL_SITES, simulated.connection, "of `slipway up --simulator`")

            more = f"  {simulated.noun} for all sites: {simulated.address}"
            connecting = PendingConnection(attempt, START_TIMEOUT)
            begun.append((connecting, lambda: click.echo(welcome(runtime, credentials, began, more))))

        def look_after() -> None:
            for connecting, say_welcome in begun:
                if not connecting.is_done and simulated.check_ready() and connecting.try_now():
                    say_welcome()
            simulated.look_after(click.echo)

        supervisor.run(on_ready, look_after)


def welcome(runtime: Runtime, credentials: Credentials, began: float, more: str = "") -> str:
    """Return what a person needs to know once Airflow is ready, without passwords that came from the environment.

    Parameters
    ----------
    began : when the start began (monotonic seconds).
    """
    lines = [f"Slipway is ready after {time.monotonic() - began:.1f} s: {runtime.url}"]
    for user, password in credentials.passwords.items():
        shown = f"from {PASSWORDS[user].name}" if user in credentials.given else password
        lines.append(f"  user {user}, password {shown}")
    lines.append(f"  passwords are kept in {runtime.passwords_file}")
    if more:
        lines.append(more)
    lines += ["  log in on the command line with `slipway login --user admin`", "  stop with Ctrl-C"]
    return "\n".join(lines)
