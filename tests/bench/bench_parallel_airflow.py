"""What a real Airflow adds to 100 groups of 20 nodes with 8 of them side by side, in seconds for a group of the path.

Run it as `python -m tests.bench.bench_parallel_airflow [--groups COUNT]`: an embedded Airflow deploys them on a
simulated MAAS. How long the machines of each group take, the simulator says. The engine's own path is what comes of
these times alone: a group begins when those that it depends on have ended and a place is free, and nothing takes time
between two groups. The path are the groups that lie one after the other in that: each begins as the one before it ends,
and the last one is the end of all. What Airflow adds for each group of the path is the makespan without the engine's
own, divided by their number. Exits 1 when it is more than 6 seconds.

A real machine takes half an hour for what takes one of these a minute and a half. The less time it takes, the more
often Airflow starts tasks, and the busier it is: how busy the processors were is printed with the result.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from design_rendering.kinds.provisioner_kinds import MAAS
from site_store import SiteStore
from site_store.sql.address import URL_FILE
from tests.bench.bench_parallel import GROUPS, NODES, PLACES, shape
from tests.bench.harness import DAG, LONGEST, RunningAirflow, Table, embedded_airflow, options
from tests.support.simulators import MaasProcess
from tests.support.sites import document, group

SITE = "beside"
MOST = 6.0
"""Seconds that Airflow may add for each group of the path."""
SPEED = 10.0
"""Times as fast as real machines, so that both phases of each group last long enough."""
SPREAD = 0.3
DEPLOY_SHARE = 0.6
"""A deployment lasts for this share of its usual time: as long as the other phase."""
POLL = 1.0


@dataclass(frozen=True, slots=True)
class Stint:
    """When a group began and ended, and for how many of these seconds its machines were at work.

    `parts` are the other seconds, by what passed in them.
    """

    began: float
    ended: float
    machines: float
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def added(self) -> float:
        """Seconds in which its machines had nothing to do."""
        return self.ended - self.began - self.machines


def design(nodes: int, after: Mapping[str, Sequence[str]]) -> str:
    """Return the documents of a site on MAAS whose groups have so many nodes each."""
    times = {"prepare_node": 7200, "deploy": 7200, "verify": 600, "prepare_site": 600}
    settings: dict[str, object] = {f"{name}_timeout": seconds for name, seconds in times.items()}
    settings |= {f"{name}_interval": 1 for name in times} | {"deployment_strategy": "deployment-strategy"}
    strategy = [group(name, members(name, nodes), after=after[name], percent_successful_nodes=100) for name in after]
    documents = [
        document(
            "slipway/Site/v1",
            SITE,
            {"provisioner": "maas", "defaults": {"image": "ubuntu/noble"}},
        ),
        *(document("slipway/Node/v1", one, {"rack": name}) for name in after for one in members(name, nodes)),
        document(
            "shipyard/DeploymentStrategy/v1",
            "deployment-strategy",
            {"groups": strategy},
        ),
        document(
            "shipyard/DeploymentConfiguration/v1",
            "deployment-configuration",
            {"physical_provisioner": settings},
        ),
        document("slipway/SiteSettings/v1", "site-settings", {"max_parallel_groups": PLACES}),
    ]
    return yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True)


def members(name: str, nodes: int) -> list[str]:
    """Return the names of a group's nodes."""
    return [f"{name}-{number:02}" for number in range(nodes)]


def own_path(
    work: Mapping[str, float], after: Mapping[str, Sequence[str]], places: int = PLACES
) -> tuple[float, list[str]]:
    """Return how long groups take in which nothing but their machines takes time, and the path that makes it so.

    Parameters
    ----------
    work : seconds of each group, in the order in which they take places (rule 8).
    """
    left, began, ended = dict(work), dict[str, float](), dict[str, float]()
    now, before = 0.0, dict[str, str | None]()
    newest: str | None = None
    while left or any(end > now for end in ended.values()):
        for name in list(left):
            free = places - sum(end > now for end in ended.values())
            if free > 0 and all(other in ended and ended[other] <= now for other in after[name]):
                began[name], ended[name], before[name] = (
                    now,
                    now + left.pop(name),
                    newest,
                )
        following = [name for name, end in ended.items() if end > now]
        if following:
            newest = min(following, key=lambda name: ended[name])
            now = ended[newest]
    last: str | None = max(ended, key=lambda name: ended[name])
    path = list[str]()
    while last is not None:
        path.insert(0, last)
        last = before[last]
    return now, path


def measure(
    running: RunningAirflow, store: SiteStore, simulator: MaasProcess, text: str, factors: Mapping[str, float]
) -> dict[str, Stint]:
    """Deploy the site, and return the stints of its groups in the order of the strategy."""
    for name, factor in factors.items():
        simulator.script(f"{name}-*", "prepare", "slow", factor=factor)
        simulator.script(f"{name}-*", "deploy", "slow", factor=factor * DEPLOY_SHARE)
    # So many that no machine waits for another: what is measured are the groups.
    extra = {"poll_interval": POLL, "parallel_deploys": NODES * PLACES}
    running.connect(SITE, simulator.url, MAAS, extra=extra)
    run_id = running.run(SITE, running.slipway.commit(SITE, text).number, longest=4 * LONGEST)
    acts = {task["reference"]: (task["created"], task["ended"]) for task in simulator.get("tasks")}
    action = store.actions.of_run(DAG, run_id)
    assert action is not None
    found = {}
    for one in store.groups.of_action(action.id):
        assert one.started is not None
        assert one.ended is not None
        at, ended = one.started.timestamp(), one.ended.timestamp()
        began, machines, parts = at, 0.0, dict[str, float]()
        for op in store.operations.of_action(action.id, one.name):
            assert op.ended is not None
            first, last = acts[op.reference]
            machines += last - first
            parts[f"before {op.phase.value}"] = first - at
            at = op.ended.timestamp()
            parts[f"until the end of {op.phase.value} was noticed"] = at - last
        found[one.name] = Stint(began, ended, machines, {**parts, "verdict": ended - at})
    return found


def judge(stints: Mapping[str, Stint], after: Mapping[str, Sequence[str]], busy: float) -> bool:
    """Print what was found; return whether Airflow adds no more than it may."""
    work = {name: stint.machines for name, stint in stints.items()}
    own, path = own_path(work, after)
    began, ended = (
        min(one.began for one in stints.values()),
        max(one.ended for one in stints.values()),
    )
    makespan = ended - began
    more = (makespan - own) / len(path)
    ends = sorted(one.ended for one in stints.values())
    # Of those that took the place of another one.
    gaps = [one.began - max(end for end in ends if end <= one.began) for one in stints.values() if one.began >= ends[0]]
    table = Table(f"{len(stints)} groups of {NODES} nodes, {PLACES} at once, through Airflow")
    table.row("one after the other", sum(work.values()), unit="s")
    table.row("all places busy", sum(work.values()) / PLACES, unit="s")
    table.row(f"the engine's own path, {len(path)} groups one after the other", own, unit="s")
    table.row("makespan", makespan, unit="s")
    table.row("more for each group of the path", more, MOST, "s")
    table.row("from the end of a group to the begin of the next", statistics.mean(gaps or [0.0]), unit="s")
    table.row("in a group, its machines", statistics.mean(work.values()), unit="s")
    table.row("in a group, beside them", statistics.mean(one.added for one in stints.values()), unit="s")
    for part in next(iter(stints.values())).parts:
        table.row(f"  {part}", statistics.mean(one.parts[part] for one in stints.values()), unit="s")
    table.row("the processors were busy for", busy * 100, unit="% of the time")
    return not table.missed


def busy_seconds() -> tuple[float, float]:
    """Return how many seconds of the processors were busy since the machine's start, and how many there were."""
    first = Path("/proc/stat").read_text().splitlines()[0].split()
    ticks = [int(each) for each in first[1:9]]
    idle, every = ticks[3] + ticks[4], sum(ticks)
    per_second = os.sysconf("SC_CLK_TCK")
    return (every - idle) / per_second, every / per_second


def main() -> int:
    """Measure, print, judge."""
    given = options(__doc__, groups=GROUPS, speed=SPEED)
    factors, after = shape(given.groups, SPREAD)
    text = design(NODES, after)
    with tempfile.TemporaryDirectory() as folder:
        site_file = Path(folder) / "site.yaml"
        site_file.write_text(text)
        state = str(Path(folder) / "maas.db")
        simulator = MaasProcess("--state", state, "--speed", str(given.speed), "--site", str(site_file))
        simulator.start()
        try:
            with embedded_airflow() as running:
                home = running.background.settings.home
                with SiteStore.open((home / URL_FILE).read_text()) as store:
                    before, at = busy_seconds()
                    stints = measure(running, store, simulator, text, factors)
                    busy, now = busy_seconds()
        finally:
            simulator.stop()
    return 0 if judge(stints, after, (busy - before) / (now - at)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
