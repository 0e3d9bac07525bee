"""Failures of every kind on MAAS: a group's result names the status of each machine, and why, in MAAS's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
import yaml

from provisioner_client.http_settings import HttpSettings, RetryPolicy
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from site_store import SiteStore
from strategy_lib.goals.node_errors import NodeError
from strategy_lib.phase import Phase
from tests.integration.site_engine.maas_fates import ALICE, FATES, RELEASED, WAITING, Fate
from tests.support.driving import Driving, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.maas_calls import MaasCaller, over_http
from tests.support.simulators import MaasSimulator
from tests.support.sites import document, group
from tests.support.stores import new_store

pytestmark = pytest.mark.endurance


@pytest.fixture(scope="module")
def maas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaasSimulator]:
    """Start a MAAS with these machines; a second of its clock takes two microseconds."""
    folder = tmp_path_factory.mktemp("maas")
    site = folder / "site.yaml"
    site.write_text(_design())
    keys = ("--api-key", DEFAULT_KEY, "--api-key", f"alice={ALICE}")
    started = MaasSimulator(folder, "--site", str(site), *keys, speed=500_000)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def errors(maas: MaasSimulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, NodeError]]:
    """Deploy the machines, release some of them again, and return what was stored of each."""
    _arrange(maas)
    clock = FakeClock()
    _meddle(maas, clock)
    with new_store() as url, SiteStore.open(url, clock.now) as store:
        driving = begin_with(store, tmp_path_factory.mktemp("design"), lambda _: _client(maas), clock)(_design())
        driving.timeout, driving.queue_timeout = 20.0, 2.0
        driving.group("all")
        driving.group("waiting")
        _release(maas, driving)
        found = {fate.name: store.node_errors.of_node("alpha", fate.name) for fate in FATES}
        yield {name: records[0].error for name, records in found.items() if records}


@pytest.mark.parametrize("fate", FATES, ids=lambda fate: fate.name)
def test_what_is_said_of_a_machine(errors: Mapping[str, NodeError], fate: Fate) -> None:
    if fate.said is None:
        assert fate.name not in errors
        return
    error = errors[fate.name]
    assert (error.text, error.code) == (fate.expected, fate.code)


def test_nothing_raw_is_said(errors: Mapping[str, NodeError], maas: MaasSimulator) -> None:
    ids = "|".join(machine["system_id"] for machine in maas.get("nodes"))
    for name, error in errors.items():
        assert re.search(rf"{ids}|op-|/api/|[{{}}\[\]]|slipway-", error.text) is None, name


def _design() -> str:
    groups = [
        group("all", [fate.name for fate in FATES if fate not in WAITING], critical=False),
        group("waiting", [fate.name for fate in WAITING], critical=False),
    ]
    documents = [
        document("slipway/Site/v1", "site", {"provisioner": "maas"}),
        *(document("slipway/Node/v1", fate.name, dict(fate.node)) for fate in FATES),
        document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": groups}),
    ]
    return yaml.safe_dump_all(documents, explicit_start=True)


def _client(maas: MaasSimulator) -> MaasProvisioner:
    """Return a client without patience, which deploys them all at once."""
    return MaasProvisioner(
        f"{maas.url}/MAAS",
        ApiKey.parse(maas.key),
        pool="default",
        settings=TaskSettings(parallel=100, settle=0.002, first_look=0.001),
        http=HttpSettings(
            retry=RetryPolicy(attempts=4, first_wait=0.001, longest_wait=0.002, longest_retry_after=0.01)
        ),
    )


def _arrange(maas: MaasSimulator) -> None:
    """Bring each machine to where its fate begins."""
    person = MaasCaller(over_http(maas.url))
    ids = {machine["name"]: machine["system_id"] for machine in maas.get("nodes")}
    for fate in FATES:
        if fate.script is not None:
            phase, behaviour, more = fate.script
            maas.script(fate.name, phase, behaviour, **more)
        for operation, form, status in fate.asked:
            if operation == "allocate":
                person.post("machines/", operation, system_id=ids[fate.name])
            else:
                person.act(fate.name, operation, **form)
            person.wait(fate.name, status)
        if fate.changed:
            maas.post(f"nodes/{fate.name}", dict(fate.changed))
        if fate.fault is not None:
            operation, status_code, more = fate.fault
            given = {"kind": "status", "status": status_code, **more}
            maas.fault("POST", f"machines/{ids[fate.name]}/op-{operation}", **given)


def _meddle(maas: MaasSimulator, clock: FakeClock) -> None:
    """Have others do what they do meanwhile, as soon as all of these machines are being deployed."""
    meddled = {fate.name: fate.meanwhile for fate in FATES if fate.meanwhile is not None}
    statuses = {machine["name"]: machine["status"] for machine in maas.get("nodes")}
    if any(statuses[name] != "Deploying" for name in meddled):
        clock.after(0.05, lambda: _meddle(maas, clock))
        return
    alice = MaasCaller(over_http(maas.url), ALICE)
    for name, (operation, form) in meddled.items():
        if operation:
            alice.act(name, operation, **form)
        else:
            maas.post(f"nodes/{name}", dict(form))
    maas.post("release")


def _release(maas: MaasSimulator, driving: Driving) -> None:
    names = [fate.name for fate in RELEASED]
    assert {name: driving.states()[name] for name in names} == dict.fromkeys(names, "success")
    MaasCaller(over_http(maas.url)).act("is-locked", "lock")
    driving.node_step(Phase.DESTROY, names)
