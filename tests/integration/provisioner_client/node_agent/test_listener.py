"""Many nodes asked at once: real agents on loopback, and servers that answer as no agent does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pytest

import provisioner_client.node_agent.listener as listener_file
import provisioner_client.node_agent.request as request_file
from provisioner_client.errors import ProvisionerError
from provisioner_client.node_agent.agent import answer_signature, signature
from provisioner_client.node_agent.listener import AgentListener, Pace
from provisioner_client.node_agent.request import (
    LONGEST_ANSWER,
    AgentSilent,
    Asker,
    ask,
    ask_nodes,
    read_answer,
    read_site_key,
)
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.settings import SettingError
from tests.support.node_agents import KEY, LOOPBACK, AgentProcess, key_file, say_up

QUICK = Pace(turn=0.1, again=0.1, silent=(0.1,))
HEAD = "HTTP/1.1 200 OK\r\nX-Slipway-Signature: 00\r\n\r\n"


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[list[AgentProcess]]:
    started = []
    for number in range(3):
        work = tmp_path / str(number)
        work.mkdir()
        started.append(AgentProcess(work, node=f"n{number}"))
    yield started
    for agent in started:
        agent.kill()


@pytest.fixture
def listener() -> Iterator[AgentListener]:
    made = AgentListener("me", lambda site: KEY.encode(), QUICK, networks=LOOPBACK)
    yield made
    made.close()


class Collected:
    """What was heard so far: node to its states, "silent" where it did not answer."""

    def __init__(self, listener: AgentListener) -> None:
        self._listener = listener
        self.words: dict[str, list[str]] = {}

    def until(self, fits: Callable[[dict[str, list[str]]], bool]) -> dict[str, list[str]]:
        ends = time.monotonic() + 20
        while not fits(self.words):
            assert time.monotonic() < ends, self.words
            for name, word in self._listener.heard("s"):
                said = "silent" if word is None else word.state.value
                if self.words.setdefault(name, [""])[-1] != said:
                    self.words[name].append(said)
            time.sleep(0.01)
        return self.words


def last(words: dict[str, list[str]]) -> dict[str, str]:
    return {name: said[-1] for name, said in words.items()}


@pytest.mark.parametrize("most", [10, 1], ids=["one pending per node", "in turn"])
def test_each_change_is_heard(listener: AgentListener, agents: list[AgentProcess], most: int) -> None:
    urls = {f"n{number}": agent.url for number, agent in enumerate(agents)}
    listener.follow("s", 1, lambda: urls, most)
    heard = Collected(listener)
    heard.until(lambda words: last(words) == dict.fromkeys(urls, "up"))
    agents[0].says("initializing")
    heard.until(lambda words: last(words).get("n0") == "initializing")
    agents[0].says("up")
    agents[1].kill()
    heard.until(lambda words: last(words) == {"n0": "up", "n1": "silent", "n2": "up"})
    agents[2].process.terminate()
    words = heard.until(lambda words: last(words)["n2"] == "silent")
    assert words["n2"] == ["", "up", "stopping", "silent"]
    assert words["n0"] == ["", "up", "initializing", "up"]


def test_nodes_come_and_go_with_the_design(listener: AgentListener, agents: list[AgentProcess]) -> None:
    heard = Collected(listener)
    listener.follow("s", 1, lambda: {"n0": agents[0].url, "n1": agents[1].url}, 10)
    heard.until(lambda words: last(words) == {"n0": "up", "n1": "up"})
    asked: list[int] = []

    def again() -> dict[str, str]:
        asked.append(1)
        return {}

    listener.follow("s", 1, again, 10)
    listener.follow("s", 2, lambda: {"n1": agents[1].url, "n2": agents[2].url}, 10)
    heard.until(lambda words: last(words) == {"n0": "silent", "n1": "up", "n2": "up"})
    assert asked == [], "that version was followed already"
    listener.forget("s")
    agents[1].says("down")
    assert listener.heard("s") == []


def test_without_a_key_nothing_is_asked_until_there_is_one(agents: list[AgentProcess]) -> None:
    keys: list[bytes] = []

    def key(site: str) -> bytes:
        if keys:
            return keys[0]
        keys.append(KEY.encode())
        raise ProvisionerError("there is none")

    listener = AgentListener("me", key, QUICK, networks=LOOPBACK)
    try:
        listener.follow("s", 1, lambda: {"n0": agents[0].url}, 10)
        Collected(listener).until(lambda words: last(words) == {"n0": "up"})
    finally:
        listener.close()


def test_more_nodes_than_connections_are_made_at_once(
    agents: list[AgentProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_file, "_MOST_CONNECTING", 1)
    listener = AgentListener("me", lambda site: KEY.encode(), QUICK, networks=LOOPBACK)
    urls = {f"n{number}": agent.url for number, agent in enumerate(agents)}
    try:
        listener.follow("s", 1, lambda: urls, 10)
        # Each request is pending then: what is made one at a time are connections, and not questions.
        heard = Collected(listener)
        heard.until(lambda words: last(words) == dict.fromkeys(urls, "up"))
        for agent in agents:
            agent.says("down")
        heard.until(lambda words: last(words) == dict.fromkeys(urls, "down"))
    finally:
        listener.close()


def test_the_time_of_a_question_begins_with_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_file, "BEYOND_WAIT", 1.0)

    async def asked() -> Reported | str:
        server = await asyncio.start_server(say_up, "127.0.0.1", 0)
        connecting = asyncio.Semaphore(1)
        asker = Asker(KEY.encode(), "me", connecting=connecting, networks=LOOPBACK)
        async with server:
            async with connecting:
                question = asyncio.create_task(ask(asker, "n1", _url_of(server), "", 0.0))
                done, _ = await asyncio.wait({question}, timeout=1.5)
                assert not done, "others are connecting"
            return await question

    assert asyncio.run(asked()) == Reported(NodeAvailability.UP, "")


@contextmanager
def served(serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> Iterator[str]:
    """Serve connections in a thread, and give the URL."""
    urls: Queue[str] = Queue()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            urls.put(_url_of(server))
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        yield urls.get(timeout=10)
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


def _url_of(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/state"


def test_an_answer_counts_only_as_an_agent_with_the_key_gives_it() -> None:
    async def answered(text: str) -> str:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(text.encode())
            try:
                await writer.drain()
            except ConnectionError:
                return
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(AgentSilent) as caught:
                await ask(Asker(KEY.encode(), "me", networks=LOOPBACK), "n1", f"http://127.0.0.1:{port}/state", "up", 0)
            return caught.value.detail

    async def play() -> None:
        elsewhere = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/state\r\n\r\n"
        assert await answered(elsewhere) == "HTTP 302"
        assert await answered(HEAD + " " * (LONGEST_ANSWER + 1)) == "its answer is longer than 64 KiB"
        unsigned = "its answer is not signed with the key of the site, or for another node"
        assert await answered(HEAD + '{"state": "down"}') == unsigned
        assert await answered("hello") == "its answer is no HTTP"
        assert await answered('HTTP/1.1 401 No\r\n\r\n{"error": "an\\nold nonce"}') == "HTTP 401: an old nonce"

    asyncio.run(play())


@pytest.mark.parametrize("most", [10, 1], ids=["one pending per node", "in turn"])
@pytest.mark.parametrize("answer", [HEAD + "[" * 30_000, "HTTP/1.1 401 No\r\n\r\n" + "[" * 30_000])
def test_one_nodes_nonsense_stops_the_asking_of_nobody(
    listener: AgentListener, agents: list[AgentProcess], most: int, answer: str
) -> None:
    mends = threading.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if mends.is_set():
            await say_up(reader, writer)
            return
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer.encode())
        writer.close()

    with served(serve) as url:
        listener.follow("s", 1, lambda: {"bad": "http://[", "n0": agents[0].url, "n1": url}, most)
        heard = Collected(listener)
        heard.until(lambda words: last(words) == {"bad": "silent", "n0": "up", "n1": "silent"})
        mends.set()
        heard.until(lambda words: last(words) == {"bad": "silent", "n0": "up", "n1": "up"})
        mends.clear()
        asker = Asker(KEY.encode(), "me", networks=LOOPBACK)
        answers = asyncio.run(ask_nodes(asker, {"bad": "http://[", "n0": agents[0].url, "n1": url}, most))
    assert answers["n0"] == Reported(NodeAvailability.UP, "")
    assert {type(answers[name]) for name in ("bad", "n1")} == {str}


def test_a_signed_answer_may_still_say_nothing_that_is_known() -> None:
    def answer(body: str) -> bytes:
        return f"HTTP/1.1 200 OK\r\nX-Slipway-Signature: {signature(b'k', 'answer', 'n', body)}\r\n\r\n{body}".encode()

    assert read_answer(Asker(b"k", "me"), "n1", "n", answer('{"state": "up", "reason": "a\\u0007 b"}')) == Reported(
        read_answer(Asker(b"k", "me"), "n1", "n", answer('{"state": "up"}')).state, "a b"
    )
    for body in (
        '{"state": "maintenance"}',
        "[]",
        "{}",
        "[" * 30_000,
        "hello",
        '{"state": ' + "[" * 900 + "]" * 900 + "}",
    ):
        with pytest.raises(AgentSilent, match="is not understood"):
            read_answer(Asker(b"k", "me"), "n1", "n", answer(body))


def test_what_is_not_signed_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_file, "read_json", lambda *_: pytest.fail("it was read"))
    for body in (b'{"state": "up"}', b"[" * 30_000, b"\xff"):
        with pytest.raises(AgentSilent, match="not signed with the key of the site, or for another node"):
            read_answer(Asker(b"k", "me"), "n1", "n", HEAD.encode() + body)


def test_the_key_of_a_site_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    file = key_file(tmp_path / "r1.key", KEY + "\n")
    environ = {"SLIPWAY_NODE_KEY_FILE": str(tmp_path / "{site}.key")}
    assert read_site_key(environ, "r1") == KEY.encode()
    for site, words in (("r2", "cannot be read"), ("../r1", "no name for a file")):
        with pytest.raises(SettingError, match=words):
            read_site_key(environ, site)
    with pytest.raises(SettingError, match="SLIPWAY_NODE_KEY_FILE: set it"):
        read_site_key({}, "r1")
    file.chmod(0o640)
    with pytest.raises(SettingError, match="chmod 600"):
        read_site_key(environ, "r1")
    file.chmod(0o600)
    file.write_text("short")
    with pytest.raises(SettingError, match="32 characters"):
        read_site_key(environ, "r1")


def test_rule_63_the_answer_of_one_node_is_not_anothers() -> None:
    body = '{"state": "up", "reason": ""}'

    def answer(signed: str) -> bytes:
        return f"HTTP/1.1 200 OK\r\nX-Slipway-Signature: {signed}\r\n\r\n{body}".encode()

    asker = Asker(b"k", "me")
    own = answer(answer_signature(b"k", "n1", "nonce", body.encode()))
    assert read_answer(asker, "n1", "nonce", own).signed == 2
    old = answer(signature(b"k", "answer", "nonce", body))
    assert read_answer(asker, "n1", "nonce", old).signed == 1
    for name, nonce in (("n2", "nonce"), ("n1", "other"), ("n", "1nonce")):
        with pytest.raises(AgentSilent, match="or for another node"):
            read_answer(asker, name, nonce, own)
    strict = Asker(b"k", "me", least=2)
    assert read_answer(strict, "n1", "nonce", own).signed == 2
    with pytest.raises(AgentSilent, match="and SLIPWAY_NODE_SIGNATURES is 2: put the present agent on the node"):
        read_answer(strict, "n1", "nonce", old)
