"""Clients for actions, with the store's facts about them, and a hook at an address at which nobody listens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import TaskDeferred

from provisioner_client.http_settings import RetryPolicy
from provisioner_client.redacting import RedactingProvisioner
from site_engine.operations.run import ActionClients
from site_engine.operations.wait import ONE_LOOK, StillRunning
from site_store import Claim, NewAction, NewRevision, RevisionSecrets, SiteStore
from slipway_airflow import connections
from slipway_airflow.operators.waiting import StepWork, WaitingOperator
from slipway_airflow.triggers import ProvisionerTaskTrigger
from strategy_lib.phase import Phase
from tests.support.hooks import hook


@pytest.mark.parametrize("extra", [{}, {"auth_url": "http://127.0.0.1:9/v3"}])
def test_who_is_not_reached_is_named_with_the_connection_and_without_credentials(
    monkeypatch: pytest.MonkeyPatch, extra: dict[str, str]
) -> None:
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.0)
    made = hook("http://127.0.0.1:9", extra, login="slipway", password="s3cret")
    ok, message = made.test_connection()
    assert not ok
    assert " at 127.0.0.1:9 (Airflow connection 'slipway_provisioner'): no connection (Connection refused)" in message
    assert "s3cret" not in message


def test_another_action_is_asked_about_over_the_connection_that_it_uses(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(conn_id: str) -> Connection:
        return Connection(conn_id=conn_id, conn_type="drydock", host=f"http://{conn_id.replace('_', '-')}:9000")

    monkeypatch.setattr(connections, "find_connection", found)
    with SiteStore.open(store_url) as store:
        store.revisions.commit(NewRevision("alpha", {"design": "a: 1"}, (), "a: 1", "tester"))
        older, newer = (
            store.actions.ensure("verify_site", run, NewAction("verify_site", "alpha", 1, {}, "tester"))
            for run in ("one", "two")
        )
        store.actions.decide_connection(older.id, "slipway_provisioner")
        store.actions.decide_connection(newer.id, "slipway_provisioner_alpha")
        store.locks.acquire(older.id)
        begun = store.operations.begin(Claim(older.id, "alpha", None, 1, Phase.VERIFY_SITE, (), "http://design"))
        store.locks.release(older.id)
        store.locks.acquire(newer.id)

        class Step(WaitingOperator):
            def carry_out(self, work: StepWork) -> StillRunning:
                assert work.operations.elsewhere(newer.id) is None
                client = work.operations.elsewhere(older.id)
                assert client is not None
                assert "http://slipway-provisioner:9000" in repr(client)
                client.close()
                return StillRunning(begun.op, "task", ONE_LOOK)

        ti = SimpleNamespace(dag_id="verify_site", run_id="two", task_id="step", try_number=1)
        with pytest.raises(TaskDeferred) as deferred:
            Step(task_id="step").run_step(cast(Any, {"ti": ti}), store)
        assert isinstance(deferred.value.trigger, ProvisionerTaskTrigger)
        assert deferred.value.trigger.conn_id == "slipway_provisioner"


def test_the_words_about_another_action_are_hidden_by_its_own_secrets(store_url: str) -> None:
    with SiteStore.open(store_url) as store:
        actions = []
        for number, secret in enumerate(("hunter2-of-old", "hunter2-of-new"), 1):
            hidden = RevisionSecrets(frozenset({secret}))
            store.revisions.commit(
                NewRevision("alpha", {"design": f"a: {number}"}, (), f"a: {number}", "tester", hidden=hidden)
            )
            run = f"run-{number}"
            actions.append(
                store.actions.ensure("verify_site", run, NewAction("verify_site", "alpha", number, {}, "tester"))
            )
        here = connections.provisioner_connection(hook().connection)
        client = ActionClients(store, actions[1], here, connections.for_action).elsewhere(actions[0].id)
        assert isinstance(client, RedactingProvisioner)
        assert client.redact("bad hunter2-of-old") == "bad ***"
        client.close()
