"""One Airflow API server with Slipway's plugin in it, for the whole run; each test has a store of its own.

The server is real: Airflow's own application, its SimpleAuthManager, uvicorn on a free loopback port. So are Slipway's
calls to Airflow's API. There is no scheduler: a DAG run stays queued.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import httpx
import pytest
import structlog

from provisioner_client.http_settings import RetryPolicy
from tests.conftest import AIRFLOW_HOME, ROOT
from tests.integration.api.http.described import is_as_described
from tests.support.lossy_proxy import LossyProxy, lossy_proxy
from tests.support.serving import serving
from tests.support.simulators import Simulator

if TYPE_CHECKING:
    from fastapi import FastAPI

    from site_store import SiteStore
    from tests.integration.api.airflow_runs import AirflowRuns

ROLES = ("admin", "op", "user", "viewer")
PASSWORD = "correct horse"


def _dropped(*_: object) -> NoReturn:
    raise structlog.DropEvent


@pytest.fixture(scope="session")
def airflow_app() -> Iterator[FastAPI]:
    """Airflow's application: a user for each role, named like it; Slipway's plugin is found as in production."""
    (AIRFLOW_HOME / "passwords.json").write_text(json.dumps(dict.fromkeys(ROLES, PASSWORD)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", ",".join(f"{role}:{role}" for role in ROLES))
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", str(AIRFLOW_HOME / "passwords.json"))
        from airflow.utils import db

        db.initdb()
        from airflow.api_fastapi.app import create_app
        from airflow.api_fastapi.common import http_access_log

        # Its line comes after the answer, and would be part of what another test has printed.
        patch.setattr(http_access_log, "logger", structlog.wrap_logger(None, processors=[_dropped]))
        yield create_app(apps="core")


@pytest.fixture(scope="session")
def origin(airflow_app: FastAPI) -> Iterator[str]:
    """Serve Airflow's application, and return its URL."""
    with serving(airflow_app, lifespan="off") as url:
        yield url


@pytest.fixture(scope="session")
def tokens(origin: str) -> dict[str, str]:
    """Return a token for each role."""
    logins = {role: {"username": role, "password": PASSWORD} for role in ROLES}
    return {
        role: httpx.post(f"{origin}/auth/token", json=login).raise_for_status().json()["access_token"]
        for role, login in logins.items()
    }


@pytest.fixture(scope="session")
def clients(origin: str, tokens: dict[str, str]) -> Iterator[dict[str, httpx.Client]]:
    """Return a client for each role, and one without a token, ``anonymous``; paths start below ``/slipway``.

    Whatever they are answered has to be as the API's description says.
    """
    headers = {role: {"Authorization": f"Bearer {token}"} for role, token in tokens.items()} | {"anonymous": {}}
    made = {
        role: httpx.Client(
            base_url=f"{origin}/slipway", headers=given, timeout=60, event_hooks={"response": [is_as_described]}
        )
        for role, given in headers.items()
    }
    yield made
    for client in made.values():
        client.close()


@pytest.fixture
def admin(clients: dict[str, httpx.Client]) -> httpx.Client:
    """Who may do everything."""
    return clients["admin"]


@pytest.fixture
def op(clients: dict[str, httpx.Client]) -> httpx.Client:
    """Who may also read Airflow's connections."""
    return clients["op"]


@pytest.fixture
def user(clients: dict[str, httpx.Client]) -> httpx.Client:
    """Who may trigger DAGs."""
    return clients["user"]


@pytest.fixture
def viewer(clients: dict[str, httpx.Client]) -> httpx.Client:
    """Who may only read."""
    return clients["viewer"]


@pytest.fixture
def anonymous(clients: dict[str, httpx.Client]) -> httpx.Client:
    """Who has no token."""
    return clients["anonymous"]


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch, origin: str, store_url: str) -> None:
    """Let the server use this test's store, and know where it is itself."""
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", origin)
    # As Airflow's own entry point does: it lets the server's process read connections from the database.
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")
    # What is tried again is tried at once.
    monkeypatch.setattr("api_client.airflow._PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_, **__: 0.0)


@pytest.fixture(scope="session")
def dags(airflow_app: FastAPI) -> list[str]:
    """Make Slipway's DAGs known to Airflow, as its DAG processor does; return their ids."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(dag_folder=str(ROOT / "dags"), bundle_name="slipway", bundle_path=ROOT / "dags")
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "slipway", None)
    return sorted(bag.dags)


@pytest.fixture(scope="session")
def provisioner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """Start a simulator for all tests that use it; its tasks take milliseconds."""
    simulator = Simulator(tmp_path_factory.mktemp("simulator"))
    yield simulator
    simulator.stop()


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch, provisioner: Simulator) -> Simulator:
    """Connect the server to the simulator, as the connection for all sites; the simulator is emptied first."""
    provisioner.post("reset")
    connection = {"conn_type": "drydock", "host": provisioner.url}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    return provisioner


@pytest.fixture
def action(user: httpx.Client, store: SiteStore, dags: list[str], connected: Simulator) -> str:
    """Return the id of an action that is under way, with a plan."""
    from tests.integration.api.airflow_runs import commit, create, plan

    commit(store)
    made = str(create(user)["id"])
    plan(store, made)
    return made


@pytest.fixture
def statements(store: SiteStore) -> list[str]:
    """Return every statement that the server's own store executes, as it is executed."""
    from sqlalchemy import event

    from slipway_api.http.dependencies import open_store

    found: list[str] = []
    engine = open_store()._database.engine
    event.listen(engine, "before_cursor_execute", lambda *arguments: found.append(arguments[2]))
    return found


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch, origin: str) -> Iterator[LossyProxy]:
    """Put a proxy between Slipway and Airflow's API."""
    with lossy_proxy(origin) as proxy:
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", proxy.url)
        yield proxy


@pytest.fixture(scope="session")
def airflow_runs(origin: str, tokens: dict[str, str]) -> Iterator[AirflowRuns]:
    """See and change Airflow's runs as its administrator."""
    from tests.integration.api.airflow_runs import AirflowRuns

    runs = AirflowRuns(origin, tokens["admin"])
    yield runs
    runs.close()
