"""Before anything imports Airflow: its home is a directory of this test run, never the user's own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parent.parent
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="slipway-tests-"))

# Two embedded Airflows serve all end-to-end tests that can share one: each worker of pytest-xdist would start its own.
# So it is with the DAGs that are run in the test's process, and with the API server of the tests below `api`.
SHARED = {
    "test_dags.py": "dags",
    "test_deployed_nodes.py": "dags",
    "test_server_dags.py": "dags",
    "test_blueprint.py": "one",
    "test_demo.py": "one",
    "test_operating.py": "one",
    "test_pages.py": "one",
    "test_up.py": "one",
    "test_walkthrough.py": "one",
    "test_commit_kills.py": "two",
    "test_kills.py": "two",
    "test_secrets.py": "two",
}

for name in [name for name in os.environ if name.startswith(("AIRFLOW", "SLIPWAY")) and name != "SLIPWAY_CHROMIUM"]:
    del os.environ[name]
os.environ |= {
    "AIRFLOW_HOME": str(AIRFLOW_HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(AIRFLOW_HOME / "plugins"),
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__CORE__HOSTNAME_CALLABLE": "slipway_cli.embedded.settings.loopback",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{AIRFLOW_HOME / 'airflow.db'}",
    "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(
        [
            {
                "name": "slipway",
                "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
                "kwargs": {"path": str(ROOT / "dags")},
            }
        ]
    ),
}

# A busy machine makes no test fail: hypothesis times nothing.
settings.register_profile("slipway", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("slipway")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker of pytest-xdist whole files (`--dist loadfile`), and those that share an Airflow together.

    `--dist loadgroup` is for that, but with pytest 9.2 it groups nothing, and does not say so.
    """
    scheduler = LoadFileScheduling(config, log)
    file_of = scheduler._split_scope

    def group_of(node_id: str) -> str:
        folder, _, name = file_of(node_id).rpartition("/")
        return "api" if folder.endswith("integration/api") else SHARED.get(name, f"{folder}/{name}")

    scheduler._split_scope = group_of
    return scheduler


@pytest.fixture(scope="session", autouse=True)
def _clean_airflow_home() -> Iterator[None]:
    yield
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)
