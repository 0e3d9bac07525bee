"""An upgrade of the store asks the Airflow of its environment, a real database here, which tasks it has not ended."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from site_store.__main__ import main
from site_store.sql.census import of_airflow
from slipway_airflow.unfinished_tasks import find
from tests.integration.api.airflow_runs import AirflowRuns
from tests.support.releases import releases
from tests.support.stores import administer

DEPLOY = "deploy_site"
# Before all other runs that this process has left in its Airflow: ten are named.
RUN = "a__by_hand"
CONN = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


@pytest.fixture
def idle_store() -> str:
    """A store of an older schema in which nobody is at work."""
    url = releases()[-1].restore()
    administer(url, "UPDATE action SET state = 'failed' WHERE state IN ('pending', 'running')")
    administer(url, "DELETE FROM lease")
    return url


@pytest.mark.endurance
@pytest.mark.usefixtures("dags")
def test_an_upgrade_is_refused_while_airflow_has_tasks_of_which_the_store_knows_nothing(
    airflow_runs: AirflowRuns, idle_store: str
) -> None:
    airflow_runs.start(DEPLOY, RUN, site="north")
    try:
        for step, state in (("plan_groups", "queued"), ("report", "awaiting_input")):
            airflow_runs.begin(RUN, step, state, tries=0)
        airflow_runs.begin(RUN, "destroy_nodes", "success")
        airflow_runs.begin(RUN, "deploy_group", "deferred", map_index=3, tries=2)
        refused = CliRunner().invoke(main, ["upgrade", "--url", idle_store])
        assert refused.exit_code == 1
        named = [line for line in refused.output.splitlines() if RUN in line]
        assert named == [
            f"- task deploy_group[3] of {DEPLOY} in Airflow, run {RUN}: deferred, try 2",
            f"- task plan_groups of {DEPLOY} in Airflow, run {RUN}: queued, try 0",
            f"- task report of {DEPLOY} in Airflow, run {RUN}: awaiting_input, try 0",
        ]
        assert "(Airflow's tasks are those in its database " in refused.output
        assert "- action " not in refused.output
        assert "nothing was upgraded, schema 0100 stays" in refused.output
    finally:
        for step in ("plan_groups", "report"):
            airflow_runs.begin(RUN, step, "success")
        airflow_runs.begin(RUN, "deploy_group", "success", map_index=3)
        airflow_runs.end(DEPLOY, RUN)


@pytest.mark.endurance
def test_where_airflow_cannot_be_asked_the_upgrade_says_why_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle_store: str
) -> None:
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE other (one integer)")
    for address, why in (
        (f"sqlite:///{tmp_path}/none.db", f"its database is a file that is not there: {tmp_path}/none.db"),
        (
            f"sqlite:///{tmp_path}/other.db",
            "its database could not be read: OperationalError: no such table",
        ),
    ):
        monkeypatch.setenv(CONN, address)
        found = of_airflow()
        assert found.at_work == []
        assert found.more[0].startswith(f"Airflow was not asked for its tasks: {why}")
    monkeypatch.setenv(CONN, "postgresql+nodriver://me:geheim@db/airflow")
    done = CliRunner().invoke(main, ["upgrade", "--url", idle_store])
    assert done.exit_code == 0, done.output
    assert "Nobody is known to be at work.\n" in done.output
    assert "(Airflow was not asked for its tasks: it could not be loaded (NoSuchModuleError)" in done.output
    assert "geheim" not in done.output
    assert not (tmp_path / "none.db").exists()


def test_an_environment_that_names_no_database_of_airflow_is_not_asked(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path)}
    assert list(find(home)) == ["not_asked"]
    assert find(home)["not_asked"].startswith("this environment does not name its database")
    assert list(tmp_path.iterdir()) == []
