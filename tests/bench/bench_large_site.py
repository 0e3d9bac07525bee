"""What a whole `deploy_site` of a large site takes, on a real embedded Airflow, with a provisioner that takes no time.

Run it as `python -m tests.bench.bench_large_site [--nodes 10000]`: a group for each hundred nodes, 16 groups side by
side, a simulated Drydock at 100,000 times the speed. Printed are the seconds of the run, the processor time of all of
Airflow's processes in it, and the most memory of the API server. Exits 1 when a target is missed.
"""

from __future__ import annotations

import time

from tests.bench.harness import Table, embedded_airflow, megabytes, options, processor_seconds, simulated
from tests.support.large_sites import NODES_PER_RACK, large_site

SITE = "large"
SPEED = 100_000.0
PLACES = 16
SECONDS = 120.0
MEGABYTES = 400.0
SETTINGS = f"""\
---
schema: slipway/SiteSettings/v1
metadata: {{schema: metadata/Document/v1, name: site-settings, layeringDefinition: {{layer: site}}}}
data: {{max_parallel_groups: {PLACES}}}
"""


def main() -> int:
    """Measure, print, judge."""
    nodes = options(__doc__, nodes=10_000).nodes
    table = Table(f"{nodes:,} nodes in {-(-nodes // NODES_PER_RACK)} groups, {PLACES} at once")
    with simulated(SPEED) as simulator, embedded_airflow() as running:
        running.connect(SITE, simulator.url)
        began = time.monotonic()
        revision = running.slipway.commit(SITE, large_site(nodes) + SETTINGS)
        table.row("put and committed", time.monotonic() - began, unit="s")
        pids = dict(running.runtime.components)
        before = {name: processor_seconds(pid) for name, pid in pids.items()}
        began = time.monotonic()
        running.run(SITE, revision.number)
        table.row("deploy_site", time.monotonic() - began, SECONDS, "s")
        table.row("API server at most", megabytes(pids["api-server"]), MEGABYTES, "MB")
        for name, pid in pids.items():
            table.row(f"processor time of {name}", processor_seconds(pid) - before[name], unit="s")
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
