"""How long an update and a site's states take: the plan of a site from the store, differences, order, one look at all.

Run it as `python -m tests.bench.bench_goals`. Plans from the store are measured each in a process of
its own, by the clock, as PostgreSQL does its part in another process: the fastest of three counts. All else is measured
in time of the processor. Exits 1 when a target is missed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import update as sql_update

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_engine.plans.site_plans import MOST_EXPLAINED, plan_site
from site_store import NewRevision, PlannedGroup, SiteStore
from site_store.tables import node
from strategy_lib import plan_update
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, Observation, observe, view_of
from strategy_lib.node_states.user_state import UserState
from strategy_lib.strategy import Group
from tests.bench.harness import Table, alone, megabytes, new_store

SITE = "large"
PLANS = 3
PER_PROFILE = 1000
PER_GROUP = 200
MOST_GROWTH = 1.15
MOST_MEGABYTES = 500


@dataclass(frozen=True)
class Case:
    """One row: what is measured, over how many nodes, and how many seconds are aimed at."""

    label: str
    nodes: int
    prepare: Callable[[int], Callable[[], object]]
    max_seconds: float | None = None


def _names(nodes: int) -> list[str]:
    return [f"r{i // 20:04d}-compute-{i % 20:02d}" for i in range(nodes)]


def update(changed_percent: float, chain: bool = False) -> Callable[[int], Callable[[], object]]:
    """Prepare a plan in which this share of the nodes has changed: two dependencies a node, or one long chain."""

    def prepare(nodes: int) -> Callable[[], object]:
        chance, names = random.Random(1), _names(nodes)
        wanted: dict[str, Any] = {
            name: {"version": 2, "digest": "b" if chance.random() * 100 < changed_percent else "a"} for name in names
        }
        done: dict[str, Any] = {name: {"version": 1, "digest": "a"} for name in names}
        deployed = dict.fromkeys(names, "deployed")
        before = {
            name: [names[i - 1]] if chain else [names[chance.randrange(i)], names[chance.randrange(i)]]
            for i, name in enumerate(names)
            if i
        }
        return lambda: plan_update(wanted, done, deployed, before)

    return prepare


def look(nodes: int) -> Callable[[], object]:
    """Prepare one look at nodes of which one in a hundred has gone down."""
    up, down = Observation(NodeAvailability.UP), Observation(NodeAvailability.DOWN)
    histories = [observe(NodeHistory(), up, 0.0) for _ in range(nodes)]
    user = UserState()

    def work() -> object:
        return [
            view_of(observe(history, up if i % 100 else down, 10.0), user, 10.0) for i, history in enumerate(histories)
        ]

    return work


CASES = (
    Case("plan, nothing changed", 100_000, update(0), max_seconds=5.0),
    Case("plan, 1 % changed", 100_000, update(1), max_seconds=5.0),
    Case("plan, all changed", 100_000, update(100), max_seconds=5.0),
    Case("plan, one chain of all", 100_000, update(100, chain=True), max_seconds=5.0),
    Case("plan, 1 % changed", 500_000, update(1)),
    Case("look at every node", 100_000, look),
)


def fill(url: str, nodes: int) -> None:
    """Commit a site of so many nodes, deployed as its first revision wants; each profile has 1000."""
    with SiteStore.open(url) as store:
        commit(store, nodes, 0)
        done = {"done_revision": 1, "done_version": 1, "done_digest": node.c.wanted_digest, "status": "success"}
        store._database.write(lambda tx: tx.execute(sql_update(node).values(done)))
        store._database.refresh_statistics(nodes, node)
        deployed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in _names(nodes)}
        keep_list(store, SITE, "bench", deployed)


def change(url: str, nodes: int, changed_profiles: int) -> None:
    """Commit another design in which these first profiles have a new image."""
    with SiteStore.open(url) as store:
        commit(store, nodes, changed_profiles)


def planned(url: str, changed: int) -> tuple[float, float]:
    """Plan a site of which so many nodes have changed; return the fewest seconds, and megabytes at most."""
    taken = []
    with SiteStore.open(url) as store:
        for _ in range(PLANS):
            begun = time.perf_counter()
            plan = plan_site(store, SITE)
            taken.append(time.perf_counter() - begun)
            assert len(plan.nodes) == changed, f"{len(plan.nodes)} nodes have changed"
            explained = sum(1 for each in plan.nodes.values() if each.documents)
            assert explained == min(changed, MOST_EXPLAINED), f"of {explained} nodes it is said what changed"
    return min(taken), megabytes()


def commit(store: SiteStore, nodes: int, changed_profiles: int) -> None:
    """Commit a design in which these first profiles have a new image."""
    names = _names(nodes)
    digests = {}
    parts = []
    for first in range(0, nodes, PER_PROFILE):
        number = first // PER_PROFILE
        image = "noble" if number < changed_profiles else "jammy"
        profile = f"profile-{number:04}"
        parts.append(_document("HostProfile", profile, f"{{platform: {{image: {image}}}}}"))
        for name in names[first : first + PER_PROFILE]:
            digests[name] = f"4:{image}:labels"
            parts.append(_document("BaremetalNode", name, f"{{host_profile: {profile}}}"))
    groups = [
        PlannedGroup(Group(f"group-{first // PER_GROUP:04}", critical=True), tuple(names[first : first + PER_GROUP]))
        for first in range(0, nodes, PER_GROUP)
    ]
    text = "".join(parts)
    store.revisions.commit(
        NewRevision(SITE, {"design": f"# {changed_profiles}"}, [], text, "ann", digests=digests, groups=groups),
        buffer_version=None,
    )


def _document(kind: str, name: str, data: str) -> str:
    return f"---\nschema: drydock/{kind}/v1\nmetadata:\n  name: {name}\ndata: {data}\n"


def measure_store(table: Table) -> None:
    """Measure plans from the store at 100,000 and 500,000 nodes: where nothing, and where 1 % has changed."""
    seconds = {}
    for nodes, empty, few in ((100_000, 1.0, 5.0), (500_000, None, None)):
        with new_store() as url:
            alone(fill, url, nodes)
            taken, most = alone(planned, url, 0)
            table.row(f"plan of {nodes:,} from the store, empty", taken, empty, "s")
            profiles = nodes // 100 // PER_PROFILE
            alone(change, url, nodes, profiles)
            seconds[nodes], memory = alone(planned, url, profiles * PER_PROFILE)
            table.row(f"plan of {nodes:,} from the store, 1 % changed", seconds[nodes], few, "s")
            if empty is not None:
                table.row("memory for a plan", max(most, memory), MOST_MEGABYTES, "MB")
    table.row("growth, 1 is linear", seconds[500_000] / seconds[100_000] / 5, MOST_GROWTH, "")


def main() -> int:
    """Measure and print all rows; return 1 when a target is missed."""
    table = Table("plans and looks")
    for case in CASES:
        work = case.prepare(case.nodes)
        begun = time.process_time()
        work()
        table.row(f"{case.label}, of {case.nodes:,}", time.process_time() - begun, case.max_seconds, "s")
    measure_store(table)
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
