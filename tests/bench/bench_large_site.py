"""What a whole `deploy_site` of a large site takes, on a real embedded Airflow, with a provisioner that takes no time.

Run it as `python tests/bench/bench_large_site.py [--nodes 10000]`: a group for each hundred nodes, 16 groups side by
side, a simulated Drydock at 100,000 times the speed. Printed are the seconds of the run, the processor time of all of
Airflow's processes in it, and the most memory of the API server. Exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.bench.bench_commit import largest
from tests.support.large_sites import NODES_PER_RACK, large_site
from tests.support.simulators import Simulator

DAG, SITE = "deploy_site", "large"
SPEED = 100_000.0
PLACES = 16
SECONDS = 120.0
MEGABYTES = 400.0
_LONGEST = 3600.0


def settings_document() -> str:
    """Return the site's settings: so many groups side by side."""
    return (
        "---\nschema: slipway/SiteSettings/v1\n"
        "metadata: {schema: metadata/Document/v1, name: site-settings, layeringDefinition: {layer: site}}\n"
        f"data: {{max_parallel_groups: {PLACES}}}\n"
    )


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, of all below it, and of those of them that have ended (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(each) for each in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    below = Path(f"/proc/{pid}/task").iterdir()
    children = {child for task in below for child in (task / "children").read_text().split()}
    return own + sum(processor_seconds(int(child)) for child in children)


def measure(slipway: SlipwayClient, airflow: AirflowClient, url: str, nodes: int, pids: dict[str, int]) -> bool:
    """Deploy the site, print what it took, and return whether no target was missed."""
    extra = {"poll_interval": 1.0}
    fields = {"conn_type": "drydock", "host": url, "extra": json.dumps(extra)}
    airflow.set_connection(f"slipway_provisioner_{SITE}", fields)
    began = time.monotonic()
    revision = slipway.commit(SITE, large_site(nodes) + settings_document())
    committed = time.monotonic() - began
    airflow.wait_for_dag(DAG)
    before = {name: processor_seconds(pid) for name, pid in pids.items()}
    began = time.monotonic()
    run_id = airflow.trigger(DAG, {"site": SITE, "revision": revision.number})
    state = airflow.wait_for_run(DAG, run_id, _LONGEST, interval=1.0)
    taken = time.monotonic() - began
    assert state == "success", f"{run_id}: {state}"
    used = {name: processor_seconds(pid) - before[name] for name, pid in pids.items()}
    size = largest(pids["api-server"])
    good = taken <= SECONDS and size <= MEGABYTES
    print(f"{nodes:,} nodes in {-(-nodes // NODES_PER_RACK)} groups, {PLACES} at once")
    print(f"  put and committed    {committed:8.1f} s")
    print(f"  deploy_site          {taken:8.1f} s  (target {SECONDS:.0f}){'' if taken <= SECONDS else '  MISSED'}")
    print(f"  API server at most   {size:8.1f} MB (target {MEGABYTES:.0f}){'' if size <= MEGABYTES else '  MISSED'}")
    print("  processor time       " + ", ".join(f"{name} {each:.1f} s" for name, each in used.items()), flush=True)
    return good


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        simulator = Simulator(home, speed=SPEED)
        background = BackgroundAirflow(EmbeddedSettings.from_environment(home / "home", 0, {})).start()
        try:
            runtime = background.wait_ready()
            session = ApiSession(runtime.url, "admin", runtime.password("admin"), 300.0)
            clients = SlipwayClient(session), AirflowClient(session)
            good = measure(*clients, simulator.url, options.nodes, dict(runtime.components))
            session.close()
        finally:
            background.stop()
            simulator.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
