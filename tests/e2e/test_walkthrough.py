"""The walk-through of the README, run literally, and the same walk in the pages of Airflow."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from slipway_cli.airflow_api import AirflowApi
from slipway_cli.api_session import ApiSession
from slipway_cli.embedded.runtime import Runtime, read_runtime
from slipway_cli.slipway_api import SlipwayApi
from tests.e2e.browser import logged_in, trigger
from tests.e2e.running import leftovers, wait_until
from tests.support.sites import group, node, site

ROOT = Path(__file__).parents[2]
HEADING = "## From `make up` to a deployed site"


def walk() -> tuple[str, list[str]]:
    """What the README has one type: the command that goes on running, and those typed beside it."""
    section = (ROOT / "README.md").read_text().partition(HEADING)[2].partition("\n## ")[0]
    first, second = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    commands = [line.partition(" #")[0].strip() for line in second.splitlines()]
    return first.strip(), [command for command in commands if command]


@dataclass
class Walker:
    """A person at two terminals. Only folders, port and address differ from what the README's reader has."""

    environ: dict[str, str]
    runtime: Runtime

    def types(self, command: str, answer: str = "") -> str:
        done = subprocess.run(
            shlex.split(command),
            cwd=ROOT,
            env=self.environ,
            input=answer,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walker]:
    folder = tmp_path_factory.mktemp("walkthrough")
    home = folder / "home"
    # Whoever runs the tests has a width of their own, and runs them by make.
    others = ("SLIPWAY_", "MAKE", "MFLAGS", "COLUMNS", "LINES")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    environ |= {"SLIPWAY_HOME": str(home), "SLIPWAY_PORT": "0", "XDG_CONFIG_HOME": str(folder / "config")}
    with (folder / "up.log").open("w") as log:
        up = subprocess.Popen(
            shlex.split(walk()[0]), cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True
        )
    try:

        def ready() -> bool:
            assert up.poll() is None, (folder / "up.log").read_text()
            runtime = read_runtime(home)
            return runtime is not None and runtime.state == "ready"

        wait_until(ready, "ready", 120)
        runtime = read_runtime(home)
        assert runtime is not None
        wait_until(lambda: "stop with Ctrl-C" in (folder / "up.log").read_text(), "the welcome")
        yield Walker(environ | {"SLIPWAY_URL": runtime.url}, runtime)
        os.killpg(up.pid, signal.SIGINT)
        assert up.wait(60) in (-signal.SIGINT, 0, 2, 130), (folder / "up.log").read_text()
        assert "\nstopped\n" in (folder / "up.log").read_text()
        assert leftovers(home, ()) == []
    finally:
        for pid in leftovers(home, ()):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.timeout(300)
def test_the_walk_through_of_the_readme(walker: Walker) -> None:
    said = {}
    for command in walk()[1]:
        answer = walker.runtime.password("admin") + "\n" if " login" in command else ""
        said[command] = walker.types(command, answer)
    output = "\n".join(said.values())
    assert "deploy_site of site default, revision 1: SUCCESS" in output
    assert "Complete" in said[".venv/bin/slipway get actions"]
    assert walker.runtime.password("admin") not in output


@pytest.mark.timeout(300)
def test_the_same_walk_with_airflows_trigger_form(walker: Walker, tmp_path: Path) -> None:
    password = walker.runtime.password("admin")
    design = tmp_path / "form.yaml"
    design.write_text(site([node("form-1"), node("form-2")], [group("all", percent_successful_nodes=100)]))
    walker.types(".venv/bin/slipway login --user admin", password + "\n")
    walker.types(f".venv/bin/slipway create configdocs design --site form --filename {design}")
    walker.types(".venv/bin/slipway commit configdocs --site form")
    with logged_in(walker.runtime.url, "admin", password, "/dags/deploy_site") as page:
        run_id = unquote(trigger(page, {"site": "form"}))
        session = ApiSession(walker.runtime.url, "admin", password)
        assert AirflowApi(session).wait_for_run("deploy_site", run_id, 120) == "success"
        page.get_by_text("Success").first.wait_for()
    progress = SlipwayApi(session).progress("deploy_site", run_id)
    assert progress is not None
    assert progress.report is not None
    nodes = {entry["name"]: (entry["state"], entry["as_wanted"]) for entry in progress.report["nodes"]}
    assert nodes == {"form-1": ("success", False), "form-2": ("success", False)}, "both were submitted"
    assert "deploy_site" in walker.types(".venv/bin/slipway get actions --site form")
