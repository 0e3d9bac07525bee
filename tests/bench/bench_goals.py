"""How long an update and a site's states take: the plan of a site from the store, differences, order, one look at all.

Run it as `python tests/bench/bench_goals.py`. Times are of the processor; the store is SQLite, as PostgreSQL would do
its part in another process. Exits 1 when a target is missed.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import update as sql_update

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_engine.site_plans import plan_site
from site_store import PlannedGroup, SiteStore
from site_store.tables import node
from strategy_lib import plan_update
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.history import NodeHistory, Observation, observe
from strategy_lib.node_states.user_state import UserState
from strategy_lib.node_states.view import view_of
from strategy_lib.outcome import NodeCondition
from strategy_lib.strategy import Group

SITE = "large"
PER_PROFILE = 1000
PER_GROUP = 200
MOST_GROWTH = 1.3
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


@contextmanager
def committed(nodes: int) -> Iterator[SiteStore]:
    """Give a store with a site of so many nodes, deployed as its first revision wants; each profile has 1000."""
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{Path(directory) / 'slipway.db'}"
        SiteStore.upgrade(url)
        with SiteStore.open(url) as store:
            commit(store, nodes, 0)
            done = {"done_revision": 1, "done_version": 1, "done_digest": node.c.wanted_digest, "status": "success"}
            store._database.write(lambda tx: tx.execute(sql_update(node).values(done)))
            names = _names(nodes)
            deployed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in names}
            keep_list(store, SITE, "bench", deployed)
            yield store


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
            digests[name] = f"3:{image}:labels"
            parts.append(_document("BaremetalNode", name, f"{{host_profile: {profile}}}"))
    groups = [
        PlannedGroup(Group(f"group-{first // PER_GROUP:04}", critical=True), tuple(names[first : first + PER_GROUP]))
        for first in range(0, nodes, PER_GROUP)
    ]
    text = "".join(parts)
    store.revisions.commit(
        SITE, {"design": f"# {changed_profiles}"}, [], text, "ann", digests=digests, groups=groups, buffer_version=None
    )


def _document(kind: str, name: str, data: str) -> str:
    return f"---\nschema: drydock/{kind}/v1\nmetadata:\n  name: {name}\ndata: {data}\n"


def from_the_store(nodes: int, target: tuple[float, float]) -> tuple[float, bool]:
    """Measure and print the plan of a site where nothing, and where 1 % has changed.

    Returns the seconds of the second, and whether a target was missed.
    """
    missed, seconds = False, 0.0
    with committed(nodes) as store:
        for label, changed, limit in (("empty", 0, target[0]), ("1 % changed", nodes // 100 // PER_PROFILE, target[1])):
            if changed:
                commit(store, nodes, changed)
            begun = time.process_time()
            plan = plan_site(store, SITE)
            seconds = time.process_time() - begun
            assert len(plan.nodes) == changed * PER_PROFILE, f"{len(plan.nodes)} nodes have changed"
            assert all(planned.documents for planned in plan.nodes.values())
            late = seconds > limit
            missed |= late
            shown = f"{limit:9.2f}" if limit < float("inf") else " " * 9
            label = f"store: {label}"
            print(f"{label:24} {nodes:9,} {seconds:9.2f} {shown}{'  missed' if late else ''}", flush=True)
    return seconds, missed


def measure_store() -> bool:
    """Measure plans from the store at 100,000 and 500,000 nodes; return whether a target was missed."""
    small, missed = from_the_store(100_000, (1.0, 5.0))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{'store: memory at most':24} {100_000:9,} {used:6} MB {MOST_MEGABYTES:6} MB", flush=True)
    large, _ = from_the_store(500_000, (float("inf"), float("inf")))
    growth = large / small / 5
    print(f"{'store: growth':24} {500_000:9,} {growth:9.2f} {MOST_GROWTH:9.2f}")
    return missed or growth > MOST_GROWTH or used > MOST_MEGABYTES


def main() -> int:
    """Measure and print all rows; return 1 when a target is missed."""
    missed = 0
    print(f"{'':24} {'nodes':>9} {'seconds':>9} {'target':>9}")
    for case in CASES:
        work = case.prepare(case.nodes)
        begun = time.process_time()
        work()
        seconds = time.process_time() - begun
        late = case.max_seconds is not None and seconds > case.max_seconds
        missed += late
        target = f"{case.max_seconds:9.2f}" if case.max_seconds is not None else " " * 9
        print(f"{case.label:24} {case.nodes:9,} {seconds:9.2f} {target}{'  missed' if late else ''}")
    missed += measure_store()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
