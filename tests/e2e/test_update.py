"""An update towards the goal, in a real Airflow: its plan names what differs, and the run does nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.e2e.running import HANGS, OwnSite, RunningSlipway
from tests.e2e.walking import SLIPWAY, beside
from tests.support.sites import document, group, node, site

SITE, UPDATE = "goal", "update_site"
RACKS = {"r1": ["a1", "a2"], "r2": ["b1", "b2"]}
GROUPS = [
    group("control", ["ctl"], percent_successful_nodes=100),
    group("rack-1", RACKS["r1"], after=["control"]),
    group("rack-2", RACKS["r2"], after=["control"], critical=False),
]


def design(image: str) -> str:
    """Return a site of two racks, each with a host profile of its own; this image is in that of the second."""
    nodes = [node("ctl"), *(node(name, rack, profile=rack) for rack, names in RACKS.items() for name in names)]
    images = {"r1": "jammy", "r2": image}
    profiles = [
        document("drydock/HostProfile/v1", rack, {"platform": {"image": images[rack]}, "metadata": {"owner_data": {}}})
        for rack in RACKS
    ]
    return site(nodes, GROUPS) + yaml.safe_dump_all(profiles, explicit_start=True)


def planned(slipway: RunningSlipway) -> dict[str, Any]:
    """Return the plan of the site, as the API says it."""
    path = f"/slipway/api/v1.0/sites/{SITE}/plan?fresh=true"
    found: dict[str, Any] = slipway.airflow.session.request("the plan", "GET", path).json()
    return found


def test_an_update_does_exactly_what_its_plan_says(slipway: RunningSlipway, own: OwnSite, tmp_path: Path) -> None:
    simulator = own.simulator
    assert own.deploy(design("jammy"))[1] == "success"
    assert planned(slipway)["nodes"] == []

    slipway.slipway.commit(SITE, design("noble"))
    changed = planned(slipway)["nodes"]
    assert [(one["name"], one["change"]) for one in changed] == [("b1", "change"), ("b2", "change")]
    for one in changed:
        (profile,) = one["documents"]
        assert (profile["name"], [field["path"] for field in profile["fields"]]) == ("r2", ["$.data.platform.image"])
    walker = beside(slipway.runtime, slipway.home, tmp_path, SITE)
    said = walker.types(f"{SLIPWAY} plan {UPDATE} --explain --allow-redeploy --fresh")
    assert "erases 2 (2 redeployed, 0 released first, 0 removed), deploys 0, labels 0, leaves 3," in said
    assert "$.data.platform.image: modified jammy -> noble" in " ".join(said.split())

    before = len(simulator.submissions())
    run_id, state = own.deploy(design("noble"), UPDATE, allow_redeploy=True)
    assert state == "success"
    sent = [one for one in simulator.submissions()[before:] if one[1]]
    assert {name for _, names in sent for name in names} == set(RACKS["r2"]), "the simulator's journal has no other"
    assert sorted(action for action, _ in sent) == sorted(
        ["destroy_nodes", "prepare_nodes", "deploy_nodes"] * (len(sent) // 3)
    )
    report = slipway.report(run_id, UPDATE)
    assert {one["name"]: one["as_wanted"] for one in report["nodes"]} == {
        name: name not in RACKS["r2"] for name in ("ctl", *RACKS["r1"], *RACKS["r2"])
    }
    with slipway.open_store() as store:
        done = {record.name: (record.done_version, record.standing) for record in store.nodes.of_site(SITE)}
    assert done == {name: (2 if name in RACKS["r2"] else 1, "success") for name in done}

    before = len(simulator.submissions())
    run_id, state = own.deploy(design("noble"), UPDATE)
    assert (state, [one for one in simulator.submissions()[before:] if one[1]]) == ("success", [])
    (unmapped,) = slipway.tasks(run_id, "deploy_group", UPDATE)
    assert (unmapped.state, unmapped.map_index) == ("skipped", -1), "no group gets a task"
    assert [one["state"] for one in slipway.report(run_id, UPDATE)["groups"]] == ["success"] * len(GROUPS)

    slipway.airflow.clear(UPDATE, run_id, ["plan_groups"])
    assert slipway.airflow.wait_for_run(UPDATE, run_id, HANGS) == "success"
    mapped = slipway.tasks(run_id, "deploy_group", UPDATE)
    assert [(task.map_index, task.state) for task in sorted(mapped, key=lambda task: task.map_index)] == [
        (place, "success") for place in range(len(GROUPS))
    ]
    assert [one for one in simulator.submissions()[before:] if one[1]] == [], (
        "a group that has succeeded returns at once"
    )
