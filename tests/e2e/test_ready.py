"""A group that asks whether its nodes are ready, in a real Airflow: it goes on after kill -9 of who asks (rule 58)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from strategy_lib.phase import Phase
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.node_agents import KEY, AgentProcess
from tests.support.sites import document, group, node, site

SITE = "readies"
NAMES = ("a", "b", "c")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    started = AgentProcess(tmp_path)
    yield started
    started.kill()


def design(port: int) -> str:
    """Return a site of three nodes, all of them on this machine: one agent speaks for them."""
    nodes = [node(name) for name in NAMES]
    for one in nodes:
        one["data"]["addressing"] = [{"network": "loop", "address": "127.0.0.1"}]
    asks = {**group("g", minimum_successful_nodes=3), "ready": {"timeout": 600}}
    states = {"health_url": f"http://{{address:loop}}:{port}/state"}
    more = [
        document("drydock/Network/v1", "loop", {"cidr": "127.0.0.0/8"}),
        document("slipway/SiteSettings/v1", "settings", {"node_states": states}),
    ]
    return site(nodes, [asks]) + "".join(f"---\n{json.dumps(one)}\n" for one in more)


def test_rule_58_nodes_become_ready_after_kill_9_of_the_triggerer(
    slipway: RunningSlipway, own: OwnSite, agent: AgentProcess
) -> None:
    key = slipway.home / f"{SITE}.key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    own.connect(poll_in_worker=3)
    agent.says("initializing loads images")
    run_id = own.start(design(agent.port))

    def asks() -> bool:
        with slipway.open_store() as store:
            found = store.actions.of_run(DAG, run_id)
            begun = [] if found is None else store.operations.of_action(found.id, "g")
        return [one.phase for one in begun] == [Phase.PREPARE, Phase.DEPLOY, Phase.READY]

    wait_until(asks, "the nodes are asked")
    slipway.wait_for_task(run_id, "deploy_group", "deferred", "g")
    slipway.kill_component("triggerer")
    agent.says("up")
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    report = slipway.report(run_id)
    assert {one["name"]: one["state"] for one in report["nodes"]} == dict.fromkeys(NAMES, "success")
    criteria = [(one["phase"], one["actual"], one["met"]) for one in report["groups"][0]["criteria"]]
    assert criteria == [("prepare", 3, True), ("deploy", 3, True), ("ready", 3, True)]
    assert len(own.simulator.submissions()) == 2
