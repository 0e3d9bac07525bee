"""Older operations: whether their tasks are over, what is kept with the nodes that they hold, and who may submit."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef, TaskResult, TaskState
from site_engine.errors import ConnectionLookupFailed, ConnectionMissing, EngineError, SettingsError
from site_engine.operations import reconcile, run
from site_engine.operations.reconcile import OperationOwner, UnfinishedOperations, await_unfinished
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import EndKind, OperationEnd, PhaseTimes, StillRunning
from site_store import Operation, OperationStatus, SiteStore
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase
from tests.unit.site_engine.records import operation

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMES = PhaseTimes(interval=10.0, timeout=600.0, queue_timeout=600.0)
RUNNING, QUEUED, COMPLETE = TaskState.RUNNING, TaskState.QUEUED, TaskState.COMPLETE


class Scene:
    """A provisioner whose task is in these states, one look after the other, and clocks that only waits move.

    The database's clock is `ahead` of that of the process by so many seconds.
    """

    def __init__(
        self, *states: TaskState, dead: bool = False, found: list[str | None] | None = None, ahead: float = 0.0
    ) -> None:
        self.states, self.dead, self.found = list(states), dead, found or []
        self.time, self.looks, self.noted = START, 0, ""
        provisioner = SimpleNamespace(
            task=self.task, find=self.find, is_dead=self.is_dead, evidence=self.evidence, settle=60.0
        )
        operations = SimpleNamespace(
            overtaken_by=lambda _: None,
            mark_submitted=self.submitted,
            mark_running=lambda *_: None,
            get=lambda _: self.operation,
        )
        home = SimpleNamespace(require_own=None)
        texts = SimpleNamespace(token_of=str)
        store = SimpleNamespace(
            operations=operations, now=lambda: self.time + timedelta(seconds=ahead), home=home, secret_texts=texts
        )
        clock = SimpleNamespace(now=lambda: self.time, sleep=self.sleep)
        self.run = OperationRun(
            cast(SiteStore, store), cast(Provisioner, provisioner), clock, 6000.0, logging.getLogger("test")
        )

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def task(self, ref: TaskRef, **_: object) -> ProvisionerTask:
        self.state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return ProvisionerTask(
            ref.id, "prepare_nodes", self.state, TaskResult.SUCCESS, frozenset(), frozenset(), (), "slipway-01J-7"
        )

    def find(self, reference: str) -> ProvisionerTask | None:
        self.looks += 1
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        return None if found is None else self.task(TaskRef(found))

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        self.looks += 1
        return self.dead

    def evidence(self, *_: object, **__: object) -> Evidence:
        return Evidence(over=self.state is COMPLETE, listed=True)

    def submitted(self, op: int, task_id: str) -> None:
        self.noted = task_id

    def await_unfinished(self, seconds: float, **given: Any) -> OperationEnd | None:
        facts = dict.fromkeys(("lease_owner", "lease_until", "submitted", "running_since", "ended", "over", "result"))
        facts |= {"provisioner_task": "t-1", "sending": START - timedelta(seconds=30), **given}
        self.operation = operation = Operation(
            op=7,
            action_id="01J",
            site="alpha",
            group="all",
            attempt=1,
            phase=Phase.PREPARE,
            reference="slipway-01J-7",
            nodes=("a",),
            design_ref="",
            created=START,
            status=OperationStatus.ABANDONED,
            **cast(Any, facts),
        )
        ended = await_unfinished(self.run, operation, TIMES, START + timedelta(seconds=seconds))
        assert ended is None or isinstance(ended, OperationEnd)
        return ended


@pytest.mark.parametrize(
    ("scene", "how", "looks"),
    [
        pytest.param(Scene(RUNNING, dead=True), "dead", 1, id="dead"),
        pytest.param(Scene(RUNNING, COMPLETE, dead=True), "complete", 1, id="over while the list was read"),
        pytest.param(Scene(RUNNING, COMPLETE), "complete", 1, id="alive, then over"),
        pytest.param(Scene(QUEUED, QUEUED, COMPLETE, dead=True), "complete", 0, id="queued: not asked about"),
        pytest.param(Scene(COMPLETE, dead=True), "complete", 0, id="over: not asked about"),
    ],
)
def test_rule_13_a_dead_task_is_over(scene: Scene, how: str, looks: int) -> None:
    ended = scene.await_unfinished(600)
    assert ended is not None
    assert (ended.kind, ended.evidence.over, scene.looks) == (how, True, looks)


def test_rule_24_a_task_that_goes_on_holds_its_nodes_and_is_asked_about_seldom() -> None:
    scene = Scene(RUNNING)
    assert scene.await_unfinished(300) is None
    assert scene.looks in (5, 6), "once a minute"


@pytest.mark.parametrize(
    ("given", "found", "seconds", "how", "looks"),
    [
        pytest.param({"sending": None}, [None], 600, "gone", 0, id="never sent: not looked for"),
        pytest.param({}, [None], 600, "gone", 3, id="sent 30 s ago, never taken: for as long as it may take effect"),
        pytest.param(
            {"sending": START - timedelta(seconds=90), "lease_until": START - timedelta(seconds=30)},
            [None],
            600,
            "gone",
            3,
            id="sent 90 s ago by a process that lived until 30 s ago: its request may have been in flight till then",
        ),
        pytest.param({}, [None, "t-9"], 600, "complete", 2, id="sent 30 s ago, taken late"),
        pytest.param({}, [None], 0, None, 1, id="sent 30 s ago, and no time to wait: still open"),
        pytest.param({"sending": START - timedelta(seconds=60)}, [None], 0, "gone", 1, id="sent long ago, not taken"),
        pytest.param({"sending": START - timedelta(days=1)}, ["t-9"], 600, "complete", 1, id="sent long ago, taken"),
    ],
)
def test_rule_24_what_may_have_been_sent_holds_its_nodes_while_it_may_take_effect(
    given: dict[str, Any], found: list[str | None], seconds: float, how: str | None, looks: int
) -> None:
    scene = Scene(COMPLETE, found=found)
    ended = scene.await_unfinished(seconds, provisioner_task=None, **given)
    assert (ended.kind if ended else None, scene.looks) == (how, looks)
    assert scene.noted == ("t-9" if how == "complete" else "")


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0])
def test_rule_12_leases_and_sendings_are_compared_on_the_databases_clock(ahead: float) -> None:
    scene, skew = Scene(COMPLETE, found=[None], ahead=ahead), timedelta(seconds=ahead)
    sent = START + skew - timedelta(seconds=30)
    ended = scene.await_unfinished(
        600, provisioner_task=None, sending=sent, lease_until=START + skew + timedelta(seconds=10)
    )
    assert ended is not None
    assert ended.kind == "gone"
    assert (scene.time - START).total_seconds() == 70, "10 s of the lease, then 60 s for its request to take effect"


def test_an_older_operation_is_asked_about_over_its_own_connection() -> None:
    here, there, closed, asked = Scene(RUNNING, found=[None]), Scene(COMPLETE), [], []
    client = SimpleNamespace(**vars(there.run.provisioner), close=lambda: closed.append("there"))

    def elsewhere(action_id: str) -> Provisioner:
        asked.append(action_id)
        return cast(Provisioner, client)

    here.run.elsewhere = elsewhere
    ended = here.await_unfinished(0)
    assert ended is not None
    assert (ended.kind, asked, closed, here.states) == ("complete", ["01J"], ["there"], [RUNNING])


OVER = OperationEnd(EndKind.COMPLETE, None, Evidence(over=True))
FIRST = replace(operation(provisioner_task="t-1", submitted=START), op=1, nodes=("a", "b"))
SECOND = replace(operation(provisioner_task="t-2", submitted=START), op=2, nodes=("b", "c"))


@pytest.mark.parametrize(
    ("first", "second", "held", "kept"),
    [
        pytest.param(OVER, OVER, set(), {"a": None, "b": None, "c": None}, id="both are over"),
        pytest.param(None, OVER, {"a", "b"}, {"a": "t-1", "b": "t-1", "c": None}, id="the first holds on"),
        pytest.param(OVER, None, {"b", "c"}, {"a": None, "b": "t-2", "c": "t-2"}, id="the second holds on"),
        pytest.param(None, None, {"a", "b", "c"}, {"a": "t-1", "b": "t-1", "c": "t-2"}, id="both hold on"),
    ],
)
def test_a_node_keeps_the_reason_of_what_holds_it(
    monkeypatch: pytest.MonkeyPatch,
    first: OperationEnd | None,
    second: OperationEnd | None,
    held: set[str],
    kept: dict[str, str | None],
) -> None:
    operations, reasons, told = {1: FIRST, 2: SECOND}, dict[str, str | None](), list[str]()
    monkeypatch.setattr(reconcile, "record_late_result", lambda *_: None)

    def await_unfinished(_runs: object, operation: Operation, *_: object) -> OperationEnd | StillRunning | None:
        return first if operation.op == 1 else second

    monkeypatch.setattr(reconcile, "await_unfinished", await_unfinished)
    store = SimpleNamespace(
        operations=SimpleNamespace(unfinished=lambda *_: [FIRST, SECOND], get=operations.__getitem__),
        tasks=SimpleNamespace(
            explain_pending=lambda _action, _phase, nodes, why: reasons.update(dict.fromkeys(nodes, why))
        ),
        events=SimpleNamespace(add=lambda _site, _kind, message, **_: told.append(message)),
    )
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    found = work.wait(OperationOwner("02X", "alpha", "all", 1), Phase.PREPARE, ["a", "b", "c", "d"], START)
    assert found == frozenset(held)
    by = {name: next((task for task in ("t-1", "t-2") if task in (why or "")), None) for name, why in reasons.items()}
    assert by == kept
    assert len(told) == [first, second].count(None)


def test_a_connection_that_is_gone_hides_one_older_operation_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[int] = []
    monkeypatch.setattr(reconcile, "record_late_result", lambda _store, operation, *_: recorded.append(operation.op))

    def await_unfinished(_runs: object, operation: Operation, *_: object) -> OperationEnd:
        if operation.op == 1:
            raise ConnectionLookupFailed("the Airflow connection is not there any more")
        return OVER

    monkeypatch.setattr(reconcile, "await_unfinished", await_unfinished)
    store = SimpleNamespace(operations=SimpleNamespace(unfinished=lambda *_: [FIRST, SECOND]))
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"), clock=SimpleNamespace(now=lambda: START))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    work.look_once(OperationOwner("02X", "alpha", "all", 1), ["a", "b", "c"])
    assert recorded == [2]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionMissing(
            "the Airflow connection 'old', which action 01X uses, is not there any more: create it again"
        ),
        SettingsError("connection 'old': auth_url is no URL"),
    ],
    ids=["deleted", "cannot be used"],
)
def test_what_cannot_be_asked_about_holds_its_nodes_and_names_the_connection(
    monkeypatch: pytest.MonkeyPatch, error: EngineError
) -> None:
    reasons, told = dict[str, str | None](), list[str]()

    def await_unfinished(*_: object) -> None:
        raise error

    monkeypatch.setattr(reconcile, "await_unfinished", await_unfinished)
    store = SimpleNamespace(
        operations=SimpleNamespace(unfinished=lambda *_: [FIRST], get=lambda _: FIRST),
        tasks=SimpleNamespace(
            explain_pending=lambda _action, _phase, nodes, why: reasons.update(dict.fromkeys(nodes, why))
        ),
        events=SimpleNamespace(add=lambda _site, _kind, message, **_: told.append(message)),
    )
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    found = work.wait(OperationOwner("02X", "alpha", "all", 1), Phase.PREPARE, ["a", "c"], START)
    assert found == frozenset("a")
    assert reasons.keys() == {"a"}
    assert "held by provisioner task t-1" in (reasons["a"] or "")
    assert f"cannot be asked about: {error}. What helps: mend that connection" in (reasons["a"] or "")
    assert told == [f"Prepare: left out: a: {reasons['a']}"]


def test_an_outage_of_the_look_up_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def await_unfinished(*_: object) -> None:
        raise ConnectionLookupFailed("Airflow's database does not answer")

    monkeypatch.setattr(UnfinishedOperations, "_explain", lambda *_: None)
    monkeypatch.setattr(reconcile, "await_unfinished", await_unfinished)
    store = SimpleNamespace(operations=SimpleNamespace(unfinished=lambda *_: [FIRST]))
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    with pytest.raises(ConnectionLookupFailed):
        work.wait(OperationOwner("02X", "alpha", "all", 1), Phase.PREPARE, ["a"], START)


class Leases:
    """Notes renewals."""

    def __init__(self) -> None:
        self.asked: set[tuple[int, str, float]] = set()
        self.renewed = threading.Semaphore(0)

    def acquire_lease(self, op: int, owner: str, seconds: float) -> bool:
        """Note the question."""
        self.asked.add((op, owner, seconds))
        self.renewed.release()
        return True


def test_rule_12_a_long_submission_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LEASE_SECONDS", 0.03)
    leases = Leases()
    with run.renewed_lease(cast(SiteStore, SimpleNamespace(operations=leases)), 7, "me"):
        for _ in range(3):
            assert leases.renewed.acquire(timeout=60), "it is renewed again and again"
    assert leases.asked == {(7, "me", 0.03)}
    assert "lease-7" not in {thread.name for thread in threading.enumerate()}, "it ends with the submission"
