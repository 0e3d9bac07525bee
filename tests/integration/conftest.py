"""A real store, a real simulator process, and a group driver or the real DAGs between them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, create_engine

from site_engine.process import SharedClock
from site_store import SiteStore
from slipway_airflow import connections
from tests.support.dag_runs import Runs
from tests.support.driving import Begin, begin_with, simulated
from tests.support.serving import serving
from tests.support.simulators import Simulator
from tests.support.stores import new_store

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag


DAGS = Path(__file__).parent.parent.parent / "dags"

_STATEMENTS: defaultdict[str, dict[Any, Any]] = defaultdict(dict)
"""By the name of the dialect: two engines of Slipway's with the same one write the same SQL."""


class SharedStatements(MutableMapping[Any, Any]):
    """The compiled statements of an engine, which are those of all engines with its dialect.

    SQLAlchemy's key of a statement begins with the engine's own dialect; here it counts by its name.
    """

    def __init__(self, dialect: str) -> None:
        self._of_all = _STATEMENTS[dialect]

    def __getitem__(self, key: Any) -> Any:
        return self._of_all[key[1:]]

    def __setitem__(self, key: Any, compiled: Any) -> None:
        self._of_all[key[1:]] = compiled

    def __delitem__(self, key: Any) -> None:
        del self._of_all[key[1:]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._of_all)

    def __len__(self) -> int:
        return len(self._of_all)


def _sharing_engine(url: Any, **options: Any) -> Engine:
    engine = create_engine(url, **options)
    engine._compiled_cache = SharedStatements(engine.dialect.name)
    return engine


@pytest.fixture(scope="session", autouse=True)
def _compiled_statements() -> Iterator[None]:
    """Compile statements once: a third of what a short test of the store takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("site_store.sql.database.create_engine", _sharing_engine)
        yield


@pytest.fixture(scope="session")
def _simulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Simulator]]:
    """Return the simulator that runs; another one after a test which has ended it."""
    started: list[Simulator] = []

    def running() -> Simulator:
        if not started or started[-1].was_ended:
            started.append(Simulator(tmp_path_factory.mktemp("simulator")))
        return started[-1]

    yield running
    for simulator in started:
        simulator.stop()


@pytest.fixture
def simulator(_simulators: Callable[[], Simulator]) -> Simulator:
    """A simulator in which nothing has happened; its tasks take milliseconds."""
    simulator = _simulators()
    simulator.post("reset")
    return simulator


@pytest.fixture
def store_url() -> Iterator[str]:
    """Return the URL of a new store."""
    with new_store() as url:
        yield url


@pytest.fixture
def store(store_url: str) -> Iterator[SiteStore]:
    """Open the new store."""
    with SiteStore.open(store_url) as store:
        yield store


@pytest.fixture
def begin(store: SiteStore, simulator: Simulator, tmp_path: Path) -> Begin:
    """Commit a design and begin an action on it."""
    return begin_with(store, tmp_path, simulated(simulator), SharedClock(store))


@pytest.fixture(scope="session")
def dagbag() -> DagBag:
    """Initialise Airflow's database and read the DAGs."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.utils import db

    db.initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(dag_folder=str(DAGS), bundle_name="slipway", bundle_path=DAGS)
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "slipway", None)
    return bag


@pytest.fixture(scope="session")
def api() -> Iterator[str]:
    """Serve Slipway's REST API below ``/slipway``, as Airflow's API server does."""
    from fastapi import FastAPI

    from slipway_api.app import create_app

    outer = FastAPI()
    outer.mount("/slipway", create_app(connections))
    with serving(outer) as url:
        yield url


@pytest.fixture(scope="session")
def _stored_dags() -> dict[Any, Any]:
    """Return what Airflow knows of the DAGs that it has stored, by their versions."""
    return {}


@pytest.fixture
def runs(
    dagbag: DagBag,
    _stored_dags: dict[Any, Any],
    api: str,
    simulator: Simulator,
    store_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Runs:
    """Give a fresh store and a fresh simulator to the DAGs."""
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    monkeypatch.setenv("SLIPWAY_URL", api)
    connection = {"conn_type": "drydock", "host": simulator.url, "extra": {"poll_interval": 0.05}}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    monkeypatch.setattr(connections, "_BETWEEN_LOOKS", 0.0)
    # At each run Airflow would read all DAGs anew and store them, and check every parameter's schema a thousand times.
    monkeypatch.setattr("airflow.dag_processing.dagbag.BundleDagBag", lambda **_: dagbag)
    monkeypatch.setattr("airflow.dag_processing.dagbag.sync_bag_to_db", lambda *_: None)
    monkeypatch.setattr("jsonschema.Draft202012Validator.check_schema", lambda *_, **__: None)
    from airflow.models.dagbag import DBDagBag

    made = DBDagBag.__init__

    def make(bag: DBDagBag, *args: Any, **options: Any) -> None:
        made(bag, *args, **options)
        bag._dags = _stored_dags

    # For each task it would read the whole DAG from its database, as if for the first time.
    monkeypatch.setattr(DBDagBag, "__init__", make)
    return Runs(dagbag, simulator)
