"""What is kept with nodes that older provisioner tasks hold."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from site_engine.errors import ConnectionLookupFailed, ConnectionMissing, EngineError, SettingsError
from site_engine.operations import reconcile
from site_engine.operations.reconcile import OperationOwner, UnfinishedOperations
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import EndKind, OperationEnd, PhaseTimes, StillRunning
from site_store import Operation, OperationPhase
from strategy_lib.outcome import Evidence
from tests.unit.site_engine.test_log_messages import operation

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMES = PhaseTimes(1.0, 60.0, 60.0)
OVER = OperationEnd(EndKind.COMPLETE, None, Evidence(over=True))
FIRST = replace(operation(provisioner_task="t-1", submitted=NOW), op=1, nodes=("a", "b"))
SECOND = replace(operation(provisioner_task="t-2", submitted=NOW), op=2, nodes=("b", "c"))


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
        unfinished_operations=lambda *_: [FIRST, SECOND],
        operation=operations.__getitem__,
        explain_pending=lambda _action, _phase, nodes, why: reasons.update(dict.fromkeys(nodes, why)),
        add_event=lambda _site, _kind, message, **_: told.append(message),
    )
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    found = work.wait(OperationOwner("02X", "alpha", "all", 1), OperationPhase.PREPARE, ["a", "b", "c", "d"], NOW)
    assert not isinstance(found, StillRunning)
    assert found.nodes == held
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
    store = SimpleNamespace(unfinished_operations=lambda *_: [FIRST, SECOND])
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"), clock=SimpleNamespace(now=lambda: NOW))
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
        unfinished_operations=lambda *_: [FIRST],
        operation=lambda _: FIRST,
        explain_pending=lambda _action, _phase, nodes, why: reasons.update(dict.fromkeys(nodes, why)),
        add_event=lambda _site, _kind, message, **_: told.append(message),
    )
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    found = work.wait(OperationOwner("02X", "alpha", "all", 1), OperationPhase.PREPARE, ["a", "c"], NOW)
    assert not isinstance(found, StillRunning)
    assert found.nodes == {"a"}
    assert reasons.keys() == {"a"}
    assert "held by provisioner task t-1" in (reasons["a"] or "")
    assert f"cannot be asked about: {error}. What helps: mend that connection" in (reasons["a"] or "")
    assert told == [f"Prepare: left out: a: {reasons['a']}"]


def test_an_outage_of_the_look_up_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def await_unfinished(*_: object) -> None:
        raise ConnectionLookupFailed("Airflow's database does not answer")

    monkeypatch.setattr(UnfinishedOperations, "_explain", lambda *_: None)
    monkeypatch.setattr(reconcile, "await_unfinished", await_unfinished)
    store = SimpleNamespace(unfinished_operations=lambda *_: [FIRST])
    runs = SimpleNamespace(store=store, log=logging.getLogger("test"))
    work = UnfinishedOperations(cast(OperationRun, runs), TIMES)
    with pytest.raises(ConnectionLookupFailed):
        work.wait(OperationOwner("02X", "alpha", "all", 1), OperationPhase.PREPARE, ["a"], NOW)
