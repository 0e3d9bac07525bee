"""The published states of a site's nodes, and what administrators set for nodes, over HTTP (rules 49 to 55)."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from site_engine.node_states.leader import SiteLeader
from site_store import SiteStore
from site_store.status.leases import lease_of
from slipway_api.sites import node_states, view_answers
from strategy_lib.node_states.publication import Version
from tests.integration.api.airflow_runs import DESIGN
from tests.integration.api.http.test_service import assert_failure
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document

SITE = "/api/v1.0/sites/default"
STATE = f"{SITE}/state"
QUICK = {"node_states": {"min_time_between_versions": 0, "quiet_time": 0}}
WORDS = {"n1": "Deployed", "n2": "Deployed", "n3": "Ready"}
MAINTENANCE = {"state": "maintenance", "reason": "new disk"}


class Led:
    """The site `default` with a controller whose looks the test makes."""

    def __init__(self, store: SiteStore) -> None:
        self.store = store
        settings = json.dumps(document("slipway/SiteSettings/v1", "settings", QUICK))
        commit_design(store, "default", f"{DESIGN}---\n{settings}\n")
        held = store.leases.take(lease_of("default"), "me", 600)
        assert held is not None
        self.leader = SiteLeader(store, "default", held, store.now().timestamp())

    def sees(self, **words: str) -> None:
        """Let the provisioner list other words, and the controller look."""
        said = {
            name: {"status": word, "power": "on", "condition": "other"} for name, word in {**WORDS, **words}.items()
        }
        self.store.provisioner_lists.save("default", "c", said)
        self.leader.look()


@pytest.fixture
def led(store: SiteStore) -> Led:
    site = Led(store)
    site.sees()
    return site


def version(answer: httpx.Response) -> str:
    data = answer.json()
    return f"{data['epoch']}.{data['version']}"


def test_a_site_that_nobody_leads_says_so(viewer: httpx.Client, anonymous: httpx.Client, store: SiteStore) -> None:
    assert anonymous.get(STATE).status_code == 401
    assert_failure(viewer.get(STATE), 404, "site default has no committed revision")
    commit_design(store, "default", DESIGN)
    assert_failure(viewer.get(STATE), 404, "no controller has published the states of its nodes yet")
    assert viewer.get(f"{STATE}/history").json() == {"site": "default", "leader": None, "versions": []}
    assert viewer.get(f"{SITE}/nodes/n1/state").json()["generated"] == {"state": None, "reason": "", "since": None}


def test_the_whole_what_differs_and_the_log(viewer: httpx.Client, led: Led, monkeypatch: pytest.MonkeyPatch) -> None:
    first = viewer.get(STATE)
    assert {name: node["state"] for name, node in first.json()["nodes"].items()} == {
        "n1": "up",
        "n2": "up",
        "n3": "down",
    }
    assert first.content == viewer.get(STATE).content, "all readers of a version get the same bytes (rule 55)"
    assert first.headers["ETag"] == f'"{version(first)}"'
    assert viewer.get(STATE, params={"since": version(first)}).status_code == 204
    assert viewer.get(STATE, params={"since": "9999999999.1"}).status_code == 204, "a reader takes only what is greater"
    led.sees(n3="Deploying")
    led.sees(n3="Deploying", n2="Rebooting rack")
    differing = viewer.get(STATE, params={"since": version(first)}).json()
    assert differing["since"] == version(first)
    assert {name: node["state"] for name, node in differing["nodes"].items()} == {
        "n2": "maintenance",
        "n3": "initializing",
    }
    whole = viewer.get(STATE, params={"since": "1.1"}).json()
    assert (set(whole["nodes"]), whole.get("since")) == ({"n1", "n2", "n3"}, None)
    history = viewer.get(f"{STATE}/history", params={"limit": 2}).json()
    assert history["leader"] == "me"
    assert [(one["version"], [change["node"] for change in one["changes"]]) for one in history["versions"]] == [
        (3, ["n2"]),
        (2, ["n3"]),
    ]
    monkeypatch.setattr(view_answers, "_MOST_CHANGES", 2)
    led.sees()
    far_behind = viewer.get(STATE, params={"since": version(first)}).json()
    assert (set(far_behind["nodes"]), far_behind.get("since")) == ({"n1", "n2", "n3"}, None)
    for since in ("1", "1.x", "-1.1"):
        assert_failure(viewer.get(STATE, params={"since": since}), 400, "the request is not valid")


def test_readers_linger_until_the_next_version(viewer: httpx.Client, led: Led) -> None:
    known = version(viewer.get(STATE))
    assert viewer.get(STATE, params={"since": known, "wait": 0.6}).status_code == 204
    newer: dict[str, str | float] = {"since": "9999999999.1", "wait": 0.6}
    assert viewer.get(STATE, params=newer).elapsed.total_seconds() >= 0.5, "nothing newer is waited for, too"
    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(viewer.get, STATE, params={"since": known, "wait": 30}) for _ in range(5)]
        led.sees(n3="Deployed")
        answers = [one.result(20) for one in asked]
    assert {version(answer) for answer in answers} == {version(viewer.get(STATE))}
    assert [answer.json()["nodes"] for answer in answers] == [{"n3": {"state": "up"}}] * 5


def test_rule_55_what_many_readers_ask_is_read_once_and_they_get_the_same_bytes(
    viewer: httpx.Client, led: Led, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = version(viewer.get(STATE))
    made: list[object] = []

    make_answer = view_answers.make_answer

    def make(store: SiteStore, site: str, known: Version | None) -> view_answers.ViewAnswer:
        made.append((site, known))
        return make_answer(store, site, known)

    with monkeypatch.context() as patch:
        patch.setattr(view_answers, "make_answer", make)
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(viewer.get, STATE, params={"since": known, "wait": 30}) for _ in range(8)]
            led.sees(n3="Deployed")
            answers = [one.result(20) for one in asked]
        assert made == [("default", Version(*map(int, known.split("."))))]
        assert len({answer.content for answer in answers}) == 1
        assert viewer.get(STATE).content == viewer.get(STATE).content
        assert len(made) == 2


def test_a_state_is_set_published_and_shown(user: httpx.Client, viewer: httpx.Client, led: Led) -> None:
    path = f"{SITE}/nodes/n3/state"
    body: dict[str, Any] = {"user": MAINTENANCE}
    assert viewer.put(path, json=body).status_code == 403
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    with ThreadPoolExecutor(1) as pool:
        asked: Future[httpx.Response] = pool.submit(user.put, path, json=body | {"until": until})
        while "n3" not in led.store.user_states.of_site("default"):
            assert not asked.done()
        led.leader.look()
        answer = asked.result(30)
    assert (answer.status_code, answer.json()) == (
        200,
        {"modified": True, "reason": "", "nodes": ["n3"], "published": True, "missing": None},
    )
    shown = viewer.get(path).json()
    assert (shown["reported"]["state"], shown["reported"]["reason"]) == ("down", "Ready, power on")
    assert (shown["user"]["state"], shown["user"]["reason"]) == ("maintenance", "new disk")
    assert (shown["generated"]["state"], shown["set_by"], shown["crashes"]) == ("maintenance", "user", 0)
    assert datetime.fromisoformat(shown["until"]) == datetime.fromisoformat(until)
    assert viewer.get(STATE).json()["nodes"]["n3"] == {"state": "maintenance", "reason": "new disk"}


def test_what_is_refused_is_an_answer_and_force_says_what_it_overrides(user: httpx.Client, led: Led) -> None:
    path = f"{SITE}/nodes/n1/state"
    refused = user.put(path, json={"user": {"state": "down", "reason": "broken"}})
    assert refused.status_code == 200
    assert refused.json()["modified"] is False
    assert "only a retired node is set down" in refused.json()["reason"]
    forced: dict[str, Any] = {"user": {"state": "down", "reason": "broken"}, "condition": "force", "wait": False}
    probed = user.put(path, json=forced | {"probe": True}).json()
    assert probed["modified"] is True
    assert led.store.user_states.in_force("default") == {}
    done = user.put(path, json=forced)
    assert done.status_code == 202, "nobody waits, and it is not published yet"
    assert "something is deployed on it" in done.json()["reason"]
    assert done.json()["missing"] == "the controller has not taken it in yet for n1"
    assert set(led.store.user_states.in_force("default")) == {"n1"}


def test_a_group_is_set_at_once_or_not_at_all(user: httpx.Client, led: Led) -> None:
    path = f"{SITE}/states"
    wanted: dict[str, Any] = {"user": {"state": "retired", "reason": "moves"}, "wait": False}
    assert user.put(path, json=wanted | {"group": "control"}).json()["nodes"] == ["n1", "n2"]
    assert set(led.store.user_states.in_force("default")) == {"n1", "n2"}
    assert_failure(user.put(path, json=wanted), 400, "name at least one of nodes, group and rack")
    assert_failure(user.put(path, json=wanted | {"group": "controll"}), 404, "did you mean 'control'")
    assert_failure(user.put(path, json=wanted | {"nodes": ["n3", "n4"]}), 404, "has no node 'n4'")
    assert_failure(user.put(path, json=wanted | {"rack": "r9"}), 404, "has no rack 'r9'; known are r1")
    assert_failure(user.put(path, json=wanted | {"group": "zzz"}), 404, "nodes 'zzz'; known are ")
    assert set(led.store.user_states.in_force("default")) == {"n1", "n2"}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"user": {"state": "sideways", "reason": "x"}}, 400, "the request is not valid"),
        ({"user": {"state": "down"}}, 400, "user.reason is missing: say why nodes are set to down"),
        ({"user": MAINTENANCE, "until": "2020-01-01T00:00:00Z"}, 400, "which is over"),
        ({"user": MAINTENANCE, "until": "tomorrow"}, 400, "the request is not valid"),
        ({"user": MAINTENANCE, "condition": "maybe"}, 400, "the request is not valid"),
    ],
)
def test_a_request_that_is_not_valid_says_what_would_be(
    user: httpx.Client, led: Led, body: dict[str, Any], status: int, message: str
) -> None:
    assert_failure(user.put(f"{SITE}/nodes/n1/state", json=body), status, message)
    assert led.store.user_states.of_site("default") == {}


def test_a_node_that_is_not_there(user: httpx.Client, viewer: httpx.Client, led: Led) -> None:
    assert_failure(viewer.get(f"{SITE}/nodes/n4/state"), 404, "site default has no node 'n4'")
    assert_failure(user.put(f"{SITE}/nodes/n4/state", json={"user": MAINTENANCE}), 404, "has no node 'n4'")


def test_without_a_controller_it_holds_and_the_answer_says_that_it_is_not_published(
    user: httpx.Client, led: Led, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_states, "LONGEST_WAIT", 0.1)
    led.store.leases.give_up(led.leader.held)
    body = {"user": {"state": "retired", "reason": "old"}}
    answer = user.put(f"{SITE}/nodes/n3/state", json=body)
    assert answer.status_code == 202
    assert answer.json()["missing"] == "no controller leads the site: it is published when one does"
    assert set(led.store.user_states.in_force("default")) == {"n3"}


def test_the_controller_has_the_list_read(user: httpx.Client, led: Led, connected: Simulator) -> None:
    connected.read(DESIGN, "n1")
    held = led.leader.held
    done = user.post(f"{SITE}/observe", json={"epoch": held.epoch, "secret": held.secret})
    assert done.status_code == 200
    kept = led.store.provisioner_lists.get("default")
    assert kept is not None
    said = done.json()
    assert (said["nodes"], said["whole"], said["cursor"], kept.connection) == (3, True, None, "slipway_provisioner")


@pytest.mark.usefixtures("dags")
@pytest.mark.parametrize("path", ["actions", "actions/plan"])
def test_an_action_that_goes_by_an_older_version_is_told_the_newer_one(
    user: httpx.Client, store: SiteStore, connected: Simulator, path: str
) -> None:
    commit_design(store, "default", DESIGN)
    body: dict[str, Any] = {"name": "update_site", "site_state": {"epoch": 1, "version": 1}}
    url = f"/api/v1.0/{path}"
    assert_failure(user.post(url, json=body), 409, "site_state is 1.1, and no version of the states")
    led = Led(store)
    led.sees()
    first = store.site_views.version("default")
    led.sees(n3="Deploying")
    newest = store.site_views.version("default")
    assert newest.replaces(first)
    shown = {"epoch": newest.epoch, "version": newest.number}
    for given, why in (
        (first, f"version {newest} of the states of the nodes of site default was published since {first}"),
        (Version(newest.epoch, newest.number + 1), f"the newest is {newest}"),
    ):
        refused = user.post(url, json={**body, "site_state": {"epoch": given.epoch, "version": given.number}})
        assert_failure(refused, 409, why)
        assert refused.json()["details"]["messageList"][0]["site_state"] == shown
    for wrong in ("1.1", {"epoch": 1}, {"epoch": -1, "version": 1}, {"epoch": "1", "version": 1}, [1, 1]):
        assert_failure(user.post(url, json={**body, "site_state": wrong}), 400, "site_state must be a version")
    assert store.actions.newest("default") == []
    if path == "actions/plan":
        assert user.post(url, json={**body, "site_state": shown}).status_code == 200
