"""A group that waits for others in the triggerer is woken up by the store (rule 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from site_store import ActionRecord, OperationStatus, PlannedGroup, SiteStore
from slipway_airflow import trigger_waits
from slipway_airflow.triggers import OtherGroupsTrigger
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Group
from tests.support.stores import new_store

HANGS = 300.0


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteStore]:
    monkeypatch.setattr(trigger_waits, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(trigger_waits, "_LOOK_AT_GROUPS", 0.01)
    with new_store() as url, SiteStore.open(url) as store:
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
        yield store


@pytest.fixture
def action(store: SiteStore) -> ActionRecord:
    """An action of three groups of which the first two are at work."""
    made = store.actions.ensure("deploy_site", "run-1", "deploy_site", "alpha", None, {}, "ann")
    store.locks.acquire(made.id)
    plan = [PlannedGroup(Group(name, critical=True), (f"n-{name}",)) for name in ("one", "two", "three")]
    store.groups.save_plan(made.id, plan, (), {})
    for name in ("one", "two"):
        store.groups.open_attempt(made.id, name, "k")
    return made


def woken(trigger: OtherGroupsTrigger, by: Any) -> Any:
    """Return the trigger's event; it comes only once that has happened which it waits for."""
    path, facts = trigger.serialize()
    assert path == f"{OtherGroupsTrigger.__module__}.{OtherGroupsTrigger.__name__}"
    again = OtherGroupsTrigger(**facts)
    assert again.serialize() == (path, facts)

    async def first() -> Any:
        async for event in again.run():
            return event
        return None

    async def wait() -> Any:
        waiting = asyncio.create_task(first())
        await asyncio.sleep(0.3)
        assert not waiting.done(), "nothing has happened yet"
        by()
        return await asyncio.wait_for(waiting, HANGS)

    return asyncio.run(wait()).payload


def test_a_group_is_woken_up_when_a_place_is_free(store: SiteStore, action: ActionRecord) -> None:
    event = woken(
        OtherGroupsTrigger(action.id, "three", 2, []),
        lambda: store.groups.finish(action.id, "two", 1, GroupState.SUCCESS, None),
    )
    assert event == {"waited_for": "other groups"}


def test_a_group_is_woken_up_when_another_knows_what_became_of_a_node(store: SiteStore, action: ActionRecord) -> None:
    begun = store.operations.begin(action.id, "alpha", "one", 1, Phase.PREPARE, ["n-one"], "file:///design")
    done = Outcome(frozenset(["n-one"]), frozenset(), frozenset(), notes={})
    woken(
        OtherGroupsTrigger(action.id, "two", 2, [begun.op]),
        lambda: store.operations.record_outcome(begun.op, done, status=OperationStatus.COMPLETE),
    )


def test_a_task_looks_itself_after_a_while(
    store: SiteStore, action: ActionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigger_waits, "_LONGEST_WAIT_FOR_GROUPS", 0.6)
    woken(OtherGroupsTrigger(action.id, "three", 2, []), lambda: None)
