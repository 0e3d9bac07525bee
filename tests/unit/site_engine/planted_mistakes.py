"""An installation of five machines where all is well, and the mistakes that are planted in it for the doctor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from site_engine.doctor.facts import DagFacts, Facts, Level
from site_engine.kinds import KINDS
from site_store import CheckRecord, ProcessRecord, Role, ServerFacts
from strategy_lib.airflow_settings import KEYS, SETTINGS

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SETTINGS_OF_ALL = {row.name: row.use for row in SETTINGS} | {
    "core.executor": "CeleryExecutor",
    "core.auth_manager": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
    "core.parallelism": "32",
    "core.execution_api_server_url": "http://api.internal:8080/execution/",
    "api.base_url": "https://airflow.example",
    "api_auth.jwt_leeway": "10",
    "celery.worker_concurrency": "4",
    "database.sql_alchemy_pool_size": "5",
    "celery.result_backend": "db+postgresql://db:5432/airflow",
    "SLIPWAY_URL": "http://api.internal:8080",
}
ENVIRONMENT = {
    "settings": SETTINGS_OF_ALL,
    "keys": {key.name: [f"digest of {key.name}"] for key in KEYS},
    "packages": {"apache-airflow": "3.3.2", "celery": "5.6.3"},
    "disks": {"/var/log/airflow": [50_000, 100_000]},
    "memory": 4_000,
    "dag_folders": ["/opt/slipway/dags"],
    "dags": "digest of files",
    "bundles": ["dags-folder"],
    "results_problem": None,
    "servers": {"store": "db:5432", "airflow": "db:5432"},
}
MACHINES = {
    Role.API_SERVER: ("control1", "control2"),
    Role.SCHEDULER: ("control1", "control2"),
    Role.TRIGGERER: ("control1", "control2"),
    Role.DAG_PROCESSOR: ("control1",),
    Role.WORKER: ("worker1", "worker2", "worker3"),
    Role.CONTROLLER: ("control1", "control2"),
}


def process(role: Role, host: str) -> ProcessRecord:
    said: dict[str, Any] = {**ENVIRONMENT, "hostname": host}
    if role is Role.CONTROLLER:
        said = {"settings": {"SLIPWAY_URL": "http://api.internal:8080"}, "packages": {}, "disks": {}}
    if role is Role.API_SERVER:
        said["log_servers"] = {f"{worker}:8793": None for worker in MACHINES[Role.WORKER]}
    every, sign = (None, timedelta(hours=3)) if role is Role.WORKER else (30.0, timedelta(seconds=20))
    return ProcessRecord(f"{role}:{host}", role, "1.0", "0101", host, 7, every, said, NOW - DAY, NOW - sign, 0.01)


WELL = Facts(
    now=NOW,
    version="1.0",
    schema="0101",
    processes=[process(role, host) for role, hosts in MACHINES.items() for host in hosts],
    server=ServerFacts(400, is_pooled=False),
    checks=[CheckRecord("airflow", None, NOW, NOW), CheckRecord("rights of the controller", None, NOW, NOW)],
    controller_leads=True,
    dags=DagFacts(frozenset((*KINDS, "notify", "another"))),
    health=dict.fromkeys(("scheduler", "triggerer", "dag-processor", "metadatabase")),
    provisioners={"north": None, "south": None},
)


def changed(role: Role, host: str | None = None, **values: Any) -> Callable[[Facts], Facts]:
    """Change the processes of a role, on one machine or all."""

    def plant(facts: Facts) -> Facts:
        is_meant = [one.role == role and host in (None, one.host) for one in facts.processes]
        assert any(is_meant)
        found = [replace(one, **values) if meant else one for one, meant in zip(facts.processes, is_meant, strict=True)]
        return replace(facts, processes=found)

    return plant


def said(role: Role, host: str | None = None, **values: Any) -> Callable[[Facts], Facts]:
    """Change what processes of a role say of their environment; mappings are added to."""

    def plant(facts: Facts) -> Facts:
        found = []
        for one in facts.processes:
            meant = one.role == role and host in (None, one.host)
            found.append(replace(one, environment=merged(one.environment, values)) if meant else one)
        return replace(facts, processes=found)

    return plant


def merged(environment: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    new = {
        name: {**environment.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return {**environment, **new}


def setting(role: Role, name: str, value: str, host: str | None = None) -> Callable[[Facts], Facts]:
    return said(role, host, settings={name: value})


def without(role: Role) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, processes=[one for one in facts.processes if one.role != role])


def check(subject: str, problem: str) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, checks=[CheckRecord(subject, problem, NOW, NOW)], provisioners=None)


def known(**values: Any) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, **values)


ALL_DAGS = frozenset((*KINDS, "notify"))
MISTAKES = {
    "a wrong key on one machine": (
        said(Role.API_SERVER, "control2", keys={"core.fernet_key": ["other"]}),
        Level.ERROR,
        "[core] fernet_key is not the same everywhere: api-server on control2 differs from api-server on control1",
        "AIRFLOW__CORE__FERNET_KEY=…   (for api-server on control2",
    ),
    "a secret key that workers do not have": (
        said(Role.WORKER, "worker2", keys={"api.secret_key": ["other"]}),
        Level.ERROR,
        "[api] secret_key is not the same everywhere: worker on worker2",
        "AIRFLOW__API__SECRET_KEY=…",
    ),
    "no secret of tokens": (
        said(Role.SCHEDULER, keys={"api_auth.jwt_secret": []}),
        Level.ERROR,
        "[api_auth] jwt_secret is not set for scheduler on control1, control2",
        "AIRFLOW__API_AUTH__JWT_SECRET=…",
    ),
    "another broker": (
        said(Role.WORKER, "worker1", keys={"celery.broker_url": ["other"]}),
        Level.ERROR,
        "[celery] broker_url is not the same everywhere",
        "AIRFLOW__CELERY__BROKER_URL=…",
    ),
    "another place of results": (
        said(Role.WORKER, "worker1", keys={"celery.result_backend": ["other"]}),
        Level.ERROR,
        "[celery] result_backend is not the same everywhere: worker on worker1 differs from",
        "AIRFLOW__CELERY__RESULT_BACKEND=…",
    ),
    "results in a file of each machine": (
        setting(Role.WORKER, "celery.result_backend", "db+sqlite:////root/airflow/airflow.db", "worker2"),
        Level.ERROR,
        "[celery] result_backend is a file of each machine (db+sqlite:////root/airflow/airflow.db), for worker on wo",
        "AIRFLOW__CELERY__RESULT_BACKEND=db+postgresql://…",
    ),
    "results in Redis": (
        setting(Role.SCHEDULER, "celery.result_backend", "redis://redis/0"),
        Level.WARNING,
        "[celery] result_backend is no database (redis://redis/0), for scheduler on control1, control2",
        "AIRFLOW__CELERY__RESULT_BACKEND=db+postgresql://…",
    ),
    "a worker that does not reach the results": (
        said(Role.WORKER, "worker2", results_problem="Connection refused"),
        Level.ERROR,
        "the worker on worker2 does not reach [celery] result_backend, db+postgresql://db:5432/airflow: Connection ref",
        "let worker2 reach that server and port",
    ),
    "a bundle of another name": (
        said(Role.WORKER, "worker2", bundles=["slipway"]),
        Level.ERROR,
        "worker on worker2 has no bundle of DAGs named dags-folder, which the DAG processor has",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST=…   (for worker on worker2",
    ),
    "other keys of the store": (
        said(Role.WORKER, "worker1", keys={"SLIPWAY_STORE_KEYS_FILE": ["other"]}),
        Level.ERROR,
        "SLIPWAY_STORE_KEYS_FILE is not the same everywhere: worker on worker1 differs from",
        "SLIPWAY_STORE_KEYS_FILE=… or, where no such file is named, AIRFLOW__CORE__FERNET_KEY=…   (for worker on",
    ),
    "celery 5.7": (
        said(Role.SCHEDULER, "control1", packages={"celery": "5.7.0"}),
        Level.ERROR,
        "celery 5.7.0 is installed for scheduler on control1",
        "pip install -c constraints.txt 'slipway[celery,redis]' 'celery<5.7'",
    ),
    "a default heartbeat": (
        setting(Role.SCHEDULER, "scheduler.task_instance_heartbeat_timeout", "300"),
        Level.WARNING,
        "[scheduler] task_instance_heartbeat_timeout is 300 for scheduler on control1, control2; wanted: 20 to 60",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT=20   (for scheduler on control1, control2",
    ),
    "tasks that give up an API server": (
        setting(Role.WORKER, "workers.max_failed_heartbeats", "3", "worker3"),
        Level.ERROR,
        "[workers] max_failed_heartbeats is 3 for worker on worker3",
        "AIRFLOW__WORKERS__MAX_FAILED_HEARTBEATS=30",
    ),
    "a value that is no number": (
        setting(Role.SCHEDULER, "scheduler.task_queued_timeout", "soon"),
        Level.WARNING,
        "task_queued_timeout is soon",
        "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT=120",
    ),
    "examples": (
        setting(Role.DAG_PROCESSOR, "core.load_examples", "True"),
        Level.WARNING,
        "[core] load_examples is True",
        "AIRFLOW__CORE__LOAD_EXAMPLES=False   (for dag-processor on control1",
    ),
    "a clock": (
        changed(Role.SCHEDULER, "control2", clock_offset=12.0),
        Level.ERROR,
        "and scheduler on control2 are 12.0 s apart",
        "systemctl enable --now chrony   (on control1, control2)",
    ),
    "a clock that is about to be wrong": (
        changed(Role.API_SERVER, "control2", clock_offset=-6.0),
        Level.WARNING,
        "the clocks of api-server on control2",
        "chrony",
    ),
    "a leeway below the difference of clocks": (
        lambda facts: setting(Role.API_SERVER, "api_auth.jwt_leeway", "2")(
            changed(Role.SCHEDULER, "control1", clock_offset=3.0)(facts)
        ),
        Level.ERROR,
        "are 3.0 s apart",
        "chrony",
    ),
    "a missing right": (
        check("rights of the controller", "HTTP 403 at DAG Runs"),
        Level.ERROR,
        "rights of the controller: HTTP 403 at DAG Runs (since 2026-11-01 12:00:00 UTC)",
        "slipway controller-role",
    ),
    "a controller without the keys of the store": (
        check("design of site north", "the controller cannot read the design, and so finds no drift"),
        Level.ERROR,
        "design of site north: the controller cannot read the design, and so finds no drift (since 2026-11-01",
        "SLIPWAY_STORE_KEYS_FILE=…   (for the controllers",
    ),
    "a DAG that is not found": (
        known(dags=DagFacts(ALL_DAGS - {"deploy_site"})),
        Level.ERROR,
        "Airflow has no DAG deploy_site",
        "AIRFLOW__CORE__DAGS_FOLDER=…",
    ),
    "a DAG that cannot be imported": (
        known(dags=DagFacts(ALL_DAGS, import_errors={"x.py": "ImportError"})),
        Level.ERROR,
        "Airflow cannot import x.py: ImportError",
        "python x.py",
    ),
    "a paused DAG": (
        known(dags=DagFacts(ALL_DAGS, frozenset({"update_site", "another"}))),
        Level.ERROR,
        "the DAG update_site is paused in Airflow",
        "airflow dags unpause update_site",
    ),
    "different versions": (
        changed(Role.WORKER, "worker2", version="0.9"),
        Level.ERROR,
        "different versions of Slipway run: ",
        "pip install slipway-1.0-*.whl",
    ),
    "code of another schema": (
        changed(Role.TRIGGERER, "control2", store_schema="0100"),
        Level.ERROR,
        "triggerer on control2: works with schema 0100 of the store; the store has 0101",
        "install this version there",
    ),
    "an old schema": (
        known(store_problem="the database is at schema 0100, this Slipway needs 0101: run `slipway store upgrade`"),
        Level.ERROR,
        "the database is at schema 0100, this Slipway needs 0101",
        "slipway store upgrade",
    ),
    "no triggerer": (
        lambda facts: replace(without(Role.TRIGGERER)(facts), health={}),
        Level.ERROR,
        "no triggerer runs",
        "airflow triggerer",
    ),
    "an executor that cannot be imported": (
        said(Role.API_SERVER, "control1", executor_problem="ImportError: cannot import name 'retry'"),
        Level.ERROR,
        "[core] executor cannot be imported, as api-server on control1 says: ImportError: cannot import name 'retry'",
        "pip install -c constraints.txt 'slipway[celery,redis]' 'celery<5.7'",
    ),
    "agents that do not name their nodes": (
        known(unnamed={"north": [f"n{number}" for number in range(7)]}),
        Level.WARNING,
        "7 nodes of site north sign by version 1 (n0, n1, n2, n3, n4, …)",
        "put the present agent on them; then SLIPWAY_NODE_SIGNATURES=2",
    ),
    "a copy of a store": (
        known(held="this store is a copy of another one; run `slipway store restored`"),
        Level.ERROR,
        "this store is a copy of another one; run `slipway store restored`",
        "slipway store restored",
    ),
    "a store that is not compared with its provisioners": (
        known(held="PostgreSQL was started anew"),
        Level.ERROR,
        "PostgreSQL was started anew",
        "slipway controller",
    ),
    "a store that does not answer": (
        known(store_problem="the database cannot be used (connection failed: no route: host)"),
        Level.ERROR,
        "the database cannot be used (connection failed: no route: host)",
        "SLIPWAY_DATABASE_URL=postgresql://…",
    ),
    "a database that is not there": (
        known(store_problem="there is no database 'slipway'", store_fix="CREATE DATABASE slipway"),
        Level.ERROR,
        "there is no database 'slipway'",
        "CREATE DATABASE slipway",
    ),
    "no controller": (without(Role.CONTROLLER), Level.ERROR, "no controller runs", "slipway controller"),
    "a frozen process": (
        changed(Role.API_SERVER, "control1", last_sign=NOW - timedelta(seconds=300)),
        Level.ERROR,
        "the api-server on control1 (process 7) is silent for 300 s",
        "on control1: restart the api-server",
    ),
    "a controller that was killed while another leads": (
        changed(Role.CONTROLLER, "control1", last_sign=NOW - timedelta(seconds=300)),
        Level.WARNING,
        "the controller on control1 (process 7) is silent for 300 s; controller on control2 leads or waits",
        "one that was taken away for good is forgotten after a day, and nothing is to be done until then",
    ),
    "a controller that was killed while nobody leads": (
        lambda facts: replace(
            changed(Role.CONTROLLER, last_sign=NOW - timedelta(seconds=300))(facts), controller_leads=False
        ),
        Level.ERROR,
        "the controller on control1 (process 7) is silent for 300 s",
        "on control1: restart the controller",
    ),
    "too few connections": (
        known(server=ServerFacts(100, is_pooled=False)),
        Level.WARNING,
        "allows 100 connections; processes may take 382",
        "ALTER SYSTEM SET max_connections = 382;",
    ),
    "a public address alone": (
        said(Role.WORKER, settings={"core.execution_api_server_url": ""}),
        Level.ERROR,
        "[api] base_url is https://airflow.example, [core] execution_api_server_url is not set, for worker on worker1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL=http://api.internal:8080/execution/",
    ),
    "an address that is each machine's own": (
        said(Role.WORKER, settings={"core.execution_api_server_url": "http://localhost:8080/execution/"}),
        Level.ERROR,
        "tasks reach the API server at http://localhost:8080/execution/, for worker on worker1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL=",
    ),
    "a host that does not resolve": (
        said(Role.API_SERVER, "control2", log_servers={"worker1:8793": "the name does not resolve"}),
        Level.WARNING,
        "the API server on control2 does not reach the server of task logs worker1:8793: the name does not resolve",
        "let control2 resolve worker1 and open port 8793",
    ),
    "a worker that calls itself localhost": (
        said(Role.WORKER, "worker1", hostname="localhost"),
        Level.WARNING,
        "the worker on worker1 calls itself localhost",
        "AIRFLOW__CORE__HOSTNAME_CALLABLE=",
    ),
    "a full disk": (
        said(Role.SCHEDULER, "control1", disks={"/var/log/airflow": [10, 100_000]}),
        Level.ERROR,
        "/var/log/airflow on control1 has 10 MB free of 100000",
        "airflow db clean",
    ),
    "a disk that is nearly full": (
        said(Role.SCHEDULER, "control1", disks={"/var/log/airflow": [4_000, 100_000]}),
        Level.WARNING,
        "has 4000 MB free",
        "(on control1",
    ),
    "a provisioner that refuses": (
        known(provisioners={"north": "it refuses the key"}),
        Level.ERROR,
        "the provisioner of site north: it refuses the key",
        "slipway_provisioner_north",
    ),
    "a site without a connection, by the controller": (
        check("provisioner of site north", "no provisioner is connected"),
        Level.ERROR,
        "provisioner of site north: no provisioner is connected",
        "slipway_provisioner_north",
    ),
    "an unhealthy component": (
        known(health={"scheduler": "Airflow says unhealthy"}),
        Level.ERROR,
        "Airflow's scheduler: Airflow says unhealthy",
        "restart the scheduler",
    ),
    "an API server that is away": (
        known(api_problem="Airflow at http://x does not answer", health=None, dags=None),
        Level.ERROR,
        "Airflow at http://x does not answer",
        "airflow api-server",
    ),
    "another folder of DAGs": (
        said(Role.WORKER, "worker3", dag_folders=["/opt/python3.12/dags"], dags="of an empty folder"),
        Level.ERROR,
        "/opt/python3.12/dags (worker on worker3)",
        "AIRFLOW__CORE__DAGS_FOLDER=…",
    ),
    "other files of DAGs": (
        said(Role.WORKER, "worker3", dags="other"),
        Level.ERROR,
        "the files of DAGs differ between",
        "pip install --force-reinstall slipway-*.whl",
    ),
    "fewer tasks than slots": (
        setting(Role.SCHEDULER, "core.parallelism", "8", "control1"),
        Level.WARNING,
        "[core] parallelism of the scheduler on control1 is below the 12 slots",
        "AIRFLOW__CORE__PARALLELISM=12",
    ),
    "too many slots for a machine": (
        said(Role.WORKER, "worker1", memory=350),
        Level.WARNING,
        "the worker on worker1 takes 4 tasks at once, and its machine has 350 MB",
        "AIRFLOW__CELERY__WORKER_CONCURRENCY=3",
    ),
    "passwords in files of two machines": (
        setting(Role.API_SERVER, "core.auth_manager", "x.SimpleAuthManager"),
        Level.WARNING,
        "[core] auth_manager is SimpleAuthManager for api-server on control1, control2",
        "AIRFLOW__CORE__AUTH_MANAGER=",
    ),
}
