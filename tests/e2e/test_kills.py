"""Kill -9 of whatever works on a group: the run goes on, nothing is submitted twice, and the report is the same."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from site_store import SiteStore, StoreUnavailable
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.reports import comparable
from tests.support.sites import group, node, site

NODES = [node("a"), node("b"), node("c")]
DESIGN = site(
    NODES,
    [
        group("one", ["a", "b"], percent_successful_nodes=50),
        group("two", ["b", "c"], after=["one"], critical=False, maximum_failed_nodes=0),
    ],
)
REPORT = {
    "verdict": "success",
    "verdict_text": "every critical group succeeded; non-critical group two failed",
    "groups": [
        {
            "name": "one",
            "state": "success",
            "reason": None,
            "attempt": 1,
            "criteria": ["prepare 2/2", "deploy 1/2"],
        },
        {
            "name": "two",
            "state": "failure",
            "reason": "prepare_criteria",
            "attempt": 1,
            "criteria": ["prepare 1"],
        },
    ],
    "nodes": {
        "a": ("success", None),
        "b": ("failure", "Node b failed deployment"),
        "c": ("prepared", None),
    },
    "failed_steps": [],
}


def start(own: OwnSite, phase: str, **connection: Any) -> str:
    """Start a run whose first group hangs in this phase until it is released."""
    own.simulator.script("b", "deploy", "fail")
    own.simulator.script("a", phase, "stuck")
    own.connect(**connection)
    return own.start(DESIGN)


def wait_for_phase(own: OwnSite, phase: str) -> None:
    """Wait until the provisioner works on this phase of the first group."""
    wait_until(
        lambda: any(
            task["action"] == f"{phase}_nodes" and task["status"] == "running" for task in own.simulator.get("tasks")
        ),
        f"the provisioner works on {phase}",
    )


def finish(own: OwnSite, run_id: str) -> None:
    """Let the provisioner go on, and check how the run ends."""
    own.simulator.release_stuck()
    assert own.slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    assert comparable(own.slipway.report(run_id)) == REPORT
    assert own.simulator.get("double-submissions")["repeated"] == []


@pytest.mark.parametrize("with_worker", [False, True], ids=["alone", "with its worker"])
def test_rule_12_kill_9_of_the_task_process(slipway: RunningSlipway, own: OwnSite, with_worker: bool) -> None:
    run_id = start(own, "deploy")
    wait_for_phase(own, "deploy")
    task = slipway.wait_for_task(run_id, "deploy_group", "running", "one")
    slipway.kill_task(task, with_worker=with_worker)
    finish(own, run_id)


def test_rule_12_kill_9_of_the_triggerer(slipway: RunningSlipway, own: OwnSite) -> None:
    run_id = start(own, "prepare", poll_in_worker=3)
    wait_for_phase(own, "prepare")
    slipway.wait_for_task(run_id, "deploy_group", "deferred", "one")
    slipway.kill_component("triggerer")
    finish(own, run_id)


def test_rule_12_kill_9_of_the_scheduler_and_of_the_api_server(slipway: RunningSlipway, own: OwnSite) -> None:
    own.simulator.script("a", "deploy", "stuck")
    run_id = start(own, "prepare")
    wait_for_phase(own, "prepare")
    slipway.kill_component("api-server")
    slipway.wait_healthy()
    own.simulator.release_stuck()
    wait_for_phase(own, "deploy")
    slipway.kill_component("scheduler")
    slipway.wait_healthy()
    finish(own, run_id)


def test_rule_12_kill_9_of_postgresql(slipway: RunningSlipway, own: OwnSite) -> None:
    """Airflow's components may end with it; they are started again, and nothing that was committed is lost.

    What is sent behind it waits until the controller has compared the provisioner with the store (rule 61).
    """
    run_id = start(own, "prepare")
    wait_for_phase(own, "prepare")
    with slipway.open_store() as store:
        began, started = time.monotonic(), _server_start(store)
        slipway.kill_component("postgres")
        wait_until(partial(_is_free_again, store, own.name, started), "the provisioner was compared with the store")
        print(f"the site was held until {time.monotonic() - began:.1f} s after the kill -9", flush=True)
    slipway.wait_healthy()
    finish(own, run_id)
    print(f"the action was over {time.monotonic() - began:.1f} s after it", flush=True)


def _server_start(store: SiteStore) -> object:
    return store._database.read_once(lambda tx: tx.scalar(text("SELECT slipway_server_start()")))


def _is_free_again(store: SiteStore, site_name: str, started: object) -> bool:
    try:
        return _server_start(store) != started and store.home.held(site_name) is None
    except StoreUnavailable:
        return False
