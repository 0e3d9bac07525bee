"""How long a commit of a large design takes, and how much memory the API server needs for it.

Run it as `python -m tests.bench.bench_commit`: a real API server process of Airflow's, a real simulator as the
provisioner. Every node of the design is layered on another document, and all have one profile. What is
measured is the time from a request to its answer, of a first commit and of one that changes the profile, and the most
memory that the server has in use. Prints a table; exits 1 when a target is missed.
"""

from __future__ import annotations

import time

import httpx
from sqlalchemy import func, select

from site_store import SiteStore
from site_store.tables import node
from tests.bench.harness import Table, api_server, megabytes, new_store, options, simulated
from tests.support.large_sites import large_site

SECONDS = 4.0
MEGABYTES = 500.0


def posted(client: httpx.Client, path: str, content: bytes = b"") -> float:
    """Send a request that must succeed; return how long it took, in seconds."""
    started = time.perf_counter()
    client.post(f"/slipway/api/v1.0{path}", content=content).raise_for_status()
    return time.perf_counter() - started


def changed_nodes(store_url: str) -> int:
    """Return how many nodes are wanted in their second version."""
    with SiteStore.open(store_url) as store:
        query = select(func.count()).select_from(node).where(node.c.wanted_version == 2)
        return store._database.read(lambda tx: int(tx.scalar(query) or 0))


def main() -> int:
    """Measure, print, judge."""
    nodes = options(__doc__, nodes=10_000).nodes
    text = large_site(nodes)
    table = Table(f"{nodes:,} nodes, {len(text) / 1e6:.1f} MB")
    with new_store() as store_url:
        with simulated() as simulator, api_server(store_url, simulator.url) as (client, pid):
            table.row("API server at rest", megabytes(pid), unit="MB")
            table.row("put into the buffer", posted(client, "/configdocs/site", text.encode()), unit="s")
            table.row("first commit", posted(client, "/commitconfigdocs"), SECONDS, "s")
            posted(client, "/configdocs/site", text.replace("role: compute", "role: worker").encode())
            table.row("commit that changes the profile of all", posted(client, "/commitconfigdocs"), SECONDS, "s")
            table.row("API server at most", megabytes(pid), MEGABYTES, "MB")
        assert changed_nodes(store_url) == nodes, "the profile is not that of all nodes"
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
