"""A real Ironic: whatever is lost, and wherever a process is killed, each node is acted on once (rule 12).

Ironic's own history is the judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.protocol import TaskRef
from strategy_lib.phase import Phase
from tests.support.ironic_sites import IronicTestSite, finish
from tests.support.lossy_proxy import Loss, lossy_proxy

pytestmark = pytest.mark.endurance

DEPLOYED = Counter(deployment_start=1, deployment_end=1)
CLEANED = Counter(automated_cleaning_start=1, automated_cleaning_end=1)
DONE = {
    Phase.PREPARE: (CLEANED, "available"),
    Phase.DEPLOY: (CLEANED + DEPLOYED, "active"),
    Phase.DESTROY: (CLEANED + DEPLOYED + CLEANED, "available"),
}
CHANGES: dict[Phase, tuple[int, int]] = {Phase.PREPARE: (2, 2), Phase.DEPLOY: (1, 1), Phase.DESTROY: (1, 1)}
"""How many requests of each kind a phase takes for one node: marks (PATCH), and changes of state (PUT)."""
LOSSES: tuple[Loss, ...] = ("answer", "request", "failure")


class Killed(BaseException):
    """A process ends, wherever it is."""


@dataclass
class Mortal:
    """Kills a client at its n-th request that changes anything: before it is sent, or before its answer is read."""

    client: IronicProvisioner
    at: int
    when: str
    sent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        api: Any = self.client.site.api
        for name in ("patch", "provision"):
            setattr(api, name, self._counted(name, getattr(api, name)))

    def _counted(self, name: str, send: Callable[..., Any]) -> Callable[..., Any]:
        def sending(*given: Any, **more: Any) -> Any:
            self.sent.append(name)
            is_it = len(self.sent) == self.at
            if is_it and self.when == "before":
                raise Killed
            answer = send(*given, **more)
            if is_it:
                raise Killed
            return answer

        return sending


def made_ready(site: IronicTestSite, phase: Phase, names: list[str]) -> None:
    """Bring nodes to where a phase begins."""
    if phase is Phase.PREPARE:
        site.enroll(names)
        return
    site.make_available(names)
    if phase is Phase.DESTROY:
        client = site.client()
        client.submit(Phase.DEPLOY, site.design(names), names, "slipway-a-1")
        assert finish(client, "slipway-a-1").successes == set(names)


def judged(site: IronicTestSite, phase: Phase, names: list[str]) -> dict[str, str]:
    """Return the nodes to which something else than once the right thing was done, and what."""
    events, state = DONE[phase]
    found = {name: (site.events(name), site.node(name)["provision_state"]) for name in names}
    return {name: f"{told}" for name, told in found.items() if told != (events, state)}


@pytest.mark.parametrize("phase", DONE)
def test_rule_12_a_lost_answer_to_any_request(site: IronicTestSite, phase: Phase) -> None:
    patches, puts = CHANGES[phase]
    faults = [
        (method, after, loss)
        for method, many in (("PATCH", patches), ("PUT", puts), ("GET", 2))
        for after in range(many)
        for loss in LOSSES
    ]
    names = [f"{phase.value[:3]}-{method}-{after}-{loss}".lower() for method, after, loss in faults]
    made_ready(site, phase, names)

    def act(name: str, fault: tuple[str, int, Loss]) -> bool:
        method, after, loss = fault
        with lossy_proxy(site.ironic.url, "/v1/") as way:
            client, reference = site.client(way.url), f"slipway-a-2{name}"
            way.lose(method, loss, after=after)
            client.submit(phase, site.design([name]), [name], reference)
            return finish(client, reference).successes == {name}

    with ThreadPoolExecutor(len(faults)) as threads:
        assert all(threads.map(act, names, faults))
    assert judged(site, phase, names) == {}


@pytest.mark.parametrize("phase", DONE)
def test_rule_12_a_kill_between_any_two_requests(site: IronicTestSite, phase: Phase) -> None:
    kills = [(at, when) for at in range(1, sum(CHANGES[phase]) + 1) for when in ("before", "after")]
    names = [f"k{phase.value[:3]}-{at}-{when}" for at, when in kills]
    made_ready(site, phase, names)
    survived = []

    def act(name: str, kill: tuple[int, str]) -> bool:
        reference, design = f"slipway-a-2{name}", site.design([name])
        first = site.client()
        mortal = Mortal(first, *kill)
        is_submitted = False
        try:
            first.submit(phase, design, [name], reference)
            is_submitted = True
            finish(first, reference)
            survived.append((name, mortal.sent))
        except Killed:
            pass
        second = site.client()
        if not is_submitted:
            second.submit(phase, design, [name], reference)
        return finish(second, reference, design).successes == {name}

    with ThreadPoolExecutor(len(kills)) as threads:
        assert all(threads.map(act, names, kills))
    assert survived == [], "each is killed"
    assert judged(site, phase, names) == {}


def test_rule_12_two_processes_at_once(site: IronicTestSite) -> None:
    names = [f"n{number}" for number in range(6)]
    site.make_available(names)
    design = site.design(names)
    for phase, reference in ((Phase.DEPLOY, "slipway-a-1"), (Phase.DESTROY, "slipway-a-2")):
        clients = [site.client() for _ in range(2)]

        def act(client: IronicProvisioner, phase: Phase = phase, reference: str = reference) -> bool:
            client.submit(phase, design, names, reference)
            return finish(client, reference).successes == set(names)

        with ThreadPoolExecutor(2) as threads:
            assert all(threads.map(act, clients))
        assert judged(site, phase, names) == {}


def test_a_task_is_found_and_the_evidence_is_the_same_in_every_process(site: IronicTestSite) -> None:
    names = ["good", "bad", "worn"]
    site.ironic.play({"node": "bad", "phase": "deploy", "behaviour": "fail", "message": "no such disk"})
    site.make_available(names)
    site.call("PUT", "nodes/worn/maintenance", {"reason": "its fan"})
    reference = "slipway-mystore1-01M8J7TQMDR5E8R7BAVGWE91JH-7"
    client, design = site.client(), site.design(names)
    client.submit(Phase.DEPLOY, design, names, reference)
    finish(client, reference)
    for one in (client, site.client()):
        found = one.find(reference)
        assert found is not None
        assert (found.successes, found.failures) == (frozenset({"good"}), frozenset({"bad"}))
        evidence = one.evidence(TaskRef(reference, Phase.DEPLOY, reference), names)
        assert evidence.over
        assert evidence.messages["bad"] == "deploy failed: Deploy step deploy.deploy failed: no such disk."
        assert one.newest_op("mystore1") == 7
    assert "in maintenance (its fan), and is left alone" in evidence.messages["worn"]
    assert site.events("worn") == CLEANED
