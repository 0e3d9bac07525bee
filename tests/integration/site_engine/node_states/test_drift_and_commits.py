"""A drift is of a machine: no commit, touch or rollback ends it or hides it (rule 56)."""

from __future__ import annotations

import pytest

from site_engine.plans.differences import node_difference, node_differences
from site_engine.trees.nodes import site_nodes
from site_store import SiteStore
from site_store.node_table.node_facts import NodeQuery
from strategy_lib.outcome import NodeCondition
from strategy_lib.status.words import Status
from tests.integration.site_engine.node_states.drifting import NODES, OFF, ON, READY, deploy
from tests.integration.site_engine.node_states.repairing import Scene, shown
from tests.integration.site_store.scenario import SITE, FakeClock


@pytest.mark.parametrize("after", ["commit", "rollback", "touch"])
def test_rule_56_no_commit_touch_or_rollback_ends_a_drift(store: SiteStore, clock: FakeClock, after: str) -> None:
    scene = Scene(store, clock)
    scene.see(n1=READY, n2=ON)
    before = {one.name: one.error for one in store.nodes.of_site(SITE)}["n1"]
    if after == "touch":
        store.wishes.touch(SITE, ["n1"], "ann")
    else:
        scene.commit(profile="other")
    if after == "rollback":
        scene.commit(profile="compute")
    scene.see(n1=READY, n2=ON)
    assert shown(store)["n1"] == "error"
    (n1,) = site_nodes(store, SITE, NodeQuery(standing=Status.ERROR))["nodes"]
    assert (n1["node"], n1["message"], n1["error"]) == ("n1", before, before)
    assert store.drifts.counts() == {SITE: (1, 1)}
    assert store.counts.verify().differences == ()


def test_rule_56_a_drift_is_seen_after_a_commit_too_and_ends_when_the_machine_is_right(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock)
    scene.commit(profile="other")
    scene.see(n1=OFF, n2=ON)
    assert shown(store) == {"n1": "error", "n2": "pending"}
    scene.see(n1=ON, n2=ON)
    assert shown(store) == {"n1": "pending", "n2": "pending"}
    assert store.drifts.counts() == {SITE: (0, 1)}
    (n1, _) = site_nodes(store, SITE)["nodes"]
    assert n1["message"] == "done for revision 1, wanted is revision 2"


def test_rule_56_a_node_that_was_never_done_or_is_between_two_phases_does_not_drift(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock)
    scene.commit(profile="other")
    deploy(store, "n1", failed=("n1",))
    scene.see(n1=READY, n2=ON)
    assert store.drifts.counts() == {}


def test_rule_56_a_drifted_node_is_not_as_wanted_in_a_plan_after_a_rollback(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock)
    scene.see(n1=OFF, n2=ON)
    scene.commit(profile="other")
    scene.commit(profile="compute")
    records = store.nodes.of_site(SITE)
    digests = {one.name: one.wanted_digest or "" for one in records}
    found = node_differences(digests, records, dict.fromkeys(NODES, NodeCondition.DEPLOYED))
    assert (found["n1"].change, found["n2"].change) == ("redo", "none")
    assert found["n1"].reason.startswith("drifted: power is off, since ")


def test_rule_56_adopt_ends_a_drift(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock)
    scene.see(n1=OFF, n2=ON)
    scene.commit(profile="other")
    store.wishes.adopt(SITE, ["n1"], "ann")
    assert shown(store) == {"n1": "success", "n2": "pending"}


def test_rule_56_a_repair_never_deploys_a_newer_revision_than_the_one_that_the_node_was_done_for(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock, repair="redeploy")
    scene.see(n1=READY, n2=ON)
    scene.commit(profile="other")
    assert scene.look() == []
    scene.commit(profile="compute")
    assert scene.look() == [(("n1",), False)], "after the rollback it is repaired"


def test_the_plan_and_the_site_name_the_same_revisions_of_a_node(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock)
    store.wishes.touch(SITE, ["n1"], "ann")
    scene.commit(profile="other")
    scene.see(n1=ON, n2=ON)
    (n1, _) = site_nodes(store, SITE)["nodes"]
    record = next(one for one in store.nodes.of_site(SITE) if one.name == "n1")
    assert record.wanted_version != record.wanted_revision, "a touch is a version, and no revision"
    found = node_difference("n1", record.wanted_digest, record, NodeCondition.DEPLOYED)
    assert n1["message"] == "done for revision 1, wanted is revision 2"
    assert found.reason == f"the design differs: {n1['message']}"
