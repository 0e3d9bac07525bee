"""Trees of sites and actions over HTTP: what changes is answered at once, and nothing is sent twice."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import jsonschema_rs
import pytest

from site_store import ActionState, NewAction, NewPlan, PlannedGroup, SiteStore
from slipway_api.status.tree_routes import LARGEST
from strategy_lib.strategy import Group
from tests.conftest import ROOT
from tests.integration.api.airflow_runs import ACTIONS, commit, plan
from tests.integration.api.http.test_service import assert_failure

SITES = "/api/v1.0/sites"


@pytest.fixture
def action(store: SiteStore) -> str:
    """Return the id of an action that has its plan."""
    commit(store)
    made = store.actions.ensure("deploy_site", "manual__tree", NewAction("deploy_site", "default", 1, {}, "tester"))
    plan(store, made.id)
    return made.id


def tree(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    entries = jsonschema_rs.validator_for(json.loads((ROOT / "schemas" / "status_tree.json").read_text()))
    entries.validate(found["root"])
    assert answer.headers["etag"] == f'"{found["token"]}"'
    return found


def kinds(entry: dict[str, Any]) -> set[str]:
    return {entry["kind"]}.union(*map(kinds, entry.get("children", ())))


def test_the_tree_of_a_site(viewer: httpx.Client, action: str) -> None:
    found = tree(viewer, f"{SITES}/default/tree")
    assert found["header"]["revision_committed"] == 1
    assert [child["name"] for child in found["root"]["children"]] == ["control", "compute", "watching"]
    assert kinds(found["root"]) == {"site", "group", "watching"}
    assert kinds(tree(viewer, f"{SITES}/default/tree", depth="2")["root"]) == {"site", "group", "node", "watching"}
    assert "children" not in tree(viewer, f"{SITES}/default/tree", depth="0")["root"]
    assert_failure(viewer.get(f"{SITES}/defalt/tree"), 404, "there is no site 'defalt'")
    assert_failure(viewer.get(f"{SITES}/-/tree"), 400, "the request is not valid")


def test_the_tree_of_an_action_by_its_id_and_by_its_run(viewer: httpx.Client, action: str) -> None:
    found = tree(viewer, f"{ACTIONS}/{action}/tree")
    assert found["header"]["site"] == "default"
    assert kinds(found["root"]) == {"action", "stage", "step", "group", "phase"}
    assert kinds(tree(viewer, f"{ACTIONS}/manual__tree/tree", depth="4")["root"]) >= {"node"}
    assert_failure(viewer.get(f"{ACTIONS}/{'0' * 26}/tree"), 404, "there is no action")


def test_the_whole_tree_comes_entry_by_entry(viewer: httpx.Client, action: str) -> None:
    for path, kind in ((f"{ACTIONS}/{action}/tree", "action"), (f"{SITES}/default/tree", "site")):
        answer = viewer.get(path, params={"depth": "all"})
        assert answer.headers["content-type"] == "application/x-ndjson"
        first, root, *entries = map(json.loads, answer.text.splitlines())
        assert first.keys() == {"token", "read_at", "header"}
        assert (root["path"], root["kind"]) == ([], kind)
        assert {entry["name"] for entry in entries if entry["kind"] == "node"} == {"n1", "n2", "n3"}
    answer = viewer.get(f"{ACTIONS}/{action}/tree", params={"depth": "all", "touched_only": "true"})
    assert "n1" not in answer.text


def test_what_nobody_has_written_about_can_be_left_out(viewer: httpx.Client, action: str) -> None:
    whole = tree(viewer, f"{ACTIONS}/{action}/tree", depth="4")["root"]
    touched = tree(viewer, f"{ACTIONS}/{action}/tree", depth="4", touched_only="true")["root"]
    assert "node" in kinds(whole)
    assert "node" not in kinds(touched)


def test_what_is_known_is_not_sent_again(viewer: httpx.Client, action: str, store: SiteStore) -> None:
    path = f"{ACTIONS}/{action}/tree"
    token = tree(viewer, path)["token"]
    for tag in (f'"{token}"', f'W/"{token}"', f'"other", "{token}"'):
        again = viewer.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
    assert viewer.get(path, params={"since": token}).status_code == 204
    store.actions.mark_step(action, "plan_groups")
    assert viewer.get(path, headers={"If-None-Match": f'"{token}"'}).status_code == 200
    assert viewer.get(path, params={"since": token}).status_code == 200


def test_a_change_is_answered_within_a_second_of_its_commit(
    viewer: httpx.Client, action: str, store: SiteStore
) -> None:
    for path in (f"{ACTIONS}/{action}/tree", f"{SITES}/default/tree"):
        token = tree(viewer, path)["token"]
        with ThreadPoolExecutor(20) as pool:
            waiting = [pool.submit(viewer.get, path, params={"since": token, "wait": 20}) for _ in range(20)]
            # The other requests of the server are answered meanwhile.
            assert viewer.get("/api/v1.0/workflows").status_code == 200
            assert not any(answer.done() for answer in waiting)
            assert store.actions.set_paused(action, path.startswith(ACTIONS))
            committed = time.monotonic()
            answers = [answer.result() for answer in waiting]
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["token"] for answer in answers} - {token}) == 1
        assert time.monotonic() - committed < 20, "it did not wait to the end"


def test_a_wait_ends_without_a_change(viewer: httpx.Client, action: str) -> None:
    path = f"{ACTIONS}/{action}/tree"
    token = tree(viewer, path)["token"]
    assert viewer.get(path, params={"since": token, "wait": 0.6}).status_code == 204
    assert viewer.get(path, params={"since": "unknown", "wait": 30}).status_code == 200
    for wait in ("31", "-1", "nan"):
        assert_failure(viewer.get(path, params={"since": token, "wait": wait}), 400, "the request is not valid")


@pytest.mark.endurance
def test_a_large_tree_is_bounded_and_streamed_as_a_whole(viewer: httpx.Client, store: SiteStore) -> None:
    made = store.actions.ensure("deploy_site", "manual__large", NewAction("deploy_site", "default", None, {}, "tester"))
    store.locks.acquire(made.id)
    names = [f"a-node-with-a-rather-long-name-{i:05}" for i in range(3000)]
    groups = [PlannedGroup(Group(f"group-{i}", critical=True), tuple(names)) for i in range(2)]
    store.groups.save_plan(made.id, NewPlan(groups, frozenset(), dict.fromkeys(names, "digest")))
    answer = viewer.get(f"{ACTIONS}/{made.id}/tree", params={"depth": "4"})
    assert len(answer.content) <= LARGEST
    whole = viewer.get(f"{ACTIONS}/{made.id}/tree", params={"depth": "all"})
    assert whole.text.count('"kind":"node"') == 2 * 2 * 3000


def test_sites_are_listed_with_how_they_stand(viewer: httpx.Client, action: str, store: SiteStore) -> None:
    commit(store, "north")
    found = viewer.get(SITES)
    assert [(one["name"], one["status"], one["nodes"], one["nodes_as_wanted"]) for one in found.json()] == [
        ("default", "pending", 3, 0),
        ("north", "pending", 3, 0),
    ]
    assert [(one["serves"], one["serves_counts"], one["sync"]) for one in found.json()] == [
        ("nothing", {"nothing": 3}, "behind the design: 3 nodes serve nothing")
    ] * 2
    assert found.json()[0]["running"]["id"] == action
    page = viewer.get(SITES, params={"limit": 1})
    assert [one["name"] for one in page.json()] == ["default"]
    assert "after=default" in page.headers["link"]
    assert [one["name"] for one in viewer.get(SITES, params={"after": "default"}).json()] == ["north"]


def test_nodes_of_a_site_and_of_an_action(viewer: httpx.Client, action: str) -> None:
    page = viewer.get(f"{SITES}/default/nodes", params={"limit": 2}).json()
    assert ([one["node"] for one in page["nodes"]], page["total"]) == (["n1", "n2"], 3)
    rest = viewer.get(f"{SITES}/default/nodes", params={"limit": 2, "after": page["after"]}).json()
    assert ([one["node"] for one in rest["nodes"]], rest["after"]) == (["n3"], None)
    turned = viewer.get(f"{SITES}/default/nodes", params={"sort": "-node", "group": "control"}).json()
    assert [one["node"] for one in turned["nodes"]] == ["n2", "n1"]
    assert viewer.get(f"{SITES}/default/nodes", params={"where": "power=on"}).json()["nodes"] == []
    for wrong in ({"where": "power"}, {"where": "secret=1"}, {"sort": "secret"}, {"after": "x"}, {"limit": 0}):
        assert viewer.get(f"{SITES}/default/nodes", params=wrong).status_code == 400, wrong
    found = viewer.get(f"{ACTIONS}/{action}/nodes", params={"group": "control", "phase": "deploy", "limit": 1}).json()
    assert [(one["group"], one["phase"], one["name"]) for one in found["nodes"]] == [("control", "deploy", "n1")]
    after = {"group": "control", "phase": "deploy", "after": found["after"]}
    assert [one["name"] for one in viewer.get(f"{ACTIONS}/{action}/nodes", params=after).json()["nodes"]] == ["n2"]
    for place in ("x", "W10", "bnVsbA"):
        assert_failure(viewer.get(f"{ACTIONS}/{action}/nodes", params={"after": place}), 400, "from no page")


def test_everything_about_a_node(viewer: httpx.Client, action: str) -> None:
    found = viewer.get(f"{SITES}/default/nodes/n1").json()
    assert (found["node"]["wanted_revision"], [one["id"] for one in found["actions"]]) == (1, [action])
    assert [phase["phase"] for phase in found["actions"][0]["phases"]] == ["prepare", "deploy"]
    assert_failure(viewer.get(f"{SITES}/default/nodes/%3Cb%3E"), 404, "has no node '<b>', and never had")
    near = "has no node 'n1-', and never had; did you mean 'n1'?"
    assert_failure(viewer.get(f"{SITES}/default/nodes/n1-"), 404, near)


def test_owners_are_listed_once_with_what_they_affect(viewer: httpx.Client, action: str, store: SiteStore) -> None:
    store.owners.check_in("provisioner:slipway_provisioner", 120.0)
    found = {one["name"]: one for one in viewer.get("/api/v1.0/owners").json()["owners"]}
    assert found["provisioner:slipway_provisioner"]["alive"]
    airflow = found["airflow:deploy_site"]
    assert (airflow["alive"], airflow["last_seen"], airflow["sites"]) == (False, None, ["default"])
    first = viewer.get("/api/v1.0/owners", params={"limit": 1}).json()
    assert ([one["name"] for one in first["owners"]], first["after"]) == (
        ["airflow:deploy_site"],
        "airflow:deploy_site",
    )
    rest = viewer.get("/api/v1.0/owners", params={"after": first["after"]}).json()
    assert ({one["name"] for one in rest["owners"]}, rest["after"]) == (found.keys() - {"airflow:deploy_site"}, None)


def test_a_list_of_actions_can_be_waited_for_and_says_how_each_stands(
    viewer: httpx.Client, action: str, store: SiteStore
) -> None:
    first = viewer.get(ACTIONS, params={"status": "true", "since": "0"})
    assert [(one["id"], one["status"]) for one in first.json()] == [(action, "pending")]
    assert first.json()[0]["last_updated"] is not None
    assert viewer.get(ACTIONS).json()[0].get("status") is None
    token = first.headers["etag"].strip('"')
    assert viewer.get(ACTIONS, params={"since": token}).status_code == 204
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(viewer.get, ACTIONS, params={"since": token, "wait": 20})
        store.actions.close(action, ActionState.CANCELLED, "stopped by tester")
        assert [one["state"] for one in waiting.result().json()] == ["cancelled"]
    assert viewer.get(ACTIONS, params={"status": "true"}).json()[0]["status"] == "error"
