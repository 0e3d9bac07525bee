"""From an Airflow connection to a Drydock client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.sdk import Connection

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.redacting import RedactingProvisioner
from provisioner_client.retry import RetryPolicy
from site_engine.errors import SettingsError
from site_store import RevisionSecrets, SiteStore
from slipway_airflow import connections
from slipway_airflow.hook import DrydockHook
from slipway_airflow.operators.action import AcquireSiteOperator
from slipway_airflow.operators.waiting import connection_of
from strategy_lib.phase import Phase
from tests.support.stores import new_store


def hook(host: str | None = "http://drydock:9000", extra: dict[str, Any] | None = None, **more: Any) -> DrydockHook:
    """Return a hook with this connection."""
    made = DrydockHook("slipway_provisioner")
    given = {"conn_id": "slipway_provisioner", "conn_type": "drydock", "host": host, "extra": json.dumps(extra or {})}
    made.use_connection(Connection(**{**given, **more}))
    return made


@pytest.mark.parametrize(
    ("host", "more", "url"),
    [
        ("http://drydock:9000", {}, "http://drydock:9000"),
        ("drydock", {"port": 9000}, "http://drydock:9000"),
        ("drydock", {"schema": "https", "port": 443}, "https://drydock:443"),
        ("https://gate/drydock/", {}, "https://gate/drydock"),
    ],
)
def test_the_address_may_be_written_as_people_write_it(host: str, more: dict[str, Any], url: str) -> None:
    client = hook(host, **more).get_conn()
    assert isinstance(client, RedactingProvisioner)
    assert isinstance(client.provisioner, DrydockProvisioner)
    assert client.provisioner.url == url
    client.close()


@pytest.mark.parametrize("kind", ["drydock", "http", "https", "generic", "", None])
def test_connections_that_name_no_provisioner_lead_to_a_drydock(kind: str | None) -> None:
    client = hook(conn_type=kind).get_conn()
    assert isinstance(client, RedactingProvisioner)
    assert isinstance(client.provisioner, DrydockProvisioner)
    client.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": None}, "no Drydock URL"),
        ({"conn_type": "ssh"}, "no provisioner has connections of the type 'ssh': choose drydock, gen"),
        ({"host": "ftp://drydock"}, "slipway_provisioner"),
        ({"extra": {"read_timeout": "long"}}, "read_timeout"),
        (
            {"extra": {"auth_token": "t0ken", "auth_url": "http://keystone/v3"}, "login": "u", "password": "p"},
            "not both",
        ),
    ],
)
def test_a_connection_that_cannot_be_used_says_why_and_no_secret(given: dict[str, Any], said: str) -> None:
    made = hook(**given)
    with pytest.raises(SettingsError, match=said) as refused:
        made.get_conn()
    assert "t0ken" not in str(refused.value)
    ok, message = made.test_connection()
    assert not ok
    assert said in message


@pytest.mark.parametrize(
    "extra", [{"poll_interval": "often"}, {"poll_in_worker": -1}, {"queue_timeout": "x"}, {"design_base_url": 7}]
)
def test_the_forms_test_looks_at_the_fields_of_slipways_own_tasks_too(extra: dict[str, Any]) -> None:
    ok, message = hook(extra=extra).test_connection()
    assert not ok
    assert next(iter(extra)) in message


def test_the_provisioners_log_has_the_marker() -> None:
    client = hook().get_conn(context_marker="action-17")
    marked = hook().get_conn(context_marker="action-18")
    assert isinstance(client, RedactingProvisioner)
    assert isinstance(marked, RedactingProvisioner)
    seen = {cast(DrydockProvisioner, one.provisioner).context_marker for one in (client, marked)}
    assert len(seen) == 2
    client.close()
    marked.close()


def test_keystone_credentials_come_from_login_and_password() -> None:
    client = hook(extra={"auth_url": "http://keystone/v3", "project_name": "ucp"}, login="slipway", password="s3cret")
    made = client.get_conn()
    assert "s3cret" not in repr(made)
    assert "keystone" in repr(made).lower()
    made.close()


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(conn_id: str) -> Connection:
        return Connection(conn_id=conn_id, conn_type="drydock", host=f"http://{conn_id.replace('_', '-')}:9000")

    monkeypatch.setattr(connections, "find_connection", found)
    url = new_store(tmp_path)
    operator = AcquireSiteOperator(task_id="acquire", kind="verify_site")
    with SiteStore.open(url) as store:
        store.revisions.commit("alpha", {"design": "a: 1"}, (), "a: 1", "tester")
        older, newer = (
            store.actions.ensure("verify_site", run, "verify_site", "alpha", 1, {}, "tester") for run in ("one", "two")
        )
        store.actions.decide_connection(older.id, "slipway_provisioner")
        store.actions.decide_connection(newer.id, "slipway_provisioner_alpha")
        own = connections.for_action(store, store.actions.get(newer.id))
        elsewhere = operator.elsewhere(store, store.actions.get(newer.id), own)
        assert elsewhere(newer.id) is None
        client = elsewhere(older.id)
        assert client is not None
        assert "http://slipway-provisioner:9000" in repr(client)
        client.close()
        store.locks.acquire(older.id)
        begun = store.operations.begin(older.id, "alpha", "", 1, Phase.VERIFY_SITE, (), "http://design")
        assert connection_of(store, begun.op) == "slipway_provisioner"


def test_the_words_about_another_action_are_hidden_by_its_own_secrets(tmp_path: Path) -> None:
    url = new_store(tmp_path)
    operator = AcquireSiteOperator(task_id="acquire", kind="verify_site")
    with SiteStore.open(url) as store:
        actions = []
        for number, secret in enumerate(("hunter2-of-old", "hunter2-of-new"), 1):
            hidden = RevisionSecrets(frozenset({secret}))
            store.revisions.commit("alpha", {"design": f"a: {number}"}, (), f"a: {number}", "tester", hidden=hidden)
            run = f"run-{number}"
            actions.append(store.actions.ensure("verify_site", run, "verify_site", "alpha", number, {}, "tester"))
        here = connections.provisioner_connection(hook().connection)
        client = operator.elsewhere(store, actions[1], here)(actions[0].id)
        assert isinstance(client, RedactingProvisioner)
        assert client.redact("bad hunter2-of-old") == "bad ***"
        client.close()
