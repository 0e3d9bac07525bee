"""Before anything imports Airflow: its home is a directory of this test run, never the user's own."""

from __future__ import annotations

import gc
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

from tests.support.compiled_tests import compile_tests
from tests.support.deviations import FILE, failing

ROOT = Path(__file__).parent.parent
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="slipway-tests-"))

# Two embedded Airflows serve all end-to-end tests that can share one: each worker of pytest-xdist would start its own.
# Those that start one of their own are the third worker's: beside a shared one, that would be busy and serve nobody.
# So it is with the DAGs that are run in the test's process, and with the API server of the tests below `api`.
_TOGETHER: dict[str, dict[str, tuple[str, ...]]] = {
    "tests/e2e": {
        "one": ("cleared_steps", "demo", "operating", "pages", "processes", "repair", "terminal", "update"),
        "two": (
            "after_success",
            "approvals",
            "commit_kills",
            "controller",
            "kills",
            "ready",
            "secrets",
            "side_by_side",
            "unresponsive",
        ),
        "alone": ("maas_walkthrough", "production", "up", "walkthrough", "wheel"),
    },
    "tests/integration": {"dags": ("dags", "deployed_nodes", "new_step", "notify", "server_dags")},
}
SHARED = {
    f"{folder}/test_{name}.py": group
    for folder, groups in _TOGETHER.items()
    for group, names in groups.items()
    for name in names
}

for name in [name for name in os.environ if name.startswith(("AIRFLOW", "SLIPWAY")) and name != "SLIPWAY_CHROMIUM"]:
    del os.environ[name]
os.environ |= {
    "AIRFLOW_HOME": str(AIRFLOW_HOME),
    FILE: str(AIRFLOW_HOME / "deviations"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "SLIPWAY_STORE_KEYS_FILE": str(AIRFLOW_HOME / "store.keys"),
    "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(AIRFLOW_HOME / "plugins"),
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__CORE__HOSTNAME_CALLABLE": "slipway_cli.embedded.settings.loopback",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{AIRFLOW_HOME / 'airflow.db'}",
    # As in the embedded Airflow.
    "AIRFLOW__DATABASE__SQL_ALCHEMY_MAX_OVERFLOW": "75",
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

STORE_KEY = "dGhlIGtleSBvZiBzdG9yZXMgaW4gdGVzdCBydW5zISE="
"""What the stores of tests encrypt secrets with."""
(AIRFLOW_HOME / "store.keys").touch(mode=0o600)
(AIRFLOW_HOME / "store.keys").write_text(STORE_KEY)

# A busy machine makes no test fail: hypothesis times nothing.
settings.register_profile("slipway", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("slipway")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile what all workers of pytest-xdist import, before they start: each of them would do it for itself."""
    if session.config.pluginmanager.hasplugin("dsession"):
        compile_tests(session.config, [ROOT])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Fail a test in which a simulator did, or was asked, what the real server does not do."""
    with failing():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Fail a test at whose end that happened."""
    with failing():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among what is imported and collected, then or later: all of it stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker of pytest-xdist whole files (`--dist loadfile`), and those that share an Airflow together.

    `--dist loadgroup` is for that, but with pytest 9.2 it groups nothing, and does not say so.
    """
    scheduler = LoadFileScheduling(config, log)
    file_of = scheduler._split_scope

    def group_of(node_id: str) -> str:
        file = file_of(node_id)
        return "api" if file.startswith("tests/integration/api/") else SHARED.get(file, file)

    scheduler._split_scope = group_of
    return scheduler


@pytest.fixture(scope="session", autouse=True)
def _clean_airflow_home() -> Iterator[None]:
    yield
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)
