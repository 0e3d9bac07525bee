"""`slipway demo`: the main job from end to end, with a real Airflow and simulated machines."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
from rich.console import Console
from rich.text import Text

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiSession
from api_client.slipway import Action, SlipwayClient
from design_rendering.kinds.provisioner_kinds import MAAS, PROVISIONERS
from provisioner_client.finite_range import FiniteRange
from provisioner_client.private_files import write_private
from provisioner_client.simulator.scripts import Behaviour
from provisioner_client.simulator.settings import FASTEST
from slipway_cli import INTERRUPTED_EXIT, SlipwayCliError
from slipway_cli.demo.airflow import BackgroundAirflow, reuse_or_start
from slipway_cli.demo.order import Order, demo_store, read_order, remove_site, watched
from slipway_cli.demo.provisioner_connection import connect, disconnect
from slipway_cli.demo.provisioner_process import ProvisionerProcess
from slipway_cli.demo.simulated_provisioner import embedded_provisioner, remove_machines
from slipway_cli.embedded.home import Runtime, make_home
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.options import embedded_options, examples
from slipway_cli.output import OutputFormat, console, output_option, print_problems
from slipway_cli.terminal.follow import WAIT, Absence, Clock, follow, open_tree_view, show_end

if TYPE_CHECKING:
    from site_store import SiteStore

DAG = "deploy_site"
_SPEED = 800.0
"""Simulated seconds per second: a group is deployed within seconds, and can still be watched."""
_POLL = 0.5
_ANSWER = 10.0
"""Seconds for one answer while the user waits for the end."""
DEMO = "5e1b0e0c-6f0d-5d8b-9a55-51b9a7d0de30"
"""The context marker of the demo's actions; actions of others are left alone."""
_TIME_LIMIT = 90.0
_CONFLICT = 409


@click.command(
    epilog=examples("slipway demo", "slipway demo --fail deploy:r1-compute-07", "slipway demo --site site.yaml")
)
@click.option(
    "--provisioner",
    type=click.Choice(tuple(PROVISIONERS)),
    help="Which one; Ironic is a real one with simulated machines.  [default: the one that the documents are for]",
)
@click.option(
    "--site",
    "site_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    help="Site design to deploy.  [default: the example site]",
)
@click.option(
    "--fail",
    metavar="PHASE:NODE[:KIND]",
    multiple=True,
    help="Have this node fail in PHASE, prepare or deploy; may be repeated, NODE may be a pattern (r1-*). "
    f"KIND is a behaviour of the simulator: {', '.join(Behaviour)}.  [default KIND: fail]",
)
@click.option(
    "--speed",
    type=FiniteRange(min=0.01, max=FASTEST),
    default=_SPEED,
    show_default=True,
    help="How much faster than real machines the simulated ones are.",
)
@click.option("--force", is_flag=True, help="Deploy also nodes that are already as wanted.")
@output_option
@click.option("--keep", is_flag=True, help="Leave everything running at the end, until Ctrl-C.")
@click.option("--clean", is_flag=True, help="Deploy nothing: take the demo's site away, with all that is known of it.")
@embedded_options
def demo(
    provisioner: str | None,
    site_file: Path | None,
    fail: tuple[str, ...],
    speed: float,
    force: bool,
    output: str,
    keep: bool,
    clean: bool,
    port: int | None,
    home: Path | None,
) -> None:
    """Deploy a site with a real Airflow and simulated machines, and show how it goes.

    Uses the Airflow of a running `slipway up` of the same home, or starts one for the time of the demo. Ends with the
    verdict of the deployment: 0 success, 1 failure. With -o json or yaml, the report as it is stored goes to standard
    output, and everything else to standard error. Ctrl-C stops all that the demo has started. Nobody watches the site
    from the end of the demo on; --clean takes it away.
    """
    order = read_order(site_file, fail, speed, force, provisioner)
    hint = ""
    try:
        settings = EmbeddedSettings.from_environment(home, port)
        hint = f"\nlogs: {settings.logs}"
        success = _clean(order, settings) if clean else _demonstrate(order, settings, keep, output, port)
    except KeyboardInterrupt:
        click.echo("interrupted; all that the demo had started is stopped", err=True)
        raise SystemExit(INTERRUPTED_EXIT) from None
    except ApiError as error:
        raise click.ClickException(f"{error}{hint}") from error
    raise SystemExit(0 if success else 1)


def _demonstrate(order: Order, settings: EmbeddedSettings, keep: bool, output: str, port: int | None) -> bool:
    """Carry the order out; True when the verdict is success. `port` is the one that was asked for by its option."""
    clock = Clock(console(stderr=output != OutputFormat.TABLE))
    print_problems(clock.screen, order.warnings)
    make_home(settings.home)
    machines = _machines(order, settings)
    simulated = embedded_provisioner(
        settings,
        f"simulator-{order.site}",
        order.speed,
        order.fail,
        anew=True,
        kind=order.provisioner,
        sites=machines,
    )
    with simulated.start(clock.say), reuse_or_start(settings, clock.say) as (runtime, own):
        if own is None and port not in (None, 0, runtime.port):
            clock.say(f"--port {port} is not used: that Airflow listens on {runtime.port}; stop it to choose another")
        clock.say(f"Airflow is ready: {runtime.url}")
        with _session(runtime) as session:
            airflow, slipway = AirflowClient(session), SlipwayClient(session)
            airflow.wait_for_dag(DAG)
            stop_interrupted_demos(order.site, slipway, clock)
            with demo_store(settings) as store, _connected(order, simulated, airflow, runtime, store):
                action = _begin(order, slipway, clock)
                assert action.run_id is not None, "what the API creates has a run"
                try:
                    header = _watch(action.id, runtime, own, clock)
                except KeyboardInterrupt:
                    _cancel(action.id, runtime, clock)
                    raise
                show_end(slipway, header, output, clock)
                run_state = airflow.wait_for_run(DAG, action.run_id, _TIME_LIMIT)
                clock.say(f"Airflow's run has ended: {run_state}")
                _show_where(runtime, action.run_id, keep or own is None, clock.screen)
                clean = f"site   {order.site} stops with its simulator; `slipway demo --clean` takes it away"
                clock.screen.print(Text(clean), soft_wrap=True)
                if keep:
                    clock.screen.print(Text("everything stays up until Ctrl-C"))
                    _wait_for_ctrl_c(lambda: simulated.is_running() and (own is None or own.is_running()))
        return run_state == "success"


def _connection(order: Order) -> str:
    return f"slipway_provisioner_{order.site}"


def _clean(order: Order, settings: EmbeddedSettings) -> bool:
    """Take the demo's site away, with its connection and its simulated machines."""
    clock = Clock(console(stderr=True))
    make_home(settings.home)
    with (
        reuse_or_start(settings, clock.say) as (runtime, _),
        demo_store(settings) as store,
        _session(runtime) as session,
    ):
        airflow = AirflowClient(session)
        airflow.wait_for_dag(DAG)
        stop_interrupted_demos(order.site, SlipwayClient(session), clock)
        there = remove_site(store, order.site)
        disconnect(airflow, _connection(order))
        remove_machines(settings, f"simulator-{order.site}")
    clock.say(
        f"site {order.site} is taken away" if there else f"there is no site {order.site}: nothing is to be cleaned"
    )
    return True


def _machines(order: Order, settings: EmbeddedSettings) -> list[Path]:
    """Return the files from which the simulator knows its machines; a Drydock takes them from the design."""
    if order.provisioner != MAAS:
        return []
    file = settings.home / f"simulator-{order.site}.yaml"
    write_private(file, order.text)
    return [file]


@contextlib.contextmanager
def _session(runtime: Runtime, timeout: float = 30.0) -> Iterator[ApiSession]:
    with contextlib.closing(ApiSession(runtime.url, "admin", runtime.password("admin"), timeout)) as session:
        yield session


@contextlib.contextmanager
def _connected(
    order: Order, simulated: ProvisionerProcess, airflow: AirflowClient, runtime: Runtime, store: SiteStore
) -> Iterator[None]:
    """Have Airflow use the simulator for as long as there is one, and the site watched.

    If Airflow does not answer at the end, the next demo removes the connection.
    """
    connection = _connection(order)
    simulated.wait_ready()
    connect(airflow, connection, simulated.connection, "of the latest demo")
    try:
        # Before the first commit, so that there is no moment in which a kill leaves the site watched for ever.
        with watched(store, order.site):
            yield
    finally:
        # The user waits for the end: a short timeout of its own.
        with contextlib.suppress(ApiError), _session(runtime, _ANSWER) as session:
            disconnect(AirflowClient(session), connection, simulated.connection)


def _begin(order: Order, slipway: SlipwayClient, clock: Clock) -> Action:
    """Commit the design, and start the action."""
    revision = slipway.commit(order.site, order.text)
    clock.say(f"committed site {order.site} as revision {revision.number}{'' if revision.created else ' (unchanged)'}")
    # A demo that was interrupted may have committed without deploying.
    action = slipway.create_action(
        order.site, DAG, {"force": True} if order.force else {}, marker=DEMO, allow_intermediate=True
    )
    failing = f"; simulated failures: {', '.join(order.fail)}" if order.fail else ""
    clock.say(f"created the action {DAG}, {action.id}{failing}")
    return action


def _cancel(action_id: str, runtime: Runtime, clock: Clock) -> None:
    """Stop an action whose simulated machines are about to go. If Airflow does not answer, the next demo stops it."""
    clock.say(f"stopping the action {action_id}")
    # The user waits for the end: a short timeout of its own.
    with contextlib.suppress(ApiError), _session(runtime, _ANSWER) as session:
        SlipwayClient(session).stop(action_id)


def _watch(action_id: str, runtime: Runtime, own: BackgroundAirflow | None, clock: Clock) -> Mapping[str, Any]:
    """Show the action's tree until it is over; return its header."""

    def check() -> None:
        if own is not None and not own.is_running():
            raise SlipwayCliError(own.last_words())

    advice = (
        f"Once it runs again (`slipway up`), start the demo again: it stops the action {action_id}, whose "
        "simulated machines are gone"
    )
    with (
        _session(runtime, WAIT + _ANSWER) as session,
        open_tree_view(clock, f"action/{action_id}", documents=False) as view,
    ):
        return follow(SlipwayClient(session), action_id, view, Absence(clock.say, check, advice=advice))


def _show_where(runtime: Runtime, run_id: str, stays: bool, screen: Console) -> None:
    again = "" if stays else "  (after `slipway up` with the same home)"
    lines = [
        f"run    {runtime.url}/dags/{DAG}/runs/{quote(run_id, safe='')}{again}",
        f"login  admin, password in {runtime.passwords_file}",
        f"logs   {Path(runtime.home) / 'logs'}",
    ]
    for line in lines:
        screen.print(Text(line), soft_wrap=True)


def _wait_for_ctrl_c(alive: Callable[[], bool]) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        while alive():
            time.sleep(_POLL)


def stop_interrupted_demos(site: str, slipway: SlipwayClient, clock: Clock, time_limit: float = _TIME_LIMIT) -> None:
    """Stop the actions of interrupted demos: their simulated machines are gone, and one of them holds the site.

    Raises `ApiError`: they have not ended in `time_limit` seconds.
    """
    left = [action for action in slipway.actions(site) if action.marker == DEMO and not action.is_over]
    if not left:
        return
    for action in left:
        clock.say(f"stopping the action of an interrupted demo, {action.id}")
        _stop(action.id, slipway)
    clock.say("waiting until it has ended and the site is free" if len(left) == 1 else "waiting until they have ended")
    end = time.monotonic() + time_limit
    while left := [action for action in left if not slipway.action(action.id).is_over]:
        if time.monotonic() > end:
            raise ApiError(
                f"the action {left[0].id} of an interrupted demo has been stopped and has not ended in "
                f"{time_limit:g} s; try again, or mark its run failed in Airflow"
            )
        time.sleep(_POLL)


def _stop(action_id: str, slipway: SlipwayClient) -> None:
    """Stop an action; it is no error when it is just ending, or its run does not exist."""
    try:
        slipway.stop(action_id)
    except ApiRefused as error:
        if error.status != _CONFLICT:
            raise
