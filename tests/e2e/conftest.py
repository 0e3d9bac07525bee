"""Real Airflow processes and real simulators on free ports, in temporary homes; one Airflow for each test process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.e2e.running import OwnSite, RunningSlipway
from tests.support.node_agents import ON_LOOPBACK
from tests.support.simulators import Simulator

HERE = Path(__file__).parent
DAGS = HERE.parent.parent / "dags"
SOFTWARE_DAG = "software_of_tests"
_NUMBERS = count(1)
_SOFTWARE = f"""
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG


def install(dag_run, **_):
    assert set(dag_run.conf) == {{"site", "revision", "action"}}, dag_run.conf
    if dag_run.conf["site"].endswith("-fails") and "again" not in dag_run.run_id:
        raise ValueError("the software cannot be installed")


with DAG("{SOFTWARE_DAG}", schedule=None, is_paused_upon_creation=False):
    PythonOperator(task_id="install", python_callable=install)
"""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of this folder. Those that start a whole Airflow, a minute and a half of work, are endurance."""
    item.add_marker(pytest.mark.e2e)
    starts = isinstance(item, pytest.Function) and "slipway" in item.fixturenames
    if starts and item.get_closest_marker("soak") is None:
        item.add_marker(pytest.mark.endurance)
        if item.get_closest_marker("timeout") is None:
            # Its own limits, which tell what did not come, are shorter than this.
            item.add_marker(pytest.mark.timeout(900))


def settings_for(home: Path, dags: Path | None = None) -> EmbeddedSettings:
    """Settings for a home of its own: a free port, and nothing from the caller's SLIPWAY_* variables."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
    if dags is not None:
        environ["SLIPWAY_DAGS_FOLDER"] = str(dags)
    # Noticed sooner than usual: the tests wait for it.
    environ["SLIPWAY_AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT"] = "10"
    return EmbeddedSettings.from_environment(home, 0, environ)


@pytest.fixture(scope="package")
def slipway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSlipway]:
    """Slipway on its embedded Airflow, shared by all tests: give each test a site name of its own.

    It ends with the last of them, and not with the test process: an Airflow is busy even when nothing runs. It has one
    DAG beside Slipway's, which a site may name to come after a deployment.
    """
    folder = tmp_path_factory.mktemp("dags") / "dags"
    shutil.copytree(DAGS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / f"{SOFTWARE_DAG}.py").write_text(_SOFTWARE)
    home = tmp_path_factory.mktemp("slipway")
    with pytest.MonkeyPatch.context() as patch:
        # A test whose site asks its nodes puts the site's key there.
        patch.setenv("SLIPWAY_NODE_KEY_FILE", str(home / "{site}.key"))
        for name, value in ON_LOOPBACK.items():
            patch.setenv(name, value)
        background = BackgroundAirflow(settings_for(home, folder)).start()
    try:
        yield RunningSlipway.of(background)
    finally:
        background.stop()


@pytest.fixture
def own(slipway: RunningSlipway, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OwnSite]:
    """A site of the test's own, with a simulator; at the end, no node must have been submitted twice at once.

    A module may give its name as `SITE`; the simulator's speed can be a parameter.
    """
    simulator = Simulator(tmp_path, speed=getattr(request, "param", 2000))
    made = OwnSite(slipway, simulator, getattr(request.module, "SITE", f"site-{next(_NUMBERS)}"))
    made.connect()
    yield made
    doubles = simulator.double()
    simulator.stop()
    assert doubles == {}
