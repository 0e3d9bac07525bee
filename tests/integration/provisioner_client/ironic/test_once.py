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


@dataclass(frozen=True)
class Case:
    """What is done to nodes, by how many marks (PATCH) and changes of state (PUT), and what is to come of it.

    `released`: they are deployed, and released for a rebuild.
    """

    name: str
    phase: Phase
    patches: int
    puts: int
    events: Counter[str]
    state: str
    released: bool = False


DEPLOY = Case("dep", Phase.DEPLOY, 1, 1, CLEANED + DEPLOYED, "active")
DESTROY = Case("des", Phase.DESTROY, 1, 1, CLEANED + DEPLOYED + CLEANED, "available")
CASES = [
    Case("pre", Phase.PREPARE, 2, 2, CLEANED, "available"),
    DEPLOY,
    DESTROY,
    Case("reb", Phase.DEPLOY, 1, 1, CLEANED + DEPLOYED + DEPLOYED, "active", released=True),
    # It is noted alone.
    Case("rel", Phase.RELEASE, 1, 0, CLEANED + DEPLOYED, "active"),
]
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
        api: Any = self.client.api
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


def made_ready(site: IronicTestSite, case: Case, names: list[str]) -> None:
    """Bring nodes to where a case begins."""
    if case.phase is Phase.PREPARE:
        site.enroll(names)
        return
    site.make_available(names)
    before = [] if case is DEPLOY else [(Phase.DEPLOY, "slipway-a-1")]
    before += [(Phase.RELEASE, "slipway-a-1r")] if case.released else []
    client, design = site.client(), site.design(names)
    for phase, reference in before:
        client.submit(phase, design, names, reference)
        assert finish(client, reference).successes == set(names)


def judged(site: IronicTestSite, case: Case, names: list[str]) -> dict[str, str]:
    """Return the nodes to which something else than once the right thing was done, and what."""
    found = {name: (site.events(name), site.node(name)["provision_state"]) for name in names}
    return {name: f"{told}" for name, told in found.items() if told != (case.events, case.state)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule_12_a_lost_answer_to_any_request(site: IronicTestSite, case: Case) -> None:
    faults = [
        (method, after, loss)
        for method, many in (("PATCH", case.patches), ("PUT", case.puts), ("GET", 2))
        for after in range(many)
        for loss in LOSSES
    ]
    names = [f"{case.name}-{method}-{after}-{loss}".lower() for method, after, loss in faults]
    made_ready(site, case, names)

    def act(name: str, fault: tuple[str, int, Loss]) -> bool:
        method, after, loss = fault
        with lossy_proxy(site.ironic.url, "/v1/") as way:
            client, reference = site.client(way.url), f"slipway-a-2{name}"
            way.lose(method, loss, after=after)
            client.submit(case.phase, site.design([name]), [name], reference)
            return finish(client, reference).successes == {name}

    with ThreadPoolExecutor(len(faults)) as threads:
        assert all(threads.map(act, names, faults))
    assert judged(site, case, names) == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule_12_a_kill_between_any_two_requests(site: IronicTestSite, case: Case) -> None:
    kills = [(at, when) for at in range(1, case.patches + case.puts + 1) for when in ("before", "after")]
    names = [f"k{case.name}-{at}-{when}" for at, when in kills]
    made_ready(site, case, names)
    survived = []

    def act(name: str, kill: tuple[int, str]) -> bool:
        reference, design = f"slipway-a-2{name}", site.design([name])
        first = site.client()
        mortal = Mortal(first, *kill)
        is_submitted = False
        try:
            first.submit(case.phase, design, [name], reference)
            is_submitted = True
            finish(first, reference)
            survived.append((name, mortal.sent))
        except Killed:
            pass
        second = site.client()
        if not is_submitted:
            second.submit(case.phase, design, [name], reference)
        return finish(second, reference, design).successes == {name}

    with ThreadPoolExecutor(len(kills)) as threads:
        assert all(threads.map(act, names, kills))
    assert survived == [], "each is killed"
    assert judged(site, case, names) == {}


def test_rule_12_two_processes_at_once(site: IronicTestSite) -> None:
    names = [f"n{number}" for number in range(6)]
    site.make_available(names)
    design = site.design(names)
    for case, reference in ((DEPLOY, "slipway-a-1"), (DESTROY, "slipway-a-2")):
        clients = [site.client() for _ in range(2)]

        def act(client: IronicProvisioner, phase: Phase = case.phase, reference: str = reference) -> bool:
            client.submit(phase, design, names, reference)
            return finish(client, reference).successes == set(names)

        with ThreadPoolExecutor(2) as threads:
            assert all(threads.map(act, clients))
        assert judged(site, case, names) == {}


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
        assert one.newest_reference("mystore1") == reference
    assert "in maintenance (its fan), and is left alone" in evidence.messages["worn"]
    assert site.events("worn") == CLEANED
