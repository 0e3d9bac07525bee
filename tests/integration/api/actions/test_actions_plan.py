"""A dry run in the API: the same plan as a DAG's, on the list of nodes that was read last; what it would do is said."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import yaml
from sqlalchemy import update

from site_store import AskedState, SiteStore
from site_store.tables import node as node_table
from strategy_lib.node_states.generated import NodeAvailability
from tests.integration.api.airflow_runs import ACTIONS, DESIGN, ask, commit, create
from tests.integration.api.http.test_service import assert_failure
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

pytestmark = pytest.mark.usefixtures("dags")

PLAN = f"{ACTIONS}/plan"
UNKNOWN = "deployed already, but no action on record proves its design"


@pytest.fixture
def known(store: SiteStore, connected: Simulator) -> Simulator:
    """Commit a site whose nodes the provisioner knows."""
    commit(store)
    connected.read(DESIGN)
    return connected


@pytest.fixture
def deployed(known: Simulator) -> Simulator:
    """Have nodes n1 and n2, the critical group, deployed, though not by an action on record."""
    known.read(DESIGN, "n1", "n2")
    return known


def planned(client: httpx.Client, kind: str = "deploy_site", query: str = "", **parameters: Any) -> dict[str, Any]:
    answer = client.post(f"{PLAN}{query}", json={"name": kind, "parameters": parameters})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def deeds(found: dict[str, Any]) -> dict[str, str]:
    """Return what a plan does with each node."""
    return {one["name"]: one["deed"] for one in found["nodes"]}


def notes(created: dict[str, Any]) -> list[str]:
    """Return what the answer says of nodes."""
    return [message["message"] for message in created["warnings"] if message["name"] == "Plan"]


def did(found: dict[str, Any], deed: str) -> list[str]:
    """Return the nodes of a plan that it does this with."""
    return [one["name"] for one in found["nodes"] if one["deed"] == deed]


@pytest.mark.usefixtures("known")
def test_what_would_be_submitted_in_order(user: httpx.Client, store: SiteStore) -> None:
    found = planned(user)
    assert [(one["group"], one["phase"], one["nodes"]) for one in found["submissions"]] == [
        ("control", "prepare", ["n1", "n2"]),
        ("control", "deploy", ["n1", "n2"]),
        ("compute", "prepare", ["n3"]),
        ("compute", "deploy", ["n3"]),
    ]
    assert [(one["name"], one["critical"], one["nodes"], one["phases"]) for one in found["groups"]] == [
        ("control", True, 2, {"prepare": 2, "deploy": 2}),
        ("compute", False, 1, {"prepare": 1, "deploy": 1}),
    ]
    assert found["summary"].startswith("erases 0 (0 redeployed, 0 released first, 0 removed), deploys 3,")
    assert (found["verdict"], found["verdict_text"]) == ("success", "dry run: nothing was submitted")
    assert found["listed"]["connection"] == "slipway_provisioner"
    assert (found["listed"]["nodes"], found["listed"]["age"] >= 0) == (3, True)
    assert store.actions.newest("default") == [], "nothing was created"


@pytest.mark.usefixtures("known")
def test_groups_side_by_side_are_planned_in_rounds(user: httpx.Client, viewer: httpx.Client, store: SiteStore) -> None:
    apart = [group("one", ["n1"]), group("two", ["n2"]), group("three", ["n3"], after=["one"])]
    text = site([node(name) for name in ("n1", "n2", "n3")], apart, region="default")
    settings = document("slipway/SiteSettings/v1", "settings", {"max_parallel_groups": 2})
    commit_design(store, "default", f"{text}---\n{json.dumps(settings)}\n")
    found = planned(user, "update_site")["schedule"]
    assert (found["max_parallel_groups"], found["waves"]) == (2, [["one", "two"], ["three"]])
    assert found["note"].startswith("groups side by side gain nothing: Drydock does one task at a time")
    assert viewer.get("/api/v1.0/sites/default/plan").json()["schedule"] == found
    page = viewer.get("/ui/sites/default/plan").text
    assert "Groups side by side" in page
    assert "does one task at a time" in page


@pytest.mark.usefixtures("connected")
def test_rule_37_revisions_that_an_update_passes_over_are_named(user: httpx.Client, store: SiteStore) -> None:
    commit(store, times=3)
    said = "revision 3 passes over revisions 1, 2 of site default, committed since the last action on the whole site"
    found = planned(user, "update_site")["notes"]
    assert [note["level"] for note in found if note["message"].startswith(said)] == ["Info"]
    created = create(user, "update_site")
    assert (created["committed_rev_id"], created["allow_intermediate_commits"]) == (3, False)
    assert created["warnings"][0]["message"].startswith(said)


def test_it_goes_by_the_list_that_was_read_last_until_a_new_one_is_asked_for(
    user: httpx.Client, known: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = planned(user)["listed"]
    known.post("nodes/n1", {"status": "Deployed"})
    again = planned(user)
    assert again["listed"]["read_at"] == first["read_at"]
    assert again["listed"]["age"] >= first["age"]
    assert did(again, "withhold") == []
    asked = planned(user, query="?fresh=true")
    assert did(asked, "withhold") == ["n1"]
    assert asked["verdict_text"] == "dry run: critical group control would fail"
    assert asked["listed"]["read_at"] > first["read_at"]
    # Each list that is read is kept, and then the provisioner may be away.
    known.post("nodes/n2", {"status": "Deployed"})
    assert user.get("/api/v1.0/site_statuses").status_code == 200
    connection = {"conn_type": "drydock", "host": "http://127.0.0.1:9"}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    assert did(planned(user), "withhold") == ["n1", "n2"]
    refused = user.post(PLAN, params={"fresh": True}, json={"name": "deploy_site"})
    assert_failure(refused, 503, "The provisioner cannot be reached")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("path", [PLAN, ACTIONS])
def test_rule_51_a_named_node_out_of_use_is_refused_and_force_does_not_help(
    user: httpx.Client, store: SiteStore, path: str
) -> None:
    users = store.user_states
    asked = AskedState(NodeAvailability.RETIRED, "moves out", force=True)
    assert users.change("default", ["n3"], asked, "ann").change.modified
    for kind in ("redeploy_server", "deploy_site", "relabel_nodes"):
        parameters = {"target_nodes": "n2,n3", **({"force": True} if kind != "relabel_nodes" else {})}
        refused = user.post(path, json={"name": kind, "parameters": parameters})
        assert_failure(refused, 409, "`slipway set node-state n3 up --site default`")
        messages = refused.json()["details"]["messageList"]
        assert [one["message"] for one in messages] == ["n3 is set to retired by ann: moves out"], kind
    assert store.actions.newest("default") == []
    if path != ACTIONS:
        allowed = user.post(path, json={"name": "destroy_nodes", "parameters": {"target_nodes": "n3"}})
        assert allowed.status_code == 200, "that is how retired nodes are emptied (rules 51 and 52)"


@pytest.mark.usefixtures("deployed")
def test_rule_21_what_will_be_touched_is_said_and_nothing_is_refused(user: httpx.Client, store: SiteStore) -> None:
    found = planned(user, "deploy_site", "?fresh=true")
    assert (deeds(found), found["touched"]) == ({"n1": "withhold", "n2": "withhold", "n3": "deploy"}, [])
    assert [str(one["withheld"]).startswith(UNKNOWN) for one in found["nodes"]] == [True, True, False]
    assert found["verdict_text"] == "dry run: critical group control would fail"
    assert store.actions.newest("default") == [], "nothing was created"
    assert planned(user, "update_site", force=True)["touched"] == ["n1", "n2"]
    redeployed = planned(user, "redeploy_server", target_nodes="n1,n3", force=True)
    assert (deeds(redeployed), redeployed["erased"]) == ({"n1": "redeploy", "n3": "release"}, ["n1", "n3"])
    said = notes(create(user, "deploy_site"))
    assert said[0] == f"deploy_site {found['summary']}"
    assert said[1].startswith(f"2 nodes withheld: n1, n2: {UNKNOWN}")
    assert said[2].startswith("critical group control would fail")


@pytest.mark.parametrize("dry_run", [False, pytest.param(True, marks=pytest.mark.endurance)])
def test_a_provisioner_that_cannot_be_reached_is_named(
    user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    commit(store)
    connection = {"conn_type": "drydock", "host": "http://127.0.0.1:9"}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    answer = ask(user, dry_run=dry_run)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    message = answer.json()["message"]
    assert "The provisioner cannot be reached" in message
    assert "at 127.0.0.1:9" in message
    assert "Mend the documents" not in message
    assert store.actions.newest("default") == []
    in_spite: dict[str, Any] = {"continue-on-fail": "true", "dry_run": dry_run}
    create(user, **in_spite)


@pytest.mark.usefixtures("connected")
def test_a_site_that_does_not_exist_is_refused_everywhere_with_the_nearest(
    admin: httpx.Client, anonymous: httpx.Client, store: SiteStore
) -> None:
    commit(store, "north")
    for path in ("actions", "revisions", "configdocs", "site_statuses", "renderedconfigdocs", "diff/configdocs"):
        answer = admin.get(f"/api/v1.0/{path}?site=nort")
        assert (answer.status_code, answer.json()["reason"]) == (404, "Site not found"), path
        assert answer.json()["message"] == "there is no site 'nort'; did you mean 'north'?"
    for path, body in (("actions", {"name": "deploy_site"}), ("commitconfigdocs", {}), ("actions/plan", {})):
        assert admin.post(f"/api/v1.0/{path}?site=nort", json=body).status_code == 404, path
    assert anonymous.get("/api/v1.0/actions?site=nort").status_code == 401
    assert admin.get("/api/v1.0/actions?site=north").json() == []
    assert admin.get("/api/v1.0/actions?site=default").json() == [], "Shipyard's client names no site"
    put = admin.post("/api/v1.0/configdocs/design?site=nort", content=DESIGN)
    assert put.status_code == 201, "that is how a site begins"
    assert admin.get("/api/v1.0/configdocs?site=nort").status_code == 200


ROLLING = {**group("all", critical=False), "allow_redeploy": True}
SETTINGS = document("slipway/SiteSettings/v1", "settings", {"updates": {"redeploy_percent": 50, "redeploy_nodes": 1}})
ROLLING_DESIGN = site([node(name) for name in ("n1", "n2", "n3")], [ROLLING]) + yaml.safe_dump_all(
    [SETTINGS], explicit_start=True
)
WHY = "update_site: it would redeploy 2 of 3 deployed nodes, more than 50 %: n1, n2."


@pytest.fixture
def outdated(store: SiteStore, connected: Simulator) -> None:
    """Have three nodes deployed, two of them in another design than the wanted one."""
    commit_design(store, "default", ROLLING_DESIGN)
    connected.read(ROLLING_DESIGN, "n1", "n2", "n3")
    done = {"done_digest": node_table.c.wanted_digest, "done_version": 1, "done_revision": 1, "status": "success"}
    old = {"done_digest": "another", "done_version": 0, "done_revision": 1}
    some = node_table.c.name.in_(("n1", "n2"))
    store._database.write(lambda tx: tx.execute(update(node_table).values(done)))
    store._database.write(lambda tx: tx.execute(update(node_table).where(some).values(old)))


@pytest.mark.usefixtures("outdated")
def test_rule_37_it_is_refused_with_the_names_where_it_is_created_and_planned(
    user: httpx.Client, store: SiteStore
) -> None:
    for path in ("actions", "actions/plan"):
        answer = user.post(f"/api/v1.0/{path}", json={"name": "update_site"})
        assert answer.status_code == 409, answer.text
        assert answer.json()["message"].startswith(WHY)
    assert store.actions.newest("default") == [], "nothing was created"
    assert user.get("/api/v1.0/sites/default/plan").json()["refusal"].startswith(WHY)


@pytest.mark.usefixtures("outdated")
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
