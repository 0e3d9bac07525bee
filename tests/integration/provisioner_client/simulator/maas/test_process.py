"""A simulated MAAS as a process of its own: its options, its site, its faults, and what kill -9 leaves of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from provisioner_client.simulator.errors import SimulatorError
from provisioner_client.simulator.maas.machines.site_machines import SiteMachine, read_site
from tests.support import deviations
from tests.support.maas_calls import MaasCaller, over_http
from tests.support.maas_reference import IS_HERE
from tests.support.simulators import MaasSimulator
from tests.support.sites import node, site

LABELLED = node("n1", rack="r1", tags=["ctl"])
LABELLED["data"]["metadata"]["owner_data"] = {"role": "ctl"}
SITE = site([LABELLED, node("n2", rack="r2")], [])


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaasSimulator]:
    """One process for all tests of this file; a test may kill it if it starts it again."""
    folder = tmp_path_factory.mktemp("maas")
    (folder / "site.yaml").write_text(SITE)
    options = ("--site", str(folder / "site.yaml"), "--pool", "site-1", "--machines", "2")
    process = MaasSimulator(folder, *options, speed=20_000)
    yield process
    process.stop()


@pytest.fixture
def maas(simulator: MaasSimulator) -> MaasCaller:
    """A client of it as new."""
    simulator.post("reset")
    return MaasCaller(over_http(simulator.url))


def _deploy(maas: MaasCaller, name: str) -> None:
    maas.act(name, "commission")
    maas.wait(name, "Ready")
    maas.act(name, "deploy")
    maas.wait(name, "Deployed")


def test_the_machines_of_the_site_and_plain_ones(maas: MaasCaller) -> None:
    assert maas.machines() == ["n1", "n2", "m0001", "m0002"]
    assert maas.machines(pool="site-1") == maas.machines(zone=["r1", "r2"]) == ["n1", "n2"]
    assert maas.machines(tags="ctl") == maas.machines(tags="role__ctl") == ["n1"]


def test_a_machine_is_deployed_over_http(maas: MaasCaller, simulator: MaasSimulator) -> None:
    simulator.script("n1", "deploy", "flaky")
    maas.act("n1", "commission")
    maas.wait("n1", "Ready")
    maas.act("n1", "deploy")
    maas.wait("n1", "Failed deployment")
    maas.act("n1", "release")
    maas.wait("n1", "Ready")
    maas.act("n1", "deploy")
    maas.wait("n1", "Deployed")
    assert simulator.double() == {}
    (machine,) = [one for one in simulator.get("nodes") if one["name"] == "n1"]
    assert (machine["prepares"], machine["deploys"], machine["destroys"]) == (1, 2, 1)


@pytest.mark.skipif(not IS_HERE, reason="what is known of a real MAAS is not here")
def test_it_is_held_and_the_test_that_asks_what_no_maas_has_fails(maas: MaasCaller) -> None:
    said = r"GET /MAAS/api/2.0/machines/\?hostname= -> 200: an empty value"
    with pytest.raises(pytest.fail.Exception, match=said), deviations.failing():
        maas.get("machines/", hostname="")
    with pytest.raises(KeyError) as raised, deviations.failing():
        raise KeyError(maas.get("zones/", colour="red").status)
    assert "no parameter colour of ZonesHandler_read" in raised.value.__notes__[0], "also if it fails anyway"
    with deviations.failing():
        maas.get("zones/")


def test_a_site_in_slipways_own_documents(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(
        "{schema: slipway/NodeSet/v1, metadata: {name: compute}, data: {tags: [compute], labels: {role: a.b}}}\n---\n"
        "{schema: slipway/Node/v1, metadata: {name: n1},"
        " data: {sets: [compute], rack: r1, address: 10.9.8.7/24}}\n"
    )
    assert read_site(file) == [SiteMachine("n1", "r1", ("compute", "role__a-b"), "10.9.8.7")]
    file.write_text("{schema: slipway/Node/v1, metadata: {name: n1}, data: {colour: red}}\n")
    with pytest.raises(SimulatorError, match="colour"):
        read_site(file)


def test_a_deployed_machine_has_its_address(maas: MaasCaller) -> None:
    def addresses() -> list[str]:
        links = maas.machine("n1")["boot_interface"]["links"]
        return [one["ip_address"] for one in links if "ip_address" in one]

    assert addresses() == []
    _deploy(maas, "n1")
    assert addresses() == ["10.0.0.2"]


def test_what_the_requests_would_cost_a_real_maas(maas: MaasCaller, simulator: MaasSimulator) -> None:
    ids = {name: maas.machine(name)["system_id"] for name in ("n1", "n2")}
    maas.get("machines/", hostname="nobody")
    maas.get("machines/")
    maas.get(f"machines/{ids['n1']}/")
    maas.post(f"machines/{ids['n1']}/", "commission")
    maas.post(f"machines/{ids['n1']}/", "deploy")
    cost = simulator.get("cost")
    counted = {kind: (one["requests"], one["machines"]) for kind, one in cost["kinds"].items() if one["requests"]}
    assert counted == {"list": (4, 6), "machine": (1, 0), "commission": (1, 0), "deploy": (1, 0)}
    assert cost["requests"] == 7
    assert cost["cpu_ms"] == 4 * 25 + 6 * 55 + 93 + 400 + 1100


@pytest.mark.parametrize(
    ("fault", "took_effect", "seen"),
    [
        ({"kind": "reset_before"}, False, None),
        ({"kind": "reset_after"}, True, None),
        ({"kind": "truncated"}, True, None),
        ({"kind": "timeout", "seconds": 0.01}, True, None),
        ({"kind": "html", "status": 504, "after": True}, True, "<html>"),
        ({"kind": "status", "status": 409, "retry_after": 5}, False, "Injected fault"),
        ({"kind": "status", "status": 503, "retry_after": 10}, False, "Injected fault"),
        ({"kind": "unauthorized"}, False, "Invalid API key"),
    ],
    ids=lambda value: str(value["kind"]) if isinstance(value, dict) else "",
)
def test_faults(
    maas: MaasCaller, simulator: MaasSimulator, fault: dict[str, Any], took_effect: bool, seen: str | None
) -> None:
    system_id = maas.machine("m0001")["system_id"]
    simulator.fault("POST", "machines/*", **fault)
    if seen is None:
        with pytest.raises(requests.RequestException):
            maas.post(f"machines/{system_id}/", "commission")
    else:
        answer = maas.post(f"machines/{system_id}/", "commission")
        assert seen in answer.text
        assert answer.headers.get("retry-after") == (str(fault["retry_after"]) if "retry_after" in fault else None)
    assert bool(maas.events("m0001")) is took_effect


def test_a_request_may_take_effect_after_the_proxy_has_given_up(maas: MaasCaller, simulator: MaasSimulator) -> None:
    system_id = maas.machine("m0001")["system_id"]
    simulator.fault("POST", "machines/*", "html", status=504, effect_after=0.2)
    assert maas.post(f"machines/{system_id}/", "commission").status == 504
    assert maas.events("m0001") == []
    maas.wait("m0001", "Ready")


def test_the_journal_names_the_task_that_a_request_is_for(maas: MaasCaller, simulator: MaasSimulator) -> None:
    maas.post("tags/", name="slipway-a-1")
    system_id = maas.machine("m0001")["system_id"]
    maas.post("tags/slipway-a-1/", "update_nodes", add=[system_id])
    maas.post("machines/", "allocate", system_id=system_id, agent_name="slipway-a-1")
    told = simulator.get("journal", reference="slipway-a-1")
    assert [(one["method"], one["status"]) for one in told] == [("POST", 200), ("POST", 200), ("POST", 409)]


@pytest.mark.endurance
def test_kill_9_loses_nothing_that_was_answered_and_machines_go_on(maas: MaasCaller, simulator: MaasSimulator) -> None:
    simulator.script("n2", "prepare", "stuck")
    maas.post("tags/", name="slipway-a-1", comment="kept")
    maas.post("tags/slipway-a-1/", "update_nodes", add=[maas.machine("n1")["system_id"]])
    maas.act("n1", "commission")
    maas.act("n2", "commission")
    maas.call("DELETE", f"machines/{maas.machine('m0002')['system_id']}/")
    seen = [one["id"] for one in maas.events()]
    simulator.kill()
    simulator.start()
    maas = MaasCaller(over_http(simulator.url))
    assert maas.get("tags/slipway-a-1/").data["comment"] == "kept"
    assert maas.machine("n1")["tag_names"] == ["ctl", "role__ctl", "slipway-a-1"]
    assert maas.machines() == ["n1", "n2", "m0001"], "what was deleted does not come back"
    maas.wait("n1", "Ready")
    assert [one["id"] for one in maas.events()][: len(seen)] == seen
    assert maas.machine("n2")["status_name"] == "Commissioning"
    assert simulator.get("state")["under_way"] == 1
    simulator.release_stuck()
    maas.wait("n2", "Ready")
    assert simulator.double() == {}
