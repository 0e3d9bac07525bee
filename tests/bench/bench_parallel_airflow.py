"""What a real Airflow adds to 100 groups of 20 nodes with 8 of them side by side, in seconds for a group of the path.

Run it as `python tests/bench/bench_parallel_airflow.py [--groups COUNT]`: an embedded Airflow deploys them on a
simulated MAAS. How long the machines of each group take, the simulator says. The engine's own path is what comes of
these times alone: a group begins when those that it depends on have ended and a place is free, and nothing takes time
between two groups. The path are the groups that lie one after the other in that: each begins as the one before it ends,
and the last one is the end of all. What Airflow adds for each group of the path is the makespan without the engine's
own, divided by their number. Exits 1 when it is more than 6 seconds.

A real machine takes half an hour for what takes one of these a minute and a half. The less time it takes, the more
often Airflow starts tasks, and the busier it is: how busy the processors were is printed with the result.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parents[2]))

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from design_rendering.kinds.provisioner_kinds import MAAS
from site_store import SiteStore
from site_store.sql.address import URL_FILE
from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.demo.simulated_provisioner import connection_fields
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.bench.bench_parallel import GROUPS, NODES, PLACES, shape
from tests.support.simulators import MaasProcess
from tests.support.sites import document, group

DAG = "deploy_site"
SITE = "beside"
MOST = 6.0
"""Seconds that Airflow may add for each group of the path."""
SPEED = 10.0
"""Times as fast as real machines, so that both phases of each group last long enough."""
SPREAD = 0.3
DEPLOY_SHARE = 0.6
"""A deployment lasts for this share of its usual time: as long as the other phase."""
POLL = 1.0
_LONGEST = 4 * 3600.0


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
    slipway: SlipwayClient,
    airflow: AirflowClient,
    store: SiteStore,
    simulator: MaasProcess,
    text: str,
    factors: Mapping[str, float],
) -> dict[str, Stint]:
    """Deploy the site, and return the stints of its groups in the order of the strategy."""
    for name, factor in factors.items():
        simulator.script(f"{name}-*", "prepare", "slow", factor=factor)
        simulator.script(f"{name}-*", "deploy", "slow", factor=factor * DEPLOY_SHARE)
    fields = connection_fields(MAAS, simulator.url)
    # So many that no machine waits for another: what is measured are the groups.
    extra = {
        **fields["extra"],
        "poll_interval": POLL,
        "parallel_deploys": NODES * PLACES,
    }
    airflow.set_connection(f"slipway_provisioner_{SITE}", {**fields, "extra": json.dumps(extra)})
    revision = slipway.commit(SITE, text)
    airflow.wait_for_dag(DAG)
    run_id = airflow.trigger(DAG, {"site": SITE, "revision": revision.number})
    state = airflow.wait_for_run(DAG, run_id, _LONGEST, interval=5.0)
    assert state == "success", f"{run_id}: {state}"
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
    serial = sum(work.values())
    print(f"{len(stints)} groups of {NODES} nodes, {PLACES} at once, through Airflow")
    print(f"  one after the other   {serial:10,.0f} s")
    print(f"  all places busy       {serial / PLACES:10,.0f} s")
    print(f"  the engine's own path {own:10,.0f} s  {len(path)} groups one after the other")
    verdict = "" if more <= MOST else "  MISSED"
    print(
        f"  makespan              {makespan:10,.0f} s  {more:.1f} s more for each of them (target {MOST:.0f}){verdict}"
    )
    print(
        f"  from the end of a group to the begin of the next {statistics.mean(gaps or [0.0]):.1f} s; in a group "
        f"{statistics.mean(one.added for one in stints.values()):.1f} s beside its machines' "
        f"{statistics.mean(work.values()):.0f} s"
    )
    for part in next(iter(stints.values())).parts:
        print(f"    {statistics.mean(one.parts[part] for one in stints.values()):5.1f} s {part}")
    print(f"  the processors were busy for {busy:.0%} of the time", flush=True)
    return more <= MOST


def busy_seconds() -> tuple[float, float]:
    """Return how many seconds of the processors were busy since the machine's start, and how many there were."""
    first = Path("/proc/stat").read_text().splitlines()[0].split()
    ticks = [int(each) for each in first[1:9]]
    idle, every = ticks[3] + ticks[4], sum(ticks)
    per_second = os.sysconf("SC_CLK_TCK")
    return (every - idle) / per_second, every / per_second


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=GROUPS, help=f"how many groups ({GROUPS})")
    parser.add_argument(
        "--speed",
        type=float,
        default=SPEED,
        help=f"times as fast as real machines ({SPEED:g})",
    )
    options = parser.parse_args()
    factors, after = shape(options.groups, SPREAD)
    text = design(NODES, after)
    with tempfile.TemporaryDirectory() as home:
        site_file = Path(home) / "site.yaml"
        site_file.write_text(text)
        state = str(Path(home) / "maas.db")
        simulator = MaasProcess("--state", state, "--speed", str(options.speed), "--site", str(site_file))
        simulator.start()
        settings = EmbeddedSettings.from_environment(Path(home), 0, {})
        background = BackgroundAirflow(settings).start()
        try:
            runtime = background.wait_ready()
            session = ApiSession(runtime.url, "admin", runtime.password("admin"), 300.0)
            with SiteStore.open((settings.home / URL_FILE).read_text()) as store:
                before, at = busy_seconds()
                slipway, airflow = SlipwayClient(session), AirflowClient(session)
                stints = measure(slipway, airflow, store, simulator, text, factors)
                busy, now = busy_seconds()
            session.close()
        finally:
            background.stop()
            simulator.stop()
    return 0 if judge(stints, after, (busy - before) / (now - at)) else 1


if __name__ == "__main__":
    sys.exit(main())
