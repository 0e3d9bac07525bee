"""What it costs the controller to have one request pending at each of 10,000 node agents: `make bench`.

A real `slipway controller` leads a site whose nodes have addresses of their own on loopback. One process answers for
all their agents, with their signatures, each on a socket of its own. The controller's other questions
go to a server that stands for Slipway's API: it keeps the same list of the provisioner again and again.

Prints how long it takes until all requests are pending, what the process then costs while every agent answers once,
how soon it publishes that 1,000 nodes say something else, and the most memory that it ever had. Exits 1 when that is
too much, and when this machine allows a process too few open files.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import yaml

from provisioner_client.node_agent.agent import answer_signature, parse_head, parse_target, signature
from site_store import SiteStore
from tests.bench.bench_node_states import MOST_MB, SITE, listed, names
from tests.bench.harness import Table, megabytes, new_store, options, processor_seconds
from tests.support.processes import tied, wait_until
from tests.support.revisions import commit_design
from tests.support.sites import document

AGENTS = 10_000
CHANGED = 1_000
FILES = 300
"""Files and sockets that a process needs beside those for agents."""
ROUND = 60.0
"""Seconds for which a request waits: in that time each agent answers once."""
NEARLY = 0.99
"""Some have just been answered at any moment, and are asked again."""
_KEY = "k" * 40


def address(number: int) -> str:
    """Return the address of a node: all of 127.0.0.0/8 is this machine."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


def design(count: int, port: int) -> str:
    """Return a site whose nodes are all asked at once."""
    settings = {"health_url": f"http://{{address}}:{port}/state", "max_agent_connections": count}
    strategy = {"groups": [{"name": "all", "critical": False, "depends_on": [], "selectors": []}]}
    documents = [
        document("slipway/Site/v1", SITE, {"provisioner": "maas"}),
        document("slipway/SiteSettings/v1", "site-settings", {"node_states": settings}),
        document("shipyard/DeploymentStrategy/v1", "strategy", strategy),
        document(
            "shipyard/DeploymentConfiguration/v1",
            "configuration",
            {"physical_provisioner": {"deployment_strategy": "strategy"}},
        ),
        *(
            document("slipway/Node/v1", name, {"rack": name[:5], "address": address(number)})
            for number, name in enumerate(names(count))
        ),
    ]
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False, explicit_start=True)


class AllAgents:
    """The agents of all nodes: what each says, and who waits for another word of it."""

    def __init__(self, count: int) -> None:
        self.words = dict.fromkeys(map(address, range(count)), "up")
        self.waiting: dict[str, OneRequest] = {}

    def change(self, count: int) -> None:
        """Have the first of them say "down"; who waits for that is answered."""
        for node in list(self.words)[:count]:
            self.words[node] = "down"
            if node in self.waiting:
                self.waiting[node].answer()


class OneRequest(asyncio.Protocol):
    """A connection to the agent of the node whose address was asked: the protocol of `agent.py`, at less cost."""

    def __init__(self, agents: AllAgents) -> None:
        self._agents = agents
        self._node = self._nonce = ""
        self._name: str | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._node = transport.get_extra_info("sockname")[0]
        if self._node not in self._agents.words:
            # Somebody from another machine.
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a request, which is short enough to come at once."""
        target, headers = parse_head(data.removesuffix(b"\r\n\r\n"))
        known, wait, self._name = parse_target(target)
        *signed, given = (headers[f"x-slipway-{name}"] for name in ("time", "nonce", "asker", "signature"))
        assert given == signature(_KEY.encode(), "GET", target, *signed)
        self._nonce = signed[1]
        if known != self._agents.words[self._node] or not wait:
            self.answer()
        else:
            self._agents.waiting[self._node] = self
            self._timer = asyncio.get_running_loop().call_later(wait, self.answer)

    def answer(self) -> None:
        """Say how the node is, and end."""
        text = json.dumps({"state": self._agents.words[self._node], "reason": ""})
        signed = answer_signature(_KEY.encode(), self._name, self._nonce, text.encode())
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nX-Slipway-Signature: {signed}\r\n\r\n"
        self._transport.write((head + text).encode())
        self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._agents.waiting.get(self._node) is self:
            del self._agents.waiting[self._node]


def serve(count: int, pipe: Connection) -> None:
    """Answer for so many agents; tell the port, and then how many requests wait, or have some agents say "down"."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

    async def run() -> None:
        loop, agents, over = asyncio.get_running_loop(), AllAgents(count), asyncio.Event()
        server = await loop.create_server(lambda: OneRequest(agents), "0.0.0.0", 0, backlog=4096)  # noqa: S104 - 127.*.*.*

        def told() -> None:
            try:
                agents.change(pipe.recv())
            except EOFError:
                over.set()
            else:
                pipe.send(len(agents.waiting))

        loop.add_reader(pipe.fileno(), told)
        pipe.send(server.sockets[0].getsockname()[1])
        await over.wait()

    asyncio.run(run())


@contextmanager
def agents_of(count: int) -> Iterator[tuple[int, Callable[[int], int]]]:
    """Run so many agents; give their port, and what has some of them say "down" and returns how many requests wait."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=serve, args=(count, theirs), daemon=True)
    process.start()
    theirs.close()

    def tell(change: int) -> int:
        ours.send(change)
        return int(ours.recv())

    try:
        yield int(ours.recv()), tell
    finally:
        ours.close()
        process.join(10)
        process.kill()


@contextmanager
def api(store: SiteStore, count: int) -> Iterator[str]:
    """Stand for Airflow with Slipway's API: each observation keeps the same list of nodes. Yields its URL."""
    lines = listed(count)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(404, {"detail": "not here"})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.endswith("/auth/token"):
                self._say(201, {"access_token": "t"})
            elif self.path.endswith("/observe"):
                store.provisioner_lists.save(SITE, "bench", lines)
                self._say(200, {})
            else:
                self._say(404, {"detail": "not here"})

        def _say(self, status: int, body: object) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def controller(store_url: str, url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a controller that has the site's key."""
    with tempfile.TemporaryDirectory() as folder:
        key, said = Path(folder) / "key", Path(folder) / "said"
        key.touch(mode=0o600)
        key.write_text(_KEY)
        account = {"SLIPWAY_SERVICE_USER": "slipway", "SLIPWAY_SERVICE_PASSWORD": "x"}
        environment = {**account, "SLIPWAY_DATABASE_URL": store_url, "SLIPWAY_NODE_KEY_FILE": str(key)}
        environment["SLIPWAY_NODE_NETWORKS"] = "127.0.0.0/8"
        with said.open("wb") as log:
            process = subprocess.Popen(
                tied(sys.executable, "-m", "slipway_cli", "controller", "--url", url),
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)
            if process.returncode:
                print(said.read_text()[-2000:], file=sys.stderr)


def published(store: SiteStore) -> dict[str, str]:
    """Return the published states of all nodes."""
    found = store.site_views.body(SITE)
    return {} if found is None else {name: one["state"] for name, one in json.loads(found[1])["nodes"].items()}


def measure(count: int, seconds: float) -> int:
    """Measure, print; return 1 if the memory is not enough."""
    changed = min(CHANGED, count // 10)
    table = Table(f"{count} node agents")
    with new_store() as store_url, agents_of(count) as (port, tell), SiteStore.open(store_url) as store:

        def all_wait() -> bool:
            return tell(0) >= NEARLY * count

        commit_design(store, SITE, design(count, port))
        with api(store, count) as url, controller(store_url, url) as process:
            pending = wait_until(all_wait, "a request pending at each agent")
            table.row("a request is pending at each, after the controller's start", pending, unit="s")
            wait_until(lambda: len(published(store)) == count, "a first version")
            table.row("memory by then", megabytes(process.pid, "VmRSS"), unit="MB")
            used, began = processor_seconds(process.pid), time.monotonic()
            time.sleep(seconds)
            share = (processor_seconds(process.pid) - used) / (time.monotonic() - began)
            table.row(f"while each answers every {ROUND:.0f} s", share * 100, unit="% of a core")
            tell(changed)
            told = wait_until(
                lambda: sum(state != "up" for state in published(store).values()) == changed, "what agents say"
            )
            table.row(f"what {changed} of them say at once is published after", told, unit="s")
            # Until those that are down are asked again, too.
            wait_until(all_wait, "a request pending at each agent again")
            table.row("memory at most", megabytes(process.pid), MOST_MB, "MB")
    return table.missed


def main() -> int:
    """Measure; 1 where something is missed, or could not be measured."""
    given = options(__doc__, agents=AGENTS, seconds=ROUND + 10)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit != resource.RLIM_INFINITY and limit < given.agents + FILES:
        print(
            f"{given.agents} node agents: not measured, as a process needs {given.agents + FILES} open files and may "
            f"have {limit}: raise that (ulimit -Hn), or measure fewer with --agents {max(1, limit - FILES)}",
            flush=True,
        )
        return 1
    return measure(given.agents, given.seconds)


if __name__ == "__main__":
    raise SystemExit(main())
