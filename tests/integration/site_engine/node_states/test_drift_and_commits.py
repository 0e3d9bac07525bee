"""A drift is of a machine: no commit, touch or rollback ends it or hides it (rule 56)."""

from __future__ import annotations

import pytest
from sqlalchemy import text as sql

from design_rendering.design import read_design
from site_engine.designs import read_revision
from site_engine.plans.differences import node_difference, node_differences
from site_engine.trees.nodes import node_history, site_nodes
from site_store.node_table.node_facts import NodeQuery
from site_store.nodes.ailing import RepairResult
from strategy_lib.node_condition import NodeCondition
from strategy_lib.status.words import Status
from tests.integration.site_engine.node_states.drifting import (
    NODES,
    OFF,
    ON,
    READY,
    Scene,
    Scenes,
    carry_out,
    deploy,
    shown,
)
from tests.integration.site_store.scenario import SITE


@pytest.mark.parametrize("after", ["commit", "rollback", "touch"])
def test_rule_56_no_commit_touch_or_rollback_ends_a_drift(scene_of: Scenes, after: str) -> None:
    scene = scene_of()
    scene.see(n1=READY, n2=ON)
    before = {one.name: one.error for one in scene.store.nodes.of_site(SITE)}["n1"]
    if after == "touch":
        scene.store.wishes.touch(SITE, ["n1"], "ann")
    else:
        scene.commit(profile="other")
    if after == "rollback":
        scene.commit(profile="compute")
    scene.see(n1=READY, n2=ON)
    assert shown(scene.store)["n1"] == "error"
    (n1,) = site_nodes(scene.store, SITE, NodeQuery(standing=Status.ERROR))["nodes"]
    assert (n1["node"], n1["message"], n1["error"]) == ("n1", before, before)
    assert scene.store.drifts.counts() == {SITE: (1, 1)}
    assert scene.store.counts.verify().differences == ()


def test_rule_56_a_drift_is_seen_after_a_commit_too_and_ends_when_the_machine_is_right(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.commit(profile="other")
    scene.see(n1=OFF, n2=ON)
    assert shown(scene.store) == {"n1": "error", "n2": "pending"}
    scene.see(n1=ON, n2=ON)
    assert shown(scene.store) == {"n1": "pending", "n2": "pending"}
    assert scene.store.drifts.counts() == {SITE: (0, 1)}
    (n1, _) = site_nodes(scene.store, SITE)["nodes"]
    assert n1["message"] == "done for revision 1, wanted is revision 2"


def test_rule_56_a_node_that_was_never_done_or_is_between_two_phases_does_not_drift(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.commit(profile="other")
    deploy(scene.store, "n1", failed=("n1",))
    scene.see(n1=READY, n2=ON)
    assert scene.store.drifts.counts() == {}


def test_rule_56_a_drifted_node_is_not_as_wanted_in_a_plan_after_a_rollback(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.see(n1=OFF, n2=ON)
    scene.commit(profile="other")
    scene.commit(profile="compute")
    records = scene.store.nodes.of_site(SITE)
    digests = {one.name: one.wanted_digest or "" for one in records}
    found = node_differences(digests, records, dict.fromkeys(NODES, NodeCondition.DEPLOYED))
    assert (found["n1"].change, found["n2"].change) == ("redo", "none")
    assert found["n1"].reason.startswith("drifted: power is off, since ")


def test_rule_56_adopt_ends_a_drift(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.see(n1=OFF, n2=ON)
    scene.commit(profile="other")
    scene.store.wishes.adopt(SITE, ["n1"], "ann")
    assert shown(scene.store) == {"n1": "success", "n2": "pending"}


def repaired(scene: Scene, revision: int, *, good: bool) -> None:
    """Carry the repair that has begun out, as its action does: for the digests of this revision."""
    (begun,) = scene.store.repairs.under_way(SITE)
    assert begun.action_id is not None
    assert scene.store.actions.get(begun.action_id).revision == revision == begun.revision
    design = read_design(read_revision(scene.store, SITE, revision)[1]).keyed(scene.store.secret_texts.digest_key())
    carry_out(scene.store, begun.action_id, begun.nodes, design.digests, () if good else begun.nodes, repairs=True)


def test_rule_56_a_repair_brings_a_node_back_to_the_revision_that_it_was_done_for(scene_of: Scenes) -> None:
    scene = scene_of(repair="redeploy")
    scene.see(n1=READY, n2=ON)
    scene.commit(profile="other")
    assert scene.look() == [(("n1",), False)]
    assert scene.start.revisions == [1]
    repaired(scene, 1, good=True)
    assert scene.look() == []
    (n1, n2) = site_nodes(scene.store, SITE)["nodes"]
    assert (n1["done_revision"], n1["done_version"], n1["wanted_version"]) == (1, 1, 2)
    assert (
        (n1["status"], n1["message"])
        == ("pending", "done for revision 1, wanted is revision 2")
        == (
            n2["status"],
            n2["message"],
        )
    )
    assert n1["fixed"].startswith("drifted: the provisioner says Ready, since ")
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}
    assert scene.said("n1")[0].endswith(", for revision 1")
    scene.see(n1=ON, n2=ON)
    assert scene.look() == [], "it serves, and the next update brings it to what is wanted"
    deploy(scene.store, "n1", "n2")
    assert shown(scene.store) == {"n1": "success", "n2": "success"}
    assert scene.store.counts.verify().differences == ()


def test_rule_56_nodes_that_were_done_for_different_revisions_are_repaired_one_after_the_other(
    scene_of: Scenes,
) -> None:
    scene = scene_of(repair="on")
    scene.commit(profile="other")
    deploy(scene.store, "n2")
    scene.see(n1=READY, n2=READY)
    assert scene.look() == [(("n1",), False)]
    assert scene.look() == []
    repaired(scene, 1, good=True)
    assert scene.look() == [(("n2",), False)]
    assert scene.start.revisions == [1, 2]


def test_rule_46_a_repair_for_an_older_revision_that_fails_stays_an_error_and_is_tried_again(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.commit(profile="other")
    scene.look()
    repaired(scene, 1, good=False)
    assert scene.look() == []
    (n1, _) = site_nodes(scene.store, SITE)["nodes"]
    assert (n1["status"], n1["message"], n1["error_revision"]) == ("error", "deploy failed", 1)
    past = node_history(scene.store, SITE, "n1")
    assert past is not None
    assert past["retry"] == {"by": "repair", "is_due": False, "why_not": None}
    assert past["errors"][0]["standing"] == "shown"
    assert scene.store.repairs.counts() == {(SITE, RepairResult.FAILURE): 1}
    scene.clock.move(80)
    scene.see(n1=READY, n2=ON)
    assert scene.look() == [(("n1",), False)]
    assert scene.start.revisions == [1, 1]


def test_rule_56_a_node_for_which_an_update_has_begun_is_the_updates(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.commit(profile="other")
    deploy(scene.store, "n1", failed=("n1",))
    scene.clock.move(80)
    scene.see(n1=READY, n2=ON)
    assert scene.look() == [(("n1",), False)]
    assert scene.start.revisions == [2]


def test_rule_57_where_the_revision_is_not_known_a_drifted_node_is_left_to_the_next_update(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    unknown = sql("UPDATE node SET done_revision = NULL WHERE name = 'n1'")
    scene.store._database.write(lambda tx: tx.execute(unknown))
    scene.commit(profile="other")
    assert scene.look() == []
    assert shown(scene.store)["n1"] == "error"


def test_rule_57_observe_says_for_which_revision(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.see(n1=READY, n2=ON)
    scene.commit(profile="other")
    scene.look()
    assert scene.said("n1")[0].startswith(
        "repair only observes: it would be deployed anew for revision 1, as it drifted: "
    )


def test_rule_56_a_node_of_an_older_revision_that_is_powered_on_is_repaired(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1")
    scene.commit(profile="other")
    scene.look()
    assert scene.power.asked == [("n1",)]
    scene.see(n1=ON, n2=ON)
    scene.look()
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}


def test_the_plan_and_the_site_name_the_same_revisions_of_a_node(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.store.wishes.touch(SITE, ["n1"], "ann")
    scene.commit(profile="other")
    scene.see(n1=ON, n2=ON)
    (n1, _) = site_nodes(scene.store, SITE)["nodes"]
    record = next(one for one in scene.store.nodes.of_site(SITE) if one.name == "n1")
    assert record.wanted_version != record.wanted_revision, "a touch is a version, and no revision"
    found = node_difference("n1", record.wanted_digest, record, NodeCondition.DEPLOYED)
    assert n1["message"] == "done for revision 1, wanted is revision 2"
    assert found.reason == f"the design differs: {n1['message']}"
