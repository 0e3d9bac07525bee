"""Slipway in production, by its documents: from two environments with the wheel alone to a deployed site.

What docs/production.md says to type is read from it, and the units from `deploy/`: with Celery, Redis, FAB and a
PostgreSQL of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from packaging.version import Version

from site_engine.controller.rights import needed_rights
from slipway_cli.controller_role import ROLE
from tests.support.postgres import server_on_port
from tests.support.processes import free_port, wait_until
from tests.support.production import SETTINGS, START, Machine, machines, redis_unit, statements, typed
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site
from tests.support.units import Service, variables_of
from tests.support.wheel import copy_tree, pack

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed"),
    pytest.mark.skipif(
        shutil.which("redis-server") is None, reason="redis-server, a package of Debian, is not installed"
    ),
]
PASSWORD = "correct horse"
NODES = [f"n{number}" for number in range(10)]
DESIGN = site(
    [node(name) for name in NODES],
    [
        group("control", NODES[:3]),
        group("compute", NODES[3:7], after=["control"]),
        group("storage", NODES[7:], after=["control"]),
    ],
)
NEEDED = needed_rights(repairs=False)


class Phases:
    """Prints how long each phase took."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def end(self, name: str) -> None:
        """Print the seconds since the phase before this one ended."""
        now = time.monotonic()
        print(f"{now - self._began:6.1f} s  {name}", flush=True)
        self._began = now


def _commit_and_pack(tree: Path, folder: Path) -> Path:
    settings = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    for told in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--allow-empty", "--message", "next"]):
        subprocess.run(["git", "-C", tree, *settings, *told], check=True, timeout=60)
    return pack(tree, folder)


def _install(machine: Machine, wheel: Path, before: str) -> str:
    """Install a wheel as the document has it; return the folder of its DAGs. `before`: what a shell is told first."""
    folder, version = machine.folder / wheel.stem, wheel.name.split("-")[1]
    folder.mkdir()
    shutil.copy(wheel, folder)
    first, *_ = lines = typed("Installation", 0)
    prepared = f"set -e; cd {folder}; {before}"
    if not (machine.bin / "slipway").exists():
        machine.run(f"{prepared}\n{first}")
        assert "slipway constraints > constraints.txt" in machine.run("slipway --version", status=1)
    said = machine.run("\n".join([prepared, *lines])).splitlines()
    assert said[-2] == f"slipway {version}"
    assert Path(said[-1]).is_relative_to(machine.bin.parent)
    return said[-1]


def _settings(control: Machine, worker: Machine, database: str, broker: str) -> dict[str, str]:
    """Write the file of variables on both machines, by the document; return what it says."""
    address = f"127.0.0.1:{free_port()}"
    command, _, _ = typed("The first start", SETTINGS)[0].partition(" > ")
    for documented, here in (("db.example", database), ("redis.example", broker), ("airflow.internal:8080", address)):
        assert documented in command
        command = command.replace(documented, here)
    made = control.run(command)
    # All of it is one machine, which runs other tests.
    ports = {"API__PORT": int(address.rpartition(":")[2])}
    ports |= {f"LOGGING__{server}_LOG_SERVER_PORT": free_port() for server in ("WORKER", "TRIGGER")}
    more = {"AIRFLOW__API__HOST": "127.0.0.1", "AIRFLOW__CELERY__WORKER_CONCURRENCY": "2"}
    more |= {f"AIRFLOW__{name}": str(port) for name, port in ports.items()}
    control.configure(made, more)
    # The environment has the same path on all machines of a real site.
    worker.configure(made.replace(str(control.environment), str(worker.environment)), more)
    told = variables_of(control.folder / "etc" / "slipway.env")
    # Nobody listens at the public address: nothing of Slipway may need it.
    assert told["AIRFLOW__API__BASE_URL"] == "https://airflow.example"
    return told


def _start(control: Machine, worker: Machine, told: dict[str, str], drydock: str, phases: Phases) -> None:
    """Do what the document says of a first start; a line of the output for each phase."""
    (control.folder / "etc" / "controller.password").write_text(PASSWORD)
    _, *commands, last = typed("The first start", START)
    assert last == "slipway doctor"
    for command in commands:
        match command.split():
            case ["systemctl", "enable", "--now", "slipway-worker" as name]:
                worker.start(name)
            case ["systemctl", "enable", "--now", name]:
                control.start(name)
            case ["airflow", "dags", "list"]:
                wait_until(lambda: control.all_run() and worker.all_run() and _has_dags(told), "the DAGs are parsed")
                phases.end("until the DAGs are parsed")
                listed = control.run(command)
                assert all(f"\n{dag} " in listed for dag in NEEDED.changes)
            case _:
                control.run(command.replace("http://drydock.example:9000", drydock), PASSWORD, PASSWORD)
        phases.end(command)


def _has_dags(told: dict[str, str]) -> bool:
    """Whether the list of DAGs would be whole: to ask for it takes seconds."""
    url = told["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].replace("+psycopg2", "")
    with psycopg.connect(url) as database:
        return database.execute("SELECT count(*) FROM dag").fetchone() == (len(NEEDED.changes),)


def _password(url: str) -> str:
    """Return the password in an address: it needs no quotation."""
    return str(urlsplit(url).password)


def _client(url: str, user: str) -> httpx.Client:
    login = httpx.post(f"{url}/auth/token", json={"username": user, "password": PASSWORD}, timeout=60)
    token = login.raise_for_status().json()["access_token"]
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)


def _deploy(control: Machine, simulator: Simulator, phases: Phases) -> None:
    (control.folder / "site.yaml").write_text(DESIGN)
    control.run("slipway create configdocs design --filename site.yaml && slipway commit configdocs")
    phases.end("commit")
    said = control.run("slipway create action deploy_site --follow")
    assert said.endswith("\nSUCCESS: every group succeeded\n")
    nodes = {one["name"]: (one["status"], one["deploys"]) for one in simulator.get("nodes")}
    assert nodes == dict.fromkeys(NODES, ("Deployed", 1))
    assert simulator.double() == {}
    phases.end("deploy_site")


def _controller_has_its_rights_alone(url: str) -> None:
    rights = {
        (action, f"{kind}:{dag}")
        for action in ("can_read", "can_edit")
        for kind in ("DAG", "DAG Run")
        for dag in NEEDED.changes
    }
    rights |= {("can_create", f"DAG Run:{dag}") for dag in NEEDED.triggers} | {("can_read", "DAG Runs")}
    # The pages' frame, which FAB gives to every role.
    rights |= {("can_read", "Website")}
    with _client(url, "admin") as admin:
        role = admin.get(f"/auth/fab/v1/roles/{ROLE}").raise_for_status().json()
        assert {(one["action"]["name"], one["resource"]["name"]) for one in role["actions"]} == rights
        tree = admin.get("/slipway/api/v1.0/sites/default/tree").raise_for_status().json()
    assert [one["status"] for one in tree["root"]["children"] if one["kind"] == "watching"] == ["success"]
    with _client(url, "slipway") as controller:
        assert controller.get("/api/v2/dags/~/dagRuns").status_code == 200
        refused = [
            controller.post("/slipway/api/v1.0/configdocs/more", content=DESIGN),
            controller.post("/slipway/api/v1.0/commitconfigdocs"),
            controller.post("/slipway/api/v1.0/actions", json={"name": "deploy_site"}),
            controller.post("/api/v2/dags/deploy_site/dagRuns", json={"logical_date": None}),
            controller.get("/api/v2/connections"),
        ]
        assert [answer.status_code for answer in refused] == [403] * len(refused)


def test_from_two_environments_with_the_wheel_alone_to_a_deployed_site_and_a_newer_wheel(tmp_path: Path) -> None:
    phases = Phases()
    tree = copy_tree(tmp_path / "tree")
    older, newer = (_commit_and_pack(tree, tmp_path / name) for name in ("older", "newer"))
    assert Version(older.name.split("-")[1]) < Version(newer.name.split("-")[1])
    phases.end("two wheels")
    with (
        server_on_port(tmp_path) as (database, execute),
        machines(tmp_path / "machines", "control", "worker") as (init, (control, worker)),
        ThreadPoolExecutor(2) as at_once,
    ):
        # The machines work at the same time, as machines do.
        pip = [control.install_as_pip()] * 2
        dags = list(at_once.map(_install, (control, worker), (older, older), pip))
        assert "pip install 'slipway[embedded]'" in control.run("slipway up", status=1)
        port = free_port()
        told = _settings(control, worker, database, f"127.0.0.1:{port}")
        assert told["AIRFLOW__CORE__DAGS_FOLDER"] == dags[0]
        owners = (told["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"], told["SLIPWAY_DATABASE_URL"])
        execute(statements([_password(url) for url in owners]))
        redis = redis_unit(tmp_path, _password(told["AIRFLOW__CELERY__BROKER_URL"]), "127.0.0.1", port)
        init.start(Service(redis, tmp_path))
        phases.end("installation on two machines")
        simulator = Simulator(tmp_path)
        try:
            _start(control, worker, told, simulator.url, phases)
            _deploy(control, simulator, phases)
            _controller_has_its_rights_alone(told["SLIPWAY_URL"])
            phases.end("the controller's rights")
            said = control.run("slipway doctor")
            assert said.startswith("Nothing is wrong in what was looked at.\n")
            assert "what 6 processes noted (api-server on" in said
            phases.end("slipway doctor")
        finally:
            simulator.stop()
        control.kill()
        worker.kill()
        # Without an index: all that it needs is there.
        list(at_once.map(_install, (control, worker), (newer, newer), ("export PIP_NO_INDEX=1", pip[1])))
        phases.end("a newer wheel on both")
