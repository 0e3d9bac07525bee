"""`slipway controller`: the process that looks after actions and provisioners beside Airflow. Wiring only."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

import click

from api_client.airflow import AirflowClient
from api_client.airflow_health import AirflowHealth
from api_client.airflow_rights import AirflowRights
from api_client.session import ApiSession, RequestRefused
from api_client.slipway import SlipwayClient
from provisioner_client.finite_range import FiniteRange
from provisioner_client.node_agent.listener import AgentListener
from provisioner_client.node_agent.request import read_site_key
from provisioner_client.private_files import read_private
from site_engine.controller.controller import Controller, Job, close_dead_actions, pause_after
from site_engine.controller.follow import Followed, compare_sites, follow_unfinished
from site_engine.controller.notifications import Send, report_nodes, send_notifications, tell_watchers
from site_engine.controller.owner_jobs import check_owners, check_provisioners, watch_owners
from site_engine.controller.repairs import Remedies, repair_nodes
from site_engine.controller.rights import NOTIFY, try_rights
from site_engine.controller.upkeep import forget_events, forget_notifications, give_metrics, merge_counts, note_runs
from site_engine.errors import NotDelivered
from site_engine.extensions import check_installed, installed_checks, installed_watchers
from site_engine.monitoring.process_notes import ProcessNotes, common_environment
from site_engine.node_states.leadership import SiteLeaders
from site_engine.process import process_identity
from site_store import Lease, OutboxRecord, Role, SchemaNotCurrent, SiteStore, StoreError, StoreNotConfigured
from slipway_cli.options import examples
from strategy_lib.parsing.node_networks import NodeNetworks
from strategy_lib.parsing.notifications import Target, Webhook
from strategy_lib.settings import (
    SLIPWAY_NODE_NETWORKS,
    SLIPWAY_NODE_PROXY,
    SLIPWAY_NODE_SIGNATURES,
    SLIPWAY_SERVICE_PASSWORD,
    SLIPWAY_SERVICE_PASSWORD_FILE,
    SLIPWAY_SERVICE_USER,
    SLIPWAY_URL,
)

log = logging.getLogger("slipway.controller")

MISSING = (
    "no service account: set SLIPWAY_SERVICE_USER and SLIPWAY_SERVICE_PASSWORD (or SLIPWAY_SERVICE_PASSWORD_FILE, a "
    "file of mode 0600), so that dead actions are closed and provisioners checked without being asked"
)

_ANSWER = 10.0
"""Seconds for an answer of Airflow's."""
_IDLE = 3600.0
_OBSERVE_ANSWER = 60.0
"""Seconds for the list of a large site."""
_LONGEST_END = 3.0
"""Seconds that what is under way has to come to its end in, once the leases are given back."""
_IDLE_SHARE = 0.5
"""Of the lease: one who is frozen within a transaction holds up the next leader for no longer."""
_CHECK_ANSWER = 25.0
"""Seconds for an answer of Slipway's API about a provisioner, for which it waits 20 s itself."""


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """Slipway's own user in Airflow, with its password: for processes without a caller."""

    user: str
    password: str = field(repr=False)


def service_account(environ: Mapping[str, str]) -> ServiceAccount | None:
    """Return the account that the environment names; None when it names no password.

    Raises `SettingError`: the file cannot be read, is empty, or others than its owner may read it.
    """
    password, file = SLIPWAY_SERVICE_PASSWORD.read(environ), SLIPWAY_SERVICE_PASSWORD_FILE.read(environ)
    if not password and file is not None:
        password = read_private(file, SLIPWAY_SERVICE_PASSWORD_FILE.name)
    return ServiceAccount(SLIPWAY_SERVICE_USER.read(environ), password) if password else None


class StopSignal:
    """Waits until time is over or a signal ends the process.

    The byte that ends the waiting is written by Python's own handler, in whatever thread the system has it run: one in
    Python would run once the main thread wakes.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._signals = select.poll()
        self._signals.register(self._reader, select.POLLIN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def wake(self) -> None:
        """End the waiting, as a signal does."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def pause(self, seconds: float) -> bool:
        """Wait for a signal, at most so long; return whether one has come, now or before."""
        return bool(self._signals.poll(seconds * 1000))


@click.command(epilog=examples("slipway controller --url https://airflow.example"))
@click.option("--url", envvar="SLIPWAY_URL", default="http://127.0.0.1:8080", show_default=True, help="Airflow's URL.")
@click.option(
    "--lease",
    type=FiniteRange(min=1, max=3600),
    default=10.0,
    show_default=True,
    help="Seconds after which the lease of a controller that was killed is free. The same for all controllers.",
)
def controller(url: str, lease: float) -> None:
    """Close actions whose run is over or gone, and check provisioners, until stopped. `slipway up` starts one.

    It may run on several machines: one of them is at work, the others wait. The store is the one in
    SLIPWAY_DATABASE_URL. The account in Airflow is SLIPWAY_SERVICE_USER with SLIPWAY_SERVICE_PASSWORD, or with a file
    that SLIPWAY_SERVICE_PASSWORD_FILE names.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = StopSignal()
    account = service_account(os.environ)
    if account is None:
        # Without an account it could do nothing: another controller, which has one, shall lead.
        log.warning("%s. Until then this controller only waits for its end.", MISSING)
        while not stopped.pause(_IDLE):
            pass
        log.info("Stopped.")
        return
    check_installed()
    store = _open(stopped, lease * _IDLE_SHARE)
    if store is None:
        return
    said = {**common_environment(()), "settings": {SLIPWAY_URL.name: url}}
    notes = ProcessNotes(lambda: Role.CONTROLLER, lambda *_: said)
    notes.begin()
    with store, contextlib.ExitStack() as sessions:
        leaders, listener = _site_leaders(store, url, account, sessions, process_identity(), lease)
        jobs = Controller(store, process_identity(), _jobs(url, account, sessions), lease_seconds=lease)
        failure = _work(stopped, {"sites": (leaders.run, leaders.end), "jobs": (jobs.run, jobs.end)})
        listener.close()
        notes.end()
    if isinstance(failure, SchemaNotCurrent):
        log.critical("This controller ends: %s.", failure)
    elif failure is not None:
        log.critical("This controller ends by a defect of Slipway's.", exc_info=failure)
    log.info("Stopped.")
    if threading.active_count() > 1:
        # These wait for answers that nobody reads any more; the interpreter would wait for them.
        logging.shutdown()
        os._exit(failure is not None)
    sys.exit(failure is not None)


def _work(
    stopped: StopSignal, parts: Mapping[str, tuple[Callable[[Callable[[float], bool]], None], Callable[[], None]]]
) -> BaseException | None:
    """Do each part in a thread of its own until a signal comes, or one of them fails; return what it failed by.

    However long an answer is waited for then, the leases are given back at once.

    Parameters
    ----------
    parts : name to what does it, given how to pause, and to what gives its leases back.
    """
    ended = threading.Event()
    failures: list[BaseException] = []

    def do(run: Callable[[Callable[[float], bool]], None]) -> None:
        try:
            run(ended.wait)
        except BaseException as error:  # noqa: BLE001 - it is told where the process ends
            failures.append(error)
        finally:
            stopped.wake()

    threads = [threading.Thread(target=do, args=(run,), name=name, daemon=True) for name, (run, _) in parts.items()]
    for thread in threads:
        thread.start()
    while not stopped.pause(_IDLE):
        pass
    ended.set()
    for _, give_back in parts.values():
        give_back()
    until = time.monotonic() + _LONGEST_END
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return failures[0] if failures else None


def _site_leaders(
    store: SiteStore, url: str, account: ServiceAccount, sessions: contextlib.ExitStack, owner: str, lease: float
) -> tuple[SiteLeaders, AgentListener]:
    """Return what leads sites beside the other jobs, and what asks their nodes for it."""
    # One for each question that may be under way: sessions are not for several threads.
    here = threading.local()

    def observe(site: str, held: Lease, cursor: str | None, since: datetime) -> str | None:
        if not hasattr(here, "slipway"):
            session = ApiSession(url, account.user, account.password, _OBSERVE_ANSWER)
            here.slipway = SlipwayClient(sessions.enter_context(contextlib.closing(session)))
        found: str | None = here.slipway.observe(site, held, cursor, since)
        return found

    proxy, networks = SLIPWAY_NODE_PROXY.read(os.environ), NodeNetworks(SLIPWAY_NODE_NETWORKS.read(os.environ))
    key, least = partial(read_site_key, os.environ), SLIPWAY_NODE_SIGNATURES.read(os.environ)
    listener = AgentListener(owner, key, proxy=proxy, networks=networks, least=least)
    return SiteLeaders(store, owner, observe, lease, checks=installed_checks(), listener=listener), listener


def _open(stopped: StopSignal, idle_seconds: float) -> SiteStore | None:
    """Return the store, once it can be opened; None when told to stop before."""
    failures = 0
    while True:
        try:
            return SiteStore.open(idle_seconds=idle_seconds)
        except StoreNotConfigured as error:
            raise click.ClickException(str(error)) from error
        except StoreError as error:
            failures += 1
            if failures == 1:
                log.warning("The store cannot be opened, trying on: %s", error)
        if stopped.pause(pause_after(failures)):
            return None


_CONFLICT: Final = 409


def run_id_of(event: OutboxRecord, target: str) -> str:
    """Return the id of the run that sends a notification to a target: one run, however often it is asked for."""
    return f"{event.site}__{event.event_id}__{hashlib.sha256(target.encode()).hexdigest()[:12]}"


def courier(airflow: AirflowClient, slipway: SlipwayClient) -> Send:
    """Return what sends one notification to one target: webhooks by Slipway's API, notifiers by a run of a DAG."""

    def send(event: OutboxRecord, target: Target, held: Lease) -> None:
        try:
            if isinstance(target.way, Webhook):
                problem = slipway.deliver(event.event_id, target.name, held)
                if problem is not None:
                    raise NotDelivered(problem)
                return
            conf = {"event_id": event.event_id, "target": target.name}
            airflow.trigger(NOTIFY, conf, run_id_of(event, target.name))
        except RequestRefused as error:
            # A run of this id is the one that was asked for before, and its answer was lost.
            if error.status != _CONFLICT or isinstance(target.way, Webhook):
                raise NotDelivered(str(error)) from error

    return send


def _jobs(url: str, account: ServiceAccount, sessions: contextlib.ExitStack) -> list[Job]:
    def session(answer: float) -> ApiSession:
        return sessions.enter_context(contextlib.closing(ApiSession(url, account.user, account.password, answer)))

    asking = session(_ANSWER)
    # Watchers are told in threads of their own, which no other session is for.
    telling = courier(AirflowClient(session(_ANSWER)), SlipwayClient(session(_CHECK_ANSWER)))
    airflow, slipway = AirflowClient(asking), SlipwayClient(session(_CHECK_ANSWER))

    def follow(site: str, held: Lease) -> Followed:
        return Followed(*slipway.follow(site, held))

    # Slipway's API asks the provisioners: it knows the connections, and keeps their secrets.
    return [
        try_rights(AirflowRights(asking).refused),
        close_dead_actions(airflow),
        note_runs(airflow),
        check_owners(AirflowHealth(asking).components),
        watch_owners(),
        report_nodes(),
        send_notifications(courier(airflow, slipway)),
        tell_watchers(installed_watchers(), telling),
        follow_unfinished(follow),
        compare_sites(slipway.compare),
        repair_nodes(Remedies(slipway.repair, slipway.power_on)),
        merge_counts(),
        give_metrics(slipway.read_metrics),
        forget_notifications(),
        forget_events(),
        check_provisioners(slipway.provisioner_problem),
    ]
