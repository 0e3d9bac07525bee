"""Nobody is asked at an address that the installation does not allow: the address that was judged is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.node_agent.request import AgentSilent, Asker, SiteAsker, ask
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.parsing.node_networks import ALL_BUT_SPECIAL
from strategy_lib.settings import Proxy, SettingError
from tests.support.node_agents import KEY, LOOPBACK, say_up

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
        return ask(Asker(KEY.encode(), "me", proxy=proxy), f"http://{host}:{port}/state", "", 0.0)

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
        return await ask(Asker(KEY.encode(), "me", networks=LOOPBACK), url, "", 0.0)

    assert asked(play)[0] == UP
    assert looked_up == ["node.example"], "another look could find another address"


def test_a_proxy_is_told_the_address_that_was_judged() -> None:
    def play(port: int) -> Awaitable[Reported]:
        asker = Asker(KEY.encode(), "me", proxy=Proxy("127.0.0.1", port), networks=LOOPBACK)
        return ask(asker, "http://localhost:9650/state", "", 0.0)

    assert asked(play) == (UP, ["GET http://127.0.0.1:9650/state?known=&wait=0 HTTP/1.1"])


def test_a_list_that_is_none_has_nobody_asked(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    asker = SiteAsker({"SLIPWAY_NODE_KEY_FILE": str(key), "SLIPWAY_NODE_NETWORKS": "everywhere"}, "me")
    with pytest.raises(SettingError, match="SLIPWAY_NODE_NETWORKS: 'everywhere' is not a list of networks"):
        asyncio.run(asker("alpha", {"n1": "http://10.0.0.1:9650/state"}, 1))


def test_who_is_told_nothing_asks_no_special_address() -> None:
    assert Asker(KEY.encode(), "me").networks == ALL_BUT_SPECIAL
