"""Faults of all kinds within long actions of three sites: nothing is done twice, and all ends as without faults.

`make chaos` has a hundred. The same seed chooses the same faults.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from api_client.session import ApiError
from api_client.slipway import Action, SlipwayClient
from tests.support.cluster import EDGE, Cluster, ClusterSimulator, lacking, running_cluster
from tests.support.faults import Faults
from tests.support.hosts import may_have_namespaces
from tests.support.reports import comparable
from tests.support.sites import group, node, site

pytestmark = [
    pytest.mark.timeout(0),
    pytest.mark.skipif(bool(lacking()), reason=f"packages of Debian are not installed: {' '.join(lacking())}"),
]
CALM: Final = "calm"
SITES: Final = 3
SPEED: Final = 30.0
"""Of the machines: they are prepared in 12 s, and deployed in 20 s."""
PATIENCE: Final = 1800.0
"""Seconds for an action, on a machine that does other work."""
GROUPS: Final = {"control": ["a1", "a2", "a3"], "compute": ["b1", "b2", "b3", "b4"], "storage": ["c1", "c2", "c3"]}
ADDED: Final = "b5"
REDEPLOYED: Final = ["a1", "c2"]
FAILING: Final = "c2"
_NODES: Final = """
    SELECT name, wanted_revision, wanted_version, done_revision, done_version, failures, status, error, error_version,
        standing, serves, rack, doubt, depends_on::text
    FROM node WHERE site = %s ORDER BY name"""
_TASKS: Final = """
    SELECT node, phase, owner_group, status, error, wanted_version, held, done_revision
    FROM task WHERE action_id = %s ORDER BY node, phase"""
T = TypeVar("T")


def design(*, updated: bool) -> str:
    """Return the site's design; the second one changes some nodes, and has one more."""
    groups = {name: [*nodes, ADDED] if updated and ADDED[0] == nodes[0][0] else nodes for name, nodes in GROUPS.items()}
    changed = {"a1", "b1", "b2"} if updated else set()
    nodes = [node(name, rack="r2" if name in changed else "r1") for names in groups.values() for name in names]
    return site(
        nodes,
        [
            group("control", groups["control"]),
            group("compute", groups["compute"], after=["control"]),
            group("storage", groups["storage"], after=["compute"], critical=False, maximum_failed_nodes=0),
        ],
    )


def persist(do: Callable[[], T]) -> T:
    """Ask until there is an answer: while servers are away there is none."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return do()
        except ApiError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


class Site:
    """One site with machines of its own, on which the same actions are carried out each time."""

    def __init__(self, cluster: Cluster, name: str, speed: float) -> None:
        self.name, self._cluster = name, cluster
        self.simulator = ClusterSimulator(cluster.folder / name, cluster.hosts[EDGE], speed)
        self._slipway = SlipwayClient(cluster.session())
        self.actions: list[Action] = []

    def work(self, *, updated: bool) -> None:
        """Deploy, update if told to, and redeploy two nodes, of which one fails."""
        persist(lambda: self._cluster.connect(self.name, self.simulator, poll_interval=1, read_timeout=20))
        persist(lambda: self._slipway.commit(self.name, design(updated=False)))
        self._act("deploy_site")
        if updated:
            persist(lambda: self._slipway.commit(self.name, design(updated=True)))
            self._act("update_site", allow_redeploy=True, many_redeploys=True)
        self.simulator.script(FAILING, "deploy", "fail")
        self._act("redeploy_server", target_nodes=REDEPLOYED)

    def _act(self, kind: str, **parameters: Any) -> None:
        marker = str(uuid.uuid4())

        def begun() -> Action:
            # The answer to the first request may have been lost.
            found = [one for one in self._slipway.actions(self.name) if one.marker == marker]
            return found[0] if found else self._slipway.create_action(self.name, kind, parameters, marker=marker)

        action, end = persist(begun), time.monotonic() + PATIENCE
        while not (action := persist(lambda: self._slipway.action(action.id))).is_over:
            assert time.monotonic() < end, f"{self.name}: {kind} does not end"
            time.sleep(1)
        self.actions.append(action)

    def outcome(self) -> dict[str, Any]:
        """Return what must be the same whatever went wrong: reports, and rows of tasks and nodes."""
        with self._cluster.administer("slipway") as store:
            nodes = store.execute(_NODES, [self.name]).fetchall()
            tasks = {one.kind: store.execute(_TASKS, [one.id]).fetchall() for one in self.actions}
        reports = {one.kind: comparable(self._slipway.report(one.id) or {}) for one in self.actions}
        machines = {one["name"]: (one["status"], one["deploys"]) for one in self.simulator.get("nodes")}
        states = {one.kind: (one.state, one.verdict) for one in self.actions}
        return {"states": states, "reports": reports, "tasks": tasks, "nodes": nodes, "machines": machines}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path / "cluster", apart=may_have_namespaces()) as found:
        yield found


def in_chaos(cluster: Cluster, number: int, seed: int, *, updated: bool) -> None:
    """Have so many faults while sites work, and compare each site with one that had none."""
    began = time.monotonic()
    faults, done, twice = Faults(cluster, seed), 0, 0

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {what}", flush=True)

    with ExitStack() as stack:
        at_once = stack.enter_context(ThreadPoolExecutor(SITES))

        def make(name: str, speed: float) -> Site:
            made = Site(cluster, name, speed)
            stack.callback(made.simulator.stop)
            return made

        calm = make(CALM, 10 * SPEED)
        calm.work(updated=updated)
        expected = calm.outcome()
        say(f"undisturbed: {expected['states']}")
        rounds = 0
        while done < number:
            rounds += 1
            sites = [make(f"storm-{rounds}-{one}", SPEED) for one in range(1, SITES + 1)]
            works = [at_once.submit(one.work, updated=updated) for one in sites]
            while done < number and not all(work.done() for work in works):
                chosen = faults.next()
                with ExitStack() as inflicted:
                    for fault in chosen:
                        inflicted.enter_context(fault.inflicted())
                    time.sleep(max(fault.seconds for fault in chosen))
                done += len(chosen)
                say(f"{done:3} " + ", and ".join(f"{fault.name} ({fault.seconds:.0f} s)" for fault in chosen))
                time.sleep(faults.pause())
            for work in works:
                work.result()
            for one in sites:
                double = one.simulator.double()
                twice += sum(map(len, double.values()))
                assert double == {}, one.name
                assert one.outcome() == expected, one.name
                one.simulator.stop()
            actions = sum(len(one.actions) for one in sites)
            say(f"round {rounds}: {actions} actions ended as undisturbed, {twice} nodes twice")
    print(f"{done} faults by seed {seed}, {rounds} rounds, started again: {cluster.init.ended_by_itself()}")


@pytest.mark.soak
def test_100_faults_within_actions_of_three_sites(cluster: Cluster) -> None:
    number, seed = (int(os.environ.get(f"CHAOS_{name}", usual)) for name, usual in (("FAULTS", "100"), ("SEED", "1")))
    in_chaos(cluster, number, seed, updated=True)
