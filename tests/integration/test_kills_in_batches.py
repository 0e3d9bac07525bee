"""Kill -9 of a group in batches at each of its steps, at simulators that run, with either store (rules 12, 23 and 59).

A process is killed at the first moment at which none was before. The next one goes on, until one comes to the verdict.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import site_store.operations.operations as operations_module
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.submission import SubmissionPolicy
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from provisioner_client.protocol import Provisioner
from site_store import GroupRecord, SiteStore
from site_store.groups.groups import Groups
from site_store.operations.operations import Operations
from strategy_lib.phase import GroupState, Reason
from tests.support.driving import Driving, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.simulators import MaasSimulator, Simulator, SimulatorProcess
from tests.support.sites import document, group, node, site
from tests.support.stores import new_store

pytestmark = pytest.mark.endurance

NAMES = [f"m000{number}" for number in range(1, 6)]
GROUP = {**group("all", NAMES, percent_successful_nodes=80), "max_in_flight": 2, "canary": 1}
BATCHES = [["m0001"], ["m0002", "m0003"], ["m0004", "m0005"]]
MOST = 2

MOMENTS: dict[str, tuple[Any, str]] = {
    "the intent is stored": (Operations, "begin"),
    "submitted and not stored": (Operations, "mark_submitted"),
    "stored": (Operations, "mark_submitted"),
    "before the result": (Operations, "record_outcome"),
    # Within the transaction: nodes are written, and nothing is committed.
    "during the result": (operations_module, "follow_operation"),
    "after the result": (Operations, "record_outcome"),
    "before the verdict": (Groups, "finish"),
    "after the verdict": (Groups, "finish"),
}
_EARLIER = ("submitted and not stored", "before the result", "before the verdict")
_EACH = ("the intent is stored", "submitted and not stored", "stored", "before the result", "during the result")


@dataclass(frozen=True)
class Provisioning:
    """A simulated provisioner, how a client is made, and a site on it."""

    simulator: SimulatorProcess
    connect: Callable[[Driving], Provisioner]
    text: str


def at_drydock(simulator: Simulator) -> Provisioning:
    policy = SubmissionPolicy(look_delay=0.05, settle=0.2)
    text = site([node(name) for name in NAMES], [GROUP])
    return Provisioning(simulator, lambda _: DrydockProvisioner(simulator.url, submission=policy), text)


def at_maas(simulator: MaasSimulator) -> Provisioning:
    of_site = {"provisioner": "maas", "defaults": {"image": "jammy"}}
    strategy = document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": [GROUP]})
    nodes = [document("slipway/Node/v1", name, {}) for name in NAMES]
    text = yaml.safe_dump_all([document("slipway/Site/v1", "site", of_site), *nodes, strategy], explicit_start=True)

    def connect(_: Driving) -> Provisioner:
        settings = TaskSettings(settle=0.2, first_look=0.05)
        url, key = f"{simulator.url}/MAAS", ApiKey.parse(simulator.key)
        return MaasProvisioner(url, key, pool="default", settings=settings)

    return Provisioning(simulator, connect, text)


@pytest.fixture(scope="module")
def maas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaasSimulator]:
    """A simulated MAAS with five machines, for all tests of this file."""
    made = MaasSimulator(tmp_path_factory.mktemp("maas"), "--machines", str(len(NAMES)), speed=500_000)
    yield made
    made.stop()


@pytest.fixture
def at(request: pytest.FixtureRequest) -> Provisioning:
    """Begin with a provisioner in which nothing has happened, Drydock or MAAS."""
    if request.param == "drydock":
        return at_drydock(request.getfixturevalue("simulator"))
    simulator: MaasSimulator = request.getfixturevalue("maas")
    simulator.post("reset")
    return at_maas(simulator)


@pytest.fixture
def url() -> Iterator[str]:
    """Return the URL of an empty store."""
    with new_store() as url:
        yield url


def die_at_a_new_moment(patch: pytest.MonkeyPatch, known: Sequence[str], tell: int) -> None:
    """Have this process killed at the first moment that is not known; it is written to a pipe."""

    def pass_by(moment: str, of: object) -> None:
        reached = f"{moment}: {getattr(of, 'op', of)}"
        if reached not in known:
            os.write(tell, reached.encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def killing(moment: str, done: Callable[..., Any]) -> Callable[..., Any]:
        def work(*arguments: Any, **more: Any) -> Any:
            # A method is given itself first; within a transaction it is that, the time, and the operation.
            of = arguments[2] if moment == "during the result" else arguments[1]
            if moment in _EARLIER:
                pass_by(moment, of)
            came = done(*arguments, **more)
            if moment not in _EARLIER:
                pass_by(moment, came if moment == "the intent is stored" else of)
            return came

        return work

    for moment, (owner, name) in MOMENTS.items():
        patch.setattr(owner, name, killing(moment, getattr(owner, name)))


def drive_and_kill(driving: Driving, url: str, known: Sequence[str]) -> str:
    """Drive the group in a process that is killed at the next moment; return it, "" where it came to the end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # Connections are this process's own.
            mine = replace(driving, store=SiteStore.open(url, driving.clock.now))
            die_at_a_new_moment(pytest.MonkeyPatch(), known, writing)
            assert isinstance(mine.group("all"), GroupRecord)
            os._exit(0)
        finally:
            os._exit(3)
    os.close(writing)
    with os.fdopen(reading) as told:
        moment = told.read()
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed if moment else os.waitstatus_to_exitcode(status) == 0
    return moment


def kill_at_every_moment(at: Provisioning, url: str, folder: Path) -> tuple[Driving, list[str]]:
    """Deploy a site with a process that is killed again and again; return where."""
    # Only waiting moves this clock: the lease of a killed process is over when it was waited for.
    clock = FakeClock()
    driving = begin_with(SiteStore.open(url, clock.now), folder, at.connect, clock)(at.text)
    driving.patience = driving.timeout = driving.queue_timeout = 360_000.0
    known: list[str] = []
    while moment := drive_and_kill(driving, url, known):
        known.append(moment)
        # What the killed process has waited for is over.
        clock.sleep(3600)
    return driving, known


def most_under_way(simulator: SimulatorProcess) -> int:
    """Return how many nodes were under way at once: from the beginning of a node's first task to its last one's end."""
    tasks = [[task for task in simulator.get("tasks") if name in task["nodes"]] for name in NAMES]
    spans: list[tuple[float, float]] = [
        (min(one["created"] for one in mine), max(one["ended"] for one in mine)) for mine in tasks if mine
    ]
    return max(sum(first <= at < last for first, last in spans) for at, _ in spans)


def require_once(at: Provisioning, driving: Driving, kills: Sequence[str], batches: Sequence[Sequence[str]]) -> None:
    """Each batch was prepared and deployed once, one after the other, whatever was killed."""
    steps = [(f"{phase}_nodes", [*nodes]) for nodes in batches for phase in ("prepare", "deploy")]
    assert at.simulator.submissions() == steps
    assert at.simulator.double() == {}
    assert most_under_way(at.simulator) == max(map(len, batches))
    assert at.simulator.get("state")["max_in_flight"] <= MOST
    operations = [one.op for one in driving.store.operations.of_action(driving.action.id)]
    assert len(operations) == len(steps)
    each = {f"{moment}: {op}" for moment in (*_EACH, "after the result") for op in operations}
    assert each <= set(kills), "it was killed everywhere"


@pytest.mark.parametrize("at", ["drydock", "maas"], indirect=True)
def test_rule_59_a_group_in_batches_is_killed_everywhere_and_acts_on_each_node_once(
    at: Provisioning, url: str, tmp_path: Path
) -> None:
    at.simulator.script("m0003", "deploy", "fail")
    driving, kills = kill_at_every_moment(at, url, tmp_path)
    require_once(at, driving, kills, BATCHES)
    record = driving.store.groups.get(driving.action.id, "all")
    assert record.state is GroupState.SUCCESS
    assert [(one.actual, one.met) for one in record.criteria] == [("5/5", True), ("4/5", True)]
    assert driving.states() == {**dict.fromkeys(NAMES, "success"), "m0003": "failure"}
    driving.store.close()


@pytest.mark.parametrize("at", ["maas"], indirect=True)
def test_rule_59_a_bad_canary_stops_its_group_whatever_is_killed(at: Provisioning, url: str, tmp_path: Path) -> None:
    at.simulator.script("m0001", "deploy", "fail", attempt=1)
    driving, kills = kill_at_every_moment(at, url, tmp_path)
    require_once(at, driving, kills, BATCHES[:1])
    record = driving.store.groups.get(driving.action.id, "all")
    assert (record.state, record.reason, record.attempt) == (GroupState.FAILURE, Reason.CANARY, 1)
    assert driving.states() == {**dict.fromkeys(NAMES, "not_started"), "m0001": "failure"}
    driving.store.close()
