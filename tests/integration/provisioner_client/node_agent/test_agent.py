"""The node agent as a process: who is answered, when, and what it says before it ends."""

from __future__ import annotations

import asyncio
import http.client
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import provisioner_client.node_agent.agent as agent_file
from provisioner_client.node_agent.agent import MOST_LINGERING, answer_signature, own_names, read_key, signature
from provisioner_client.node_agent.cli import main
from provisioner_client.node_agent.request import AgentSilent, Asker, ask
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from tests.support.node_agents import KEY, LOOPBACK, AgentProcess

UP, INITIALIZING, STOPPING = NodeAvailability.UP, NodeAvailability.INITIALIZING, NodeAvailability.STOPPING


def asker(name: str = "me", key: str = KEY) -> Asker:
    return Asker(key.encode(), name, networks=LOOPBACK)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    started = AgentProcess(tmp_path)
    yield started
    started.kill()


def get(agent: AgentProcess, target: str, headers: dict[str, str], method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)
    try:
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def signed(nonce: str = "n" * 32, target: str = "/state", at: float = 0.0, key: str = KEY) -> dict[str, str]:
    sent = f"{time.time() + at:.3f}"
    return {
        "X-Slipway-Time": sent,
        "X-Slipway-Nonce": nonce,
        "X-Slipway-Asker": "me",
        "X-Slipway-Signature": signature(key.encode(), "GET", target, sent, nonce, "me"),
    }


def test_a_signed_request_is_answered_once(agent: AgentProcess) -> None:
    headers = signed()
    assert get(agent, "/state", headers)[0] == 200
    assert get(agent, "/state", headers) == (401, '{"error": "the nonce was used before"}')


REFUSED: list[tuple[str, Callable[[], dict[str, str]], str, int, str]] = [
    ("/state", lambda: {}, "GET", 401, "not signed"),
    ("/state", lambda: signed(key="another key"), "GET", 401, "not signed"),
    ("/state?known=down", signed, "GET", 401, "not signed"),
    ("/state", lambda: signed(at=-900), "GET", 401, "s apart: set this node's"),
    ("/state", lambda: signed(at=900), "GET", 401, "s apart: set this node's"),
    ("/state", lambda: signed(at=-200), "GET", 401, "older than this agent"),
    ("/state", lambda: signed(nonce="short"), "GET", 400, "the nonce must have 16"),
    ("/state?wait=1e9", lambda: signed(target="/state?wait=1e9"), "GET", 400, "wait must be 0 to 120 seconds"),
    ("/state?wait=nan", lambda: signed(target="/state?wait=nan"), "GET", 400, "wait must be 0 to 120 seconds"),
    ("/other", lambda: signed(target="/other"), "GET", 404, "/state alone"),
    ("/state", signed, "POST", 405, "only GET"),
]


def test_other_requests_are_refused(agent: AgentProcess) -> None:
    for target, headers, method, status, said in REFUSED:
        found = get(agent, target, headers(), method)
        assert found[0] == status, (target, found)
        assert said in found[1]


@asynccontextmanager
async def lingering(agent: AgentProcess, name: str = "me") -> AsyncIterator[asyncio.Future[Reported]]:
    """A request that waits at the agent; the ones before it have arrived."""
    task = asyncio.ensure_future(ask(asker(name), "n0", agent.url, "up", 60))
    await asyncio.sleep(0.1)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


def test_it_answers_at_once_where_the_known_state_is_wrong_and_else_when_it_changes(agent: AgentProcess) -> None:
    async def play() -> None:
        assert await ask(asker(), "n0", agent.url, "down", 60) == Reported(UP)
        assert await ask(asker(), "n0", agent.url, "up", 0.1) == Reported(UP)
        async with lingering(agent) as answer:
            agent.says("initializing  loads\nimages")
            assert await answer == Reported(INITIALIZING, "loads images")
        agent.says("dead")
        said = await ask(asker(), "n0", agent.url, "initializing", 60)
        assert said == Reported(
            NodeAvailability.DOWN, "state says 'dead', which is none of up, initializing, stopping, down"
        )

    asyncio.run(play())


def test_a_second_request_of_the_same_asker_answers_the_first(agent: AgentProcess) -> None:
    async def play() -> None:
        async with lingering(agent) as first, lingering(agent, "other") as other, lingering(agent) as second:
            assert await first == Reported(UP)
            assert not second.done()
            assert not other.done()

    asyncio.run(play())


def test_four_linger_at_most_and_who_has_gone_makes_room(agent: AgentProcess) -> None:
    async def play() -> None:
        async with lingering(agent, "gone"):
            pass
        tasks = []
        for number in range(MOST_LINGERING):
            tasks.append(asyncio.ensure_future(ask(asker(f"asker {number}"), "n0", agent.url, "up", 60)))
            await asyncio.sleep(0.05)
        assert not any(task.done() for task in tasks)
        tasks.append(asyncio.ensure_future(ask(asker("one more"), "n0", agent.url, "up", 60)))
        assert await tasks[0] == Reported(UP)
        assert not any(task.done() for task in tasks[1:])
        for task in tasks[1:]:
            task.cancel()
        await asyncio.wait(tasks)

    asyncio.run(play())


def test_silent_connections_do_not_keep_the_keys_holder_out(agent: AgentProcess) -> None:
    async def play() -> None:
        async with lingering(agent) as waits:
            silent = [await asyncio.open_connection("127.0.0.1", agent.port) for _ in range(200)]
            try:
                assert await ask(asker("other"), "n0", agent.url, "", 0) == Reported(UP)
                assert not waits.done(), "who has shown the key keeps the place"
                gone = sum([reader.at_eof() for reader, _ in silent])
                assert len(silent) - gone <= 64
            finally:
                for _, writer in silent:
                    writer.close()

    asyncio.run(play())


def test_it_says_that_it_stops_before_it_ends(agent: AgentProcess) -> None:
    async def play() -> None:
        async with lingering(agent) as one, lingering(agent, "other") as other:
            agent.process.terminate()
            expected = Reported(STOPPING, "its agent was told to stop")
            assert (await one, await other) == (expected, expected)

    asyncio.run(play())
    assert agent.close() == 0


def test_a_stopping_agent_waits_a_little_for_somebody_to_tell(agent: AgentProcess) -> None:
    agent.process.terminate()
    time.sleep(0.3)
    assert asyncio.run(ask(asker(), "n0", agent.url, "up", 60)).state is STOPPING
    assert agent.close() == 0


def test_what_does_not_count_is_an_error(agent: AgentProcess) -> None:
    with pytest.raises(AgentSilent, match="not signed with the key of this node's site"):
        asyncio.run(ask(asker(key="x" * 40), "n0", agent.url, "", 0))
    agent.kill()
    with pytest.raises(AgentSilent, match="Connect call failed"):
        asyncio.run(ask(asker(), "n0", agent.url, "", 0))


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [(0o644, KEY, "others may read"), (0o600, "short", "must have 32 characters"), (0o600, "", "must have 32")],
)
def test_a_key_that_is_none_is_named(tmp_path: Path, mode: int, text: str, said: str) -> None:
    file = tmp_path / "key"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(SystemExit, match=said):
        read_key(str(file))


def test_the_command_prints_what_a_node_needs() -> None:
    run = CliRunner().invoke(main, ["--print-agent"])
    assert run.output == Path(str(agent_file.__file__)).read_text()
    assert "ExecStart=/usr/bin/python3" in CliRunner().invoke(main, ["--print-unit"]).output


def test_rule_63_an_agent_signs_for_its_own_node_alone_and_by_the_version_that_it_is_asked_in(
    agent: AgentProcess,
) -> None:
    said = asyncio.run(ask(asker(), "n0", agent.url, "", 0))
    assert (said, said.signed) == (Reported(UP), 2)
    with pytest.raises(AgentSilent, match="HTTP 421: this agent speaks for n0, not for n1: set SLIPWAY_NODE_NAME"):
        asyncio.run(ask(asker(), "n1", agent.url, "", 0))
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)
    connection.request("GET", "/state", headers=signed("o" * 32))
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert answer.headers["X-Slipway-Signature"] == signature(KEY.encode(), "answer", "o" * 32, body)


def test_rule_63_who_asked_by_version_2_never_gets_a_signature_of_version_1(agent: AgentProcess) -> None:
    asked = (("/state?node=n0", 200), ("/state?node=", 421), ("/state?node=n1", 421))
    for number, (target, status) in enumerate(asked):
        nonce = str(number) * 32
        connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)
        connection.request("GET", target, headers=signed(nonce, target))
        answer = connection.getresponse()
        body, given = answer.read(), answer.headers["X-Slipway-Signature"]
        connection.close()
        assert answer.status == status
        assert given == (answer_signature(KEY.encode(), "n0", nonce, body) if status == 200 else "")


def test_without_a_name_it_is_that_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "cmp07.example.org")
    assert own_names("") == ("cmp07.example.org", "cmp07")
    assert own_names("n1") == ("n1",)
