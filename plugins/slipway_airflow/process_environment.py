"""What Airflow's processes say of themselves to Slipway's store: settings, digests of keys, and what they can reach."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from airflow.configuration import conf
from airflow.utils.net import get_hostname

from site_engine.monitoring.process_notes import (
    SILENT,
    Digest,
    ProcessNotes,
    common_environment,
    files_digest,
    note_worker,
)
from site_store import ProcessRecord, Role, SiteStore
from site_store.sql.address import server_of
from slipway_airflow import connections as connections  # it hands the store Airflow's keys
from strategy_lib.airflow_settings import CELERY, KEYS, NOTED, RESULT_BACKEND, SETTINGS
from strategy_lib.settings import SLIPWAY_URL

ROLES: Final = {
    "SchedulerJob": Role.SCHEDULER,
    "TriggererJob": Role.TRIGGERER,
    "DagProcessorJob": Role.DAG_PROCESSOR,
}
"""By the type of Airflow's job."""
_LOOK_EVERY: Final = 300.0
"""Seconds between two looks of an API server at the servers of task logs."""
_CONNECT: Final = 2.0
_DISCARD: Final = "9"
"""The port that `slipway up` gives: there is no such server."""
_LOG_PORTS: Final[Mapping[str, str]] = {
    Role.WORKER: "logging.worker_log_server_port",
    Role.TRIGGERER: "logging.trigger_log_server_port",
}
_noted: set[int] = set()


def describe(digest: Digest, _store: SiteStore) -> dict[str, Any]:
    """Return what any process of Airflow's says of its environment."""
    names = (*(row.name for row in SETTINGS), *NOTED)
    settings = {name: without_password(text) for name in names if (text := _setting(name)) is not None}
    if url := SLIPWAY_URL.read(os.environ):
        settings[SLIPWAY_URL.name] = without_password(url)
    # Several Fernet keys are a list: old data is read with each of them.
    airflows = [key.name for key in KEYS if "." in key.name]
    keys = {name: [digest(name, one) for one in _texts(_setting(name))] for name in airflows}
    settings[RESULT_BACKEND] = results = result_backend()
    keys[RESULT_BACKEND] = [digest(RESULT_BACKEND, results)]
    folders = dag_folders()
    logs = _setting("logging.base_log_folder")
    environment = common_environment([Path(logs)] if logs else [])
    own = {
        "dag_folders": [str(folder) for folder in folders],
        "dags": files_digest(folders),
        "bundles": bundle_names(),
        "hostname": get_hostname(),
    }
    return {**environment, **own, "settings": settings, "keys": keys, "servers": _servers()}


def dag_folders() -> list[Path]:
    """Return the folders in which Airflow looks for DAGs: those of its local bundles."""
    try:
        bundles = json.loads(_setting("dag_processor.dag_bundle_config_list") or "[]")
        # Of others, such as one of a Git server, nothing is noted: what they are made with may hold secrets.
        local = [bundle.get("kwargs", {}) for bundle in bundles if "LocalDagBundle" in bundle.get("classpath", "")]
        paths = [made.get("path") or _setting("core.dags_folder") for made in local]
    except (ValueError, AttributeError):
        paths = [_setting("core.dags_folder")]
    return [Path(path) for path in paths if path]


def bundle_names() -> list[str]:
    """Return the names of the bundles of DAGs: a task's DAG is looked up by its bundle's name, on each machine anew."""
    try:
        return sorted(str(one["name"]) for one in json.loads(_setting("dag_processor.dag_bundle_config_list") or "[]"))
    except (ValueError, TypeError, KeyError):
        return []


def result_backend() -> str:
    """Return where Celery keeps its results: kind, server and name of the database, and nothing of who uses it."""
    text = _setting(RESULT_BACKEND) or f"db+{_setting('database.sql_alchemy_conn') or ''}"
    try:
        parts = urlsplit(text)
        kind, place = parts.scheme, parts.hostname or ""
        # The driver may be each machine's own.
        kind = "+".join(kind.split("+")[:2]) if kind.startswith("db+") else kind.split("+")[0]
        kind = kind.replace("postgres", "postgresql") if kind.endswith("postgres") else kind
        port = parts.port or (5432 if "postgres" in kind else None)
    except ValueError:
        return "an address that cannot be read"
    return f"{kind}://{place}{'' if port is None else f':{port}'}{parts.path}"


def _servers() -> dict[str, str]:
    """Return where the databases of Airflow and of the store are: host and port."""
    found = {"store": server_of(None), "airflow": server_of(_setting("database.sql_alchemy_conn") or "")}
    return {name: place for name, place in found.items() if place is not None}


class ApiServerNote:
    """What an API server says: besides the rest whether it reaches the servers of task logs.

    While no scheduler is there, it says whether the executor can be imported: a scheduler that cannot ends at once.
    """

    def __init__(self) -> None:
        self._looked: float | None = None
        self._found: dict[str, str | None] = {}

    def __call__(self, digest: Digest, store: SiteStore) -> dict[str, Any]:
        """Describe this process; other machines are looked at every few minutes."""
        said = describe(digest, store)
        now, processes = store.processes.all()
        if self._looked is None or time.monotonic() - self._looked >= _LOOK_EVERY:
            self._found, self._looked = log_servers(processes, said["hostname"]), time.monotonic()
        if not any(one.role == Role.SCHEDULER and one.silent_for(now) <= SILENT for one in processes):
            said["executor_problem"] = executor_problem()
        return {**said, "log_servers": self._found}


def executor_problem() -> str | None:
    """Return why the executor cannot be imported; None: it can be."""
    # Tasks import this module, too, and have no use for executors.
    from airflow.executors.executor_loader import ExecutorLoader

    try:
        for name in ExecutorLoader.get_executor_names(validate_teams=False):
            ExecutorLoader.import_executor_cls(name)
    except Exception as error:  # noqa: BLE001 - an import may fail by anything
        return f"{type(error).__name__}: {error}"
    return None


def log_servers(processes: Iterable[ProcessRecord], own: str) -> dict[str, str | None]:
    """Return each server of task logs on other machines, and why it cannot be reached; None: it can."""
    found: dict[str, str | None] = {}
    for process in processes:
        setting = _LOG_PORTS.get(process.role)
        said = process.environment
        port = said.get("settings", {}).get(setting)
        host = said.get("hostname")
        if setting and port not in (None, _DISCARD) and host not in (None, own):
            found[f"{host}:{port}"] = _problem(str(host), int(port))
    return found


def _problem(host: str, port: int) -> str | None:
    try:
        with socket.create_connection((host, port), _CONNECT):
            return None
    except socket.gaierror:
        return "the name does not resolve"
    except OSError as error:
        return error.strerror or "no answer"


def _setting(name: str) -> str | None:
    section, _, option = name.partition(".")
    text = conf.get(section, option, fallback=None)
    return None if text is None else str(text)


def _texts(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def without_password(text: str) -> str:
    """Return a setting's value; of an address with a user the user and password are left out."""
    if "://" not in text or "@" not in text:
        return text
    parts = urlsplit(text)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def component_notes(component: object) -> ProcessNotes:
    """Return the notes of a scheduler, triggerer or DAG processor, whose job Airflow has just made.

    Its type is written to it a moment later.
    """
    return ProcessNotes(lambda: ROLES.get(vars(component).get("job_type", "")), describe)


def api_server_notes() -> ProcessNotes:
    """Return the notes of an API server."""
    return ProcessNotes(lambda: Role.API_SERVER, ApiServerNote())


def describe_worker(digest: Digest, store: SiteStore) -> dict[str, Any]:
    """Return what a task says of its machine: besides the rest, whether that reaches the server of Celery's results."""
    said = describe(digest, store)
    if CELERY in said["settings"].get("core.executor", ""):
        parts = urlsplit(said["settings"][RESULT_BACKEND])
        if parts.hostname and parts.port:
            said["results_problem"] = _problem(parts.hostname, parts.port)
    return said


def note_task(store: SiteStore) -> None:
    """Note the worker in which a task begins, once in its process, and the settings that its tasks work by."""
    if os.getpid() not in _noted:
        _noted.add(os.getpid())
        note_worker(store, describe_worker)
