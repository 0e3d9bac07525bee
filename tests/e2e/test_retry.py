"""Trying again what failed, in a real Airflow: what is cleared runs again, and nothing else does."""

from __future__ import annotations

import pytest

from site_engine.actions.retry import RETRY, retry_action
from tests.e2e.conftest import StartSimulator
from tests.e2e.running import DAG, HANGS, RunningSlipway
from tests.support.sites import group, node, site

NODES = [node(name) for name in "abc"]


@pytest.mark.endurance
def test_a_retry_tries_the_failed_and_the_skipped_groups_again(
    slipway: RunningSlipway, start_simulator: StartSimulator
) -> None:
    simulator = start_simulator()
    simulator.script("a", "deploy", "flaky", times=1)
    slipway.connect("retried", simulator.url)
    groups = [
        group("one", ["a"], minimum_successful_nodes=1),
        group("behind", ["b"], after=["one"]),
        group("other", ["c"], minimum_successful_nodes=1),
    ]
    run_id, state = slipway.deploy("retried", site(NODES, groups))
    tasks = {task.name: task.state for task in slipway.tasks(run_id)}
    assert (state, tasks["one"], tasks["behind"], tasks["other"]) == ("failed", "failed", "skipped", "success")
    assert (tasks["report"], tasks["release"], tasks["verdict"]) == ("failed", "success", "upstream_failed")
    with slipway.open_store() as store:
        action = store.actions.of_run(DAG, run_id)
        assert action is not None
        plan = retry_action(store, slipway.airflow, action.id, "admin")
        assert [(each.name, each.nodes) for each in plan.groups] == [("one", ("a",)), ("behind", ("b",))]
        assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
        assert [(audit.command, audit.user) for audit in store.actions.commands(action.id)] == [(RETRY, "admin")]
        assert store.actions.get(action.id).state == "success"
    deployed = [nodes for phase, nodes in simulator.submissions() if phase == "deploy_nodes"]
    assert sorted(deployed) == [["a"], ["a"], ["b"], ["c"]]
    assert simulator.double() == {}
    assert {task.name: task.state for task in slipway.tasks(run_id)}["verdict"] == "success"
