"""Asking many nodes once: real agents on loopback, and servers that are none."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from provisioner_client.node_agent.request import Asker, SiteAsker, ask_nodes
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.settings import SettingError
from tests.support.node_agents import KEY, LOOPBACK, ON_LOOPBACK, AgentProcess


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    started = AgentProcess(tmp_path)
    yield started
    started.kill()


def test_each_node_answers_or_says_why_not(agent: AgentProcess, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}/state"
    key = tmp_path / "alpha.key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    ask = SiteAsker({"SLIPWAY_NODE_KEY_FILE": str(tmp_path / "{site}.key"), **ON_LOOPBACK}, "me")
    answers = asyncio.run(ask("alpha", {"n1": agent.url, "n2": nobody}, 1))
    assert answers["n1"] == Reported(NodeAvailability.UP, "")
    assert str(answers["n2"]).startswith("Connect call failed")
    agent.says("initializing loads images")
    said: Reported | str = answers["n1"]
    # The agent looks at the file now and then.
    while said == answers["n1"]:
        (said,) = asyncio.run(ask("alpha", {"n1": agent.url}, 10)).values()
    assert said == Reported(NodeAvailability.INITIALIZING, "loads images")
    with pytest.raises(SettingError, match="beta"):
        asyncio.run(ask("beta", {"n1": agent.url}, 10))


def test_no_more_are_asked_at_once_than_may_be() -> None:
    at_once, most, lock = 0, 0, threading.Lock()
    meet = threading.Barrier(3)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            meet.wait(5)
            with lock:
                at_once -= 1
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/state"
    asker = Asker(KEY.encode(), "me", networks=LOOPBACK)
    answers = asyncio.run(ask_nodes(asker, {f"n{number}": url for number in range(9)}, 3))
    server.shutdown()
    server.server_close()
    assert most == 3
    assert set(answers.values()) == {"HTTP 302"}, "nobody is sent elsewhere"
    assert len(answers) == 9
