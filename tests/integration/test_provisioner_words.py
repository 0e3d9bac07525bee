"""What a provisioner says quotes a secret of the design: none of the places that ask one repeats it.

The steps of a run are shown by `tests/integration/site_engine/test_redaction.py` and `slipway_airflow/test_hook.py`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
import responses
import yaml
from airflow.sdk import BaseHook, Connection

from provisioner_client.connection import ConnectionValues
from provisioner_client.errors import ProvisionerRefused
from provisioner_client.http_settings import RetryPolicy
from site_engine.actions.finalization import finalize_action
from site_engine.provisioners import ProvisionerConnection
from site_store import ActionRecord, Claim, NewAction, NewRevision, RevisionSecrets, SiteStore
from slipway_airflow import triggers
from slipway_airflow.triggers import ProvisionerTaskTrigger
from slipway_api.actions.creation import list_if_known
from slipway_api.documents.validation import validate
from slipway_api.http import dependencies
from slipway_api.sites.site_statuses import read_list, statuses
from strategy_lib.phase import Phase
from tests.support.sites import document, group, node, site

SECRET = "hunter2-of-the-design"
DRYDOCK = "http://drydock.test:9000"
ANY = re.compile(re.escape(DRYDOCK))
REFUSAL = {"type": "error", "message": f"the BMC refuses {SECRET}", "retry": False}


class OneProvisioner:
    """Leads to one provisioner, whatever the site and the action."""

    found = ProvisionerConnection(ConnectionValues("drydock", "slipway_provisioner", DRYDOCK))

    def find(self, conn_id: str) -> ConnectionValues | None:
        """Return its values."""
        return self.found.values

    def find_for_site(self, site: str) -> ProvisionerConnection | None:
        """Return it."""
        return self.found

    def for_site(self, site: str) -> ProvisionerConnection:
        """Return it."""
        return self.found

    def for_action(self, store: SiteStore, action: ActionRecord) -> ProvisionerConnection:
        """Return it."""
        return self.found


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> Iterator[responses.RequestsMock]:
    """A provisioner that quotes the design's secret in whatever it refuses."""
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.0)
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        for method in ("GET", "POST"):
            mock.add(method, ANY, json=REFUSAL, status=400)
        yield mock


@pytest.fixture
def store(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteStore]:
    """A store in which the secret is one of site alpha's newest revision; the API uses it, too."""
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    monkeypatch.setattr(dependencies, "_provisioners", [OneProvisioner()])
    with SiteStore.open(store_url) as opened:
        hidden = RevisionSecrets(frozenset({SECRET}))
        opened.revisions.commit(NewRevision("alpha", {"design": "a: 1"}, (), "a: 1", "tester", hidden=hidden))
        yield opened


@pytest.fixture
def waiting(store: SiteStore) -> tuple[ActionRecord, int]:
    """An action with a provisioner task that was not seen to be over; and its operation's number."""
    action = store.actions.ensure("verify_site", "run", NewAction("verify_site", "alpha", 1, {}, "tester"))
    store.locks.acquire(action.id)
    begun = store.operations.begin(Claim(action.id, "alpha", None, 1, Phase.VERIFY_SITE, (), "http://design"))
    store.operations.mark_submitted(begun.op, "t-1")
    return store.actions.get(action.id), begun.op


def test_site_statuses(http: responses.RequestsMock, store: SiteStore) -> None:
    with pytest.raises(ProvisionerRefused) as refused:
        read_list(store, "alpha")
    assert "the BMC refuses ***" in str(refused.value)
    http.replace("GET", ANY, json=[{"hostname": "n1", "status_name": f"Odd {SECRET}", "power_state": f"off {SECRET}"}])
    wanted = frozenset({"nodes-provision-status", "machines-power-state"})
    assert statuses(read_list(store, "alpha").nodes, wanted) == {
        "nodes_provision_status": [{"hostname": "n1", "status": "Odd ***"}],
        "machines_powerstate": [{"hostname": "n1", "power_state": "off ***"}],
    }


@pytest.mark.usefixtures("http")
def test_the_plan_of_an_action_that_is_created(store: SiteStore, caplog: pytest.LogCaptureFixture) -> None:
    assert list_if_known(store, "alpha") is None
    assert "the BMC refuses ***" in caplog.text
    assert SECRET not in caplog.text


def test_the_validation_of_documents(
    http: responses.RequestsMock, store: SiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = document("drydock/HostProfile/v1", "guarded", {"oob": {"credential": SECRET}})
    text = yaml.safe_dump_all(yaml.safe_load_all(site([node("n1"), secret], [group("all")])))
    remark = {"message": f"{SECRET} is too short", "error": True, "level": "Error", "documents": [], "name": "DD1"}
    listed = {"errorCount": 1, "messageList": [remark]}
    status = {"kind": "Status", "status": "Failure", "message": f"bad {SECRET}", "code": 400, "details": listed}
    http.replace("POST", ANY, json=status, status=400)
    said = [message["message"] for message in validate(store, "alpha", {"design": text}).messages]
    assert "*** is too short" in said
    http.replace("POST", ANY, json=REFUSAL, status=403)
    said += [message["message"] for message in validate(store, "alpha", {"design": text}).messages]
    assert any("the BMC refuses ***" in message for message in said)
    assert SECRET not in f"{said} {caplog.text}"


@pytest.mark.usefixtures("http")
def test_late_results_of_an_action(
    store: SiteStore, waiting: tuple[ActionRecord, int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    action, _ = waiting
    report = finalize_action(store, action, {}, logging.getLogger("slipway.test"), OneProvisioner())
    assert "the BMC refuses ***" in caplog.text
    events = [event.message for event in store.events.of_action(action.id)]
    assert SECRET not in f"{caplog.text} {report} {events}"


@pytest.mark.usefixtures("http")
def test_the_trigger(
    store: SiteStore,
    waiting: tuple[ActionRecord, int],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def found(conn_id: str) -> Connection:
        return Connection(conn_id=conn_id, conn_type="drydock", host=DRYDOCK)

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(BaseHook, "aget_connection", found)
    monkeypatch.setattr(triggers, "QUIET_SECONDS", 0.0)
    trigger = ProvisionerTaskTrigger("slipway_provisioner", "t-1", waiting[1], 0.1, 0.0, 0.0)
    said: list[str] = []
    monkeypatch.setattr(type(trigger), "log", property(lambda _: Kept(said)))

    async def fires() -> Any:
        async for event in trigger.run():
            return event.payload
        return None

    assert asyncio.run(fires())["how"] == "timed_out"
    assert any("the BMC refuses ***" in line for line in said)
    assert SECRET not in f"{said} {caplog.text}"


class Kept:
    """A log that is a list."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def warning(self, text: str, *values: object) -> None:
        """Keep one line."""
        self._lines.append(text % values)
