"""A whole Slipway in production on one machine, of what is in `deploy/`: `make cluster` runs one until Ctrl-C.

Two API servers behind a load balancer, two schedulers, triggerers and controllers, three workers, PostgreSQL and Redis
of Debian, each on a host of its own where this process may make hosts. Nothing listens outside of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
import requests
from uv import find_uv_bin

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from site_engine.controller.rights import needed_rights
from slipway_cli import constraints_text
from tests.support.hosts import LOOPBACK, Host, hosts, may_have_namespaces
from tests.support.processes import free_port, wait_until
from tests.support.production import SETTINGS, START, Machine, redis_unit, statements, typed
from tests.support.simulators import Simulator
from tests.support.units import DEPLOY, Init, Service, Unit, variables_of
from tests.support.wheel import copy_tree, files_sha256, pack

ADMIN: Final = "admin"
PASSWORD: Final = "correct horse"
DATA, EDGE = "data", "edge"
CONTROL: Final = ("control1", "control2")
WORKERS: Final = ("worker1", "worker2", "worker3")
EXTRAS: Final = "celery,fab,postgres,redis"
ENVIRONMENT: Final = Path(sys.prefix) / "cluster"
"""Where what Slipway needs in production is installed: once, as that takes longest."""
_PATIENCE: Final = 600.0
_SLOTS: Final = 4
_MAX_CONNECTIONS: Final = 500


def lacking() -> list[str]:
    """Return which packages of Debian a cluster lacks here."""
    programs = {"redis-server": "redis-server", "haproxy": "haproxy"}
    found = [package for program, package in programs.items() if shutil.which(program) is None]
    return found + ([] if _postgresql_programs() else ["postgresql"])


def _postgresql_programs() -> Path | None:
    """Return the folder of Debian's newest PostgreSQL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def _uv(*words: str) -> None:
    done = subprocess.run([find_uv_bin(), *words], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


def _install(work: Path) -> None:
    """Have the packages of production in the environment, and Slipway's wheel as the tree is now."""
    constraints, mark = constraints_text(), ENVIRONMENT / "constraints.txt"
    python = str(ENVIRONMENT / "bin" / "python")
    wheel = pack(copy_tree(work / "tree"), work / "wheel")
    if not mark.exists() or mark.read_text() != constraints:
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        _uv("venv", "--quiet", "--python", sys.executable, str(ENVIRONMENT))
        (work / "constraints.txt").write_text(constraints)
        pinned = ("--constraints", str(work / "constraints.txt"))
        _uv("pip", "install", "--quiet", "--compile-bytecode", "--python", python, *pinned, f"{wheel}[{EXTRAS}]")
        mark.write_text(constraints)
    installed, digest = ENVIRONMENT / "wheel.sha256", files_sha256(wheel)
    if not installed.exists() or installed.read_text() != digest:
        forced = ("--no-deps", "--offline", "--reinstall", "--compile-bytecode")
        _uv("pip", "install", "--quiet", *forced, "--python", python, str(wheel))
        installed.write_text(digest)


def _postgresql_unit(folder: Path, host: str, port: int) -> Unit:
    """Make a database cluster in a folder, and return what runs it."""
    programs = _postgresql_programs()
    assert programs is not None
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
    user = (account.pw_uid, account.pw_gid) if account else None
    if user:
        os.chown(folder, *user)
    data = folder / "data"
    rules = ("--username", "postgres", "--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-sync")
    demoted: dict[str, Any] = {"user": user[0], "group": user[1], "extra_groups": []} if user else {}
    initdb = [str(programs / "initdb"), "--pgdata", str(data), *rules]
    subprocess.run(initdb, cwd=folder, check=True, capture_output=True, timeout=120, **demoted)
    with (data / "pg_hba.conf").open("a") as file:
        file.write("host all all 0.0.0.0/0 scram-sha-256\n")
    settings = {
        "listen_addresses": host,
        "port": str(port),
        "unix_socket_directories": str(folder),
        "max_connections": str(_MAX_CONNECTIONS),
        # Nobody pulls the plug of this machine.
        "fsync": "off",
    }
    options = (word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
    return Unit("postgresql", (str(programs / "postgres"), "-D", str(data), *options), user=user, folder=folder)


class ClusterSimulator(Simulator):
    """A simulated Drydock on a host of the cluster."""

    def __init__(self, folder: Path, host: Host, speed: float) -> None:
        self._on = host
        folder.mkdir(exist_ok=True)
        super().__init__(folder, "--host", host.address, speed=speed)

    def command(self, words: Sequence[str]) -> list[str]:
        """Return how its process is started."""
        return self._on.inside(words)


class Cluster:
    """One cluster that runs."""

    def __init__(self, folder: Path, at: Mapping[str, Host], init: Init) -> None:
        self.folder, self.hosts, self.init = folder, at, init
        self.machines = {
            name: Machine(folder / name, init, ENVIRONMENT, at[name].inside) for name in (*CONTROL, *WORKERS)
        }
        self.services: dict[str, Service] = {}
        """All of them, by host and name: `control1/slipway-scheduler`, `data/redis`."""
        self._apart = bool(at[EDGE].namespace)
        self._ports = {name: self._port(8080) for name in (EDGE, *CONTROL)}
        self._data_port, self._broker_port = self._port(5432), self._port(6379)
        self.url = f"http://{at[EDGE].address}:{self._ports[EDGE]}"
        self.told: dict[str, str] = {}

    def _port(self, usual: int) -> int:
        return usual if self._apart else free_port()

    def _name(self, host: str) -> str:
        """Return the name by which others reach a host."""
        return host if self._apart else LOOPBACK

    @property
    def sockets(self) -> Path:
        """The folder of PostgreSQL's socket."""
        folder = self.services[f"{DATA}/postgresql"].unit.folder
        assert folder is not None
        return folder

    def begin(self, databases: Path) -> None:
        """Start everything, in the order of the document; a line of output for each step."""
        began = time.monotonic()

        def say(what: str) -> None:
            print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)

        _install(self.folder)
        say("Slipway is installed")
        self._configure()
        data = self.hosts[DATA]
        self._run(DATA, _postgresql_unit(databases, data.address, self._data_port))
        broker = urlsplit(self.told["AIRFLOW__CELERY__BROKER_URL"]).password or ""
        self._run(DATA, redis_unit(self.folder, broker, data.address, self._broker_port))
        self._make_databases()
        first = self.machines[CONTROL[0]]
        for command in ("airflow db migrate", "slipway store upgrade"):
            first.run(command)
        say("databases")
        for host in CONTROL:
            for unit in ("api-server", "scheduler", "triggerer", *(["dag-processor"] if host == CONTROL[0] else [])):
                self._start(host, unit)
        for host in WORKERS:
            self._start(host, "worker")
        self._run(EDGE, self._load_balancer())
        (users,) = (line for line in typed("The first start", START) if "users create" in line)
        first.run(users, PASSWORD, PASSWORD)
        for host in CONTROL:
            self._start(host, "controller")
        self.wait_ready()
        say("everything runs")

    def _configure(self) -> None:
        """Write the file of variables of each machine."""
        command, _, _ = typed("The first start", SETTINGS)[0].partition(" > ")
        for documented, here in (
            ("db.example", f"{self._name(DATA)}:{self._data_port}"),
            ("redis.example", f"{self._name(DATA)}:{self._broker_port}"),
            ("airflow.internal:8080", f"{self._name(EDGE)}:{self._ports[EDGE]}"),
        ):
            assert documented in command
            command = command.replace(documented, here)
        made = self.machines[CONTROL[0]].run(command)
        for name, machine in self.machines.items():
            more = {"AIRFLOW__CELERY__WORKER_CONCURRENCY": str(_SLOTS), "SLIPWAY_SERVICE_USER": ADMIN}
            if name in CONTROL:
                more |= {"AIRFLOW__API__PORT": str(self._ports[name]), "AIRFLOW__API__HOST": self.hosts[name].address}
            if not self._apart:
                more |= {f"AIRFLOW__LOGGING__{one}_LOG_SERVER_PORT": str(free_port()) for one in ("WORKER", "TRIGGER")}
            machine.configure(made, more)
            (machine.folder / "etc" / "controller.password").write_text(PASSWORD)
        self.told = variables_of(self.machines[CONTROL[0]].folder / "etc" / "slipway.env")

    def _make_databases(self) -> None:
        owners = (self.told["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"], self.told["SLIPWAY_DATABASE_URL"])
        made = statements([urlsplit(url).password or "" for url in owners])

        def connects() -> bool:
            with contextlib.suppress(psycopg.OperationalError):
                self.administer().close()
                return True
            return False

        wait_until(connects, "PostgreSQL answers")
        with self.administer() as server:
            for statement in made:
                server.execute(statement.encode())

    def administer(self, database: str = "postgres") -> psycopg.Connection:
        """Return a connection of PostgreSQL's administrator."""
        host, port = str(self.sockets), self._data_port
        return psycopg.connect(host=host, port=port, user="postgres", dbname=database, autocommit=True)

    def _load_balancer(self) -> Unit:
        text = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
        for number, name in enumerate(CONTROL, 1):
            documented, here = f"api{number}.example:8080", f"{self.hosts[name].address}:{self._ports[name]}"
            assert documented in text
            text = text.replace(documented, here)
        file = self.folder / "haproxy.cfg"
        file.write_text(text.replace("bind :8080", f"bind {self.hosts[EDGE].address}:{self._ports[EDGE]}"))
        program = shutil.which("haproxy")
        assert program is not None
        return Unit("haproxy", (program, "-db", "-f", str(file)))

    def _run(self, host: str, unit: Unit) -> None:
        folder = self.folder / host
        folder.mkdir(exist_ok=True)
        service = self.services[f"{host}/{unit.name}"] = Service(unit, folder, self.hosts[host].inside)
        self.init.start(service)

    def _start(self, host: str, unit: str) -> None:
        self.services[f"{host}/{unit}"] = self.machines[host].start(f"slipway-{unit}")

    def wait_ready(self) -> None:
        """Wait until the API servers answer, Airflow's processes give signs of life, and the DAGs are known."""
        dags = len(needed_rights(repairs=False).changes)

        def is_ready() -> bool:
            with contextlib.suppress(requests.RequestException, psycopg.OperationalError):
                for name in CONTROL:
                    at = f"http://{self.hosts[name].address}:{self._ports[name]}"
                    requests.get(f"{at}/slipway/health/ready", timeout=5).raise_for_status()
                health = requests.get(f"{self.url}/api/v2/monitor/health", timeout=20).json()
                if any(one["status"] != "healthy" for one in health.values()):
                    return False
                with self.administer("airflow") as database:
                    return database.execute("SELECT count(*) FROM dag").fetchone() == (dags,)
            return False

        end = time.monotonic() + _PATIENCE
        while not is_ready():
            assert time.monotonic() < end, f"not ready; started again: {self.init.ended_by_itself()}"
            time.sleep(1)

    def session(self) -> ApiSession:
        """Return a session of the administrator's."""
        return ApiSession(self.url, ADMIN, PASSWORD, 120.0)

    def connect(self, site: str, simulator: Simulator, **extra: Any) -> None:
        """Set the connection of a site."""
        fields = {"conn_type": "drydock", "host": simulator.url, "port": 0, "extra": json.dumps(extra)}
        AirflowClient(self.session()).set_connection(f"slipway_provisioner_{site}", fields)

    @property
    def slipway(self) -> SlipwayClient:
        """A client of Slipway's API."""
        return SlipwayClient(self.session())


@contextmanager
def running_cluster(folder: Path, *, apart: bool) -> Iterator[Cluster]:
    """Run a cluster for the time of the context; `folder` keeps its logs. `apart`: on hosts of its own."""
    folder.mkdir(exist_ok=True)
    # PostgreSQL's account has to reach its data.
    with tempfile.TemporaryDirectory(prefix="slipway-cluster-") as databases:
        Path(databases).chmod(0o711)
        with hosts(DATA, EDGE, *CONTROL, *WORKERS, apart=apart) as at, Init(folder).running() as init:
            cluster = Cluster(folder, at, init)
            cluster.begin(Path(databases))
            yield cluster


def main() -> None:
    """Run a cluster with one simulated Drydock, until a signal comes."""
    options = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    options.add_argument("--speed", type=float, default=60.0, help="of the simulated machines (60)")
    options.add_argument("--folder", type=Path, help="for logs and settings (a new one in /tmp, removed in the end)")
    options.add_argument("--ports", action="store_true", help="on ports of this machine; so it is without root")
    given = options.parse_args()
    if missing := lacking():
        sys.exit(f"make cluster: install these packages of Debian: {' '.join(missing)}")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slipway-logs-")))
        cluster = stack.enter_context(running_cluster(folder, apart=not given.ports and may_have_namespaces()))
        simulator = ClusterSimulator(folder / "simulator", cluster.hosts[EDGE], given.speed)
        stack.callback(simulator.stop)
        cluster.connect("default", simulator)
        print(f"\npages       {cluster.url}/slipway/ui/   user {ADMIN}, password {PASSWORD!r}")
        print(f"simulator   {simulator.url}   of the site default")
        for name, service in sorted(cluster.services.items()):
            print(f"{cluster.hosts[name.partition('/')[0]].address:11} {name}   {service.log}")
        print("\nCtrl-C ends it.", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
