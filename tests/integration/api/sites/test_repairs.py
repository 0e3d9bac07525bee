"""Repair of a site over HTTP: how it stands, the switch that stops it, and its start by the controller (rule 57)."""

from __future__ import annotations

import json

import httpx
import pytest
import requests

from site_engine.controller.controller import NAME
from site_store import AskedState, SiteStore
from site_store.nodes.ailing import AilingNode
from strategy_lib.node_states.generated import NodeAvailability
from tests.integration.api.airflow_runs import ACTIONS, DESIGN, AirflowRuns
from tests.integration.api.http.test_service import assert_failure
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document
from tests.support.stores import newer_code_alone_may_write

REPAIR = "/api/v1.0/sites/default/repair"
ALL = "/api/v1.0/repair"
RUN = "default__repair-1"

pytestmark = pytest.mark.usefixtures("dags")


def commit(store: SiteStore, connected: Simulator, mode: str) -> None:
    """Commit a design with this setting; the provisioner lists its nodes."""
    settings = json.dumps(document("slipway/SiteSettings/v1", "settings", {"repair": mode, "max_repairs_per_hour": 3}))
    commit_design(store, "default", f"{DESIGN}---\n{settings}\n")
    for name in ("n1", "n2", "n3"):
        requests.post(f"{connected.url}/_sim/nodes/{name}", json={"status": "Ready"}, timeout=10)


def lead(store: SiteStore) -> dict[str, object]:
    """Return what proves that the controller asks."""
    held = store.leases.take(NAME, "me", 600)
    assert held is not None
    return {"epoch": held.epoch, "secret": held.secret}


def test_how_it_stands_and_the_switch(
    user: httpx.Client, viewer: httpx.Client, store: SiteStore, connected: Simulator
) -> None:
    assert_failure(viewer.get(REPAIR), 404, "site default has no committed revision")
    commit(store, connected, "on")
    running = {"repair": "on", "max_repairs_per_hour": 3, "stopped_at": None, "stopped_by": None, "reason": None}
    assert viewer.get(REPAIR).json() == {"site": "default", **running, "all_sites": False, "drifts": 0, "action": None}
    off = {"stopped": True, "reason": " the power is worked on "}
    assert viewer.put(REPAIR, json=off).status_code == 403
    assert viewer.get(REPAIR).json()["stopped_at"] is None
    stopped = user.put(REPAIR, json=off).json()
    assert (stopped["stopped_by"], stopped["reason"]) == ("user", "the power is worked on")
    assert user.put(REPAIR, json={"stopped": True, "reason": "again"}).json() == stopped, "the first one stands"
    assert viewer.get(REPAIR).json() == stopped
    assert user.put(REPAIR, json={"stopped": False}).json()["stopped_at"] is None
    audit = viewer.get("/api/v1.0/sites/default/audit").json()
    assert [(one["command"], one["user"]) for one in audit] == [
        ("start repair", "user"),
        ("stop repair", "user"),
        ("stop repair", "user"),
    ]


def test_rule_57_one_is_started_only_as_the_settings_say(
    admin: httpx.Client, store: SiteStore, connected: Simulator
) -> None:
    commit(store, connected, "observe")
    body = {**lead(store), "run_id": RUN, "nodes": ["n3"], "redeploy": False}
    said = "the settings of site default say `repair: observe`, which does not repair nodes"
    assert_failure(admin.post(REPAIR, json=body), 409, said)
    commit(store, connected, "on")
    said = "the settings of site default say `repair: on`, which does not destroy deployed nodes"
    assert_failure(admin.post(REPAIR, json={**body, "redeploy": True}), 409, said)
    admin.put(REPAIR, json={"stopped": True, "reason": "why"})
    said = "repair of site default is stopped: `slipway start repair --site default` lets it go on"
    assert_failure(admin.post(REPAIR, json=body), 409, said)
    assert admin.get(ACTIONS).json() == []


def test_rule_57_nodes_are_powered_on_for_the_leader_as_far_as_the_provisioner_can(
    admin: httpx.Client, store: SiteStore, store_url: str, connected: Simulator
) -> None:
    commit(store, connected, "observe")
    body = {**lead(store), "run_id": RUN, "nodes": ["n2", "n3"], "power_on": True}
    said = "the settings of site default say `repair: observe`, which does not repair nodes"
    assert_failure(admin.post(REPAIR, json=body), 409, said)
    commit(store, connected, "on")
    store.user_states.change("default", ["n2"], AskedState(NodeAvailability.MAINTENANCE, "disk", force=True), "ann")
    found = admin.post(REPAIR, json=body)
    assert found.status_code == 200, found.text
    assert found.json() == {
        "action": None,
        "refused": {
            "n2": "set to maintenance by the user: disk",
            "n3": "Drydock cannot power a deployed node on",
        },
    }
    assert admin.get(ACTIONS).json() == []
    with newer_code_alone_may_write(store_url):
        late = admin.post(REPAIR, json=body)
    assert_failure(late, 503, "only Slipway of schema 9999 or newer may write there")


def test_rule_57_one_run_is_one_action_however_often_it_is_asked_for(
    admin: httpx.Client, store: SiteStore, connected: Simulator, airflow_runs: AirflowRuns
) -> None:
    commit(store, connected, "on")
    body = {**lead(store), "run_id": RUN, "nodes": ["n3"], "redeploy": False}
    first = admin.post(REPAIR, json=body)
    assert first.status_code == 200, first.text
    assert admin.post(REPAIR, json=body).json() == first.json()
    (action,) = admin.get(ACTIONS).json()
    assert (action["id"], action["name"], action["run_id"]) == (first.json()["action"], "repair_site", RUN)
    assert action["parameters"]["target_nodes"] == ["n3"]
    assert airflow_runs.run("repair_site", RUN)["state"] in ("queued", "running")


def test_one_switch_stops_all_sites_and_what_is_at_work(
    admin: httpx.Client, viewer: httpx.Client, store: SiteStore, connected: Simulator
) -> None:
    commit(store, connected, "on")
    begun = _begin(store, "default")
    body = {**lead(store), "run_id": begun, "nodes": ["n3"], "redeploy": False}
    action = admin.post(REPAIR, json=body).json()["action"]
    assert viewer.put(ALL, json={"stopped": True}).status_code == 403
    assert viewer.get(ALL).json()["actions"] == [action], "also before the controller has noted it"
    stopped = admin.put(ALL, json={"stopped": True, "reason": " a storm "})
    assert stopped.status_code == 200, stopped.text
    found = stopped.json()
    assert (found["stopped_by"], found["reason"], found["sites"], found["problems"]) == ("admin", "a storm", [], [])
    over = viewer.get(f"{ACTIONS}/{action}").json()
    assert (over["state"], over["verdict"]) == ("cancelled", "stopped by admin before it began")
    assert [(one["command"], one["user"]) for one in over["command_audit"]][-1] == ("stop", "admin")
    own = viewer.get(REPAIR).json()
    assert (own["stopped_by"], own["all_sites"]) == ("admin", True)
    (listed,) = viewer.get("/api/v1.0/sites").json()
    assert (listed["repair_stopped"]["by"], listed["repair_stopped"]["all_sites"]) == ("admin", True)
    said = "repair of all sites is stopped: `slipway start repair --all-sites` lets it go on"
    assert_failure(admin.post(REPAIR, json={**body, "run_id": "default__repair-2"}), 409, said)
    admin.put(REPAIR, json={"stopped": True})
    gone_on = admin.put(ALL, json={"stopped": False}).json()
    assert (gone_on["stopped_at"], gone_on["sites"]) == (None, ["default"])
    assert viewer.get(REPAIR).json()["all_sites"] is False
    audit = viewer.get("/api/v1.0/sites/default/audit").json()
    assert [one["command"] for one in audit if "repair" in one["command"]] == [
        "start repair",
        "stop repair",
        "stop repair",
    ]
    metrics = dict(
        line.rsplit(" ", 1) for line in viewer.get("/metrics").text.splitlines() if "slipway_repair_stopped{" in line
    )
    assert metrics == {
        'slipway_repair_stopped{site="default",by="site"}': "1",
        'slipway_repair_stopped{site="default",by="all"}': "0",
    }


def _begin(store: SiteStore, site: str) -> str:
    """Have the controller's ledger say that a repair of `n3` has begun; return the id of its run."""
    one = AilingNode("n3", "op 1", "failed", drifted=False, as_done=False, in_progress=False, failures=1, next_try=None)
    held = store.leases.take(NAME, "me", 600)
    assert held is not None
    assert store.repairs.begin(held, site, RUN, [one], redeploy=False)
    return RUN
