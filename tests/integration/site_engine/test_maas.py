"""The engine drives groups on MAAS: from Slipway's own documents to deployed machines, whatever is killed between.

Failures of every kind: a group's result names the status of each machine, and why, in MAAS's words.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from design_rendering.kinds.imported_site import imported_files
from provisioner_client.http_settings import HttpSettings, RetryPolicy
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from provisioner_client.simulator.maas.simulation import MaasSimulation
from site_engine.operations.reconcile import record_late_results
from site_engine.operations.run import OperationRun
from site_store import ActionState, SiteStore
from strategy_lib.goals.node_errors import NodeError
from strategy_lib.phase import GroupState, Phase
from tests.integration.site_engine.maas_fates import ALICE, FATES, RELEASED, WAITING, Fate
from tests.support.driving import Driving, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.maas_calls import MaasCaller, over_http
from tests.support.maas_clients import Killed, Wire, client, wire
from tests.support.maas_in_process import Admin, admin_of, simulated_maas
from tests.support.simulators import MaasSimulator
from tests.support.sites import document, group
from tests.support.stores import errors_of, new_store

__all__ = ["wire"]

LOG = logging.getLogger("group")
NAMES = ["m0001", "m0002"]
DEFAULTS = {"image": "jammy", "user_data": "boot"}
SITE = yaml.safe_dump_all(
    [
        document(
            "slipway/Site/v1", "site", {"provisioner": "maas", "defaults": {"image": "jammy", "user_data": "boot"}}
        ),
        document("slipway/UserData/v1", "boot", {"content": "#cloud-config"}),
        *(document("slipway/Node/v1", name, {}) for name in NAMES),
        document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": [group("all", NAMES)]}),
    ],
    explicit_start=True,
)

Begun = Callable[..., Driving]


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[MaasSimulation]:
    with simulated_maas(tmp_path, machines=2) as made:
        yield made


@pytest.fixture
def admin(simulation: MaasSimulation) -> Admin:
    return admin_of(simulation)


@pytest.fixture
def begun(wire: Wire, admin: Admin, tmp_path: Path) -> Iterator[Begun]:
    """Begin the deployment of new machines, with a new store each time."""
    opened: list[Any] = []

    def begin(text: str = SITE) -> Driving:
        wire.heal()
        admin("POST", "reset")
        made = new_store()
        opened.append(made)
        # Only waiting moves this clock: a killed process's lease is over when it was waited for.
        clock = FakeClock()
        store = SiteStore.open(made.__enter__(), clock.now)
        opened.append(store)
        driving = begin_with(store, tmp_path, lambda _: client(), clock)(text)
        wire.seen.clear()
        return driving

    yield begin
    for one in reversed(opened):
        if isinstance(one, SiteStore):
            one.close()
        else:
            one.__exit__(None, None, None)


def done(admin: Admin) -> list[tuple[int, int]]:
    return [(node["prepares"], node["deploys"]) for node in admin("GET", "nodes")]


def test_a_group_is_prepared_and_deployed(begun: Begun, admin: Admin) -> None:
    driving = begun()
    ended = driving.finish("all")
    assert ended.state is GroupState.SUCCESS
    assert driving.states() == dict.fromkeys(NAMES, "success")
    assert done(admin) == [(1, 1), (1, 1)]


def test_what_was_imported_is_deployed_as_it_is(begun: Begun, admin: Admin, wire: Wire) -> None:
    """Also machines of which nothing is known but their names, as MAAS has them before it commissions them."""
    files = imported_files("site", client().inventory().machines, "maas")
    driving = begun("".join(files.values()))
    ended = driving.finish("default")
    assert ended.state is GroupState.SUCCESS
    assert driving.states() == dict.fromkeys(NAMES, "success")
    assert done(admin) == [(1, 1), (1, 1)]


def test_why_a_machine_failed_is_told_in_maas_words(
    begun: Begun, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    driving = begun()
    admin("POST", "scripts", {"node": "m0002", "phase": "deploy", "behaviour": "fail"})
    driving.group("all")
    assert driving.states() == {"m0001": "success", "m0002": "failure"}
    assert "m0002 failed: Failed deployment: Installation failed" in caplog.text
    assert "cloud-config" not in caplog.text


@pytest.mark.parametrize("how", ["follow", "report"])
def test_rule_24_what_had_not_its_turn_when_the_action_ended_is_not_deployed(
    begun: Begun, admin: Admin, how: str
) -> None:
    """Neither by who looks at what is unfinished, nor by who looks for late results for the report."""
    driving = begun()
    driving.connection, driving.timeout = lambda _: client(parallel=1), 0.5
    admin("POST", "scripts", {"node": "m0001", "phase": "deploy", "behaviour": "stuck"})
    driving.group("all")
    assert driving.states() == dict.fromkeys(NAMES, "unknown")
    assert done(admin) == [(1, 1), (1, 0)]
    store, action = driving.store, driving.action
    if how == "follow":
        store.actions.close(action.id, ActionState.CANCELLED, "cancelled")
    driving.connection = lambda _: client(parallel=2)
    # By then nothing that was sent can still be on its way.
    driving.clock.sleep(120.0)
    for _ in range(2):
        if how == "follow":
            driving.follow()
        else:
            operations = OperationRun(store, driving.connect(), driving.clock, 0.0, LOG)
            record_late_results(store, operations, action.id, LOG)
        assert done(admin) == [(1, 1), (1, 0)]
        admin("POST", "release")
    until = time.monotonic() + 300
    while driving.states() != {"m0001": "success", "m0002": "failure"}:
        assert time.monotonic() < until, driving.states()
        operations = OperationRun(store, driving.connect(), driving.clock, 0.0, LOG)
        record_late_results(store, operations, action.id, LOG)
    (error,) = errors_of(store, action.site, "m0002")
    assert "its turn had not come" in error.error.text
    assert done(admin) == [(1, 1), (1, 0)]


@pytest.mark.endurance
def test_rule_23_a_group_that_is_killed_at_any_request_acts_on_each_machine_once(
    begun: Begun, admin: Admin, wire: Wire
) -> None:
    driving = begun()
    driving.group("all")
    changes = len(wire.changes)
    assert changes > 4 * len(NAMES)
    for last in range(1, changes + 1):
        driving = begun()
        wire.kill_after(last)
        with pytest.raises(Killed):
            driving.group("all")
        wire.heal()
        driving.group("all")
        assert driving.states() == dict.fromkeys(NAMES, "success"), last
        assert done(admin) == [(1, 1), (1, 1)], last


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
        found = {fate.name: errors_of(store, "alpha", fate.name) for fate in FATES}
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
