"""Asking for nodes again, taking over deployed ones, and who asked for what, over HTTP; the objects of a design."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from site_store import ActionState, AskedState, NewAction, SiteStore
from strategy_lib.node_states.generated import NodeAvailability
from tests.integration.api.airflow_runs import DESIGN, commit
from tests.integration.api.http.test_service import assert_failure
from tests.support.configdocs import API, committed
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

pytestmark = pytest.mark.usefixtures("connected")

TOUCH, ADOPT = "/api/v1.0/sites/default/touch", "/api/v1.0/sites/default/adopt"


def test_who_asks_for_which_nodes_again(user: httpx.Client, viewer: httpx.Client, store: SiteStore) -> None:
    commit(store)
    assert user.post(TOUCH, json={"nodes": ["n1", "n2", "n1"]}).json() == {
        "site": "default",
        "nodes": [{"name": "n1", "wanted_version": 2}, {"name": "n2", "wanted_version": 2}],
    }
    assert {one.name: one.touched_by for one in store.nodes.of_site("default")} == {
        "n1": "user",
        "n2": "user",
        "n3": None,
    }
    assert_failure(user.post(TOUCH, json={"nodes": ["n1", "n11"]}), 404, "has no node 'n11'; did you mean 'n1'")
    assert_failure(user.post(TOUCH, json={"nodes": []}), 400, "must name the nodes")
    assert_failure(user.post(TOUCH, json={"nodes": "n1"}), 400, "must be a list")
    assert viewer.post(TOUCH, json={"nodes": ["n1"]}).status_code == 403
    assert store.nodes.of_site("default")[0].wanted_version == 2, "what was refused has changed nothing"


def test_a_key_that_a_body_cannot_have_is_refused_and_nothing_is_done(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    meant = user.post(TOUCH, json={"nodes": ["n1"], "caused-by": "one"})
    assert_failure(
        meant, 400, "unknown key 'caused-by', and nothing was done: it is a parameter of the address: ?caused"
    )
    assert_failure(user.post(TOUCH, json={"nodes": ["n1"], "node": "n2"}), 400, "'node', and nothing was done: did you")
    as_key = user.post(ADOPT, json={"dryrun": True})
    assert_failure(as_key, 400, "a parameter of the address: ?dryrun=")
    assert {one.touched_by for one in store.nodes.of_site("default")} == {None}


def test_rule_42_a_running_action_asks_for_nothing_again(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    action = store.actions.ensure("update_site", "run", NewAction("update_site", "default", 1, {}, "ann"))
    refused = user.post(TOUCH, json={"nodes": ["n1"]}, params={"caused-by": action.id})
    assert_failure(refused, 409, f"action {action.id} (update_site of site default) is running")
    store.actions.close(action.id, ActionState.SUCCESS, "done")
    assert user.post(TOUCH, json={"nodes": ["n1"]}, params={"caused-by": action.id}).status_code == 200


def test_deployed_nodes_are_taken_over_and_others_are_named_with_the_reason(
    user: httpx.Client, connected: Simulator, store: SiteStore
) -> None:
    commit(store)
    connected.read(DESIGN, "n1", "n2")
    planned = user.post(ADOPT, json={}, params={"dryrun": True}).json()
    assert (planned["nodes"], planned["dry_run"]) == (["n1", "n2"], True)
    assert [one["name"] for one in planned["skipped"]] == ["n3"]
    assert store.nodes.of_site("default")[0].done_digest is None, "a dry run records nothing"
    done = user.post(ADOPT, json={"nodes": ["n1", "n3"]}).json()
    assert (done["nodes"], done["revision"]) == (["n1"], 1)
    assert done["skipped"][0]["reason"].startswith("the provisioner does not list it as deployed: ")
    assert {one.name: one.is_up_to_date for one in store.nodes.of_site("default")} == {
        "n1": True,
        "n2": False,
        "n3": False,
    }
    again = user.post(ADOPT, json={}).json()
    assert again["nodes"] == ["n2"]
    assert again["skipped"][0] == {"name": "n1", "reason": "it is as wanted, since revision 1"}
    assert_failure(user.post(ADOPT, json={"nodes": ["n9"]}), 404, "has no node 'n9'")


def test_rule_51_a_node_out_of_use_is_not_asked_for_again(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    assert store.user_states.change("default", ["n2"], AskedState(NodeAvailability.DOWN, "scrap", force=True), "ann")
    why = "node n2 is set to down by ann: scrap; `slipway set node-state n2 up --site default` comes first"
    assert_failure(user.post(TOUCH, json={"nodes": ["n1", "n2"]}), 409, why)
    assert {one.touched_by for one in store.nodes.of_site("default")} == {None}


def pages(client: httpx.Client, path: str, **query: str) -> list[list[dict[str, Any]]]:
    """Return all pages of a list."""
    found = []
    answer = client.get(f"{API}{path}", params=query)
    while True:
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
        if "next" not in answer.links:
            return found
        answer = client.get(answer.links["next"]["url"].removeprefix("/slipway"))


def test_objects_are_listed_with_what_they_use(user: httpx.Client) -> None:
    committed(user, site([node("n1"), node("n2")], [group("all", ["n1", "n2"])]))
    committed(user, site([node("n1", "r2"), node("n2")], [group("all", ["n1", "n2"])]), buffermode="replace")
    (nodes,) = pages(user, "/sites/default/objects", kind="node")
    assert [(one["name"], one["version"], one["revision"], one["by_policy"]) for one in nodes] == [
        ("n1", 2, 2, []),
        ("n2", 1, 1, []),
    ]
    assert {"host_profile/compute", "network/oob"} <= set(nodes[0]["uses"])
    (whole,) = pages(user, "/sites/default/objects")
    small = pages(user, "/sites/default/objects", limit="2")
    assert len(small) > 2
    assert [one for page in small for one in page] == whole
    assert user.get(f"{API}/sites/nowhere/objects").status_code == 404


def test_who_asked_for_what_is_listed_newest_first(user: httpx.Client, store: SiteStore) -> None:
    committed(user, site([node("n1"), node("n2")], [group("all", ["n1", "n2"])]))
    user.post(f"{API}/sites/default/touch", json={"nodes": ["n2"]}).raise_for_status()
    action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "default", 1, {}, "ann"))
    store.actions.record_command(action.id, "stop", "bob")
    (entries,) = pages(user, "/sites/default/audit")
    told = sorted((one["command"], one["user"], one["action"], tuple(one["nodes"])) for one in entries)
    assert told == [("stop", "bob", action.id, ()), ("touch", "user", None, ("n2",))]
    assert [one["id"] for one in entries] == sorted((str(one["id"]) for one in entries), reverse=True)
    assert [one for page in pages(user, "/sites/default/audit", limit="1") for one in page] == entries
