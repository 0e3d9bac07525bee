"""Contract: who follows the list of nodes by its changes comes to the list that `nodes` gives, and sees no stranger.

Each change is told of within a time that docs/provisioner.md promises: with the next look, within a minute or an hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from provisioner_client.protocol import ListedNode, Provisioner
from strategy_lib.phase import Phase
from tests.contract.servers import ContractDrydock, ContractMaas
from tests.support.maas_calls import MaasCaller

Connect = Callable[..., Provisioner]
Run = Callable[..., str]
Step = tuple[str, float, Callable[[], object]]
"""What happens, after how many seconds it is told of at the latest, and what makes it happen."""

NEXT, MINUTE, HOUR = 5.0, 60.0, 3600.0
NODES = ["c1", "c2", "w1", "w4"]
STRANGERS = {"w2", "w3"}
LAB, ELSEWHERE = "lab", "elsewhere"


@dataclass
class Follower:
    """Looks again and again, each time as another process that has nothing but the last cursor and list."""

    connect: Connect
    address: str
    limits: dict[str, str]
    now: float = field(default_factory=time.time)
    cursor: str | None = None
    known: dict[str, ListedNode] = field(default_factory=dict)

    def look(self, after: float) -> None:
        """Look, so many seconds after the last time."""
        self.now += after
        found = self._client().observe(self.cursor, self.known)
        self.known = {**({} if found.is_whole else self.known), **found.nodes}
        self.cursor = found.cursor
        assert not STRANGERS & self.known.keys()

    def agrees(self, after: float) -> bool:
        """Look, and say whether that comes to what all nodes are; whatever is still on its way is waited for."""
        until = time.monotonic() + 300
        while True:
            before = self._client().nodes()
            self.look(after)
            if self._client().nodes() == before:
                return self.known == before
            assert time.monotonic() < until, "the nodes do not come to rest"
            after = NEXT

    def _client(self) -> Provisioner:
        return self.connect(self.address, wall_clock=lambda: self.now, **self.limits)


def on_both(server: ContractDrydock, run: Run) -> Iterator[Step]:
    """Yield what Slipway does, and what happens without a word from the provisioner."""
    yield "deployed", NEXT, lambda: run(Phase.DEPLOY, ["c1"], "slipway-a-2")
    server.script("c2", "deploy", "fail")
    yield "failed", NEXT, lambda: run(Phase.DEPLOY, ["c2"], "slipway-a-3")
    yield "lost its power", MINUTE, lambda: server.post("nodes/c1", {"power_state": "off"})
    yield "has its power again", MINUTE, lambda: server.post("nodes/c1", {"power_state": "on"})
    yield "has another status", HOUR, lambda: server.post("nodes/w1", {"status": "Broken"})
    yield "destroyed", NEXT, lambda: run(Phase.DESTROY, ["c1"], "slipway-a-4")


def on_drydock(server: ContractDrydock) -> Iterator[Step]:
    """Yield how a machine leaves Drydock's list and comes back."""
    yield "gone", NEXT, lambda: server.post("nodes/w4", {"hidden": True})
    yield "there again", NEXT, lambda: server.post("nodes/w4", {"hidden": False})


def on_maas(server: ContractMaas) -> Iterator[Step]:
    """Yield what others do in MAAS: with machines of the site, and with those that are not, or no longer, its own."""
    ours, bob = map(server.caller, server.users)
    w4 = f"machines/{ours.machine('w4')['system_id']}/"

    def act(who: MaasCaller, name: str, operation: str, status: str) -> Callable[[], object]:
        return lambda: (who.act(name, operation), who.wait(name, status))

    def tag(**change: str) -> Callable[[], object]:
        return lambda: ours.post(f"tags/{LAB}/", "update_nodes", **change)

    def left_and_released() -> None:
        ours.call("PUT", w4, pool=ELSEWHERE)
        act(bob, "w4", "release", "Ready")()

    yield "deployed by bob", NEXT, act(bob, "w4", "deploy", "Deployed")
    yield "released by bob", NEXT, act(bob, "w4", "release", "Ready")
    yield "marked broken", NEXT, act(ours, "c2", "mark_broken", "Broken")
    yield "marked fixed", NEXT, lambda: ours.act("c2", "mark_fixed")
    yield "owned by carol", HOUR, lambda: server.post("nodes/w4", {"owner": "carol"})
    yield "owned by nobody", HOUR, lambda: server.post("nodes/w4", {"owner": None})
    yield "renamed", HOUR, lambda: ours.call("PUT", w4, hostname="other")
    yield "renamed again", HOUR, lambda: ours.call("PUT", w4, hostname="w4")
    yield "lost the tag", HOUR, tag(remove=ours.machine("w4")["system_id"])
    yield "has the tag again", HOUR, tag(add=ours.machine("w4")["system_id"])
    yield "left the pool", HOUR, lambda: ours.call("PUT", w4, pool=ELSEWHERE)
    yield "deployed there by bob", NEXT, act(bob, "w4", "deploy", "Deployed")
    yield "came back", HOUR, lambda: ours.call("PUT", w4, pool="default")
    yield "left, and was released", NEXT, left_and_released
    yield "came back once more", HOUR, lambda: ours.call("PUT", w4, pool="default")
    yield "a stranger without the tag is commissioned", NEXT, act(bob, "w2", "commission", "Ready")
    yield "a stranger of another pool is commissioned", NEXT, act(bob, "w3", "commission", "Ready")
    yield "deleted", HOUR, lambda: ours.call("DELETE", w4)


@pytest.fixture
def follower(simulator: ContractDrydock, connect: Connect, run: Run) -> Follower:
    """Who looks at four machines, which are prepared; of a MAAS two more are beyond the tag, or the pool."""
    run(Phase.PREPARE, NODES, "slipway-a-1")
    if not isinstance(simulator, ContractMaas):
        for name in STRANGERS:
            simulator.post(f"nodes/{name}", {"hidden": True})
        return Follower(connect, simulator.address, {})
    ours = simulator.caller(simulator.users[0])
    ours.post("tags/", name=LAB)
    ours.post("resourcepools/", name=ELSEWHERE)
    ids = {one["hostname"]: one["system_id"] for one in ours.get("machines/").data}
    ours.post(f"tags/{LAB}/", "update_nodes", add=[ids[name] for name in [*NODES, "w3"]])
    ours.call("PUT", f"machines/{ids['w3']}/", pool=ELSEWHERE)
    return Follower(connect, simulator.address, {"tag": LAB})


def test_after_every_change_the_changes_and_the_whole_list_agree(
    simulator: ContractDrydock, follower: Follower, run: Run
) -> None:
    assert follower.agrees(0)
    assert follower.known.keys() == set(NODES)
    more = on_maas(simulator) if isinstance(simulator, ContractMaas) else on_drydock(simulator)
    for steps in (on_both(simulator, run), more):
        for what, told_after, change in steps:
            change()
            assert follower.agrees(told_after), what
    assert follower.agrees(HOUR)
