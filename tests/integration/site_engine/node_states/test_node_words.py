"""A leader and a real node agent: what the node says lowers its state, is published, and is no drift (rule 50)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from provisioner_client.node_agent.listener import AgentListener, Pace
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.node_states.leader import SiteLeader
from site_engine.trees.status_trees import site_tree
from site_store import KeyMissing, SiteStore
from site_store.sql import sealing
from site_store.status.leases import CONTROLLER, lease_of
from strategy_lib.node_states.node_memory import NodeMemory
from strategy_lib.status.entry import EntryKind
from tests.integration.site_store.scenario import SITE
from tests.support.node_agents import KEY, LOOPBACK, AgentProcess, say_up
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import new_store

ON = {"n1": {"status": "Deployed", "power": "on", "condition": "deployed"}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SiteStore]:
    with new_store() as url, SiteStore.open(url) as opened:
        yield opened


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    started = AgentProcess(tmp_path, node="n1")
    yield started
    started.kill()


@pytest.fixture
def listener() -> Iterator[AgentListener]:
    made = AgentListener("me", lambda site: KEY.encode(), Pace(silent=(0.1,)), networks=LOOPBACK)
    yield made
    made.close()


def commit(store: SiteStore, health_url: str, *others: str) -> None:
    here = node("n1")
    here["data"]["addressing"] = [{"network": "loop", "address": "127.0.0.1"}]
    settings = {"node_states": {"health_url": health_url, "transition_time": 3, "min_time_between_versions": 0}}
    more = [document("drydock/Network/v1", "loop", {"cidr": "127.0.0.0/8"})]
    more.append(document("slipway/SiteSettings/v1", "settings", settings))
    design = site([here], [group("g", ["n1"])], region=SITE)
    commit_design(store, SITE, design + "".join(f"---\n{one}\n" for one in (*map(json.dumps, more), *others)))


def seen(leader: SiteLeader, store: SiteStore, fits: Callable[[NodeMemory], bool]) -> NodeMemory:
    ends = time.monotonic() + 20
    while True:
        leader.look()
        known = store.site_views.memory(SITE).get("n1")
        if known is not None and fits(known):
            return known
        assert time.monotonic() < ends, known
        time.sleep(0.02)


@pytest.mark.endurance
def test_what_a_node_says_of_itself_lowers_its_state(
    store: SiteStore, agent: AgentProcess, listener: AgentListener
) -> None:
    commit(store, f"http://{{address:loop}}:{agent.port}/state")
    held = store.leases.take(lease_of(SITE), "me", 60)
    assert held is not None
    leader = SiteLeader(store, SITE, held, store.now().timestamp(), listener=listener)
    store.provisioner_lists.save(SITE, "c", ON)
    seen(leader, store, lambda known: known.history.state == "up")
    agent.says("initializing loads images")
    known = seen(leader, store, lambda known: known.history.state == "initializing")
    assert (known.view.state, known.said) == ("initializing", "loads images")
    assert known.view.reason == "reported initializing; the node says: loads images"
    agent.says("up")
    seen(leader, store, lambda known: known.view.state == "up")
    agent.process.terminate()
    known = seen(leader, store, lambda known: known.history.state == "stopping")
    assert known.view.reason.startswith("stopping: it may be restarting")
    assert known.view.reason.endswith("; the node says: its agent was told to stop")
    # It answers no more: after the transition time, which is short here, the list alone decides.
    known = seen(leader, store, lambda known: known.view.state == "up")
    assert (known.said, known.history.crashes) == ("", 2)
    watch = DriftWatch(store, SITE)
    for _ in range(2):
        watch.look(held)
    assert store.drifts.judged(SITE) == [] or all(one.drifted is None for one in store.drifts.judged(SITE))


def test_nodes_are_asked_no_more_where_the_settings_say_so(
    store: SiteStore, agent: AgentProcess, listener: AgentListener
) -> None:
    agent.says("down its disk")
    commit(store, f"http://{{address:loop}}:{agent.port}/state")
    held = store.leases.take(lease_of(SITE), "me", 60)
    assert held is not None
    leader = SiteLeader(store, SITE, held, store.now().timestamp(), listener=listener)
    store.provisioner_lists.save(SITE, "c", ON)
    seen(leader, store, lambda known: known.said == "its disk")
    commit(store, "")
    known = seen(leader, store, lambda known: known.view.state == "up")
    assert known.said == ""
    assert listener.heard(SITE) == []


class OldAgent:
    """An agent of version 1 of signatures, in a thread, in place of the one that listened at a port."""

    def __init__(self, port: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(say_up, "127.0.0.1", port))
        self.port = int(self.server.sockets[0].getsockname()[1])
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


def signed_as(store: SiteStore) -> int | None:
    found: int | None = store._database.read(lambda tx: tx.scalar(text("SELECT signed FROM node WHERE name = 'n1'")))
    return found


def test_rule_63_an_agent_that_does_not_name_its_node_counts_until_it_did(
    store: SiteStore, tmp_path: Path, listener: AgentListener, caplog: pytest.LogCaptureFixture
) -> None:
    old = OldAgent(0)
    commit(store, f"http://{{address:loop}}:{old.port}/state")
    held = store.leases.take(lease_of(SITE), "me", 60)
    assert held is not None
    leader = SiteLeader(store, SITE, held, store.now().timestamp(), listener=listener)
    store.provisioner_lists.save(SITE, "c", ON)
    seen(leader, store, lambda _: signed_as(store) == 1)
    old.close()
    events = text("SELECT node, message FROM event WHERE message LIKE '%does not name its node%'")
    (told,) = store._database.read(lambda tx: tx.execute(events).all())
    assert (told.node, told.message.endswith("put the present agent on it")) == ("n1", True)
    agent = AgentProcess(tmp_path, port=old.port, node="n1")
    agent.says("down its disk")
    seen(leader, store, lambda known: known.said == "its disk")
    assert signed_as(store) == 2
    agent.kill()
    # Somebody who has the key answers in its place, and says that all is well.
    old = OldAgent(old.port)
    try:
        seen(leader, store, lambda _: "what node n1 says does not count" in caplog.text)
        # Another leader knows that it did, too.
        leader = SiteLeader(store, SITE, held, store.now().timestamp(), listener=listener)
        known = seen(leader, store, lambda known: known.view.state == "up")
        assert (known.said, signed_as(store)) == ("", 2)
    finally:
        old.close()


def watching(store: SiteStore) -> tuple[str | None, str]:
    """Return how it stands with the watch over the site, and what is said of it."""
    (entry,) = [one for one in site_tree(store, SITE, depth=None).root.children if one.kind is EntryKind.WATCHING]
    return entry.status, " ".join(entry.messages)


def test_rule_62_a_controller_without_the_key_of_the_store_leads_its_sites_and_says_what_it_cannot_do(
    monkeypatch: pytest.MonkeyPatch, listener: AgentListener, caplog: pytest.LogCaptureFixture
) -> None:
    with new_store() as url:
        with SiteStore.open(url) as store:
            secret = json.dumps(document("deckhand/Passphrase/v1", "pass", "correct-horse-77"))
            commit(store, "http://{address:loop}:1/state", secret)
            store.provisioner_lists.save(SITE, "c", ON)
        monkeypatch.delenv("SLIPWAY_STORE_KEYS_FILE")
        monkeypatch.setattr(sealing, "_handed", [])
        with SiteStore.open(url) as store:
            held = store.leases.take(lease_of(SITE), "me", 60)
            assert held is not None
            leader = SiteLeader(store, SITE, held, store.now().timestamp() - 60, listener=listener)
            said = "where its nodes are asked is not known: it is encrypted with the key of fingerprint"
            known = seen(leader, store, lambda _: said in caplog.text)
            assert (known.view.state, leader.is_ready) == ("up", True)
            assert store.leases.take(CONTROLLER, "me", 60) is not None
            assert watching(store) == ("success", "")
            watch, token = DriftWatch(store, SITE), store.trees.site_token(SITE)
            for _ in range(2):
                with pytest.raises(KeyMissing, match="and this process has none: add that key to the file of"):
                    watch.look(held)
            status, said = watching(store)
            assert (status, store.trees.site_token(SITE) == token) == ("error", False)
            assert said.startswith(
                "the controller cannot read the design, and so finds no drift and asks no node agents"
            )
            assert "this process has none: add that key to the file of SLIPWAY_STORE_KEYS_FILE" in said
            assert site_tree(store, SITE).header["healthy"] is False
        monkeypatch.undo()
        with SiteStore.open(url) as store:
            # Another is given the keys, and begins to lead.
            DriftWatch(store, SITE).look(held)
            assert watching(store) == ("success", "")
