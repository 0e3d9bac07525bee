"""What lets a controller act as the leader: the secret of its lease and the right to act; nothing that is public."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest

from site_engine.controller.controller import NAME
from site_store import Lease, SiteStore
from site_store.status.leases import lease_of
from tests.integration.api.airflow_runs import DESIGN, commit
from tests.integration.api.http.test_service import assert_failure
from tests.support.led_sites import LedSite

pytestmark = pytest.mark.usefixtures("dags", "connected")

SITES = "/api/v1.0/sites/default"
ROUTES: dict[str, tuple[str, dict[str, Any]]] = {
    f"{SITES}/observe": (lease_of("default"), {}),
    f"{SITES}/unfinished": (NAME, {}),
    f"{SITES}/repair": (NAME, {"run_id": "repair-1", "nodes": ["n1"]}),
    "/api/v1.0/notifications/01NONE/deliveries": (NAME, {"target": "chat"}),
}


def take(store: SiteStore, name: str) -> Lease:
    held = store.leases.take(name, "me", 600)
    assert held is not None
    return held


@pytest.mark.parametrize("route", ROUTES)
def test_rule_55_the_secret_of_the_lease_and_the_right_to_act_are_asked_for(
    viewer: httpx.Client, user: httpx.Client, store: SiteStore, route: str
) -> None:
    commit(store)
    name, body = ROUTES[route]
    held, other = take(store, name), take(store, "another")
    stored = hashlib.sha256(held.secret.encode()).hexdigest()
    for secret in ("", "me", "0", other.secret, stored, held.secret[:-1]):
        answer = user.post(route, json={**body, "owner": "me", "epoch": held.epoch, "secret": secret})
        assert_failure(answer, 403, "only the controller that leads")
    assert user.post(route, json={**body, "owner": "me", "epoch": held.epoch}).status_code == 400
    right = {**body, "epoch": held.epoch, "secret": held.secret}
    assert_failure(viewer.post(route, json=right), 403, "Airflow does not let viewer change the runs of deploy_site")
    assert_failure(user.post(route, json={**right, "epoch": held.epoch + 1}), 403, "only the controller that leads")
    assert user.post(route, json=right).status_code in (200, 404, 409)
    # A lease that was taken again has another secret.
    store.leases.give_up(held)
    assert_failure(user.post(route, json=right), 403, "only the controller that leads")
    again = take(store, name)
    assert again.secret != held.secret
    assert_failure(user.post(route, json={**right, "epoch": again.epoch}), 403, "only the controller that leads")


def test_rule_55_the_epoch_is_public_and_the_secret_is_shown_nowhere(viewer: httpx.Client, store: SiteStore) -> None:
    led = LedSite(store, "default", DESIGN)
    led.sees({"n1": "Deployed"})
    held = led.leader.held
    stored = hashlib.sha256(held.secret.encode()).hexdigest()
    shown = [viewer.get(f"{SITES}/{place}").text for place in ("state", "state/history", "audit", "tree")]
    shown.append(viewer.get("/metrics").text)
    assert any(json.loads(text).get("epoch") == held.epoch for text in shown[:1])
    assert [text for text in shown if held.secret in text or stored in text] == []
    assert held.secret not in repr(held)
