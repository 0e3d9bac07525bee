"""A simulated MAAS as a process of its own: its options, its site, its faults, and what kill -9 leaves of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.maas_calls import MaasCaller, over_http
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
