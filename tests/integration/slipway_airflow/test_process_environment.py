"""What Airflow's processes note: their settings as Airflow reads them, and no secret in any of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_engine.monitoring.process_notes import digest_with
from site_store import ProcessNote, Role, SiteStore
from slipway_airflow import process_environment
from slipway_airflow.process_environment import (
    ApiServerNote,
    describe,
    executor_problem,
    log_servers,
    note_task,
    without_password,
)
from tests.support.stores import new_store

SECRETS = {
    "AIRFLOW__CORE__FERNET_KEY": "geheim-new,geheim-old",
    "AIRFLOW__API__SECRET_KEY": "geheim-secret",
    "AIRFLOW__API_AUTH__JWT_SECRET": "geheim-jwt",
    "AIRFLOW__API__BASE_URL": "https://me:geheim@airflow.example/x",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://me:geheim@db:6543/airflow",
    "SLIPWAY_URL": "http://me:geheim@api:8080",
}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteStore]:
    """A store that the environment names."""
    with new_store() as url, SiteStore.open(url) as opened:
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
        yield opened


def test_no_secret_is_noted_and_the_same_key_has_the_same_digest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: SiteStore
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    git = {"name": "git", "classpath": "x.GitDagBundle", "kwargs": {"repo_url": "https://geheim@git"}}
    local = {"name": "slipway", "classpath": "x.LocalDagBundle", "kwargs": {"path": str(tmp_path)}}
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps([git, local]))
    digest = digest_with("salt")
    said = describe(digest, store)
    assert "geheim" not in json.dumps(said)
    assert said["keys"]["core.fernet_key"] == [digest("core.fernet_key", f"geheim-{word}") for word in ("new", "old")]
    assert said["settings"]["api.base_url"] == "https://airflow.example/x"
    assert (said["dag_folders"], said["servers"]["airflow"]) == ([str(tmp_path)], "db:6543")
    assert said["bundles"] == ["git", "slipway"]
    assert said["settings"]["celery.result_backend"] == "db+postgresql://db:6543/airflow", (
        "Airflow's own, where none is"
    )


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("db+postgresql+psycopg2://me:geheim@db/airflow?password=geheim", "db+postgresql://db:5432/airflow"),
        ("db+postgres://other@db:5432/airflow", "db+postgresql://db:5432/airflow"),
        ("db+sqlite:////root/airflow.db", "db+sqlite:////root/airflow.db"),
        ("redis://:geheim@redis/0", "redis://redis/0"),
        ("db+postgresql://db:port/airflow", "an address that cannot be read"),
    ],
)
def test_where_results_are_kept_is_noted_without_who_uses_it(
    given: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__CELERY__RESULT_BACKEND", given)
    assert process_environment.result_backend() == shown


def test_with_celery_a_task_tries_the_server_of_its_results(monkeypatch: pytest.MonkeyPatch, store: SiteStore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        monkeypatch.setenv("AIRFLOW__CELERY__RESULT_BACKEND", f"db+postgresql://me@127.0.0.1:{port}/airflow")
        assert "results_problem" not in process_environment.describe_worker(digest_with("x"), store)
        monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")
        assert process_environment.describe_worker(digest_with("x"), store)["results_problem"] is None
    assert process_environment.describe_worker(digest_with("x"), store)["results_problem"] == "Connection refused"


def test_a_worker_is_noted_once_in_a_task_s_process(monkeypatch: pytest.MonkeyPatch, store: SiteStore) -> None:
    # Tasks of other tests may have run in this process.
    monkeypatch.setattr(process_environment, "_noted", set())
    note_task(store)
    (found,) = store.processes.all()[1]
    assert found.role == Role.WORKER
    store.processes.forget(found.id)
    note_task(store)
    assert store.processes.all()[1] == []


def test_an_api_server_tries_the_servers_of_logs_on_other_machines(store: SiteStore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as closed:
            nobody = closed.getsockname()[1]
        for host, number in (("127.0.0.1", port), ("localhost", nobody), ("no-such-host.invalid", 8793), ("own", 8793)):
            said = {"hostname": host, "settings": {"logging.worker_log_server_port": str(number)}}
            store.processes.note(ProcessNote(host, Role.WORKER, "1", "1", host, 1, None, said))
        store.processes.note(ProcessNote("tomorrow", "of tomorrow", "2", "2", "x", 1, None, {}))
        found = log_servers(store.processes.all()[1], "own")
    assert found == {
        f"127.0.0.1:{port}": None,
        f"localhost:{nobody}": "Connection refused",
        "no-such-host.invalid:8793": "the name does not resolve",
    }


def test_while_no_scheduler_is_there_an_api_server_says_whether_one_could_start(
    monkeypatch: pytest.MonkeyPatch, store: SiteStore
) -> None:
    said = ApiServerNote()(digest_with("x"), store)
    assert (said["executor_problem"], executor_problem()) == (None, None)
    store.processes.note(ProcessNote("s", Role.SCHEDULER, "1", "1", "a", 1, 30.0, {}))
    assert "executor_problem" not in ApiServerNote()(digest_with("x"), store)


def test_of_an_address_without_a_user_nothing_is_left_out() -> None:
    assert without_password("http://a:8080/x@y") == "http://a:8080/x@y"
    assert without_password("redis://:pw@a/0") == "redis://a/0"
    assert without_password("a@b") == "a@b"
