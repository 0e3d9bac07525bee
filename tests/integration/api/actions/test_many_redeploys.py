"""An update that would redeploy more nodes than the site's settings allow: refused where it is created, and planned."""

from __future__ import annotations

import httpx
import pytest
import requests
import yaml
from sqlalchemy import update

from site_store import ActionState, SiteStore
from site_store.tables import node as node_table
from tests.integration.api.airflow_runs import ask, commit, create
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

pytestmark = pytest.mark.usefixtures("dags")

ROLLING = {**group("all", critical=False), "allow_redeploy": True}
SETTINGS = document("slipway/SiteSettings/v1", "settings", {"updates": {"redeploy_percent": 50, "redeploy_nodes": 1}})
DESIGN = site([node(name) for name in ("n1", "n2", "n3")], [ROLLING]) + yaml.safe_dump_all(
    [SETTINGS], explicit_start=True
)
WHY = "update_site: it would redeploy 2 of 3 deployed nodes, more than 50 %: n1, n2."


@pytest.fixture(autouse=True)
def outdated(store: SiteStore, connected: Simulator, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have three nodes deployed, two of them in another design than the wanted one."""
    commit_design(store, "default", DESIGN)
    path = tmp_path_factory.mktemp("design") / "site.yaml"
    path.write_text(DESIGN)
    requests.post(f"{connected.url}/api/v1.0/validatedesign", json={"href": path.as_uri()}, timeout=10)
    for name in ("n1", "n2", "n3"):
        connected.post(f"nodes/{name}", {"status": "Deployed"})
    done = {"done_digest": node_table.c.wanted_digest, "done_version": 1, "done_revision": 1, "status": "success"}
    old = {"done_digest": "another", "done_version": 0, "done_revision": 1}
    some = node_table.c.name.in_(("n1", "n2"))
    store._database.write(lambda tx: tx.execute(update(node_table).values(done)))
    store._database.write(lambda tx: tx.execute(update(node_table).where(some).values(old)))


def test_rule_37_it_is_refused_with_the_names_where_it_is_created_and_planned(
    user: httpx.Client, store: SiteStore
) -> None:
    for path in ("actions", "actions/plan"):
        answer = user.post(f"/api/v1.0/{path}", json={"name": "update_site"})
        assert answer.status_code == 409, answer.text
        assert answer.json()["message"].startswith(WHY)
    assert store.actions.newest("default") == [], "nothing was created"
    shown = user.get("/api/v1.0/sites/default/plan").json()
    assert shown["refusal"].startswith(WHY)
    assert [(one["name"], one["submitted"], one["withheld"]) for one in shown["nodes"]] == [
        ("n1", False, "the whole update is refused"),
        ("n2", False, "the whole update is refused"),
    ]
    assert (shown["order"], shown["groups"][0]["submitted"]) == ([], 0)


def test_rule_37_its_own_override_makes_a_warning_of_it_and_force_does_not(user: httpx.Client) -> None:
    assert ask(user, "update_site", force=True).status_code == 409
    body = {"name": "update_site", "parameters": {"many_redeploys": True}}
    planned = user.post("/api/v1.0/actions/plan", json=body).json()
    assert planned["notes"][0]["message"].startswith(WHY)
    assert {one["name"]: one["submitted"] for one in planned["nodes"]} == {
        "n1": True,
        "n2": True,
        "n3": False,
    }
    created = create(user, "update_site", many_redeploys=True)
    assert created["warnings"][0]["message"].startswith(WHY)


def test_rule_37_of_three_commits_while_nothing_ran_an_update_does_the_last(
    user: httpx.Client, store: SiteStore
) -> None:
    commit(store, "other")
    first = create(user, "update_site", query="?site=other")
    store.locks.acquire(first["id"])
    store.actions.close(first["id"], ActionState.SUCCESS, "done")
    newest = commit(store, "other", times=4)
    assert newest == 4, "the first of them changes nothing"
    refused = ask(user, "deploy_site", "?site=other")
    assert (refused.status_code, refused.json()["reason"]) == (409, "Intermediate Commits")
    assert refused.json()["message"].endswith("--allow-intermediate-commits), or use update_site")
    said = "revision 4 passes over revisions 2, 3 of site other, committed since the last action on the whole site"
    answer = user.post("/api/v1.0/actions/plan?site=other", json={"name": "update_site"})
    assert answer.status_code == 200, answer.text
    assert [one["level"] for one in answer.json()["notes"] if one["message"].startswith(said)] == ["Info"]
    created = create(user, "update_site", "?site=other")
    assert (created["committed_rev_id"], created["allow_intermediate_commits"]) == (newest, False)
    assert created["warnings"][0]["message"].startswith(said)
