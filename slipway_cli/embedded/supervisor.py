"""Starts PostgreSQL, Airflow's four components and the controller, keeps them running, and leaves no process behind.

A single loop in the main thread: signals only set a flag, and every process is started, watched and reaped here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import FrameType

from api_client.airflow_health import AirflowHealth
from api_client.session import ApiSession
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import (
    COMPONENTS,
    CONTROLLER,
    MOST_DEATHS,
    MOST_DEATHS_AT_START,
    Component,
    SetupStep,
    airflow_component,
    airflow_is_current,
    failed_with_log,
    migrate_airflow,
    note_store,
    refuse_former_home,
    stamp_airflow,
    upgrade_store,
)
from slipway_cli.embedded.environment import Credentials, airflow_environment, controller_environment, load_or_create
from slipway_cli.embedded.guard import Guard
from slipway_cli.embedded.home import READY, STARTING, STOPPING, HomeLock, Runtime
from slipway_cli.embedded.postgres import STORE, PostgresCluster, PostgresProcess
from slipway_cli.embedded.postgres_account import require_installed
from slipway_cli.embedded.processes import adopt_orphans, end_leftovers, kill_sessions, reap_orphans, tied_command
from slipway_cli.embedded.settings import LOOPBACK, START_TIMEOUT, STOP_GRACE, EmbeddedSettings, claim_port
from strategy_lib.settings import SLIPWAY_PORT

_TICK = 0.1
_ANSWER = 5.0
"""Seconds for an answer of Airflow's, while nothing else is looked after."""
_CHECKPOINT_GRACE = 12.0
"""Seconds for PostgreSQL to write down what it has in memory; killed before, it has to recover at the next start."""


class Supervisor:
    """One embedded Airflow in the foreground of this process."""

    def __init__(
        self, settings: EmbeddedSettings, say: Callable[[str], None], environ: Mapping[str, str] | None = None
    ) -> None:
        """Nothing is started yet.

        Parameters
        ----------
        say : takes a line for the person who watches.
        environ : the environment that what is started has besides Airflow's own; None: this process's.
        """
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        self._say = say
        self._signals = 0
        self._cluster = PostgresCluster(settings.home)
        self._postgres: PostgresProcess | None = None
        self._airflow: list[Component] = []
        self._controller: Component | None = None
        self._migrations: list[SetupStep] = []

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
        SlipwayCliError : PostgreSQL is not installed, home or port in use, home not writable, a migration failed, a
            component cannot be started or keeps dying. All is stopped then.
        """
        require_installed()
        # The home first: where it is in use, so is its port, and the home is the reason.
        lock = HomeLock(self._settings.home)
        try:
            refuse_former_home(self._settings)
            port = claim_port(self._settings.port, "Airflow's API server", SLIPWAY_PORT.name)
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
        credentials = load_or_create(settings.home / "secrets.json", settings.passwords_file, self._environ)
        settings.airflow_home.mkdir(mode=0o700, exist_ok=True)
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
            for what in end_leftovers(settings.home, self._cluster.data):
                self._say(f"ended what an earlier start has left: {what}")
            self._postgres = self._bring_up_postgres()
            environment = airflow_environment(settings, credentials, port, self._cluster.url, self._environ)
            self._bring_up_airflow(environment)
            self._bring_up_controller(controller_environment(environment, credentials))
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
            self._cluster.close()
            self._runtime.remove()

    @property
    def _components(self) -> list[Component]:
        return [*self._airflow, *(each for each in (self._controller, self._postgres) if each is not None)]

    @property
    def _stateful(self) -> list[Component]:
        """Airflow's components but the API server, which keeps no state of its own."""
        return [component for component in self._airflow if component.name != "api-server"]

    def _bring_up_postgres(self) -> PostgresProcess:
        settings, cluster = self._settings, self._cluster
        log = settings.logs / "postgres.log"
        if not cluster.exists():
            self._say("making the database (first start)")
            creation = self._begin(cluster.begin_creation(log))
            while not creation.is_over():
                self._pause()
            cluster.finish_creation()
        cluster.open()
        self._postgres = PostgresProcess(cluster, log)
        self._start(self._postgres)
        end = time.monotonic() + START_TIMEOUT
        while not self._postgres.answers():
            self._look_after()
            self._pause(end, self._postgres)
        self._postgres.make_databases()
        return self._postgres

    def _bring_up_airflow(self, environment: dict[str, str]) -> None:
        settings = self._settings
        began = datetime.now(UTC)
        end = time.monotonic() + START_TIMEOUT
        store = self._begin(upgrade_store(settings, environment))
        stamp = self._cluster.folder / "airflow-migrated"
        self._airflow = [
            airflow_component(name, environment, settings.logs / f"{name}.log", settings.home, stamp)
            for name in COMPONENTS
        ]
        first, *others = self._airflow
        if not airflow_is_current(stamp):
            self._say("preparing Airflow's database (first start)")
            stamp.unlink(missing_ok=True)
            airflow = self._begin(migrate_airflow(environment, settings.logs, settings.home))
            # It takes longest to start: it imports what it needs now, and then waits for the stamp.
            self._start(first)
            while not airflow.is_over():
                self._look_after()
                self._pause()
            stamp_airflow(stamp)
        else:
            self._start(first)
        self._say("starting Airflow: " + ", ".join(COMPONENTS))
        for component in others:
            self._start(component)
        self._runtime.write()
        with contextlib.closing(ApiSession.with_token(self._runtime.url, "", None, _ANSWER)) as session:
            health = AirflowHealth(session)
            while bad := health.unhealthy(began):
                self._look_after()
                self._pause(end, next(c for c in self._airflow if c.name == bad[0]))
        while not store.is_over():
            self._look_after()
            self._pause()
        note_store(settings, self._cluster.url(STORE))
        for migration in self._migrations:
            self._guard.forget(migration.pid)

    def _bring_up_controller(self, environment: dict[str, str]) -> None:
        settings = self._settings
        if settings.database_url is not None:
            # Another Airflow may work on it, whose runs are not to be found in this one.
            self._say("the store is another's (SLIPWAY_DATABASE_URL): no controller is started here")
            return
        command, log = tied_command("slipway_cli", CONTROLLER), settings.logs / "controller.log"
        self._controller = Component(CONTROLLER, command, environment, log, settings.home, "the controller")
        self._start(self._controller)

    def _begin(self, migration: SetupStep) -> SetupStep:
        self._guard.watch(migration.pid)
        self._migrations.append(migration)
        return migration

    def _pause(self, end: float | None = None, waiting_for: Component | None = None) -> None:
        """Pause for a tick; without `end` there is no time limit, for a step that ends or fails by itself."""
        if self._signals:
            raise SlipwayCliError("stopped before Airflow was ready")
        if end is not None and waiting_for is not None and time.monotonic() > end:
            self._give_up(waiting_for, f"did not get healthy in {START_TIMEOUT:g} s")
        time.sleep(_TICK)

    def _give_up(self, component: Component, what: str) -> None:
        raise failed_with_log(f"{component.title} {what}", component.log, component.log_start)

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
            if component.start_at is not None and now >= component.start_at and self._has_its_database(component):
                self._start(component)
                self._runtime.write()
        self._cluster.look_after()
        self._guard.revive()
        own = {c.pid for c in self._components} | {m.pid for m in self._migrations} | {self._guard.pid}
        reap_orphans({pid for pid in own if pid is not None})

    def _has_its_database(self, component: Component) -> bool:
        """Whether a component can be started: Airflow's would die at once while PostgreSQL recovers."""
        if component is self._postgres or self._postgres is None:
            return True
        return self._postgres.is_running() and self._postgres.answers()

    def _bury(self, component: Component, status: int) -> None:
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        most = MOST_DEATHS if self._runtime.state == READY else MOST_DEATHS_AT_START
        # Nothing depends on the controller: it is started again for as long as the rest runs.
        if component.deaths >= most and component is not self._controller:
            self._give_up(component, f"died {component.deaths} times in a row (last: {how})")
        # Its child processes end with it: a second scheduler would run the same tasks beside those of the first.
        assert component.pid is not None
        component.kill_rest()
        self._guard.forget(component.pid)
        if component.deaths < MOST_DEATHS:
            self._say(f"{component.title} ended ({how}); starting it again")
        elif component.deaths == MOST_DEATHS:
            self._say(f"{component.title} keeps ending ({how}), and is started again each time: see {component.log}")
        if component is self._postgres:
            # Without a database some go on and some end; a scheduler that ends waits for its workers for ever.
            for other in self._stateful:
                other.kill_rest()

    def _stop(self) -> None:
        """Ask each component to stop, and kill what is left after the grace; at once if a second signal says so.

        The API server keeps no state, so nothing waits for it. The others get the signal twice: at times a scheduler
        loses the first one, and a triggerer waits 10 s for its child unless there is a second one.
        """
        stateful = [*self._stateful, *([] if self._controller is None else [self._controller])]
        grace = STOP_GRACE
        self._ask_to_stop(stateful, (0.4 * grace, 0.6 * grace))
        others = [c.pid for c in self._components if c.pid is not None and c is not self._postgres]
        self._kill(others + [m.pid for m in self._migrations])
        # The database last: the others still write down how they ended.
        if self._postgres is not None:
            self._ask_to_stop([self._postgres], (_CHECKPOINT_GRACE,))
            self._tell_unkillable(self._postgres.kill_rest())
            self._kill([] if self._postgres.pid is None else [self._postgres.pid])
        reap_orphans({self._guard.pid})

    def _ask_to_stop(self, components: list[Component], waits: tuple[float, ...]) -> None:
        """Ask as often as there are waits (seconds), and wait each time; a further signal ends the waiting."""
        before = self._signals
        for wait in waits:
            for component in components:
                component.ask_to_stop()
            end = time.monotonic() + wait
            while any(c.is_running() for c in components) and time.monotonic() < end and self._signals == before:
                time.sleep(0.05)

    def _kill(self, sessions: list[int]) -> None:
        self._tell_unkillable(kill_sessions(set(sessions)))
        for component in self._components:
            component.is_running()  # reaps a process that has ended
        for session in sessions:
            self._guard.forget(session)

    def _tell_unkillable(self, left: list[int]) -> None:
        for pid in left:
            self._say(f"process {pid} cannot be killed")
