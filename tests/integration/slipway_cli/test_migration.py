"""A home's store moves from the SQLite file of earlier versions into PostgreSQL, once, whatever interrupts it."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from site_store import SiteStore
from slipway_cli.embedded.errors import StepFailed
from slipway_cli.embedded.migration import StoreMove
from slipway_cli.embedded.postgres_cluster import AIRFLOW, STORE, PostgresCluster
from slipway_cli.embedded.postgres_process import PostgresProcess
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.support.postgres import running_server
from tests.support.revisions import commit_design

DESIGN = "a: 1\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PostgresCluster, PostgresProcess]]:
    with running_server(tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture
def cluster(running: tuple[PostgresCluster, PostgresProcess]) -> PostgresCluster:
    """A home with an empty PostgreSQL and nothing else."""
    cluster, process = running
    for file in (*cluster.folder.parent.glob("slipway.db*"), *cluster.folder.parent.glob("store.url")):
        file.unlink()
    with psycopg.connect(host=str(cluster.host), user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute("DROP DATABASE slipway WITH (FORCE)")
    process.make_databases()
    return cluster


@functools.cache
def _old_file() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "slipway.db"
        SiteStore.upgrade(f"sqlite:///{file}")
        with SiteStore.open(f"sqlite:///{file}") as store:
            commit_design(store, "north", DESIGN, [])
        return file.read_bytes()


def old_store(home: Path) -> bytes:
    """A store as earlier versions kept it; its file."""
    (home / "slipway.db").write_bytes(_old_file())
    return _old_file()


def a_move(cluster: PostgresCluster, **environ: str) -> StoreMove:
    home = cluster.folder.parent
    settings = EmbeddedSettings.from_environment(home, 0, environ)
    environment = dict(os.environ) | {"SLIPWAY_DATABASE_URL": settings.database_url or cluster.url(STORE)}
    return StoreMove(settings, cluster, environment)


def carry_out(move: StoreMove, *, finish: bool = True) -> list[str]:
    """As the supervisor does at a start; without its finish, as one that is killed."""
    step = move.begin()
    while not step.is_over():
        time.sleep(0.02)
    return move.finish() if finish else []


@pytest.mark.endurance
def test_it_is_copied_and_kept_as_a_backup(cluster: PostgresCluster) -> None:
    home = cluster.folder.parent
    content = old_store(home)
    said = carry_out(a_move(cluster))
    assert said[0].startswith("the store is in PostgreSQL now; slipway.db.before-postgresql is a backup")
    assert "enter its connections again" in said[1]
    assert not (home / "slipway.db").exists()
    assert (home / "slipway.db.before-postgresql").read_bytes() == content
    with SiteStore.open((home / "store.url").read_text()) as store:
        assert store.revisions.get("north", 1).text == DESIGN
        assert "postgresql/run" in store.location
    assert not a_move(cluster).is_due()


@pytest.mark.endurance
def test_a_start_that_was_killed_after_the_copy_is_finished_by_the_next(cluster: PostgresCluster) -> None:
    home = cluster.folder.parent
    old_store(home)
    carry_out(a_move(cluster), finish=False)
    assert (home / "slipway.db").exists()
    assert carry_out(a_move(cluster)) != []
    with SiteStore.open((home / "store.url").read_text()) as store:
        assert [record.number for record in store.revisions.newest("north")] == [1]


@pytest.mark.endurance
def test_another_file_never_replaces_what_is_in_postgresql(cluster: PostgresCluster) -> None:
    """An earlier version of Slipway was started in the home once more, and made itself a new file."""
    home = cluster.folder.parent
    old_store(home)
    carry_out(a_move(cluster))
    old_store(home)
    with SiteStore.open(f"sqlite:///{home / 'slipway.db'}") as store:
        commit_design(store, "south", DESIGN, [])
    with pytest.raises(StepFailed, match=r"is not empty .* Move the SQLite file away to go on with the database"):
        carry_out(a_move(cluster))
    assert (home / "slipway.db").exists()


@pytest.mark.endurance
def test_a_database_that_the_user_names_is_left_where_it_is(cluster: PostgresCluster) -> None:
    home = cluster.folder.parent
    old_store(home)
    named = a_move(cluster, SLIPWAY_DATABASE_URL=f"sqlite:///{home / 'slipway.db'}")
    assert not named.is_due()
    assert carry_out(named) == []
    assert (home / "slipway.db").exists()
    assert not (home / "store.url").exists()


@pytest.mark.endurance
def test_a_new_home_gets_an_empty_store_beside_airflows_database(cluster: PostgresCluster) -> None:
    assert carry_out(a_move(cluster)) == []
    with SiteStore.open((cluster.folder.parent / "store.url").read_text()) as store:
        assert store.sites.committed() == []
    assert cluster.url(AIRFLOW) != cluster.url(STORE)
