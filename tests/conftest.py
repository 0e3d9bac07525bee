"""Before anything imports Airflow: its home is a directory of this test run, never the user's own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="slipway-tests-"))

for name in [name for name in os.environ if name.startswith(("AIRFLOW", "SLIPWAY"))]:
    del os.environ[name]
os.environ |= {
    "AIRFLOW_HOME": str(AIRFLOW_HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(AIRFLOW_HOME / "plugins"),
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__CORE__HOSTNAME_CALLABLE": "slipway_cli.embedded.hostname.loopback",
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


@pytest.fixture(scope="session", autouse=True)
def _clean_airflow_home() -> Iterator[None]:
    yield
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)
