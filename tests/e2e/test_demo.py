"""`slipway demo`, as a person runs it, on an Airflow that is already up and on one of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import DAG, HANGS, RunningSlipway, leftovers
from tests.support.processes import tied
from tests.support.sites import group, node, site

SITES = Path(__file__).parents[3] / "shared" / "sites"
FAST = ("--speed", "3000")
DEMO = [sys.executable, "-m", "slipway_cli", "demo"]


def environment(home: Path) -> dict[str, str]:
    """The home is told by its variable, so that every process of the demo can be recognised by it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
    return env | {"SLIPWAY_HOME": str(home), "SLIPWAY_PORT": "0"}


def demo(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEMO, *options],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def run_id(done: subprocess.CompletedProcess[str]) -> str:
    found = re.search(r"/dags/deploy_site/runs/([^/?\s]+)", done.stdout + done.stderr)
    assert found is not None, done.stdout + done.stderr
    return found.group(1)


def test_the_example_site_succeeds_with_a_forgiven_failure(slipway: RunningSlipway) -> None:
    done = demo(slipway.home, *FAST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "using the Airflow that is running" in done.stdout
    assert "deploy_group / compute-nodes-1: error, the group succeeded" in done.stdout
    assert slipway.airflow.run_state(DAG, run_id(done)) == "success"
    assert slipway.background.is_running(), "an Airflow that was reused stays up"
    assert slipway.airflow.connection("slipway_provisioner_example") is None, "its simulated Drydock is gone"
    assert "starting Airflow" not in done.stdout
    assert "password in" in done.stdout
    assert "\nSUCCESS: every group succeeded\n" in done.stdout, "the report ends with the verdict"


def test_rule_19_a_critical_failure_exits_1_and_shows_the_run_failed(slipway: RunningSlipway) -> None:
    done = demo(slipway.home, *FAST, "--fail", "deploy:r3-control-0[12]", "--port", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "deploy_group / control-nodes: error: " in done.stdout
    assert "deploy_group / compute-nodes-1: error: blocked by control-nodes: " in done.stdout
    assert "FAILURE: critical group control-nodes failed" in done.stdout
    assert "Airflow's run has ended: failed" in done.stdout
    assert f"--port 1 is not used: that Airflow listens on {slipway.runtime.port}" in done.stdout
    assert slipway.airflow.run_state(DAG, run_id(done)) == "failed"


@pytest.mark.skipif(not SITES.is_dir(), reason="the real sites are not beside the repository")
@pytest.mark.parametrize("name", ["full/airship-seaworthy-v18.11.01", "full/airsloop-v1.9"])
def test_a_real_site(slipway: RunningSlipway, name: str) -> None:
    done = demo(slipway.home, *FAST, "--site", str(SITES / f"{name}.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert slipway.airflow.run_state(DAG, run_id(done)) == "success"


def test_rule_20_the_report_as_data_is_all_of_standard_output(slipway: RunningSlipway, tmp_path: Path) -> None:
    design = tmp_path / "data.yaml"
    design.write_text(site([node("n1"), node("n2")], [group("all", minimum_successful_nodes=1)], region="data"))
    done = demo(slipway.home, *FAST, "--site", str(design), "--fail", "deploy:*2", "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report == slipway.report(run_id(done))
    assert (report["verdict"], report["groups"][0]["counts"]["failed"]) == ("success", 1)
    assert "deploy_group / all / deploy: error: 1 error, 1 success" in done.stderr, done.stderr


def test_rule_24_what_a_killed_demo_has_left_is_cancelled_and_waited_for(
    slipway: RunningSlipway, tmp_path: Path
) -> None:
    design = tmp_path / "left.yaml"
    design.write_text(site([node("n1"), node("n2")], [group("all", minimum_successful_nodes=2)], region="left"))
    options = [*FAST, "--site", str(design)]
    with subprocess.Popen(
        tied(*DEMO, *options, "--fail", "prepare:*:stuck"),
        env=environment(slipway.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert any("/ prepare: processing" in line for line in process.stdout), "it ended by itself"
        finally:
            process.kill()
    done = demo(slipway.home, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stopping the action of an interrupted demo" in done.stdout
    assert "waiting until it has ended and the site is free" in done.stdout
    assert "deploy_group / all / deploy: success: 2 success" in done.stdout


@pytest.mark.endurance
@pytest.mark.timeout(900)
def test_a_demo_with_its_own_airflow_leaves_nothing_behind_after_ctrl_c(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (
        (tmp_path / "errors").open("w+") as errors,
        subprocess.Popen(
            tied(*DEMO, *FAST, "--fail", "prepare:*:stuck"),  # no group can come to its end
            # In the background of a shell the tests ignore Ctrl-C, and so does all that they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            if not any("/ prepare: processing" in line for line in process.stdout):
                errors.seek(0)
                pytest.fail(f"it ended by itself: {errors.read()}")
            assert len(leftovers(home, ())) > 6, "the demo, its simulator, the supervisor with its guard, Airflow"
            process.send_signal(signal.SIGINT)
            assert process.wait(HANGS) == 130
            assert leftovers(home, ()) == []
        finally:
            process.kill()
        errors.seek(0)
        assert errors.read() == "interrupted; all that the demo had started is stopped\n"
