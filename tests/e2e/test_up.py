"""How Slipway is run: `slipway up` with real processes, what it survives, and that nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import pytest

from api_client.airflow import AirflowClient
from api_client.session import ApiRefused, ApiSession
from site_store import SiteStore
from slipway_cli.embedded.home import Runtime, read_runtime
from tests.e2e.running import AIRFLOW, COMPONENTS, DAG, HANGS, leftovers, sessions_of, wait_until
from tests.support.processes import tied


class Up:
    """A `slipway up` in a process of its own."""

    def __init__(self, home: Path, *options: str, **environ: str) -> None:
        self.home = home
        self.log = home.with_suffix(".log")
        env = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                tied(sys.executable, "-m", "slipway_cli", "up", "--home", str(home), *options),
                env=env | {"SLIPWAY_PORT": "0"} | environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output(self) -> str:
        return self.log.read_text()

    def wait_ready(self) -> Runtime:
        return self._wait(lambda runtime: runtime.state == "ready", "ready")

    def wait_begun(self) -> Runtime:
        """Wait until PostgreSQL and Airflow's components are started, and not until they answer."""
        return self._wait(lambda runtime: {*AIRFLOW, "postgres"} <= set(runtime.components), "everything is started")

    def _wait(self, condition: Callable[[Runtime], bool], what: str) -> Runtime:
        found: list[Runtime] = []

        def holds() -> bool:
            assert self.process.poll() is None, self.output()
            runtime = read_runtime(self.home)
            if runtime is not None and runtime.pid == self.process.pid and condition(runtime):
                found.append(runtime)
            return bool(found)

        wait_until(holds, what)
        return found[0]

    def end(self) -> int:
        """Wait for the end and return the exit status."""
        return self.process.wait(HANGS)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home from which every process is gone at the end of the test, whatever happens in it."""
    path = tmp_path / "home"
    yield path
    for pid in leftovers(path, ()):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.endurance
@pytest.mark.timeout(900)
def test_up_tells_how_to_log_in_and_leaves_nothing_behind(home: Path) -> None:
    up = Up(home, SLIPWAY_VIEWER_PASSWORD="only-looking")
    runtime = up.wait_ready()
    wait_until(lambda: "stop with Ctrl-C" in up.output(), "the welcome")
    assert runtime.url in up.output()
    assert f"user admin, password {runtime.password('admin')}" in up.output()
    assert "only-looking" not in up.output()
    assert "user slipway" not in up.output()
    assert sorted(runtime.components) == sorted([*COMPONENTS, "postgres"])
    for name in ("passwords.json", "secrets.json", "runtime.json"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600

    with SiteStore.open((home / "store.url").read_text()) as store:
        assert store.sites.committed() == []

    viewer = AirflowClient(ApiSession(runtime.url, "viewer", "only-looking"))
    viewer.wait_for_dag(DAG)
    with pytest.raises(ApiRefused, match="403"):
        viewer.trigger(DAG, {"site": "x"})
    with pytest.raises(ApiRefused, match="401"):
        ApiSession(runtime.url, "admin", "wrong").token()

    up.process.send_signal(signal.SIGINT)
    assert up.end() == 0, up.output()
    assert leftovers(home, sessions_of(runtime)) == []
    assert not (home / "runtime.json").exists()

    # A second start in the same home; this time nobody gets a chance to clear up, and that before anything answers.
    up = Up(home)
    runtime = up.wait_begun()
    guards = [child for child in psutil.Process(runtime.pid).children() if any("guard" in a for a in child.cmdline())]
    assert len(guards) == 1
    for process in (guards[0].pid, runtime.pid):
        os.kill(process, signal.SIGSTOP)  # so that neither sees the other die
    for process in (guards[0].pid, runtime.pid):
        os.kill(process, signal.SIGKILL)
    up.end()
    wait_until(lambda: leftovers(home, sessions_of(runtime)) == [], "all processes have ended by themselves")

    # And a third; now the supervisor gets no chance.
    up = Up(home)
    runtime = up.wait_begun()
    up.process.kill()
    up.end()
    wait_until(lambda: leftovers(home, sessions_of(runtime)) == [], "all processes gone after kill -9")


def test_a_busy_port_is_reported_by_name(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        up = Up(home, "--port", str(port))
        assert up.end() == 1
    assert f"port {port} (Airflow's API server, SLIPWAY_PORT) is in use" in up.output()
