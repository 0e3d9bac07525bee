"""Every route that writes takes `If-Match`, or has a reason. A stale write is refused; without it the last one wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import yaml

from site_store import BufferMode, SiteStore
from site_store.nodes.repair_switches import ALL_SITES
from strategy_lib.strategy import ApprovalMoment
from tests.integration.api.airflow_runs import DESIGN, commit, create, plan
from tests.integration.api.http.described import operations
from tests.support.sites import document

pytestmark = pytest.mark.usefixtures("dags", "connected")

API = "/api/v1.0"


@dataclass(frozen=True)
class Write:
    """A request that changes something with a version.

    Attributes
    ----------
    path, of : where it is sent, and where the version is read as `ETag`; with `{action}` for an action under way.
    look : the body that is sent there by PUT to read it; None: a GET.
    change : changes what has the version meanwhile.
    body : what is sent, as arguments of `httpx`.
    """

    method: str
    path: str
    of: str
    change: Callable[[SiteStore, str], object]
    body: Mapping[str, Any]
    look: Mapping[str, Any] | None = None

    def tag(self, client: httpx.Client, action: str) -> str:
        """Return the present version."""
        path = self.of.replace("{action}", action)
        answer = client.get(path) if self.look is None else client.put(path, json=self.look)
        return answer.headers["ETag"]

    def send(self, client: httpx.Client, action: str, tag: str | None) -> httpx.Response:
        """Ask for the change, under the condition that this is its version."""
        headers = {} if tag is None else {"If-Match": tag}
        return client.request(self.method, self.path.replace("{action}", action), headers=headers, **self.body)


def _load(store: SiteStore, _action: str) -> None:
    text = yaml.safe_dump(document("drydock/Network/v1", f"net{store.buffers.version('default')}", {}))
    store.buffers.put("default", "other", text, [], BufferMode.REPLACE, "ann")


def _command(store: SiteStore, action: str) -> None:
    store.actions.take_version(action, store.actions.get(action).version)


def _touch(store: SiteStore, _action: str) -> None:
    store.wishes.touch("default", ["n1"], "ann")


def _make_reporter(store: SiteStore, _action: str) -> None:
    store.reporters.create("default", "other", "ann")


def _stop_all_repair(store: SiteStore, _action: str) -> None:
    store.repair_switches.stop(ALL_SITES, "ann", "a storm")


def _stop_repair(store: SiteStore, _action: str) -> None:
    store.repair_switches.stop("default", "ann", "the power is worked on")


BUFFER, ACTION = f"{API}/configdocs/other?version=buffer", f"{API}/actions/{{action}}"
SITE = f"{API}/sites/default"
NODE = f"{SITE}/nodes/n1"
MADE = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
STATE = {"user": {"state": "maintenance", "reason": "new disk"}, "condition": "force", "wait": False}
GROUP = {**STATE, "group": "control"}
WRITES = {
    f"POST {API}/configdocs/{{collection}}": Write(
        "POST", f"{API}/configdocs/more", BUFFER, _load, {"content": DESIGN}
    ),
    f"DELETE {API}/configdocs": Write("DELETE", f"{API}/configdocs", BUFFER, _load, {}),
    f"POST {API}/commitconfigdocs": Write("POST", f"{API}/commitconfigdocs", BUFFER, _load, {}),
    f"POST {API}/revisions/{{number}}/rollback": Write("POST", f"{API}/revisions/1/rollback", BUFFER, _load, {}),
    f"POST {API}/actions/{{action_id}}/control/{{verb}}": Write(
        "POST", f"{ACTION}/control/pause", ACTION, _command, {}
    ),
    f"POST {API}/actions/{{action_id}}/retry": Write("POST", f"{ACTION}/retry", ACTION, _command, {"json": {}}),
    f"POST {API}/actions/{{action_id}}/approvals/{{group}}": Write(
        "POST", f"{ACTION}/approvals/control", ACTION, _command, {"json": {"answer": "approved"}}
    ),
    f"POST {API}/sites/{{site}}/touch": Write(
        "POST", f"{API}/sites/default/touch", NODE, _touch, {"json": {"nodes": ["n1"]}}
    ),
    f"POST {API}/sites/{{site}}/adopt": Write(
        "POST", f"{API}/sites/default/adopt", NODE, _touch, {"json": {"nodes": ["n1"]}}
    ),
    f"POST {API}/sites/{{site}}/reports/acknowledgements": Write(
        "POST",
        f"{API}/sites/default/reports/acknowledgements",
        NODE,
        _touch,
        {"json": {"acknowledged": [{"node": "n1", "op": 1}]}},
    ),
    f"PUT {API}/sites/{{site}}/nodes/{{node}}/state": Write(
        "PUT", f"{NODE}/state", f"{NODE}/state", _touch, {"json": STATE}
    ),
    f"PUT {API}/sites/{{site}}/states": Write(
        "PUT", f"{SITE}/states", f"{SITE}/states", _touch, {"json": GROUP}, {**GROUP, "probe": True}
    ),
    f"PUT {API}/sites/{{site}}/repair": Write(
        "PUT", f"{SITE}/repair", f"{SITE}/repair", _stop_repair, {"json": {"stopped": False}}
    ),
    f"PUT {API}/repair": Write("PUT", f"{API}/repair", f"{API}/repair", _stop_all_repair, {"json": {"stopped": False}}),
    f"POST {API}/sites/{{site}}/reporters": Write(
        "POST", f"{SITE}/reporters", f"{SITE}/reporters", _make_reporter, {"json": {"owner": "burn-in"}}
    ),
    f"DELETE {API}/sites/{{site}}/reporters/{{reporter_id}}": Write(
        "DELETE", f"{SITE}/reporters/{MADE}", f"{SITE}/reporters", _make_reporter, {}
    ),
}
_LEASE = "only the controller may ask for it: epoch and secret of its lease are looked at"
WITHOUT = {
    "POST /v3/auth/tokens": "makes a token; nothing that is there changes",
    f"POST {API}/actions": "makes an action; one at a time on a site, by its lock",
    f"POST {API}/actions/plan": "writes nothing",
    f"PUT {API}/sites/{{site}}/reported": "a reporter writes its own leaves, which are nobody else's",
    f"POST {API}/sites/{{site}}/observe": _LEASE,
    f"POST {API}/sites/{{site}}/repair": _LEASE,
    f"POST {API}/sites/{{site}}/unfinished": _LEASE,
    f"POST {API}/notifications/{{event_id}}/deliveries": _LEASE,
}
"""Routes that write nothing which has a version, and why."""


@pytest.fixture
def action(user: httpx.Client, store: SiteStore) -> str:
    """Return an action under way, whose group `control` asks for an approval, on a site with a buffer."""
    commit(store)
    made = str(create(user)["id"])
    plan(store, made)
    store.groups.open_attempt(made, "control", "1")
    store.approvals.ask(made, "control", 1, ApprovalMoment.BEFORE, "Are the racks cabled?")
    _load(store, made)
    return made


def test_every_route_that_writes_takes_it_or_has_a_reason() -> None:
    writing = {route for route in operations() if not route.startswith(("GET ", "HEAD ", "OPTIONS "))}
    taking = {
        route
        for route, operation in operations().items()
        if "If-Match" in {parameter["name"] for parameter in operation.get("parameters", ())}
    }
    assert writing - taking == WITHOUT.keys(), "have it take If-Match, or say here why it does not"
    assert taking == WRITES.keys(), "have a stale write of it refused below"


@pytest.mark.parametrize("route", WRITES)
def test_a_stale_write_is_refused_with_both_versions(
    route: str, user: httpx.Client, store: SiteStore, action: str
) -> None:
    write = WRITES[route]
    seen = write.tag(user, action)
    write.change(store, action)
    now = write.tag(user, action)
    assert now != seen
    stale = write.send(user, action, seen)
    assert stale.status_code == 412, stale.text
    now_version, meant = now.strip('"'), seen.strip('"')
    assert f"is at version {now_version} now, and not at {meant}" in stale.json()["message"]
    assert stale.headers["ETag"] == now
    assert write.tag(user, action) == now, "nothing was changed"
    assert write.send(user, action, now).status_code != 412
    write.change(store, action)
    assert write.send(user, action, None).status_code != 412, "without a condition the last one wins"


def test_one_version_is_not_that_of_several_nodes(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    tag = user.get(NODE).headers["ETag"]
    path = f"{API}/sites/default/touch"
    several = user.post(path, json={"nodes": ["n1", "n2"]}, headers={"If-Match": tag})
    assert several.status_code == 412
    assert "n1 with 1 more is at version " in several.json()["message"]
    one = user.post(path, json={"nodes": ["n1"]}, headers={"If-Match": tag})
    assert one.headers["ETag"] == user.get(NODE).headers["ETag"] != tag
    none = user.post(f"{API}/sites/default/adopt", json={}, headers={"If-Match": tag})
    assert (none.status_code, "name them" in none.json()["message"]) == (400, True)


def test_a_state_that_is_set_is_a_new_version_of_the_node(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    seen = user.get(NODE).headers["ETag"]
    assert user.get(f"{NODE}/state").headers["ETag"] == seen
    judged = user.put(f"{NODE}/state", json={**STATE, "probe": True})
    assert judged.headers["ETag"] == seen, "to judge changes nothing"
    first = user.put(f"{NODE}/state", json=STATE, headers={"If-Match": seen})
    assert first.headers["ETag"] == user.get(NODE).headers["ETag"] != seen
    second = user.put(f"{NODE}/state", json={**STATE, "user": {"state": "up"}}, headers={"If-Match": seen})
    assert second.status_code == 412
    assert user.get(f"{NODE}/state").json()["user"]["state"] == "maintenance"


def test_nodes_together_have_another_version_when_one_of_them_has(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    path = f"{SITE}/states"
    seen = user.put(path, json={**GROUP, "probe": True}).headers["ETag"]
    named = {**STATE, "nodes": ["n2", "n1"]}
    assert user.put(path, json={**named, "probe": True}).headers["ETag"] == seen, "however they are named"
    store.wishes.touch("default", ["n2"], "ann")
    stale = user.put(path, json=GROUP, headers={"If-Match": seen})
    assert stale.status_code == 412
    assert store.user_states.of_site("default") == {}
    assert user.put(path, json=GROUP, headers={"If-Match": stale.headers["ETag"]}).json()["modified"]
