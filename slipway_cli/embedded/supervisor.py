"""Starts Airflow's four components, keeps them running, and leaves no process behind, however it ends.

A single loop in the main thread: signals only set a flag, and every process is started, watched and reaped here.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import FrameType

from slipway_cli.embedded.component import COMPONENTS, MOST_DEATHS, MOST_DEATHS_AT_START, Component
from slipway_cli.embedded.credentials import Credentials, load_or_create
from slipway_cli.embedded.environment import airflow_environment
from slipway_cli.embedded.errors import ComponentFailed, Interrupted
from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.health import loopback_session, unhealthy_components
from slipway_cli.embedded.lifeline import adopt_orphans, reap_orphans
from slipway_cli.embedded.logfiles import tail
from slipway_cli.embedded.migration import Migration, airflow_is_current, migrate_airflow, migrate_store, stamp_airflow
from slipway_cli.embedded.ports import LOOPBACK, claim_port
from slipway_cli.embedded.runtime import READY, STARTING, STOPPING, HomeLock, Runtime
from slipway_cli.embedded.sessions import kill_sessions
from slipway_cli.embedded.settings import EmbeddedSettings

_TICK = 0.1


class Supervisor:
    """One embedded Airflow in the foreground of this process."""

    def __init__(self, settings: EmbeddedSettings, say: Callable[[str], None]) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        say : takes a line for the person who watches.
        """
        self._settings = settings
        self._say = say
        self._signals = 0
        self._components: list[Component] = []
        self._migrations: list[Migration] = []

    def run(
        self, on_ready: Callable[[Runtime, Credentials], None], look_after: Callable[[], None] = lambda: None
    ) -> None:
        """Run until SIGINT, SIGTERM or SIGHUP.

        Parameters
        ----------
        on_ready : called once all four components are healthy.
        look_after : called again and again from then on; looks after what runs beside Airflow.

        Raises
        ------
        EmbeddedError
            Home or port in use, home not writable, a migration failed, a component cannot be started or keeps dying.
            All is stopped then.
        """
        # The home first: one that is in use also has its port in use, and is what there is to tell.
        lock = HomeLock(self._settings.home)
        try:
            port = claim_port(self._settings.port, "Airflow's API server", "SLIPWAY_PORT")
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, self._on_signal)
            adopt_orphans()
            self._guard = Guard(lock.fileno())
            try:
                self._work(port, on_ready, look_after)
            finally:
                self._guard.dismiss()
        finally:
            lock.release()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1

    def _work(
        self, port: int, on_ready: Callable[[Runtime, Credentials], None], look_after: Callable[[], None]
    ) -> None:
        settings = self._settings
        credentials = load_or_create(settings.home / "secrets.json", settings.passwords_file, os.environ)
        environment = airflow_environment(settings, credentials, port, os.environ)
        settings.airflow_home.mkdir(parents=True, exist_ok=True)
        self._runtime = Runtime(
            home=str(settings.home),
            url=f"http://{LOOPBACK}:{port}",
            port=port,
            pid=os.getpid(),
            state=STARTING,
            started=time.time(),
            passwords_file=str(settings.passwords_file),
        )
        self._runtime.write()
        try:
            self._components = [
                Component(name, environment, settings.logs / f"{name}.log", settings.home) for name in COMPONENTS
            ]
            self._bring_up(environment)
            self._runtime.state = READY
            self._runtime.write()
            on_ready(self._runtime, credentials)
            while not self._signals:
                self._look_after()
                look_after()
                time.sleep(_TICK)
        finally:
            self._runtime.state = STOPPING
            self._runtime.write()
            self._stop()
            self._runtime.remove()

    def _bring_up(self, environment: dict[str, str]) -> None:
        settings = self._settings
        began = datetime.now(UTC)
        end = time.monotonic() + settings.start_timeout
        store = self._begin(migrate_store(environment, settings.logs, settings.home))
        if not airflow_is_current(settings.airflow_home):
            self._say("preparing Airflow's database (first start)")
            airflow = self._begin(migrate_airflow(environment, settings.logs, settings.home))
            while not airflow.is_over():
                self._pause(end, "api-server")
            stamp_airflow(settings.airflow_home)
        self._say("starting Airflow: " + ", ".join(COMPONENTS))
        for component in self._components:
            self._start(component)
        self._runtime.write()
        session = loopback_session()
        while bad := unhealthy_components(session, self._runtime.url, began):
            self._look_after()
            self._pause(end, bad[0])
        while not store.is_over():
            self._pause(end, "api-server")
        for migration in self._migrations:
            self._guard.forget(migration.pid)

    def _begin(self, migration: Migration) -> Migration:
        self._guard.watch(migration.pid)
        self._migrations.append(migration)
        return migration

    def _pause(self, end: float, waiting_for: str) -> None:
        if self._signals:
            raise Interrupted
        if time.monotonic() > end:
            self._give_up(waiting_for, f"did not get healthy in {self._settings.start_timeout:g} s")
        time.sleep(_TICK)

    def _give_up(self, name: str, what: str) -> None:
        component = next(c for c in self._components if c.name == name)
        raise ComponentFailed(name, what, component.log, tail(component.log, start=component.log_start))

    def _start(self, component: Component) -> None:
        pid = component.start()
        self._guard.watch(pid)
        self._runtime.components[component.name] = pid

    def _look_after(self) -> None:
        """Notice dead components, clear up after them, and start them again when it is time."""
        now = time.monotonic()
        for component in self._components:
            status = component.died()
            if status is not None:
                self._bury(component, status)
            if component.start_at is not None and now >= component.start_at:
                self._start(component)
                self._runtime.write()
        self._guard.revive()
        own = {c.pid for c in self._components} | {m.pid for m in self._migrations} | {self._guard.pid}
        reap_orphans({pid for pid in own if pid is not None})

    def _bury(self, component: Component, status: int) -> None:
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        if component.deaths >= (MOST_DEATHS if self._runtime.state == READY else MOST_DEATHS_AT_START):
            self._give_up(component.name, f"died {component.deaths} times in a row (last: {how})")
        # What it started must not go on without it: a second scheduler would run the same tasks beside the first one's.
        assert component.pid is not None
        kill_sessions({component.pid})
        self._guard.forget(component.pid)
        self._say(f"Airflow's {component.name} ended ({how}); starting it again")

    def _stop(self) -> None:
        """Ask each component to stop, and kill what is left after the grace; at once if a second signal says so.

        The API server keeps no state of its own, so it need not be waited for. The others are asked twice: at times a
        scheduler loses the first signal, and a triggerer waits 10 s for its child unless it is asked again.
        """
        stateful = [component for component in self._components if component.name != "api-server"]
        before = self._signals
        for part in (0.4, 0.6):
            for component in stateful:
                component.ask_to_stop()
            end = time.monotonic() + self._settings.stop_grace * part
            while any(c.is_running() for c in stateful) and time.monotonic() < end and self._signals == before:
                time.sleep(0.05)
        sessions = {c.pid for c in self._components if c.pid is not None} | {m.pid for m in self._migrations}
        for pid in kill_sessions(sessions):
            self._say(f"process {pid} cannot be killed")
        for component in self._components:
            component.is_running()  # takes leave of the process
        reap_orphans({self._guard.pid})
        for session in sessions:
            self._guard.forget(session)
