"""A group that asks whether its nodes are ready, in a real Airflow: it goes on after kill -9 of who asks (rule 58)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from strategy_lib.phase import Phase
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.node_agents import AgentProcess, asking_site, key_file

SITE = "readies"
NAMES = ("a", "b", "c")


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[list[AgentProcess]]:
    started: list[AgentProcess] = []
    for number, name in enumerate(NAMES, 1):
        work = tmp_path / name
        work.mkdir()
        port = started[0].port if started else 0
        started.append(AgentProcess(work, node=name, host=f"127.0.0.{number}", port=port))
    yield started
    for agent in started:
        agent.kill()


def test_rule_58_nodes_become_ready_after_kill_9_of_the_triggerer(
    slipway: RunningSlipway, own: OwnSite, agents: list[AgentProcess]
) -> None:
    key_file(slipway.home / f"{SITE}.key")
    own.connect(poll_in_worker=3)
    for agent in agents:
        agent.says("initializing loads images")
    run_id = own.start(asking_site(NAMES, agents[0].port, 600))

    def asks() -> bool:
        with slipway.open_store() as store:
            found = store.actions.of_run(DAG, run_id)
            begun = [] if found is None else store.operations.of_action(found.id, "g")
        return [one.phase for one in begun] == [Phase.PREPARE, Phase.DEPLOY, Phase.READY]

    wait_until(asks, "the nodes are asked")
    slipway.wait_for_task(run_id, "deploy_group", "deferred", "g")
    slipway.kill_component("triggerer")
    for agent in agents:
        agent.says("up")
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    report = slipway.report(run_id)
    assert {one["name"]: one["state"] for one in report["nodes"]} == dict.fromkeys(NAMES, "success")
    criteria = [(one["phase"], one["actual"], one["met"]) for one in report["groups"][0]["criteria"]]
    assert criteria == [("prepare", 3, True), ("deploy", 3, True), ("ready", 3, True)]
    assert len(own.simulator.submissions()) == 2
