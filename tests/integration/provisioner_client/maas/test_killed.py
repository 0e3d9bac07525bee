"""Killed between any two of MAAS's requests, a submission ends with each machine acted on once (rule 12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from provisioner_client.designs import DesignSource
from strategy_lib.phase import Phase
from tests.integration.provisioner_client.maas.conftest import NAMES, Admin, Finish
from tests.support.maas_clients import Killed, Wire, client, design

REFERENCE = "slipway-a-7"
DONE = {Phase.PREPARE: "prepares", Phase.DEPLOY: "deploys", Phase.DESTROY: "destroys"}
ACTS = ("op-commission", "op-deploy", "op-release")
BEFORE = {Phase.PREPARE: (), Phase.DEPLOY: (Phase.PREPARE,), Phase.DESTROY: (Phase.PREPARE, Phase.DEPLOY)}


@pytest.fixture
def ready(wire: Wire, admin: Admin, three: DesignSource, finish: Finish) -> Callable[[Phase], None]:
    """Bring new machines to where a phase begins."""

    def bring(phase: Phase) -> None:
        wire.heal()
        admin("POST", "reset")
        helper = client()
        for number, each in enumerate(BEFORE[phase]):
            helper.submit(each, three, NAMES, f"slipway-b-{number}", sent_ago=None)
            finish(helper, f"slipway-b-{number}", each)
        wire.seen.clear()

    return bring


def acted(admin: Admin, phase: Phase) -> list[int]:
    return [node[DONE[phase]] for node in admin("GET", "nodes")]


# A deploy has the most requests; the others are tried by `make endurance`.
PHASES = [
    Phase.DEPLOY,
    *(pytest.param(phase, marks=pytest.mark.endurance) for phase in (Phase.PREPARE, Phase.DESTROY)),
]


@pytest.mark.parametrize("phase", PHASES)
def test_whatever_request_it_is_killed_at(
    wire: Wire, admin: Admin, ready: Callable[[Phase], None], three: DesignSource, finish: Finish, phase: Phase
) -> None:
    """After each request that changes something: what was only read is of no use to the next process."""
    ready(phase)
    client().submit(phase, three, NAMES, REFERENCE, sent_ago=None)
    requests = len(wire.changes)
    assert requests > 1 + len(NAMES), "a tag, its machines, and each of them"
    for last in range(1, requests + 1):
        ready(phase)
        wire.kill_after(last)
        with pytest.raises(Killed):
            client().submit(phase, three, NAMES, REFERENCE, sent_ago=None)
        wire.heal()
        second = client()
        assert second.submit(phase, three, NAMES, REFERENCE, sent_ago=0.0) == REFERENCE
        task = finish(second, REFERENCE, phase)
        assert task.successes == set(NAMES), (last, task)
        assert acted(admin, phase) == [1, 1, 1], last
        doubles = admin("GET", "double-submissions")
        assert (doubles["overlapping"], doubles["same_reference"]) == ([], []), last


def test_a_relabelling_that_is_killed_at_any_request_is_finished(
    wire: Wire, ready: Callable[[Phase], None], finish: Finish
) -> None:
    source = design({"m0001": "{tags: [gpu], labels: {role: control}}", "m0002": "{labels: {role: compute}}"})
    names, wanted = NAMES[:2], {"m0001": {"gpu", "role__control"}, "m0002": {"role__compute"}}
    cuts = 0
    while True:
        ready(Phase.DEPLOY)
        cuts += 1
        wire.kill_after(cuts)
        try:
            client().submit(Phase.RELABEL, source, names, REFERENCE, sent_ago=None)
        except Killed:
            wire.heal()
            second = client()
            assert second.find(REFERENCE) is not None
            assert finish(second, REFERENCE, Phase.RELABEL, source).successes == set(names), cuts
            found = {one.name: one.tags - {REFERENCE} for one in second._api.machines_of("hostname", names)}
            assert {name: {tag for tag in tags if "slipway" not in tag} for name, tags in found.items()} == wanted
        else:
            break
    assert cuts > 6, "two tags of the task, three new ones with their machines, and what is settled"


@pytest.mark.parametrize("phase", PHASES)
def test_who_only_asks_goes_on_with_it_too(
    wire: Wire, admin: Admin, ready: Callable[[Phase], None], three: DesignSource, finish: Finish, phase: Phase
) -> None:
    """Until all machines had their turn the task is not complete."""
    for sent in (0, 2):
        ready(phase)
        wire.cut = lambda method, path, number, sent=sent: (  # type: ignore[misc]
            "before" if path.endswith(ACTS) and sum(one.endswith(ACTS) for one in wire.changes) == sent else ""
        )
        with pytest.raises(Killed):
            client().submit(phase, three, NAMES, REFERENCE, sent_ago=None)
        wire.heal()
        assert sum(acted(admin, phase)) == sent
        second = client()
        found = second.find(REFERENCE)
        assert found is not None
        assert found.successes == set(), "not complete"
        assert finish(second, REFERENCE, phase).successes == set(NAMES)
        assert acted(admin, phase) == [1, 1, 1]


@pytest.mark.parametrize("phase", PHASES)
def test_an_answer_that_is_lost_is_looked_for_in_the_ledger(
    wire: Wire, admin: Admin, ready: Callable[[Phase], None], three: DesignSource, finish: Finish, phase: Phase
) -> None:
    ready(phase)
    lost: set[str] = set()

    def lose(method: str, path: str, number: int) -> str:
        """Lose the answer of each change the first time."""
        first = method != "GET" and path not in lost
        lost.add(path)
        return "lost" if first else ""

    wire.cut = lose
    worker = client()
    worker.submit(phase, three, NAMES, REFERENCE)
    assert finish(worker, REFERENCE, phase).successes == set(NAMES)
    assert acted(admin, phase) == [1, 1, 1]
