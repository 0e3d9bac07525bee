"""The guard of the unit tests: a test that uses a process, a database or a socket fails, also in its fixtures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

GUARD = Path(__file__).parent.parent / "unit" / "conftest.py"
TESTS = """
import socket, sqlite3, subprocess, sys
import pytest

@pytest.fixture(scope="module")
def database():
    with sqlite3.connect(":memory:") as connection:
        yield connection

def test_pure(): pass
def test_process(): subprocess.run([sys.executable, "-c", ""], check=True)
def test_socket(): socket.create_server(("127.0.0.1", 0)).close()
def test_database(database): pass
"""


def test_a_unit_test_that_uses_what_it_may_not_is_named(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(GUARD.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_them.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert "4 passed, 3 errors" in ran.stdout, ran.stdout
    for name in ("process", "socket", "database"):
        assert f"ERROR test_them.py::test_{name} " in ran.stdout
    for said in ("starts a process", "opens a socket", "connects to a database"):
        assert f"a unit test {said}" in ran.stdout
