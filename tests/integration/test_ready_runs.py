"""A whole run of the real DAG whose group waits until its nodes are ready, at real node agents (rule 58)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from site_store import SiteStore
from strategy_lib.phase import Phase
from tests.support.dag_runs import Runs
from tests.support.node_agents import KEY, ON_LOOPBACK, AgentProcess
from tests.support.sites import document, group, node, site


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentProcess]:
    key = tmp_path / "node.key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    for name, value in {"SLIPWAY_NODE_KEY_FILE": str(key), **ON_LOOPBACK}.items():
        monkeypatch.setenv(name, value)
    started = AgentProcess(tmp_path)
    yield started
    started.kill()


def design(port: int, timeout: int, **criteria: int) -> str:
    nodes = []
    for name, address in (("a", "127.0.0.1"), ("b", "127.0.0.9")):
        one = node(name)
        one["data"]["addressing"] = [{"network": "loop", "address": address}]
        nodes.append(one)
    asks: dict[str, Any] = {**group("g", (), critical=True, after=(), **criteria), "ready": {"timeout": timeout}}
    more = [
        document("drydock/Network/v1", "loop", {"cidr": "127.0.0.0/8"}),
        document(
            "slipway/SiteSettings/v1",
            "settings",
            {"node_states": {"health_url": f"http://{{address:loop}}:{port}/state"}},
        ),
    ]
    return site(nodes, [asks]) + "".join(f"---\n{json.dumps(one)}\n" for one in more)


@pytest.mark.endurance
def test_rule_58_a_run_waits_in_the_triggerer_until_nodes_are_ready_or_late(
    runs: Runs, agent: AgentProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "drydock", "host": runs.simulator.url, "extra": {"poll_in_worker": 5}}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    agent.says("initializing loads images")
    runs.commit(design(agent.port, 45, minimum_successful_nodes=1))
    later = threading.Timer(35, agent.says, ["up"])
    later.start()
    state, tasks = runs.run()
    later.join()
    assert (state, tasks["deploy_group"]) == ("success", "success")
    report = runs.last_report()
    assert [(one["name"], one["state"]) for one in report["nodes"]] == [("a", "success"), ("b", "failure")]
    (late,) = (one["message"] for one in report["nodes"] if one["name"] == "b")
    assert late.startswith("deployed, but not ready within 45 s: Connect call failed")
    criteria = [(one["phase"], one["actual"], one["met"]) for one in report["groups"][0]["criteria"]]
    assert criteria == [("prepare", 2, True), ("deploy", 2, True), ("ready", 1, True)]
    with SiteStore.open() as store:
        operations = store.operations.of_action(runs.last_action().id, "g")
    assert [one.phase for one in operations] == [Phase.PREPARE, Phase.DEPLOY, Phase.READY]
    assert len(runs.simulator.submissions()) == 2


@pytest.mark.endurance
def test_without_the_key_of_the_site_nothing_is_submitted(
    runs: Runs, agent: AgentProcess, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLIPWAY_NODE_KEY_FILE")
    runs.commit(design(agent.port, 45, minimum_successful_nodes=1))
    assert runs.run()[0] == "failed"
    assert "SLIPWAY_NODE_KEY_FILE: set it to a file with the key of site alpha" in "".join(capfd.readouterr())
    assert runs.simulator.submissions() == []
