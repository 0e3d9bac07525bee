"""Reporters: a token for one site and owner, leaves below existing entries, and nothing of anybody else's."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from site_store import NewAction, SiteStore
from site_store.status.reporters import SHORTEST_PAUSE
from tests.integration.api.airflow_runs import ACTIONS, commit, plan
from tests.integration.api.http.test_service import assert_failure

SITES = "/api/v1.0/sites"
REPORTED = f"{SITES}/default/reported"


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch, store: SiteStore) -> None:
    """Commit two sites; reporters may write as often as the test does."""
    monkeypatch.setattr("site_store.status.reporters.SHORTEST_PAUSE", SHORTEST_PAUSE * 0)
    for name in ("default", "north"):
        commit(store, name)


def make(client: httpx.Client, owner: str = "burn-in", site: str = "default") -> dict[str, Any]:
    answer = client.post(f"{SITES}/{site}/reporters", json={"owner": owner})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def leaf(parent: str = "control", name: str = "burn-in", **more: Any) -> dict[str, Any]:
    return {"parent": parent, "name": name, "status": "success", **more}


def put(client: httpx.Client, token: str, *leaves: dict[str, Any], path: str = REPORTED, **more: Any) -> httpx.Response:
    return client.put(path, json={"leaves": list(leaves), **more}, headers={"Authorization": f"Bearer {token}"})


def test_a_token_is_shown_once_and_opens_nothing_else(
    user: httpx.Client, anonymous: httpx.Client, store: SiteStore
) -> None:
    made = make(user)
    assert (made["owner"], made["created_by"]) == ("reporter:burn-in", "user")
    listed = user.get(f"{SITES}/default/reporters").json()
    assert [one["id"] for one in listed] == [made["id"]]
    assert made["token"] not in str(listed)
    with_token = {"Authorization": f"Bearer {made['token']}"}
    for path in (f"{SITES}/default/tree", ACTIONS, f"{SITES}/default/reporters"):
        assert anonymous.get(path, headers=with_token).status_code == 401


def test_one_speaks_for_somebody_on_a_site_that_is_there(user: httpx.Client) -> None:
    assert_failure(user.post(f"{SITES}/default/reporters", json={"owner": " "}), 400, "whom the reporter speaks for")
    assert_failure(user.post(f"{SITES}/nort/reporters", json={"owner": "x"}), 404, "did you mean 'north'")


def test_leaves_stand_below_entries_and_roll_up(user: httpx.Client, anonymous: httpx.Client, store: SiteStore) -> None:
    token = make(user)["token"]
    answer = put(anonymous, token, leaf(status="error", message="<b>fan 3</b>", revision=1), leaf("compute/n3", "fan"))
    assert answer.json() == {"owner": "reporter:burn-in", "leaves": 2}
    root = user.get(f"{SITES}/default/tree", params={"depth": "3"}).json()["root"]
    control = next(child for child in root["children"] if child["name"] == "control")
    (mine,) = (child for child in control["children"] if child["kind"] == "reported")
    assert (mine["name"], mine["status"], mine["messages"]) == ("burn-in", "error", ["burn-in: <b>fan 3</b>"])
    assert root["status"] == "error"
    assert put(anonymous, token, gone=[{"parent": "control", "name": "burn-in"}]).status_code == 200
    assert user.get(f"{SITES}/default/tree").json()["root"]["status"] == "pending"


def test_leaves_of_an_action(user: httpx.Client, anonymous: httpx.Client, store: SiteStore) -> None:
    action = store.actions.ensure(
        "deploy_site", "manual__reported", NewAction("deploy_site", "default", 1, {}, "tester")
    )
    plan(store, action.id)
    token = make(user)["token"]
    place = "deploy_group/control/deploy/n"
    assert put(anonymous, token, leaf(f"{place}1"), action_id=action.id).status_code == 200
    assert_failure(put(anonymous, token, leaf(f"{place}3"), action_id=action.id), 404, "the tree has no entry")
    other = store.actions.ensure("deploy_site", "manual__other", NewAction("deploy_site", "north", 1, {}, "tester"))
    assert_failure(put(anonymous, token, leaf(), action_id=other.id), 403, "is not one of site default")
    assert_failure(put(anonymous, token, leaf(), action_id="0" * 26), 404, "there is no action")


def test_what_is_anothers_is_refused(user: httpx.Client, anonymous: httpx.Client, tokens: dict[str, str]) -> None:
    made, other = make(user), make(user, "power")
    assert put(anonymous, other["token"], leaf()).status_code == 200
    assert_failure(put(anonymous, made["token"], leaf()), 403, "is of reporter:power, and not of reporter:burn-in")
    gone = put(anonymous, made["token"], gone=[{"parent": "control", "name": "burn-in"}])
    assert_failure(gone, 403, "is of reporter:power")
    elsewhere = put(anonymous, made["token"], leaf(), path=f"{SITES}/north/reported")
    assert_failure(elsewhere, 403, "none of a reporter of site north")
    for token in ("x", tokens["admin"]):
        assert_failure(put(anonymous, token, leaf()), 401, "send the token of a reporter")
    assert_failure(put(anonymous, made["token"], leaf("nothing")), 404, "the tree has no entry 'nothing'")
    assert_failure(put(anonymous, made["token"], leaf("control/n3")), 404, "the tree has no entry 'control/n3'")


def test_a_revoked_token_opens_nothing(user: httpx.Client, anonymous: httpx.Client) -> None:
    made = make(user)
    assert user.delete(f"{SITES}/default/reporters/{made['id']}").json()["revoked"] is not None
    assert_failure(put(anonymous, made["token"], leaf()), 401, "send the token of a reporter")
    assert user.delete(f"{SITES}/default/reporters/{'0' * 26}").status_code == 404
    assert user.delete(f"{SITES}/north/reporters/{made['id']}").status_code == 404, "it is another site's"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"leaves": "x"}, "leaves must be a list"),
        ({"leaves": ["x"]}, "leaves[0] must be an object"),
        ({"leaves": [leaf(status="fine")]}, "leaves[0].status must be one of success"),
        ({"leaves": [leaf(name="a/b")]}, "leaves[0].name"),
        ({"leaves": [leaf(message="x" * 3000)]}, "leaves[0].message"),
        ({"leaves": [leaf(revision=True)]}, "leaves[0].revision"),
        ({"leaves": [{**leaf(), "parent": None}]}, "leaves[0].parent"),
        ({"leaves": [], "interval": 0}, "interval must be seconds"),
        ({"leaves": [], "gone": [{}]}, "gone[0].parent"),
        ({"leaves": [], "action_id": 3}, "action_id must be"),
        ({"leaves": [], "action": "x"}, "action is no field; did you mean 'action_id'?"),
        ({"leaves": [leaf(messages=["x"])]}, "leaves[0].messages is no field; did you mean 'message'?"),
    ],
)
def test_what_is_wrong_is_said(user: httpx.Client, anonymous: httpx.Client, wrong: dict[str, Any], said: str) -> None:
    token = {"Authorization": f"Bearer {make(user)['token']}"}
    assert_failure(anonymous.put(REPORTED, json=wrong, headers=token), 400, said)


def test_a_reporter_writes_at_most_once_a_second(
    user: httpx.Client, anonymous: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("site_store.status.reporters.SHORTEST_PAUSE", SHORTEST_PAUSE * 3600)
    token = make(user)["token"]
    assert put(anonymous, token, leaf()).status_code == 200
    again = put(anonymous, token, leaf())
    assert_failure(again, 429, "at most once a second")
    assert again.headers["retry-after"] == "1"
