"""The trigger logs what a provisioner says, and none of the secrets of the design that it is about."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import BaseHook, Connection

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import ProvisionerTask, TaskResult, TaskState
from provisioner_client.redacting import Redact, RedactingProvisioner
from provisioner_client.shared_lists import Shared
from site_engine.provisioners import ProvisionerConnection
from site_engine.shared_lists import SHORT_PATIENCE, StoreLists
from site_store import Claim, NewAction, NewRevision, RevisionSecrets, SiteStore
from slipway_airflow import triggers
from slipway_airflow.triggers import ProvisionerTaskTrigger
from strategy_lib.phase import Phase

SECRET = "hunter2-of-alpha"


async def _events(trigger: ProvisionerTaskTrigger) -> list[dict[str, Any]]:
    return [cast(dict[str, Any], event.payload) async for event in trigger.run()]


def test_the_triggerer_repeats_no_secret_of_an_answer(
    store_url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with SiteStore.open(store_url) as store:
        hidden = RevisionSecrets(frozenset({SECRET}))
        store.revisions.commit(NewRevision("alpha", {"design": "a: 1"}, (), "a: 1", "tester", hidden=hidden))
        action = store.actions.ensure("verify_site", "run", NewAction("verify_site", "alpha", 1, {}, "tester"))
        store.locks.acquire(action.id)
        op = store.operations.begin(Claim(action.id, "alpha", None, 1, Phase.VERIFY_SITE, (), "http://design")).op
        token = store.secret_texts.token_of(store.revisions.get("alpha", 1).design_handle)
    nothing = frozenset[str]()
    over = ProvisionerTask(
        "t-1", "verify_site", TaskState.COMPLETE, TaskResult.SUCCESS, nothing, nothing, (), "slipway"
    )
    answers: list[Any] = [ProvisionerUnavailable(f"500: bad {SECRET} of http://slipway/{token}"), over]

    def task(*_: object, **__: object) -> ProvisionerTask:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return cast(ProvisionerTask, answer)

    patiences = list[float]()

    def connect(
        _connection: ProvisionerConnection, redact: Redact, _marker: object, _observer: object, shared: Shared
    ) -> RedactingProvisioner:
        patiences.append(cast(StoreLists, shared.lists).patience)
        return RedactingProvisioner(cast(Any, SimpleNamespace(task=task, close=lambda: None)), redact)

    async def found(conn_id: str) -> Connection:
        return Connection(conn_id=conn_id, conn_type="drydock", host="http://drydock:9000")

    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    monkeypatch.setattr(ProvisionerConnection, "connect", connect)
    monkeypatch.setattr(BaseHook, "aget_connection", found)
    monkeypatch.setattr(triggers, "QUIET_SECONDS", 0.0)
    trigger = ProvisionerTaskTrigger("slipway_provisioner", "t-1", op, 0.0, 60.0, 60.0)
    events = asyncio.run(_events(trigger))
    assert [event["how"] for event in events] == ["complete"]
    said = "".join(capfd.readouterr())
    assert "500: bad *** of http://slipway/***" in said
    assert SECRET not in said
    assert token not in said
    # The threads of the triggerer are for all triggers.
    assert patiences == [SHORT_PATIENCE]
