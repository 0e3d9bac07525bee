"""Agents of simulated machines, asked through the simulator as a proxy, as a controller and a group's task ask them."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
import requests

from provisioner_client.node_agent.request import AgentSilent, Asker, SiteAsker, ask
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.settings import SLIPWAY_NODE_PROXY
from tests.integration.provisioner_client.simulator.conftest import StartSimulator
from tests.support.node_agents import KEY, key_file
from tests.support.simulators import Simulator
from tests.support.sites import document, node

UP = Reported(NodeAvailability.UP, "")
URL = "http://10.0.0.1:9650/state"


@pytest.fixture
def simulator(start_simulator: StartSimulator, tmp_path: Path) -> Simulator:
    nodes = []
    for name, address in (("n1", "10.0.0.1"), ("n2", "10.0.0.2"), ("n3", "dhcp"), ("n4", "10.0.0.2")):
        one = node(name)
        one["data"]["addressing"] = [{"network": "oam", "address": address}]
        nodes.append(one)
    nodes.append(document("drydock/Region/v1", "alpha", {}))
    design = tmp_path / "design.yaml"
    design.write_text("".join(f"---\n{json.dumps(one)}\n" for one in nodes))
    key = key_file(tmp_path / "node.key")
    return start_simulator("--site", str(design), "--node-key", str(key))


def becomes(simulator: Simulator, name: str, **state: str) -> None:
    requests.post(f"{simulator.url}/_sim/nodes/{name}", json=state, timeout=5).raise_for_status()


def asker(simulator: Simulator, key: str = KEY) -> Asker:
    return Asker(key.encode(), "me", proxy=SLIPWAY_NODE_PROXY.parse(simulator.url))


def said(
    simulator: Simulator, url: str = URL, known: str = "", wait: float = 0.0, key: str = KEY, name: str = "n1"
) -> Reported | str:
    try:
        return asyncio.run(ask(asker(simulator, key), name, url, known, wait))
    except AgentSilent as error:
        return error.detail


def test_a_machine_that_is_up_answers_at_its_own_address(simulator: Simulator, tmp_path: Path) -> None:
    assert said(simulator) == "HTTP 502: nothing answers on n1 at 10.0.0.1"
    becomes(simulator, "n1", status="Deployed")
    environ = {"SLIPWAY_NODE_KEY_FILE": str(tmp_path / "node.key"), "SLIPWAY_NODE_PROXY": simulator.url}
    assert asyncio.run(SiteAsker(environ, "me")("alpha", {"n1": URL}, 1)) == {"n1": UP}
    assert str(said(simulator, name="n2")).startswith("HTTP 421: this agent speaks for n1, not for n2")
    assert said(simulator, key="x" * 40) == "HTTP 401: the request is not signed with the key that --node-key names"
    assert said(simulator, "http://10.9.9.9/state") == "HTTP 502: no simulated machine has the address 10.9.9.9"
    assert said(simulator, "http://10.0.0.1/other") == "HTTP 404: there is /state alone"
    two = "HTTP 409: 10.0.0.2 is the address of n2 of alpha, n4 of alpha: the simulator cannot tell them apart"
    assert said(simulator, "http://10.0.0.2/state") == two
    assert said(simulator, "https://10.0.0.1/state") == "https is not asked through SLIPWAY_NODE_PROXY"


def test_it_lingers_until_the_machine_is_another_or_says_so(simulator: Simulator) -> None:
    becomes(simulator, "n1", status="Deployed")
    later = threading.Timer(0.3, becomes, (simulator, "n1"), {"agent": "initializing loads images"})
    later.start()
    assert said(simulator, known="up", wait=60) == Reported(NodeAvailability.INITIALIZING, "loads images")
    later.join()
    becomes(simulator, "n1", agent="")
    assert said(simulator, known="initializing", wait=60) == UP
    becomes(simulator, "n1", agent="silent")
    assert said(simulator, known="up", wait=60) == "HTTP 502: nothing answers on n1 at 10.0.0.1"
    becomes(simulator, "n1", agent="up", power_state="off")
    assert said(simulator, known="up", wait=60) == "HTTP 502: nothing answers on n1 at 10.0.0.1"
    wrong = requests.post(f"{simulator.url}/_sim/nodes/n1", json={"agent": "asleep"}, timeout=5)
    assert (wrong.status_code, "agent must be up, initializing" in wrong.json()["error"]) == (400, True)


def test_without_a_key_it_says_which_option_is_missing(start_simulator: StartSimulator) -> None:
    assert said(start_simulator()) == "HTTP 501: the simulator was started without --node-key"
