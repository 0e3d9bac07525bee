"""Asking nodes: real agents on loopback, and servers that are none; at which addresses, and for how long.

Nobody is asked at an address that the installation does not allow: the address that was judged is connected to.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.node_agent.request import BEYOND_WAIT, AgentSilent, Asker, SiteAsker, ask, ask_nodes
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.parsing.node_networks import ALL_BUT_SPECIAL
from strategy_lib.settings import Proxy, SettingError
from tests.support.node_agents import KEY, LOOPBACK, ON_LOOPBACK, AgentProcess, key_file, say_up


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    started = AgentProcess(tmp_path, node="n1")
    yield started
    started.kill()


def test_each_node_answers_or_says_why_not(agent: AgentProcess, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}/state"
    key_file(tmp_path / "alpha.key")
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


UP = Reported(NodeAvailability.UP, "")


@asynccontextmanager
async def a_server() -> AsyncIterator[tuple[int, list[str]]]:
    """Give the port of an agent on loopback, and the first line of each request that it got."""
    seen: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head.decode().partition("\r\n")[0])
        again = asyncio.StreamReader()
        again.feed_data(head)
        await say_up(again, writer)

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], seen


def asked(play: Callable[[int], Awaitable[Reported]]) -> tuple[Reported | str, list[str]]:
    async def run() -> tuple[Reported | str, list[str]]:
        async with a_server() as (port, seen):
            try:
                said: Reported | str = await play(port)
            except AgentSilent as error:
                said = error.detail
            return said, seen

    return asyncio.run(run())


HOSTS = {
    "127.0.0.1": "127.0.0.1 is a loopback address",
    "[::ffff:127.0.0.1]": "::ffff:7f00:1 is a loopback address",
    "0.0.0.0": "0.0.0.0 is an unspecified address",  # noqa: S104 - nothing listens
    "localhost": "127.0.0.1 is a loopback address",
    "127.1": "127.0.0.1 is a loopback address",
    "2130706433": "127.0.0.1 is a loopback address",
    "169.254.169.254": "169.254.169.254 is an address of a cloud's metadata",
    "[fd00:ec2::254]": "fd00:ec2::254 is an address of a cloud's metadata",
}


@pytest.mark.parametrize("through_a_proxy", [False, True], ids=["directly", "through a proxy"])
@pytest.mark.parametrize("host", HOSTS)
def test_no_connection_is_made_for_a_special_address_however_it_is_written(host: str, through_a_proxy: bool) -> None:
    def play(port: int) -> Awaitable[Reported]:
        proxy = Proxy("127.0.0.1", port) if through_a_proxy else None
        return ask(Asker(KEY.encode(), "me", proxy=proxy), "n1", f"http://{host}:{port}/state", "", 0.0)

    said, seen = asked(play)
    assert HOSTS[host] in str(said)
    assert "where nodes are not asked unless SLIPWAY_NODE_NETWORKS has it" in str(said)
    assert seen == []


def test_a_name_is_looked_up_once_and_asked_at_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    found = ["127.0.0.1", "169.254.169.254"]

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        looked_up.append(host)
        address = found.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    async def play(port: int) -> Reported:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        url = f"http://node.example:{port}/state"
        return await ask(Asker(KEY.encode(), "me", networks=LOOPBACK), "n1", url, "", 0.0)

    assert asked(play)[0] == UP
    assert looked_up == ["node.example"], "another look could find another address"


def test_a_proxy_is_told_the_address_that_was_judged() -> None:
    def play(port: int) -> Awaitable[Reported]:
        asker = Asker(KEY.encode(), "me", proxy=Proxy("127.0.0.1", port), networks=LOOPBACK)
        return ask(asker, "n1", "http://localhost:9650/state", "", 0.0)

    assert asked(play) == (UP, ["GET http://127.0.0.1:9650/state?known=&wait=0&node=n1 HTTP/1.1"])


def test_a_list_that_is_none_has_nobody_asked(tmp_path: Path) -> None:
    key = key_file(tmp_path / "key")
    asker = SiteAsker({"SLIPWAY_NODE_KEY_FILE": str(key), "SLIPWAY_NODE_NETWORKS": "everywhere"}, "me")
    with pytest.raises(SettingError, match="SLIPWAY_NODE_NETWORKS: 'everywhere' is not a list of networks"):
        asyncio.run(asker("alpha", {"n1": "http://10.0.0.1:9650/state"}, 1))


def test_who_is_told_nothing_asks_no_special_address() -> None:
    assert Asker(KEY.encode(), "me").networks == ALL_BUT_SPECIAL


PIECE = b"HTTP/1.1 200 OK\r\nX-Slipway-Signature: 00\r\n"


class HeldLoop(asyncio.SelectorEventLoop):
    """A loop whose time stands still until the test moves it; what happens meanwhile takes none."""

    now = 1000.0

    def time(self) -> float:
        return self.now

    async def pass_by(self, seconds: float) -> None:
        """Move the clock, and let everything happen that is due then."""
        self.now += seconds
        for _ in range(10):
            await asyncio.sleep(0)


class Silent:
    """A server that takes connections, may send a piece of an answer, and then nothing."""

    def __init__(self, piece: bytes = b"") -> None:
        self.piece = piece
        self.connected, self.asked = asyncio.Event(), asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected.set()
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self.piece)
            await writer.drain()
            self.asked.set()
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


def given_up(scheme: str, silent: Silent, begun: asyncio.Event, wait: float, after: float) -> str:
    """Ask, and return why the question is given up after so many seconds, and not before; those from `begun` on."""

    async def play() -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, HeldLoop)
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        async with server:
            url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/state"
            question = asyncio.create_task(ask(Asker(KEY.encode(), "me", networks=LOOPBACK), "n1", url, "up", wait))
            await begun.wait()
            await loop.pass_by(after - 0.001)
            assert not question.done()
            await loop.pass_by(0.002)
            assert question.done()
            with pytest.raises(AgentSilent) as caught:
                await question
            return caught.value.detail

    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        return runner.run(play())


def test_the_documents_say_five_seconds() -> None:
    assert BEYOND_WAIT == 5.0


@pytest.mark.parametrize("piece", [b"", PIECE], ids=["nothing comes", "a piece comes"])
@pytest.mark.parametrize("wait", [0.0, 60.0])
def test_an_answer_is_here_five_seconds_beyond_the_wait_or_not_at_all(piece: bytes, wait: float) -> None:
    silent = Silent(piece)
    assert given_up("http", silent, silent.asked, wait, wait + 5) == "no connection, or no answer in time"


def test_a_connection_is_made_within_five_seconds_however_long_the_wait() -> None:
    # It says nothing of TLS, so that the connection is never made.
    silent = Silent()
    assert given_up("https", silent, silent.connected, 60.0, 5) == "no connection, or no answer in time"
