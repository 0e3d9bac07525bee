"""A dry run in the API: the same plan as a DAG's, on the list of nodes that was read last, with its age."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import requests

from site_store import AskedState, SiteStore
from strategy_lib.node_states.generated import NodeAvailability
from tests.integration.api.airflow_runs import ACTIONS, DESIGN, commit
from tests.integration.api.http.test_service import assert_failure
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

pytestmark = pytest.mark.usefixtures("dags")

PLAN = f"{ACTIONS}/plan"


@pytest.fixture
def known(store: SiteStore, connected: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    """Commit a site whose nodes the provisioner knows."""
    commit(store)
    path = tmp_path_factory.mktemp("design") / "site.yaml"
    path.write_text(DESIGN)
    requests.post(f"{connected.url}/api/v1.0/validatedesign", json={"href": path.as_uri()}, timeout=10)
    return connected


def planned(client: httpx.Client, kind: str = "deploy_site", query: str = "", **parameters: Any) -> dict[str, Any]:
    answer = client.post(f"{PLAN}{query}", json={"name": kind, "parameters": parameters})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


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
    assert planned(user)["schedule"] == {
        "max_parallel_groups": 1,
        "waves": [["control"], ["compute"]],
        "seconds": None,
        "note": None,
    }
    apart = [group("one", ["n1"]), group("two", ["n2"]), group("three", ["n3"], after=["one"])]
    text = site([node(name) for name in ("n1", "n2", "n3")], apart, region="default")
    settings = document("slipway/SiteSettings/v1", "settings", {"max_parallel_groups": 2})
    commit_design(store, "default", f"{text}---\n{json.dumps(settings)}\n")
    found = planned(user, "update_site")["schedule"]
    assert (found["max_parallel_groups"], found["waves"]) == (2, [["one", "two"], ["three"]])
    assert found["note"].startswith("groups side by side gain nothing: Drydock does one task at a time")
    assert planned(user, "update_site", max_parallel_groups=1)["schedule"]["waves"] == [["one"], ["two"], ["three"]]
    assert planned(user, "update_site", target_nodes="n1")["schedule"]["max_parallel_groups"] == 1
    assert viewer.get("/api/v1.0/sites/default/plan").json()["schedule"] == found
    page = viewer.get("/ui/sites/default/plan").text
    assert "Groups side by side" in page
    assert "does one task at a time" in page


def test_an_update_with_nothing_to_submit_says_so(user: httpx.Client, store: SiteStore, known: Simulator) -> None:
    for name in ("n1", "n2", "n3"):
        known.post(f"nodes/{name}", {"status": "Deployed"})
    assert user.post("/api/v1.0/sites/default/adopt", json={}).status_code == 200
    found = planned(user, "update_site")
    assert [(one["group"], one["nodes"]) for one in found["submissions"]] == [("control", []), ("compute", [])]
    assert found["verdict"] == "success"


def test_groups_that_ask_a_person_are_announced(user: httpx.Client, store: SiteStore, known: Simulator) -> None:
    groups = [asking | {"approval": "before"} for asking in (group("control", ["n1", "n2"]), group("again", ["n1"]))]
    commit_design(store, "default", site([node("n1"), node("n2")], groups))
    found = planned(user, query="?allow-intermediate-commits=true")
    assert [note["message"] for note in found["notes"] if note["name"] == "Plan"] == [
        "Group control asks for approval before it begins; while it waits no other group starts."
    ], "a group with nothing to submit asks nobody"


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
def test_steps_on_named_nodes_come_before_the_groups(user: httpx.Client) -> None:
    found = planned(user, "redeploy_server", target_nodes="n3")
    assert [(one["group"], one["phase"], one["nodes"]) for one in found["submissions"]] == [
        (None, "destroy_nodes", ["n3"]),
        ("target-group", "prepare", ["n3"]),
        ("target-group", "deploy", ["n3"]),
    ]
    relabel = planned(user, "relabel_nodes", target_nodes="n3")
    assert [(one["group"], one["phase"]) for one in relabel["submissions"]] == [(None, "relabel_nodes")]
    assert (relabel["groups"], relabel["verdict"]) == ([], "success")


@pytest.mark.usefixtures("known")
def test_rule_51_nodes_out_of_use_are_named_with_who_set_them_and_criteria_are_foretold(
    user: httpx.Client, store: SiteStore
) -> None:
    users = store.user_states
    asked = AskedState(NodeAvailability.MAINTENANCE, "new disk", force=True)
    assert users.change("default", ["n1"], asked, "ann").change.modified
    why = "set to maintenance by ann: new disk"
    found = planned(user, force=True)
    assert (did(found, "withhold"), did(found, "deploy"), found["verdict"]) == (["n1"], ["n2", "n3"], "failure")
    assert found["nodes"][0]["allowed_by"] == "slipway set node-state n1 up --site default"
    assert {one["name"]: one["failing"] for one in found["groups"]} == {
        "control": "prepare_criteria",
        "compute": None,
    }
    said = [note["message"] for note in found["notes"] if note["name"] == "Plan"]
    assert any(each.startswith(f"1 node withheld: n1: {why}") for each in said), said
    of_site = user.get("/api/v1.0/sites/default/plan").json()
    assert {one["name"]: one["withheld"] for one in of_site["nodes"]} == {"n1": why, "n2": None, "n3": None}


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
