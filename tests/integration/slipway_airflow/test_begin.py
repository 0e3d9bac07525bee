"""An API server that begins: what it notes of itself is loaded whole before anybody asks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_BEGINS = """
import asyncio, sys
from slipway_airflow.plugin import LazyLogin

async def airflow(scope, receive, send):
    loaded = "slipway_airflow.process_environment" in sys.modules
    from slipway_api.app import create_app  # as the first request does, while the note is made
    print(loaded, create_app.__name__)

asyncio.run(LazyLogin(airflow)({"type": "lifespan"}, None, None))
"""


def test_what_notes_an_api_server_is_loaded_before_its_first_request(tmp_path: Path) -> None:
    """Two threads that load the same packages leave them half loaded, and each request would be answered by 500."""
    environment = os.environ | {"SLIPWAY_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    told = [sys.executable, "-c", _BEGINS]
    done = subprocess.run(told, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["True create_app"]), done.stderr
