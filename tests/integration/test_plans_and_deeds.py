"""What each plan of an action says of each node, against what its run has the provisioner do to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from sqlalchemy import update

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from site_engine.kinds import kind_of
from site_engine.node_lists import last_list, read_list
from site_engine.parameters import parse_parameters
from site_engine.plans.plan import SitePlan
from site_engine.plans.site_plans import plan_request, plan_site
from site_store import ActionState, AskedState
from site_store.tables import node as node_table
from strategy_lib.goals.update import ERASING, Deed
from strategy_lib.node_states.generated import NodeAvailability
from tests.support.dag_runs import Runs
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

DONE = {
    "wanted": "compute",
    "erased": "compute",
    "wrecked": "compute",
    "dark": "compute",
    "failed": "compute",
    "older": "image",
    "maintained": "image",
    "retired": "image",
    "rolling": "image",
    "rolled-later": "image",
    "labelled": "label",
    "labelled-alone": "label",
    "gone": "compute",
}
"""Nodes that the first revision has, each with its profile: two of these are others in the second."""
NEW = (
    "empty",
    "strange",
    "stuck",
    "kept",
    "allocated",
    "twice",
    "alone",
    "behind-empty",
    "behind-older",
    "kept-by-another",
    "kept-by-the-blocked",
    "blocked",
    "never",
)
"""Nodes that only the second has."""
WAITS = {"behind-empty": ["empty"], "behind-older": ["older"]}
ALONE = ("alone", "labelled-alone")
KEEPS = {"release_failed": False}
GROUPS = [
    group("never", ["never"], critical=False, minimum_successful_nodes=9),
    {**group("blocked", ["blocked", "kept-by-the-blocked"], critical=False, after=["never"]), **KEEPS},
    {**group("keeps", ["kept", "kept-by-another"], critical=False), **KEEPS},
    group(
        "main",
        [name for name in (*DONE, *NEW) if name not in (*ALONE, "never", "blocked", "kept", "rolling", "gone")],
        critical=False,
    ),
    {**group("rolls", ["rolling", "rolled-later", "wanted", "erased", "stuck"]), "allow_redeploy": True},
]
STATUSES = {
    "strange": "Deployed",
    "stuck": "Failed deployment",
    "kept": "Failed deployment",
    "kept-by-another": "Failed deployment",
    "kept-by-the-blocked": "Failed deployment",
    "allocated": "Allocated",
    "erased": "Ready",
    "wrecked": "Failed deployment",
}


def design(*, second: bool) -> str:
    """Return the site in its first or second revision."""
    nodes = []
    for name in (*DONE, *NEW) if second else DONE:
        if second and name == "gone":
            continue
        nodes.append(node(name, profile=DONE.get(name, "compute")))
        if name in WAITS:
            nodes[-1]["metadata"]["depends_on_nodes"] = WAITS[name]
    image = document("drydock/HostProfile/v1", "image", {"platform": {"image": "noble" if second else "jammy"}})
    labels = {"metadata": {"owner_data": {"role": "storage" if second else "compute"}}}
    profiles = [image, document("drydock/HostProfile/v1", "label", labels)]
    text = site(nodes, GROUPS if second else [group("all", critical=False)])
    return text + yaml.safe_dump_all(profiles, explicit_start=True)


@pytest.fixture
def everything(begin: Begin, runs: Runs, simulator: Simulator) -> Driving:
    """A site with a node in each state that a plan can find it in, at its second revision."""

    simulator.read(site([node("twice")], [group("all")], region="beta"), "twice")
    simulator.script("failed", "deploy", "fail", attempt=1)
    first = begin(design(second=False))
    first.group("all")
    store = first.store
    store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    store.locks.release(first.action.id)
    runs.commit(design(second=True))
    simulator.read(design(second=True))
    for name, status in STATUSES.items():
        simulator.post(f"nodes/{name}", {"status": status})
    simulator.post("nodes/dark", {"power_state": "off"})
    off = {"status": "error", "error": "drifted: power is off, since noon", "error_action": None}
    store._database.write(lambda tx: tx.execute(update(node_table).where(node_table.c.name == "dark").values(off)))
    for name, state in (("maintained", NodeAvailability.MAINTENANCE), ("retired", NodeAvailability.RETIRED)):
        assert store.user_states.change(
            "alpha", [name], AskedState(state, "new disk", force=True), "ann"
        ).change.modified
    return first


def deeds(plan: SitePlan) -> dict[str, Deed]:
    """Return what a plan does with each node; the counts say the same, of each node once."""
    found = {name: planned.deed for name, planned in plan.nodes.items()} | dict.fromkeys(plan.unchanged, Deed.LEAVE)
    assert sum(plan.counts.values()) == len(found)
    for one in plan.groups:
        assert sum(one.counts.values()) == one.total
    return found


def done_to(runs: Runs, before: int) -> dict[str, list[str]]:
    """Return what the provisioner was asked to do with each node since then."""
    found: dict[str, list[str]] = {}
    for action, nodes in runs.simulator.submissions()[before:]:
        for name in nodes:
            found.setdefault(name, []).append(action.removesuffix("_nodes"))
    return found


def is_true(said: Deed, asked: list[str]) -> bool:
    """Whether this is what the provisioner was asked to do with a node of which a plan says so."""
    if said is Deed.REMOVE:
        return asked == ["destroy"]
    if said in ERASING:
        return asked[:1] == ["destroy"] and is_true(Deed.DEPLOY, asked[1:])
    if said is Deed.DEPLOY:
        # Its group may miss its criteria after that, or what it waits for is not deployed.
        return asked in (["prepare", "deploy"], ["prepare"])
    return asked == (["relabel"] if said is Deed.LABEL else [])


SOME = ["older", "empty", "stuck", "strange", "wanted", "twice", "failed", "dark", "allocated", "alone"]
CASES: list[tuple[str, Mapping[str, Any]]] = [
    ("update_site", {}),
    ("redeploy_server", {"target_nodes": SOME, "below_criteria": True}),
    ("update_site", {"prune": True}),
    ("update_site", {"allow_redeploy": True, "prune": True, "many_redeploys": True}),
    ("deploy_site", {}),
    ("deploy_site", {"allow_redeploy": True}),
    ("deploy_site", {"redo_done": True}),
    ("deploy_site", {"redo_done": True, "allow_redeploy": True, "many_redeploys": True}),
    ("deploy_site", {"target_nodes": SOME}),
    ("repair_site", {"target_nodes": SOME}),
    ("repair_site", {"target_nodes": SOME, "allow_redeploy": True}),
    ("relabel_nodes", {"target_nodes": ["labelled", "older", "wanted", "empty", "labelled-alone"]}),
    ("destroy_nodes", {"target_nodes": [*SOME, "retired"], "below_criteria": True}),
]
QUICK = 2


@pytest.mark.parametrize(
    ("kind", "given"),
    [pytest.param(*case, marks=[] if at < QUICK else pytest.mark.endurance) for at, case in enumerate(CASES)],
)
def test_each_plan_says_of_each_node_what_its_action_does(
    kind: str, given: Mapping[str, Any], everything: Driving, runs: Runs
) -> None:
    store, known = everything.store, kind_of(kind)
    read_list(store, "alpha", "slipway_provisioner", everything.connect())
    listed = last_list(store, "alpha")
    assert listed is not None
    found = read_design(load_documents(design(second=True), "site.yaml")).keyed(store.secret_texts.digest_key())
    asked = plan_request(store, known, parse_parameters(given, known), found, "alpha", 2, listed)
    plans = {"of the request": deeds(asked)}
    if (kind, given) == ("update_site", {}):
        plans["of the site"] = deeds(plan_site(store, "alpha"))
    runs.run(kind, **given, dry_run=True)
    if changes := runs.last_report().get("changes"):
        rows = {name: Deed(row["deed"]) for row in changes["rows"] for name in row["nodes"]}
        plans["of the dry run"] = {name: rows.get(name, Deed.LEAVE) for name in plans["of the request"]}
        assert changes["summary"] == asked.summary
    else:
        assert not known.has_groups
    before = len(runs.simulator.submissions())
    runs.run(kind, **given)
    really = done_to(runs, before)
    wrong = [
        f"plan {which}: {name}: {said.get(name)}, and it was asked to {really.get(name)}"
        for which, said in plans.items()
        for name in sorted({*said, *really})
        if name not in said or not is_true(said[name], really.get(name, []))
    ]
    assert wrong == []
    if not known.repairs:
        assert plans["of the request"].keys() == set(given.get("target_nodes", plans["of the request"]))
