"""What an operator does with an action on the command line, against a real server: plan, approve, retry, report."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
import requests

from site_store import StepState
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.e2e.walking import SLIPWAY, Walker, beside
from tests.support.sites import group, node, site

GROUPS = [
    group("one", ["a"], minimum_successful_nodes=1) | {"approval": "before", "approval_text": "<b>Cabled?</b>"},
    group("behind", ["b"], after=["one"]),
]


@pytest.fixture
def walker(slipway: RunningSlipway, own: OwnSite, tmp_path: Path) -> Walker:
    """Log in as admin, and commit a site with a group that asks."""
    walker = beside(slipway.runtime, slipway.home, tmp_path, own.name)
    (tmp_path / "site.yaml").write_text(site([node("a"), node("b")], GROUPS))
    slipway.airflow.wait_for_dag(DAG)
    walker.types(f"{SLIPWAY} create configdocs design --filename site.yaml")
    walker.types(f"{SLIPWAY} commit configdocs")
    return walker


def refused(walker: Walker, command: str) -> str:
    """Run a command that ends with 1, and return what it says."""
    done = subprocess.run(
        [walker.slipway, *shlex.split(command)],
        env=walker.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def test_an_operator_plans_approves_retries_and_reports(slipway: RunningSlipway, own: OwnSite, walker: Walker) -> None:
    own.simulator.script("a", "deploy", "flaky", times=1)
    assert "Group one asks for approval before it begins" in walker.types(f"{SLIPWAY} plan deploy_site")
    action = walker.types(f"{SLIPWAY} create action deploy_site --yes").partition(":")[0]
    action_id = action.removeprefix("action/")
    run_id = f"{own.name}__{action_id}"
    slipway.wait_for_task(run_id, "deploy_group", "awaiting_input", "one")

    assert f"slipway approve {action} --group one" in walker.types(f"{SLIPWAY} describe {action} --tree")
    assert "did you mean 'one'?" in refused(walker, f"approve {action} --group on --yes")
    assert "nobody answered: nothing was done" in refused(walker, f"approve {action}")
    walker.types(f"{SLIPWAY} pause {action}")
    walker.types(f"{SLIPWAY} approve {action} --comment seen --yes")
    with slipway.open_store() as store:

        def held() -> bool:
            (step,) = [one for one in store.steps.of_action(action_id) if one.group == "one"]
            return step.state is StepState.RESCHEDULED

        wait_until(held, "the group that was approved is held back by the pause (rule 26)")
        assert own.simulator.submissions() == []
    walker.types(f"{SLIPWAY} unpause {action}")
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "failed"
    tree = walker.types(f"{SLIPWAY} describe {action} --tree")
    assert "approved by admin: seen" in tree
    assert "blocked by one: deploy: minimum_successful_nodes needed 1, actual 0" in tree
    wait_until(lambda: "failed: critical group" in note_of(slipway, run_id), "the verdict is the run's note")

    assert "group behind (it did not run because of one): 1 node: b" in refused(walker, f"retry {action}")
    walker.types(f"{SLIPWAY} retry {action} --group one --yes")
    slipway.wait_for_task(run_id, "deploy_group", "awaiting_input", "one")
    walker.types(f"{SLIPWAY} approve {action} --yes")
    report = walker.types(f"{SLIPWAY} describe {action} --follow")
    assert report.rstrip().endswith("SUCCESS: every group succeeded")
    assert "every group succeeded" in walker.types(f"{SLIPWAY} report {action} -o html")
    wait_until(lambda: "success: every group succeeded" in note_of(slipway, run_id), "the note follows the verdict")
    assert "Had to be fixed" in walker.types(f"{SLIPWAY} describe node/a")


def note_of(slipway: RunningSlipway, run_id: str) -> str:
    """Return the note of a run of `deploy_site` in Airflow."""
    answer = slipway.airflow.session.request("reading a note", "GET", f"/api/v2/dags/{DAG}/dagRuns/{run_id}")
    return str(answer.json()["note"])


def test_a_reporter_is_made_speaks_and_is_revoked(slipway: RunningSlipway, own: OwnSite, walker: Walker) -> None:
    token = walker.types(f"{SLIPWAY} create reporter burn-in").strip()
    body = {"leaves": [{"parent": "one", "name": "memory", "status": "error", "message": "48 of 64 GiB"}]}

    def speak() -> int:
        url = f"{slipway.url}/slipway/api/v1.0/sites/{own.name}/reported"
        return requests.put(url, json=body, headers={"Authorization": f"Bearer {token}"}, timeout=60).status_code

    assert speak() == 200
    assert "memory: 48 of 64 GiB" in walker.types(f"{SLIPWAY} describe site --depth 2")
    listed = walker.types(f"{SLIPWAY} get reporters")
    row = next(line for line in listed.splitlines() if "reporter:burn-in" in line)
    assert "has no reporter 'nobody'" in refused(walker, "delete reporter nobody --yes")
    walker.types(f"{SLIPWAY} delete reporter {row.split()[0]} --yes")
    assert speak() == 401
