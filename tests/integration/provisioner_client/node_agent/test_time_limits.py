"""How long a request to a node may take: on a clock that the test holds, against servers that do not answer."""

from __future__ import annotations

import asyncio

import pytest

from provisioner_client.node_agent.request import BEYOND_WAIT, AgentSilent, Asker, ask
from tests.support.node_agents import LOOPBACK

ASKER = Asker(b"k" * 40, "me", networks=LOOPBACK)
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
            question = asyncio.create_task(ask(ASKER, url, "up", wait))
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
