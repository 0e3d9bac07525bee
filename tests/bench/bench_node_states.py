"""Measures the states of nodes of a very large site: `make bench`.

What a look of its leader costs after the list is read, how large a version is, how many versions many changes make, and
how soon a thousand readers who linger have the next one, from a real API server of Airflow.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import resource
import statistics
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert

from site_engine.node_states.drift_watch import DriftWatch
from site_engine.node_states.leader import SiteLeader
from site_store import SiteStore
from site_store.node_table.state_query import STATE_COLUMNS, StateQuery
from site_store.records import Lease
from site_store.sql.database import Database
from site_store.status.leases import lease_of
from site_store.tables import node, revision
from site_store.tables import site as site_table
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import PublishedState
from tests.bench.harness import Table, alone, api_server, megabytes, new_store, options, p95, processor_seconds, timed

SITE = "large"
NODES = 100_000
CHANGED = 100
READERS = 1_000
MOST_CPU_MS = 250.0
MOST_MB = 500.0
MOST_COMPRESSED = 300_000
MOST_VERSIONS = 13
MOST_PAGE_MS = 50.0
PAGES = 20
LONGEST_SECONDS = 1.0
_AT_ONCE = 1000
_UP = PublishedState(NodeAvailability.UP)


def names(count: int) -> list[str]:
    """Return names of nodes, forty in a rack."""
    return [f"r{number // 40 + 1:04}-compute-{number % 40 + 1:02}" for number in range(count)]


def fill(store: SiteStore, count: int) -> None:
    """Commit a site of so many nodes, in a few statements."""
    now = datetime.now(UTC)
    database = Database(store._database.url, bounded=False)

    def commit(tx: Connection) -> None:
        tx.execute(insert(site_table).values(name=SITE, created=now))
        facts = {"site": SITE, "number": 1, "digest": "d", "design_token": "t", "created": now, "created_by": "ann"}
        tx.execute(insert(revision).values(**facts))

    database.write(commit)
    rows = [
        {
            "site": SITE,
            "name": name,
            "wanted_revision": 1,
            "wanted_digest": "d",
            "done_revision": 1,
            "done_digest": "d",
            "done_at": now,
            "status": "success",
            "last_updated": now,
        }
        for name in names(count)
    ]
    for first in range(0, count, _AT_ONCE):
        some = insert(node).values(rows[first : first + _AT_ONCE])
        database.write(lambda tx, some=some: tx.execute(some))  # type: ignore[misc]
    database.close()


def listed(count: int, off: Iterable[int] = ()) -> dict[str, dict[str, Any]]:
    """Return what a provisioner lists: all are deployed, these are off."""
    powered_off = frozenset(off)
    return {
        name: {
            "status": "Deployed",
            "power": "off" if number in powered_off else "on",
            "condition": "deployed",
            "rack": name[:5],
            "cores": 64,
            "memory": 524288,
        }
        for number, name in enumerate(names(count))
    }


def leads(store: SiteStore, seconds: float = 3600) -> Lease:
    """Take the site's lease."""
    held = store.leases.take(lease_of(SITE), "bench", seconds)
    assert held is not None
    return held


def cpu_of_looks(url: str) -> dict[str, Any]:
    """Look at a site of which the list changes a little each time; return milliseconds of processor time."""
    with SiteStore.open(url) as store:
        leader = SiteLeader(store, SITE, leads(store), store.now().timestamp())
        store.provisioner_lists.save(SITE, "c", listed(NODES))
        begun = time.process_time()
        leader.look()
        first = time.process_time() - begun
        watch, held = DriftWatch(store, SITE), leader.held
        begun = time.process_time()
        watch.look(held, None, leader.listed(store.site_views.pulse(SITE).listed))
        watched = [(time.process_time() - begun) * 1000]
        looks, published, reading = list[float](), list[float](), list[float]()
        for turn in range(1, 9):
            lines = listed(NODES, range(turn * CHANGED, (turn + 1) * CHANGED))
            store.provisioner_lists.save(SITE, "c", lines)
            del lines
            gc.collect()
            kept = store.provisioner_lists.get(SITE)
            assert kept is not None
            begun = time.process_time()
            json.loads(store.provisioner_lists.get(SITE).nodes)  # type: ignore[union-attr]
            read = time.process_time() - begun
            begun = time.process_time()
            version = leader.look()
            took = time.process_time() - begun - read
            reading.append(read * 1000)
            (looks if version is None else published).append(took * 1000)
            begun = time.process_time()
            watch.look(held, None, leader.listed(store.site_views.pulse(SITE).listed))
            watched.append((time.process_time() - begun) * 1000)
            # As if the time between two versions were over.
            time.sleep(0 if turn % 2 else 6)
            begun = time.process_time()
            if leader.look() is not None:
                published.append((time.process_time() - begun) * 1000)
        store.leases.give_up(held)
        after = SiteLeader(store, SITE, leads(store), store.now().timestamp())
        store.provisioner_lists.save(SITE, "c", listed(NODES, range(CHANGED)))
        begun = time.process_time()
        assert after.look() is not None
        taken_over = time.process_time() - begun
    times = {"looks": looks, "published": published, "reading": reading, "watched": watched}
    return {"first": first * 1000, "taken_over": taken_over * 1000, "mb": megabytes(), **times}


def measure_looks(table: Table) -> None:
    """Measure them in a process that does nothing else; then pages of nodes in each order."""
    with new_store() as url:
        with SiteStore.open(url) as store:
            fill(store, NODES)
        found = alone(cpu_of_looks, url)
        whole, plain = sizes(url)
        first_watch, *watched = found["watched"]
        print(f"look at {NODES} nodes, {CHANGED * 2} changed; milliseconds of CPU")
        table.row("  a look, after the list was read", statistics.median(found["looks"]))
        table.row("  at most", max(found["looks"]), MOST_CPU_MS)
        table.row("  the list is read in", statistics.median(found["reading"]))
        table.row("  one that publishes", statistics.median(found["published"]))
        table.row("  at most", max(found["published"]), MOST_CPU_MS)
        table.row("  the first of a new site", found["first"])
        table.row("  the first after a take-over", found["taken_over"])
        table.row("  memory", found["mb"], MOST_MB, "MB")
        table.row("  watch for drifts", statistics.median(watched), MOST_CPU_MS)
        table.row("  at most", max(watched))
        table.row("  a leader's first", first_watch)
        table.row("names and states, compressed", plain / 1000, MOST_COMPRESSED / 1000, "kB")
        table.row("a whole version, with capacities", whole / 1000, unit="kB")
        with SiteStore.open(url) as store:
            for sort in STATE_COLUMNS:
                for descending in (False, True):
                    query = StateQuery(sort=sort, descending=descending)
                    taken = timed(lambda query=query: store.state_table.page(SITE, query), PAGES)  # type: ignore[misc]
                    order = f"{sort}{', from its end' if descending else ''}"
                    table.row(f"50 nodes by {order}, p95", p95(taken), MOST_PAGE_MS)


def sizes(url: str) -> tuple[int, int]:
    """Return the compressed size of a version as it is sent, and of its names and states alone."""
    with SiteStore.open(url) as store:
        found = store.site_views.body(SITE)
    assert found is not None
    body = json.loads(found[1])
    states = {name: {"state": one["state"]} for name, one in body["nodes"].items()}
    plain = json.dumps({**body, "nodes": states}, separators=(",", ":"))
    return len(gzip.compress(found[1].encode())), len(gzip.compress(plain.encode()))


def measure_versions(table: Table) -> None:
    """Have ten thousand changes in a minute of a clock that is put forward; count the versions."""
    clock = [datetime(2026, 3, 1, tzinfo=UTC)]
    count = 1000
    with new_store() as url:
        with SiteStore.open(url) as real:
            fill(real, count)
        with SiteStore.open(url, lambda: clock[0]) as store:
            leader = SiteLeader(store, SITE, leads(store), clock[0].timestamp())
            off: set[int] = set()
            changes = 0
            first = 0
            for tick in range(121):
                for _ in range(10_000 // 120):
                    off ^= {changes * 7 % count}
                    changes += 1
                store.provisioner_lists.save(SITE, "c", listed(count, off))
                version = leader.look()
                first = version.version.number if tick == 0 and version is not None else first
                clock[0] += timedelta(seconds=0.5)
            number = store.site_views.versions()[SITE].number - first
    assert number > 0
    table.row(f"{changes} changes in 60 s", number, MOST_VERSIONS, "versions")


async def linger(port: int, path: str, headers: Mapping[str, str], is_sent: asyncio.Semaphore) -> tuple[float, int]:
    """Ask for a newer version; return when the whole answer was there, and its length."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"GET {path} HTTP/1.1", "Host: bench", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()
    is_sent.release()
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert head.startswith("http/1.1 200"), head
    length = int(head.partition("content-length:")[2].split("\r\n")[0])
    body = await reader.readexactly(length)
    at = time.time()
    writer.close()
    return at, len(body)


async def readers(
    port: int, pid: int, headers: Mapping[str, str], store: SiteStore, held: Lease, body: dict[str, Any]
) -> tuple[list[float], float, int]:
    """Let a thousand readers linger, publish, and return how many seconds each waited, and the server's time."""
    known = store.site_views.versions()[SITE]
    path = f"/slipway/api/v1.0/sites/{SITE}/state?since={known.epoch}.{known.number}&wait=60"
    sent = asyncio.Semaphore(0)
    asked = [asyncio.create_task(linger(port, path, headers, sent)) for _ in range(READERS)]
    for _ in asked:
        await sent.acquire()
    # Until the server has looked at each of them, and is idle.
    before = -1.0
    while (used := processor_seconds(pid)) - before > 0.1:
        before = used
        await asyncio.sleep(1.0)
    some = list(body["nodes"])[:CHANGED]
    for name in some:
        body["nodes"][name] = {"state": "down" if body["nodes"][name]["state"] == "up" else "up"}
    changes = {name: ("up", body["nodes"][name]["state"], "") for name in some}
    used = processor_seconds(pid)
    await asyncio.to_thread(store.site_views.publish, held, SITE, body, _UP, changes)
    published = time.time()
    answers = await asyncio.gather(*asked)
    assert len({length for _, length in answers}) == 1
    return [at - published for at, _ in answers], processor_seconds(pid) - used, answers[0][1]


def measure_readers(table: Table) -> None:
    """Measure how soon a thousand readers have a version."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with new_store() as url, SiteStore.open(url) as store:
        fill(store, 10_000)
        held = leads(store)
        body: dict[str, Any] = {
            "site": SITE,
            "state": "up",
            "reason": "",
            "nodes": {name: {"state": "up"} for name in names(10_000)},
        }
        store.site_views.publish(held, SITE, body, _UP, {})
        with api_server(url) as (client, pid):
            headers = {"Authorization": client.headers["Authorization"], "Accept-Encoding": "gzip"}
            for _ in range(3):
                port = client.base_url.port
                assert port is not None
                waited, used, length = asyncio.run(readers(port, pid, headers, store, held, body))
                print(f"{READERS} readers who linger have {length} bytes after")
                table.row("  median", statistics.median(waited), unit="s")
                table.row("  p95", p95(waited), unit="s")
                table.row("  the last one", max(waited), LONGEST_SECONDS, "s")
                table.row("  the server used of CPU", used, unit="s")


def main() -> int:
    """Measure all of it; 1 where something is missed."""
    only = options(__doc__, only="").only
    table = Table("states of nodes")
    for name, work in {"looks": measure_looks, "versions": measure_versions, "readers": measure_readers}.items():
        if only in ("", name):
            work(table)
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
