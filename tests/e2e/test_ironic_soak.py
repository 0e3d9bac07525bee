"""Longer ways of a site on a real Ironic: rolling redeploys, repair, prune, adopt; 200 machines in groups side by side.

Ironic's own history says what was done to each machine, and how often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slipway_cli.demo.order import example_site
from tests.e2e.on_ironic import ironic_of
from tests.e2e.running import DAG, HANGS, RunningSlipway, wait_until
from tests.support.ironic_sites import IronicTestSite

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

SPEED = 400.0
UPDATE = "update_site"
NEW_IMAGE = "https://images.example/plucky.qcow2"
SETTINGS = """
---
schema: slipway/SiteSettings/v1
metadata: {name: site-settings}
data: {repair: 'on', node_states: {transition_time: 3}}
"""
OURS_BY_HAND = "11111111-2222-3333-4444-555555555555"
GROUPS, EACH = 8, 25


@dataclass
class Site:
    """A site of a running Slipway, and its machines."""

    slipway: RunningSlipway
    machines: IronicTestSite

    @property
    def name(self) -> str:
        return self.machines.name

    def do(self, text: str, dag_id: str, **conf: Any) -> dict[str, dict[str, Any]]:
        """Commit a design and carry out an action that has to succeed; return what its report says of nodes."""
        run_id = self.start(text, dag_id, **conf)
        state = self.slipway.airflow.wait_for_run(dag_id, run_id, 4 * HANGS)
        report = self.slipway.report(run_id, dag_id)
        assert state == "success", report["text"]
        return {entry["name"]: entry for entry in report["nodes"]}

    def start(self, text: str, dag_id: str, **conf: Any) -> str:
        """Commit a design and begin an action."""
        revision = self.slipway.slipway.commit(self.name, text)
        self.slipway.airflow.wait_for_dag(dag_id)
        return self.slipway.airflow.trigger(dag_id, {"site": self.name, "revision": revision.number, **conf})

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Ask Slipway's API of the site."""
        return self.slipway.slipway.request(f"asking for {path}", method, f"/sites/{self.name}{path}", **more).json()

    def listed(self) -> dict[str, dict[str, Any]]:
        """Return the machines as Ironic has them, by name."""
        fields = "name,provision_state,instance_uuid,power_state,instance_info"
        path = f"nodes?resource_class={self.name}&fields={fields}&limit=1000"
        return {str(node["name"]): node for node in self.machines.call("GET", path).json()["nodes"]}

    def done(self) -> dict[str, tuple[int, int]]:
        """Return how often each machine was cleaned and deployed."""
        found = {name: self.machines.events(name) for name in self.listed()}
        return {name: (one["automated_cleaning_start"], one["deployment_start"]) for name, one in found.items()}

    def standing(self, name: str) -> str:
        """Return the status of a node in the view of the site."""
        return next(str(one["status"]) for one in self.ask("GET", "/nodes")["nodes"] if one["node"] == name)

    def repairs(self) -> list[Any]:
        """Return the repairs that have begun."""
        return [one for one in self.slipway.slipway.actions(self.name) if one.kind == "repair_site"]


@pytest.fixture
def site(request: pytest.FixtureRequest, slipway: RunningSlipway, tmp_path: Path) -> Iterator[Site]:
    """A site of the test alone."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:30].strip("-")
    with ironic_of(slipway, name, tmp_path) as ironic:
        ironic.play(speed=SPEED)
        yield Site(slipway, IronicTestSite(ironic, name))


def of_set(text: str, name: str, more: str) -> str:
    """Add a line to what a set of nodes says."""
    head = f"metadata: {{name: {name}}}\ndata:\n"
    assert text.count(head) == 1, name
    return text.replace(head, f"{head}  {more}\n")


def without(text: str, name: str) -> str:
    """Take the document of a node out of a design."""
    found = [part for part in text.split("\n---\n") if f"metadata: {{name: {name}}}" not in part]
    assert len(found) == len(text.split("\n---\n")) - 1, name
    return "\n---\n".join(found)


def test_days_of_a_site(site: Site) -> None:
    with example_site("ironic") as file:
        text = re.sub(r"name: example-ironic", f"name: {site.name}", file.read_text()) + SETTINGS
    site.do(text, DAG)
    assert set(site.done().values()) == {(1, 1)}
    claims = {name: node["instance_uuid"] for name, node in site.listed().items()}
    print(f"deployed: {len(claims)} machines, each cleaned once and deployed once")

    # Another image for two sets, another disk for the third: rebuilt in batches, or deleted and deployed.
    text = of_set(of_set(text, "compute", f"image: {NEW_IMAGE}"), "monitoring", f"image: {NEW_IMAGE}")
    text = of_set(text, "control", "root_device: {name: /dev/sda}")
    run_id = site.start(text, UPDATE, allow_redeploy=True, many_redeploys=True, below_criteria=True)
    kill_when(site, run_id, "deploying")
    kill_when(site, run_id, "deploying")
    state = site.slipway.airflow.wait_for_run(UPDATE, run_id, 4 * HANGS)
    assert state == "success", site.slipway.report(run_id, UPDATE)["text"]
    after, listed = site.done(), site.listed()
    control = {name for name in after if "-control-" in name}
    rebuilt = set(after) - control - {"ntp01"}
    assert {name: after[name] for name in control} == dict.fromkeys(control, (2, 2))
    assert {name: after[name] for name in rebuilt} == dict.fromkeys(rebuilt, (1, 2))
    assert after["ntp01"] == (1, 1)
    kept = {name for name, node in listed.items() if node["instance_uuid"] == claims[name]}
    assert kept == rebuilt | {"ntp01"}, "a rebuild keeps the claim"
    assert {listed[name]["instance_info"]["image_source"] for name in rebuilt} == {NEW_IMAGE}
    print(f"rolling redeploy, 2 tasks killed: {len(rebuilt)} rebuilt once each, {len(control)} deleted and deployed")

    # A person deletes one node and switches off another: the repair deploys the first and switches on the second.
    wait_until(lambda: site.standing("r1-compute-01") == "success", "it is seen as it was left")
    site.machines.change("r1-compute-01", "deleted")
    site.machines.call("PUT", "nodes/r1-compute-02/states/power", {"target": "power off"})
    wait_until(lambda: site.listed()["r1-compute-02"]["power_state"] == "power off", "it is off")
    wait_until(lambda: site.repairs() != [], "what was deleted is repaired", 2 * HANGS)
    wait_until(lambda: all(one.is_over for one in site.repairs()), "the repair is over", 2 * HANGS)
    wait_until(lambda: site.standing("r1-compute-01") == "success", "it is back")
    wait_until(lambda: site.listed()["r1-compute-02"]["power_state"] == "power on", "it is on again", 2 * HANGS)
    expected = after | {"r1-compute-01": (2, 3)}
    assert site.done() == expected
    print("repair: the deleted machine was deployed once more, the one that was off was switched on")

    # A machine that leaves the design is deleted; one that somebody else has deployed is taken over as it is.
    by_hand(site, "r9-old-01")
    text = without(text, "r1-compute-03")
    text += "---\nschema: slipway/Node/v1\nmetadata: {name: r9-old-01}\ndata: {sets: [compute], rack: rack01}\n"
    report = site.do(text, UPDATE, prune=True)
    assert report["r9-old-01"]["state"] == "not_started"
    expected |= {"r1-compute-03": (2, 2), "r9-old-01": (1, 1)}
    wait_until(lambda: site.listed()["r1-compute-03"]["provision_state"] == "available", "it is cleaned")
    assert site.done() == expected
    site.machines.call("PATCH", "nodes/r9-old-01", [_add("/extra/slipway_adopt", OURS_BY_HAND)])
    site.ask("POST", "/adopt", json={"nodes": ["r9-old-01"]})
    wait_until(lambda: site.standing("r9-old-01") == "success", "it is taken over")
    report = site.do(text, UPDATE)
    assert report["r9-old-01"]["as_wanted"]
    assert site.done() == expected
    print("prune and adopt: one machine deleted, one taken over without a touch")

    # What was taken over is rebuilt as others are, and keeps its claim.
    text = text.replace(NEW_IMAGE, f"{NEW_IMAGE}2", 1)
    site.do(text, UPDATE, allow_redeploy=True, many_redeploys=True, below_criteria=True)
    node = site.listed()["r9-old-01"]
    assert (node["provision_state"], node["instance_uuid"]) == ("active", OURS_BY_HAND)
    again = {name for name in expected if "-compute-" in name} - {"r1-compute-03"} | {"r9-old-01"}
    assert site.done() == {name: (one[0], one[1] + (name in again)) for name, one in expected.items()}
    print(f"another image: {len(again)} rebuilt once each, the adopted one with its old claim")


def kill_when(site: Site, run_id: str, state: str) -> None:
    """Kill a task of an update while a machine is in this state."""
    states = Counter[str]()

    def is_there() -> bool:
        states.clear()
        states.update(str(node["provision_state"]) for node in site.listed().values())
        return states[state] > 0

    wait_until(is_there, f"one is {state}")
    site.slipway.kill_task(site.slipway.wait_for_task(run_id, "deploy_group", "running", dag_id=UPDATE))


def by_hand(site: Site, name: str) -> None:
    """Deploy a machine without Slipway."""
    site.machines.make_available([name])
    info = {"image_source": "https://images.example/old.img", "image_os_hash_algo": "sha256"}
    info["image_os_hash_value"] = "0" * 64
    site.machines.call("PATCH", f"nodes/{name}", [_add("/instance_uuid", OURS_BY_HAND), _add("/instance_info", info)])
    site.machines.change(name, "active")
    site.machines.wait([name], "active")


def _add(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def test_200_machines_in_eight_groups_side_by_side(site: Site) -> None:
    with example_site("ironic") as file:
        parts = re.sub(r"name: example-ironic", f"name: {site.name}", file.read_text()).split("\n---\n")
    kept = [part for part in parts if "slipway/Node/v1" not in part and "DeploymentStrategy" not in part]
    nodes = [(f"g{group}-n{number:02}", f"rack{group}") for group in range(GROUPS) for number in range(EACH)]
    documents = [
        f"schema: slipway/Node/v1\nmetadata: {{name: {name}}}\ndata: {{sets: [compute], rack: {rack}}}"
        for name, rack in nodes
    ]
    groups = "".join(
        f"  - {{name: rack{group}, critical: true, depends_on: [], selectors: [{{rack_names: [rack{group}]}}], "
        "success_criteria: {percent_successful_nodes: 100}}\n"
        for group in range(GROUPS)
    )
    strategy = "schema: shipyard/DeploymentStrategy/v1\nmetadata: {name: deployment-strategy}\ndata:\n  groups:\n"
    text = "\n---\n".join([*kept, *documents, strategy + groups])
    report = site.do(text, DAG, max_parallel_groups=GROUPS)
    assert Counter(entry["state"] for entry in report.values()) == Counter(success=GROUPS * EACH)
    assert Counter(site.done().values()) == {(1, 1): GROUPS * EACH}
    with site.slipway.open_store() as store:
        (action,) = [one for one in site.slipway.slipway.actions(site.name) if one.kind == DAG]
        spans = [(one.started, one.ended) for one in store.groups.of_action(action.id)]
    starts = sorted(began for began, _ in spans if began is not None)
    ends = sorted(ended for _, ended in spans if ended is not None)
    at_once = max(sum(began <= moment for began in starts) - sum(end <= moment for end in ends) for moment in starts)
    print(f"{GROUPS * EACH} machines, {at_once} groups at once at most: each cleaned once and deployed once")
    assert at_once == GROUPS
