"""A server that is told to stop does not wait for requests that linger."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.support.processes import tied, wait_until

SERVER = """
import uvicorn
from fastapi import FastAPI
from slipway_api.http.long_polls import LONG_POLLS

app = FastAPI()

@app.get("/")
async def linger() -> str | None:
    return await LONG_POLLS.get().newer("scope", lambda: "1", "1", 60, 60)

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)

Server(uvicorn.Config(app, port=0, log_level="error")).run()
"""


@pytest.mark.endurance
def test_readers_who_linger_are_answered_at_once_when_the_server_is_told_to_stop() -> None:
    server = subprocess.Popen(tied(sys.executable, "-c", SERVER), stdout=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        url = f"http://127.0.0.1:{port}/"
        answers: list[httpx.Response] = []
        readers = [threading.Thread(target=lambda: answers.append(httpx.get(url, timeout=50))) for _ in range(20)]
        for reader in readers:
            reader.start()
        # Until all of them wait.
        wait_until(lambda: _connections(port) == len(readers), "all wait")
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        server.wait(40)
        for reader in readers:
            reader.join(10)
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, None)] * len(readers)


def _connections(port: int) -> int:
    """Return how many clients a server has accepted: 01 is an established connection."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1] == f"0100007F:{port:04X}" and row[3] == "01" for row in rows)
