"""What an action would do to deployed nodes is said before it is created, and when it is; sites that do not exist."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import requests

from site_store import SiteStore
from tests.integration.api.airflow_runs import ACTIONS, DESIGN, ask, commit, create
from tests.support.simulators import Simulator

pytestmark = pytest.mark.usefixtures("dags")

UNKNOWN = "deployed already, but no action on record proves its design"


@pytest.fixture
def deployed(store: SiteStore, connected: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    """Commit a site whose nodes n1 and n2, the critical group, are deployed, though not by an action on record."""
    commit(store)
    path = tmp_path_factory.mktemp("design") / "site.yaml"
    path.write_text(DESIGN)
    requests.post(f"{connected.url}/api/v1.0/validatedesign", json={"href": path.as_uri()}, timeout=10)
    for name in ("n1", "n2"):
        connected.post(f"nodes/{name}", {"status": "Deployed"})
    return connected


def planned(client: httpx.Client, kind: str, **parameters: Any) -> dict[str, Any]:
    """Return what an action would do."""
    answer = client.post(f"{ACTIONS}/plan?fresh=true", json={"name": kind, "parameters": parameters})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def deeds(found: dict[str, Any]) -> dict[str, str]:
    """Return what a plan does with each node."""
    return {one["name"]: one["deed"] for one in found["nodes"]}


def notes(created: dict[str, Any]) -> list[str]:
    """Return what the answer says of nodes."""
    return [message["message"] for message in created["warnings"] if message["name"] == "Plan"]


@pytest.mark.usefixtures("deployed")
def test_rule_21_what_will_be_touched_is_said_and_nothing_is_refused(user: httpx.Client, store: SiteStore) -> None:
    found = planned(user, "deploy_site")
    assert (deeds(found), found["touched"]) == ({"n1": "withhold", "n2": "withhold", "n3": "deploy"}, [])
    assert [str(one["withheld"]).startswith(UNKNOWN) for one in found["nodes"]] == [True, True, False]
    assert found["verdict_text"] == "dry run: critical group control would fail"
    assert store.actions.newest("default") == [], "nothing was created"
    said = notes(create(user, "deploy_site"))
    assert said[0] == f"deploy_site {found['summary']}"
    assert said[1].startswith(f"2 nodes withheld: n1, n2: {UNKNOWN}")
    assert said[2].startswith("critical group control would fail")


@pytest.mark.usefixtures("deployed")
def test_deployed_nodes_that_an_action_works_on_are_named(user: httpx.Client) -> None:
    assert planned(user, "update_site", force=True)["touched"] == ["n1", "n2"]
    redeployed = planned(user, "redeploy_server", target_nodes="n1,n3", force=True)
    assert (deeds(redeployed), redeployed["erased"]) == ({"n1": "redeploy", "n3": "release"}, ["n1", "n3"])
    assert deeds(planned(user, "relabel_nodes", target_nodes="n1")) == {"n1": "label"}
    assert planned(user, "destroy_nodes", target_nodes="n3")["erased"] == ["n3"]
    refused = ask(user, "redeploy_server", target_nodes="n1")
    assert (refused.status_code, refused.json()["reason"]) == (409, "Critical Groups")
    created = create(user, "redeploy_server", target_nodes="n3")
    assert notes(created)[1] == "1 node would be erased and released first: n3"


def test_rule_11_nodes_that_would_be_erased_first_are_named_and_a_strangers_is_left_alone(
    user: httpx.Client, deployed: Simulator
) -> None:
    deployed.post("nodes/n1", {"status": "Failed deployment"})
    deployed.post("nodes/n2", {"status": "Allocated"})
    found = planned(user, "deploy_site")
    assert deeds(found) == {"n1": "release", "n2": "withhold", "n3": "deploy"}
    said = notes(create(user, "deploy_site"))
    assert said[1] == "1 node would be erased and released first: n1"
    assert said[2].startswith("1 node withheld: n2: the node list says Allocated: ")


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
