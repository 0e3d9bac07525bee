"""A store that was restored from a dump, and whose restore nobody has declared: it sends nothing (rule 61).

The simulators are processes, and count what they are asked to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import yaml

from provisioner_client.http_settings import HttpSettings
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from site_engine.controller.follow import compare_site
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_engine.process import SharedClock
from site_store import ActionState, SiteStore, SubmissionsHeld
from strategy_lib.phase import GroupState, Phase
from tests.support.driving import Begin, Connection, Driving, begin_with, shown_to, simulated, verdict
from tests.support.processes import wait_until
from tests.support.simulators import MaasSimulator, Simulator
from tests.support.sites import document, group, node, site
from tests.support.stores import IS_ITS_OWN, administer, copy_store, new_store

DRYDOCK = site([node("a"), node("b")], [group("all", percent_successful_nodes=100)])


def of_machines(*names: str) -> str:
    """Return the design of a site of machines that MAAS has."""
    return yaml.safe_dump_all(
        [
            document("slipway/Site/v1", "site", {"provisioner": "maas", "defaults": {"image": "jammy"}}),
            *(document("slipway/Node/v1", name, {}) for name in names),
            document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": [group("all", names)]}),
        ],
        explicit_start=True,
    )


MAAS = of_machines("m0001", "m0002")
LOG = logging.getLogger("group")


@dataclass
class World:
    """A provisioner that runs, the store that works with it, and one that is restored from its dump.

    `acts` returns each request by which anything is changed at the provisioner.
    """

    simulator: Simulator | MaasSimulator
    design: str
    url: str
    copy_url: str
    begin: Begin
    connection: Connection

    def acts(self) -> list[dict[str, Any]]:
        """Return what it was asked to do."""
        methods = ("POST", "PUT", "DELETE")
        found = [one for method in methods for one in self.simulator.get("journal", method=method)]
        return [one for one in found if not one["path"].endswith("/validatedesign")]

    @property
    def last(self) -> str:
        """The name of its last node."""
        return str(self.simulator.get("nodes")[-1]["name"]) if isinstance(self.simulator, MaasSimulator) else "b"

    def dump(self) -> None:
        """Bring the store as it is now into the other one."""
        copy_store(self.url, self.copy_url)

    @contextmanager
    def restored(self, driving: Driving) -> Iterator[tuple[Driving, Begin]]:
        """Give the same action in the restored store, and what begins another one there."""
        with SiteStore.open(self.copy_url) as store:
            clock = SharedClock(store)
            again = begin_with(store, Path(driving.design_ref.removeprefix("file://")).parent, self.connection, clock)
            yield replace(driving, store=store, clock=clock), again


@contextmanager
def closing_of(running: MaasSimulator) -> Iterator[None]:
    """End a simulator with the context."""
    try:
        yield
    finally:
        running.stop()


def put_back(dump: str, url: str) -> None:
    """Bring a dump into the store that it is of, as a restore does: its tables are new ones."""
    copy_store(dump, url)
    administer(url, "SET session_replication_role = replica", "UPDATE store_state SET table_id = 1")


@pytest.fixture
def maas(tmp_path: Path) -> Iterator[MaasSimulator]:
    running = MaasSimulator(tmp_path, "--machines", "2")
    yield running
    running.stop()


def connected_to(maas: MaasSimulator, parallel: int = 8) -> Connection:
    settings = TaskSettings(settle=0.1, first_look=0.01, parallel=parallel)
    key = ApiKey.parse(maas.key)

    def connect(driving: Driving) -> MaasProvisioner:
        http = HttpSettings(shown=shown_to(driving.store))
        return MaasProvisioner(f"{maas.url}/MAAS", key, pool="default", settings=settings, http=http)

    return connect


@pytest.fixture(params=["drydock", "maas"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Give each provisioner in turn."""
    running = request.getfixturevalue("simulator" if request.param == "drydock" else "maas")
    design = DRYDOCK if request.param == "drydock" else MAAS
    connection = simulated(running) if isinstance(running, Simulator) else connected_to(running)
    with new_store() as url, new_store() as copy_url, SiteStore.open(url) as store:
        begin = begin_with(store, tmp_path, connection, SharedClock(store))
        yield World(running, design, url, copy_url, begin, connection)


def prepared(world: World, run: str = "run-1", **how: Any) -> Driving:
    """Begin an action, and stop once the provisioner prepares its nodes."""
    # It is not done before the first look, however late that comes.
    world.simulator.script(world.last, "prepare", "stuck", attempt=1)
    driving = world.begin(world.design, run, **how)
    driving.patience = 0.0
    waiting = driving.group("all")
    assert isinstance(waiting, StillRunning)
    assert driving.store.operations.get(waiting.op).phase is Phase.PREPARE
    world.simulator.release_stuck()
    return driving


def until_deploying(driving: Driving) -> None:
    """Go on until the provisioner deploys the nodes of the group, one of which stays at that."""
    while True:
        waiting = driving.group("all")
        assert isinstance(waiting, StillRunning)
        if driving.store.operations.get(waiting.op).phase is Phase.DEPLOY:
            return


def finish(driving: Driving) -> GroupState | None:
    driving.patience = 60.0
    return driving.finish().state


def assert_held(world: World, copy: Driving, drive: Callable[[], object]) -> None:
    """Try to go on in the restored store, as tasks do that Airflow starts again: nothing is sent."""
    acts = world.acts()
    for _ in range(2):
        with pytest.raises(SubmissionsHeld, match="slipway store restored"):
            drive()
    assert copy.follow().problem is None
    assert world.acts() == acts
    assert copy.store.actions.get(copy.action.id).state is ActionState.RUNNING


def assert_goes_on(world: World, copy: Driving, again: Begin) -> None:
    """Say that the store takes the place of the original: it sends nothing for what was done since, and then works."""
    acts = world.acts()
    copy.store.restoring.settle()
    assert copy.store.actions.get(copy.action.id).state is ActionState.CANCELLED
    second = again(world.design, "after-the-restore")
    second.timeout = 1.0
    second.finish()
    assert set(second.states().values()) == {"not_started"}
    assert world.acts() == acts
    if world.simulator.get("nodes")[1]["status"] == "Deploying":
        world.simulator.release_stuck()
        wait_until(lambda: world.simulator.get("nodes")[1]["status"] == "Deployed", "it is deployed")
    second.timeout = 60.0
    first = world.simulator.get("nodes")[0]["name"]
    assert verdict(second, Phase.DESTROY, first) == ""
    assert len(world.acts()) > len(acts)
    assert world.simulator.double() == {}


def test_rule_61_nothing_is_sent_for_nodes_that_were_deployed_after_the_dump(world: World) -> None:
    original = prepared(world)
    world.dump()
    assert finish(original) is GroupState.SUCCESS
    with world.restored(original) as (copy, again):
        assert_held(world, copy, lambda: copy.group("all"))
        assert {one.state for one in copy.store.groups.of_action(copy.action.id)} == {GroupState.RUNNING}
        assert_goes_on(world, copy, again)


def test_rule_61_nothing_is_sent_for_nodes_that_are_being_deployed(world: World) -> None:
    world.simulator.script(world.last, "deploy", "stuck", attempt=1)
    original = prepared(world)
    world.dump()
    until_deploying(original)
    with world.restored(original) as (copy, again):
        assert_held(world, copy, lambda: copy.group("all"))
        assert_goes_on(world, copy, again)


def test_rule_61_nothing_is_sent_for_nodes_under_a_redeploy(world: World) -> None:
    """The dump is of the moment before the node was destroyed; by now it is deployed anew."""
    first = prepared(world)
    assert finish(first) is GroupState.SUCCESS
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "all nodes are deployed")
    redeploy = world.begin(world.design, "run-2")
    world.dump()
    assert verdict(redeploy, Phase.DESTROY, world.last) == ""
    redeploy.finish()
    with world.restored(redeploy) as (copy, _):
        assert_held(world, copy, lambda: copy.node_step(Phase.DESTROY, [world.last]))
        assert_held(world, copy, lambda: copy.group("all"))
        acts = world.acts()
        copy.store.restoring.settle(doubt=True)
        assert copy.follow().problem is None
        assert world.acts() == acts
    assert world.simulator.double() == {}


def test_rule_61_a_clone_has_references_of_its_own_and_leaves_those_of_the_original_alone(world: World) -> None:
    original = prepared(world)
    world.dump()
    with world.restored(original) as (copy, again):
        copy.store.restoring.settle(clone=True)
        assert copy.store.home.incarnation() != original.store.home.incarnation()
        assert copy.store.operations.unfinished("alpha") == []
        assert finish(original) is GroupState.SUCCESS
        acts = world.acts()
        second = again(world.design, "run-2")
        second.finish()
        assert world.acts() == acts
        assert verdict(second, Phase.DESTROY, world.last) == ""
        (destroyed,) = (one for one in copy.store.operations.of_action(second.action.id) if one.sending is not None)
        assert destroyed.reference.startswith(f"slipway-{copy.store.home.incarnation()}-{second.action.id}-")
    assert world.simulator.double() == {}


def test_rule_61_what_maas_is_told_piece_by_piece_is_not_gone_on_with(maas: MaasSimulator, tmp_path: Path) -> None:
    """A look at a task deploys the next machine as soon as there is a place for it; of a copy it does not."""
    connection = connected_to(maas, parallel=1)
    with new_store() as url, new_store() as copy_url, SiteStore.open(url) as store:
        maas.script("m0001", "deploy", "stuck", attempt=1)
        world = World(
            maas, MAAS, url, copy_url, begin_with(store, tmp_path, connection, SharedClock(store)), connection
        )
        original = prepared(world)
        until_deploying(original)
        world.dump()
        maas.release_stuck()
        wait_until(lambda: maas.get("nodes")[0]["status"] == "Deployed", "the first machine is deployed")
        acts = world.acts()
        with world.restored(original) as (copy, _):
            (operation,) = (one for one in copy.store.operations.unfinished("alpha") if one.phase is Phase.DEPLOY)
            with closing(copy.connect()) as client:
                run = OperationRun(copy.store, client, copy.clock, 0.0, LOG)
                watch = run.watch(operation, PhaseTimes(0.01, 0.0, 0.0))
                assert [watch.look() for _ in range(3)] == [None] * 3, "a held task does not run out of time"
            assert world.acts() == acts
        assert finish(original) is GroupState.SUCCESS
        assert len(world.acts()) > len(acts)


def test_rule_61_three_actions_and_their_old_tasks_send_nothing_once_the_store_was_put_back_under_them(
    tmp_path: Path,
) -> None:
    """One was prepared since the dump, one is being deployed, one under a redeploy; their tasks have the store open."""
    maas = MaasSimulator(tmp_path, "--machines", "6")
    with closing_of(maas), new_store() as url, new_store() as dump, SiteStore.open(url) as store:
        connection = connected_to(maas)
        begin = begin_with(store, tmp_path, connection, SharedClock(store))
        designs = {
            "alpha": of_machines("m0001", "m0002"),
            "beta": of_machines("m0003", "m0004"),
            "gamma": of_machines("m0005", "m0006"),
        }
        world = World(maas, MAAS, url, dump, begin, connection)
        first = begin(designs["gamma"], "gamma-1", "gamma")
        assert finish(first) is GroupState.SUCCESS
        store.actions.close(first.action.id, ActionState.SUCCESS, "all nodes are deployed")
        maas.script("m0002", "prepare", "stuck", attempt=1)
        for name in ("m0004", "m0006"):
            maas.script(name, "deploy", "stuck", attempt=1 if name == "m0004" else 2)
        driven = {name: begin(design, f"{name}-2", name) for name, design in designs.items()}
        for driving in driven.values():
            driving.patience = 0.0
        for name in ("alpha", "beta"):
            assert isinstance(driven[name].group("all"), StillRunning)
        world.dump()
        until_deploying(driven["beta"])
        assert verdict(driven["gamma"], Phase.DESTROY, "m0006") == ""
        until_deploying(driven["gamma"])
        with ThreadPoolExecutor(len(driven)) as pool:
            for driving in driven.values():
                driving.patience = 60.0
            tasks = {name: pool.submit(driving.group, "all") for name, driving in driven.items()}
            sleep(0.5)
            assert not any(task.done() for task in tasks.values()), "each waits for its provisioner"
            put_back(dump, url)
            acts = world.acts()
            maas.release_stuck()
            problems = {name: task.exception(60) for name, task in tasks.items()}
        assert isinstance(problems["alpha"], SubmissionsHeld), "it would have deployed what is prepared by now"
        for driving in driven.values():
            with pytest.raises(SubmissionsHeld, match="slipway store restored"):
                driving.group("all")
            assert driving.follow().problem is None
        with pytest.raises(SubmissionsHeld):
            driven["gamma"].node_step(Phase.DESTROY, ["m0006"])
        assert world.acts() == acts
        assert maas.double() == {}


def test_rule_61_a_copy_of_a_disk_is_found_by_what_the_provisioner_shows(world: World) -> None:
    """It lives where it says, and knows less than the provisioner: the first look of a new controller tells."""
    original = prepared(world)
    world.dump()
    assert finish(original) is GroupState.SUCCESS
    assert compare_site(original.store, "alpha", original.connect) is None
    assert original.store.home.held() is None
    with world.restored(original) as (copy, _):
        administer(world.copy_url, "SET session_replication_role = replica", IS_ITS_OWN)
        assert copy.store.home.held() is None
        assert compare_site(copy.store, "alpha", copy.connect) is None
        assert "put back" in str(copy.store.home.held())
        assert_held(world, copy, lambda: copy.group("all"))
        newest = max(one.op for one in original.store.operations.of_action(original.action.id))
        assert copy.store.restoring.settle().op >= newest
        assert compare_site(copy.store, "alpha", copy.connect) is None
        assert copy.store.home.held() is None


def test_rule_61_references_of_another_incarnation_hold_nothing(world: World) -> None:
    original = prepared(world)
    world.dump()
    assert finish(original) is GroupState.SUCCESS
    with world.restored(original) as (copy, again):
        copy.store.restoring.settle(clone=True)
        assert compare_site(copy.store, "alpha", copy.connect) is None
        assert copy.store.home.held() is None
        assert verdict(again(world.design, "run-2"), Phase.DESTROY, world.last) == ""
    # The clone's numbers are greater by far than any that the original has given.
    assert compare_site(original.store, "alpha", original.connect) is None
    assert original.store.home.held() is None
