"""Nodes that are deployed and off are powered on where the provisioner can, decided on a real store (rules 56, 57)."""

from __future__ import annotations

import pytest

from site_engine.errors import AirflowApiError
from site_engine.trees.nodes import site_nodes
from site_engine.trees.status_trees import site_tree
from site_store import Claim, NewAction, NewPlan, PlannedGroup, SiteStore
from site_store.nodes.ailing import RepairResult
from strategy_lib.node_states.repair import repair_run_id
from strategy_lib.phase import Phase
from strategy_lib.status.words import Status
from strategy_lib.strategy import Group
from tests.integration.site_engine.node_states.drifting import (
    OFF,
    ON,
    READY,
    Scenes,
    deploy,
    lists,
    shown,
    standings,
)
from tests.integration.site_store.scenario import SITE


def why(store: SiteStore) -> set[str]:
    """What is said of n1 in the table of nodes, in its group in the tree, and under its own name there."""
    (row,) = [one["message"] for one in site_nodes(store, SITE)["nodes"] if one["node"] == "n1"]
    of_group = site_tree(store, SITE, depth=2).root.children[0]
    (own,) = [one.messages for one in of_group.children if one.name == "n1"]
    return {row, *own, *(text.removeprefix("n1: ") for text in of_group.messages)}


def test_rule_57_a_node_that_is_off_is_powered_on_where_its_provisioner_can(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1")
    assert [scene.look(), scene.look()] == [[], []], "no action is started"
    assert scene.power.asked == [("n1",)], "each attempt asks once"
    scene.goes_dark("n1")
    assert scene.look() == []
    assert standings(scene.store)["n1"][0] == Status.PROCESSING, "also while lists still say that it is off (rule 56)"
    assert shown(scene.store) == {"n1": "processing", "n2": "success"}
    assert site_tree(scene.store, SITE).root.status is Status.PROCESSING
    (said,) = why(scene.store)
    assert said.startswith("repairing: power is off, since 2026-")
    scene.see(n1=ON, n2=ON)
    scene.look()
    assert standings(scene.store)["n1"] == (Status.SUCCESS, None)
    assert scene.store.counts.verify().differences == ()
    assert scene.store.drifts.counts() == {SITE: (0, 1)}
    fixed = {one.name: one.fixed for one in scene.store.nodes.of_site(SITE)}["n1"]
    assert fixed is not None
    assert fixed.startswith("drifted: power is off, since")
    assert scene.said("n1") == ["is powered on", "its repair ended: success"]
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}


def test_rule_57_a_node_that_has_its_power_again_is_not_redeployed_before_that_is_judged(scene_of: Scenes) -> None:
    scene = scene_of(repair="redeploy")
    scene.see(n1=OFF, n2=ON)
    lists(scene.store, scene.clock, n1=ON, n2=ON)
    assert standings(scene.store)["n1"][0] == Status.ERROR
    assert scene.look() == []
    scene.see(n1=OFF, n2=ON)
    assert scene.look() == [(("n1",), True)], "a provisioner that cannot power on: that is what remains"


def test_rule_56_what_is_wrong_otherwise_once_it_is_powered_on_is_an_error_at_once(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1")
    scene.look()
    scene.see(n1=READY, n2=ON)
    assert standings(scene.store)["n1"][0] == Status.ERROR
    scene.look()
    assert scene.store.repairs.counts() == {(SITE, RepairResult.FAILURE): 1}
    scene.clock.move(76)
    assert scene.look() == [(("n1",), False)], "it carries nothing any more: it is deployed anew"


def test_an_action_that_begins_while_nodes_are_powered_on_has_the_last_word(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1", "n2")
    scene.look()
    assert set(shown(scene.store).values()) == {"processing"}
    deploy(scene.store, "n1", "n2", failed=("n2",))
    assert [status for status, _ in standings(scene.store).values()] == [Status.SUCCESS, Status.ERROR]
    before = standings(scene.store)
    scene.look()
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1, (SITE, RepairResult.FAILURE): 1}
    assert standings(scene.store) == before
    assert scene.store.counts.verify().differences == ()


def test_what_is_under_way_by_an_action_is_not_taken_for_powered_on(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1")
    scene.look()
    action = scene.store.actions.create(
        NewAction("deploy_site", SITE, None, {}, "ann", context_marker=None), exclusive=True
    )
    scene.store.locks.acquire(action.id)
    scene.store.groups.save_plan(action.id, NewPlan([PlannedGroup(Group("g", critical=True), ("n1",))], (), {}))
    attempt = scene.store.groups.open_attempt(action.id, "g", "first").attempt
    scene.store.operations.begin(
        Claim(action.id, SITE, "g", attempt, Phase.PREPARE, ["n1"], "file:///d", {"n1": "ready"})
    )
    scene.clock.move(601)
    scene.look()
    scene.see(n1=ON, n2=ON)
    assert scene.store.repairs.counts() == {(SITE, RepairResult.FAILURE): 1}
    assert standings(scene.store)["n1"][0] == Status.PROCESSING, "the action is at work on it"


def test_what_changed_since_it_was_looked_at_is_not_powered_on(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1", "n2")
    ailing = scene.store.repairs.ailing(SITE)
    scene.see(n1=ON, n2=OFF)
    run_id = repair_run_id(SITE, {one.name: (one.cause, 1) for one in ailing}, power_on=True)
    assert not scene.store.repairs.begin(scene.lease, SITE, run_id, ailing, redeploy=False)
    assert scene.store.repairs.under_way(SITE) == []
    assert shown(scene.store) == {"n1": "success", "n2": "error"}


def test_what_stays_off_has_failed_after_a_time_and_is_tried_again_after_its_delay(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1", "n2")
    scene.power.refused = {"n2": "its BMC does not answer"}
    scene.look()
    assert scene.store.repairs.counts() == {(SITE, RepairResult.REFUSED): 1}
    assert scene.said("n2") == ["cannot be powered on: its BMC does not answer"]
    assert shown(scene.store) == {"n1": "processing", "n2": "error"}
    scene.clock.move(40)
    scene.look()
    assert scene.power.asked == [("n1", "n2")]
    scene.clock.move(550)
    scene.look()
    assert scene.power.asked == [("n1", "n2"), ("n2",)], "who was refused is tried again, after its delay"
    scene.clock.move(20)
    scene.look()
    assert scene.store.repairs.counts()[SITE, RepairResult.FAILURE] == 1
    assert shown(scene.store)["n1"] == "error", "it is off for too long"
    asked = len(scene.power.asked)
    scene.power.trouble = "MAAS does not answer"
    scene.clock.move(80)
    with pytest.raises(AirflowApiError):
        scene.look()
    assert len(scene.power.asked) == asked + 1
    assert scene.said("n1")[-1] == "its repair was refused: MAAS does not answer"
    assert shown(scene.store)["n1"] == "error"
    assert scene.store.counts.verify().differences == ()


def test_a_power_on_whose_answer_was_lost_is_not_refused_and_settled_by_what_a_look_finds(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.goes_dark("n1")
    scene.power.lost = "no answer for 25 s"
    with pytest.raises(AirflowApiError):
        scene.look()
    assert [begun.powers_on for begun in scene.store.repairs.under_way(SITE)] == [True]
    assert scene.store.repairs.counts() == {}
    scene.goes_dark()
    scene.look()
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}
    assert scene.power.asked == [("n1",)]
