"""Several at once, and some that are killed: what only one may get, exactly one gets (rules 12, 24 and 45)."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing.connection import Connection

import pytest

from site_store import Claim, LockOwner, NewAction, NewPlan, OperationStatus, PlannedGroup, SiteBusy, SiteStore
from strategy_lib.node import NodeState
from strategy_lib.phase import SUBMITTED_PHASES, Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.racing import CALLERS, at_once
from tests.integration.site_store.scenario import SITE, Scenario, outcome
from tests.support.processes import tied
from tests.support.revisions import commit_design

ROUNDS = 3


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_rule_24_of_many_who_want_a_site_one_gets_it(site: Scenario, stores: list[SiteStore], attempt: int) -> None:
    actions = [site.action(f"run-{attempt}-{number}") for number in range(CALLERS)]

    def acquire(store: SiteStore, action_id: str) -> str:
        try:
            store.locks.acquire(action_id)
        except SiteBusy as busy:
            return busy.owner.action_id
        return action_id

    owners = at_once([partial(acquire, store, action.id) for store, action in zip(stores, actions, strict=True)])
    assert len(set(owners)) == 1
    running = [action.id for action in site.store.actions.unfinished(SITE) if action.state == "running"]
    assert running == owners[:1]


def test_rule_24_of_many_who_find_the_owner_dead_one_replaces_it(site: Scenario, stores: list[SiteStore]) -> None:
    site.store.locks.acquire(site.action("dead").id)
    owner = site.store.locks.owner(SITE)
    assert isinstance(owner, LockOwner)
    actions = [site.action(f"run-{number}") for number in range(CALLERS)]
    taken = at_once(
        [partial(store.locks.take_over, action.id, owner) for store, action in zip(stores, actions, strict=True)]
    )
    assert sorted(taken) == [False] * (CALLERS - 1) + [True]


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_rule_12_one_operation_begun_by_many_is_one(site: Scenario, stores: list[SiteStore], attempt: int) -> None:
    record = site.open(site.running({"a": [f"n{number}" for number in range(20)]}), "a")
    begun = at_once([partial(Scenario(store, site.clock).begin, record, Phase.PREPARE) for store in stores])
    assert len({operation.op for operation in begun}) == 1
    assert {operation.nodes for operation in begun} == {record.nodes}
    leased = at_once(
        [partial(store.operations.acquire_lease, begun[0].op, f"p{n}", 30) for n, store in enumerate(stores)]
    )
    assert sorted(leased) == [False] * (CALLERS - 1) + [True]


@pytest.mark.parametrize("phase", SUBMITTED_PHASES)
@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_rule_12_a_node_of_many_groups_is_claimed_once(
    site: Scenario, stores: list[SiteStore], attempt: int, phase: Phase
) -> None:
    nodes = [f"n{number:03}" for number in range(200)]
    action = site.running({"first": nodes} | {f"g{number}": nodes for number in range(CALLERS)})
    if phase is Phase.DEPLOY:
        site.do(site.open(action, "first"), Phase.PREPARE)
    records = [site.open(action, f"g{number}") for number in range(CALLERS)]
    # Each asks in another order and for another part, so that they meet in the middle.
    begun = at_once(
        [
            partial(Scenario(store, site.clock).begin, record, phase, nodes[n * 10 : 150 + n * 10])
            for n, (store, record) in enumerate(zip(stores, records, strict=True))
        ]
    )
    claimed = [name for operation in begun for name in operation.nodes]
    assert sorted(claimed) == nodes
    owners = {
        tasks.node: (tasks.prepare if phase is Phase.PREPARE else tasks.deploy).op
        for tasks in site.store.tasks.of_nodes(action.id)
    }
    assert owners == {name: operation.op for operation in begun for name in operation.nodes}
    # And each group sees as under way what it got itself, and nothing else.
    under_way = {NodeState.PREPARING, NodeState.DEPLOYING}
    for record, operation in zip(records, begun, strict=True):
        seen = site.store.tasks.attempt_states(action.id, record.name, record.attempt)
        assert tuple(sorted(name for name, state in seen.items() if state in under_way)) == operation.nodes
        assert {state for state in seen.values() if state not in under_way} == {NodeState.UNKNOWN}


def test_rule_23_an_attempt_opened_by_many_is_one(site: Scenario, stores: list[SiteStore]) -> None:
    action, first = site.opened({"a": ["n1"]}, key="k1")
    site.do(first, Phase.PREPARE, outcome(failed=["n1"]))
    site.fail(first)
    opened = at_once([partial(store.groups.open_attempt, action.id, "a", "k2") for store in stores])
    assert {record.attempt for record in opened} == {2}
    assert sum(event.kind == "new_attempt" for event in site.store.events.of_action(action.id)) == 1


def test_rule_14_a_late_result_beside_a_new_attempt_is_never_half_applied(
    site: Scenario, stores: list[SiteStore]
) -> None:
    nodes = [f"n{number}" for number in range(50)]
    action, first = site.opened({"a": nodes}, key="k1")
    old = site.submit(site.begin(first, Phase.PREPARE))
    site.record(old, outcome(unknown=nodes), status=OperationStatus.TIMED_OUT)
    site.fail(first)
    calls: list[Callable[[], object]] = [
        lambda: stores[0].operations.record_late_outcome(old.op, outcome(nodes)),
        lambda: stores[1].groups.open_attempt(action.id, "a", "k2"),
    ]
    known = at_once(calls)[0]
    # Either may have come first: the nodes are prepared by the late result, or to be prepared again.
    assert set(site.states(action).values()) == ({"prepared"} if known else {"not_started"})


def test_one_plan_of_many(site: Scenario, stores: list[SiteStore]) -> None:
    action = site.action()
    plans = [[PlannedGroup(Group(f"g{number}", critical=True), (f"n{number}",))] for number in range(CALLERS)]
    saved = at_once(
        [
            partial(store.groups.save_plan, action.id, NewPlan(plan, [], {}))
            for store, plan in zip(stores, plans, strict=True)
        ]
    )
    assert sorted(saved) == [False] * (CALLERS - 1) + [True]
    assert [group.name for group in site.store.groups.of_action(action.id)] == [f"g{saved.index(True)}"]


def test_counts_read_while_others_write_are_of_one_moment(site: Scenario, stores: list[SiteStore]) -> None:
    action = site.holding()
    nodes = tuple(f"n{number}" for number in range(100))
    ended = threading.Event()

    def write() -> list[dict[str, int]]:
        try:
            site.store.groups.save_plan(action.id, NewPlan([PlannedGroup(Group("a", critical=True), nodes)], [], {}))
            record = site.open(action, "a")
            site.deploy(record)
        finally:
            ended.set()
        return []

    def poll(store: SiteStore) -> list[dict[str, int]]:
        polled = []
        last = False
        while not last:
            last = ended.is_set()
            for states in store.tasks.node_counts(action.id).values():
                polled.append({str(state): number for state, number in states.items() if number})
        return polled

    calls: list[Callable[[], list[dict[str, int]]]] = [write, *(partial(poll, store) for store in stores[:2])]
    polled = [states for one in at_once(calls) for states in one]
    assert all(list(states.values()) == [len(nodes)] for states in polled), "no phase is seen half begun or half done"
    assert site.store.tasks.node_counts(action.id)["a"][NodeState.SUCCESS] == len(nodes)


def test_one_action_and_one_revision_of_many(site: Scenario, stores: list[SiteStore]) -> None:
    asked = NewAction("deploy_site", SITE, 1, {}, "ann")
    actions = at_once([partial(store.actions.ensure, "d", "r", asked) for store in stores])
    assert len({action.id for action in actions}) == 1
    same = at_once([partial(commit_design, store, SITE, "a: 1", []) for store in stores])
    assert [(r.number, r.created) for r in same].count((1, True)) == 1
    assert {r.number for r in same} == {1}
    different = at_once([partial(commit_design, store, SITE, f"b: {n}", []) for n, store in enumerate(stores)])
    assert sorted(record.number for record in different) == list(range(2, 2 + CALLERS))


def test_a_forked_process_uses_connections_of_its_own(site: Scenario) -> None:
    """Airflow forks its task processes, which inherit an open store."""
    actions = [site.action(f"run-{number}") for number in range(3)]
    fork = multiprocessing.get_context("fork")
    receivers: list[Connection] = []
    children = []
    for action in actions:
        receiver, sender = fork.Pipe(duplex=False)
        child = fork.Process(target=_acquire_and_tell, args=(site.store, action.id, sender))
        child.start()
        sender.close()
        receivers.append(receiver)
        children.append(child)
    answers = [receiver.recv() for receiver in receivers]
    for child in children:
        child.join(20)
    for receiver in receivers:
        receiver.close()
    assert sorted(answers) == ["busy", "busy", "mine"]
    # And what the parent had open still works.
    assert len([a for a in site.store.actions.unfinished(SITE) if a.state == "running"]) == 1


def _acquire_and_tell(store: SiteStore, action_id: str, sender: Connection) -> None:
    answer = "mine"
    try:
        store.locks.acquire(action_id)
    except SiteBusy:
        answer = "busy"
    except BaseException as error:  # noqa: BLE001 - told to the parent
        answer = repr(error)
    sender.send(answer)
    sender.close()
    # Without the parent's own clean-up, as a task process that was killed.
    os._exit(0)


_BEGIN_AND_HANG = """
import sys, time
from site_store import SiteStore
from site_store.operations import claims
from strategy_lib.phase import Phase
real = claims.write_events
def hang(*args):
    # The operation is inserted and its nodes are claimed; nothing is committed.
    real(*args)
    print("claimed", flush=True)
    time.sleep(60)
claims.write_events = hang
url, action, nodes = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
asked = claims.Claim(action, "north", "a", 1, Phase.PREPARE, nodes, "file:///design")
SiteStore.open(url).operations.begin(asked)
"""


def test_rule_12_a_kill_in_the_middle_of_a_claim_leaves_nothing_claimed(url: str, site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    process = subprocess.Popen(
        tied(sys.executable, "-c", _BEGIN_AND_HANG, url, action.id, "n1,n2"), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        assert site.states(action) == {"n1": "not_started", "n2": "not_started"}
        assert site.store.operations.of_action(action.id) == []
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    began = time.monotonic()
    operation = site.begin(record, Phase.PREPARE)
    assert time.monotonic() - began < 25, "the lock went with the process"
    assert operation.nodes == ("n1", "n2")
    assert len(site.store.operations.of_action(action.id)) == 1


def test_rule_12_a_kill_after_the_intent_is_survived_by_the_next_process(site: Scenario) -> None:
    """The whole way of one operation, each step by a process that then dies."""
    action, record = site.opened({"a": ["n1"]})
    intended = site.begin(record, Phase.PREPARE)
    assert site.store.operations.acquire_lease(intended.op, "first", 30)
    # Died before or after the submission; nobody knows. The next one waits for the lease, then looks and submits.
    again = site.begin(site.open(action, "a"), Phase.PREPARE)
    assert (again.op, again.provisioner_task, again.status) == (intended.op, None, OperationStatus.INTENDED)
    assert not site.store.operations.acquire_lease(again.op, "second", 30)
    site.clock.move(30)
    assert site.store.operations.acquire_lease(again.op, "second", 30)
    site.store.operations.mark_submitted(again.op, "t1")
    # Died after the submission: the third one re-joins.
    third = site.begin(site.open(action, "a"), Phase.PREPARE)
    assert (third.op, third.provisioner_task) == (intended.op, "t1")
    site.record(third, outcome(["n1"]), status=OperationStatus.COMPLETE)
    # Died after the result: the fourth one finds the phase done.
    assert site.store.operations.unfinished(SITE) == []


PROCESSES, THREADS = 4, 4


def take(url: str, action_id: str, first: int, number: int) -> list[list[int]]:
    """Take so many numbers in each thread of a process of its own; return those of each thread in their order."""
    with SiteStore.open(url) as store:

        def one_thread(thread: int) -> list[int]:
            return [begin(store, action_id, first + thread * number + place) for place in range(number)]

        with ThreadPoolExecutor(THREADS) as threads:
            return list(threads.map(one_thread, range(THREADS)))


def begin(store: SiteStore, action_id: str, attempt: int) -> int:
    return store.operations.begin(Claim(action_id, SITE, None, attempt, Phase.VERIFY_SITE, (), "file:///d")).op


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(4, marks=pytest.mark.endurance),
        pytest.param(32, marks=pytest.mark.endurance),
        pytest.param(313, marks=pytest.mark.soak),
    ],
)
def test_rule_45_numbers_are_unique_and_grow(site: Scenario, url: str, number: int) -> None:
    action = site.running({"a": ["n1"]})
    highest, seen = 0, 0
    for start in range(2):
        # Each start has new processes: what was given before is never given again.
        with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
            first = start * PROCESSES * THREADS * number
            asked = [(url, action.id, first + process * THREADS * number, number) for process in range(PROCESSES)]
            threads = [thread for process in pool.starmap(take, asked) for thread in process]
        taken = [op for thread in threads for op in thread]
        assert len(taken) == len(set(taken)) == PROCESSES * THREADS * number
        assert all(older < newer for thread in threads for older, newer in pairwise(thread))
        assert min(taken) > highest
        highest, seen = max(taken), seen + len(taken)
    assert seen == 2 * PROCESSES * THREADS * number
