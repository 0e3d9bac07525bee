"""Repairs decided on a real store: which nodes, when, once, and what the ledger says of them (rule 57)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from site_engine.controller.repairs import Remedies, repair_site
from site_engine.errors import AirflowApiError, AirflowRefused
from site_store import ActionState, AskedState, SiteStore
from site_store.nodes.ailing import RepairResult
from site_store.nodes.repair_switches import ALL_SITES
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.words import Status
from tests.integration.site_engine.node_states.drifting import (
    ALICES,
    NODES,
    OFF,
    ON,
    READY,
    Scene,
    Scenes,
    Starter,
    deploy,
    lists,
    shown,
    standings,
)
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site


def test_rule_57_observe_only_says_what_it_would_do_once(scene_of: Scenes) -> None:
    scene = scene_of()
    scene.see(n1=READY, n2=OFF)
    assert [scene.look(), scene.look()] == [[], []]
    since = "since 2026-11-21 12:00:10 UTC"
    assert scene.said("n1") == [
        f"repair only observes: it would be deployed anew, as it drifted: the provisioner says Ready, {since}"
    ]
    assert scene.said("n2") == [
        f"repair only observes: it would be destroyed and deployed anew, as it drifted: power is off, {since}"
    ]
    assert scene.store.repairs.counts() == {(SITE, RepairResult.OBSERVED): 2}
    assert {status for status, _ in standings(scene.store).values()} == {Status.ERROR}, "error stays (rule 56)"


def test_rule_56_a_wiped_node_is_repaired_once_and_has_a_warning(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=OFF)
    assert scene.look() == [(("n1",), False)], "on leaves a deployed node alone"
    assert scene.look() == [], "the repair is under way"
    scene.end(good=True)
    assert scene.look() == []
    fixed = {one.name: one.fixed for one in scene.store.nodes.of_site(SITE)}["n1"]
    assert fixed is not None
    assert fixed.startswith("drifted: the provisioner says Ready, since")
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}
    scene.see(n1=ON, n2=OFF)
    assert scene.look() == []
    assert scene.store.counts.verify().differences == ()
    assert scene.said("n1")[1:] == ["its repair ended: success"]


@pytest.mark.parametrize("mode", ["on", "redeploy"])
def test_rule_57_what_a_stranger_redeployed_is_never_repaired(scene_of: Scenes, mode: str) -> None:
    scene = scene_of(repair=mode)
    for one in (ALICES, ("Deployed, owned by alice", "off"), ("Failed deployment, owned by alice", "off")):
        scene.see(n1=one, n2=ON)
        assert scene.look() == []
        assert scene.power.asked == []
    assert shown(scene.store)["n1"] == "error"


def test_a_failed_repair_waits_for_its_delay_and_is_another_attempt(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    for attempt, (early, late) in enumerate([(44, 32), (89, 62)], start=1):
        assert scene.look() == [(("n1",), False)]
        scene.end(good=False)
        scene.look()
        scene.clock.move(early)
        assert scene.look() == [], attempt
        scene.clock.move(late)
    assert scene.look() == [(("n1",), False)]
    assert scene.store.repairs.counts() == {(SITE, RepairResult.FAILURE): 2}


def test_a_repair_that_is_refused_waits_too(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.start.refusal = "repair is off"
    with pytest.raises(AirflowApiError):
        scene.look()
    assert scene.look() == []
    scene.start.refusal = None
    scene.clock.move(76)
    assert scene.look() == [(("n1",), False)]
    assert scene.said("n1")[0] == "its repair was refused: repair is off"


def test_a_repair_whose_answer_was_lost_is_found_by_its_own_key(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.start.lost = True
    assert scene.look() == [(("n1",), False)]
    (begun,) = scene.store.repairs.under_way(SITE)
    assert begun.action_id is not None
    assert scene.said("n1") == [f"is repaired by action {begun.action_id}, for revision 1"]
    assert scene.look() == []
    scene.end(good=True)
    scene.look()
    assert scene.store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}


def test_a_repair_of_which_nothing_is_known_is_asked_for_again_as_the_same_and_is_not_refused(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.start.late = True
    for _ in range(2):
        with pytest.raises(AirflowApiError):
            scene.look()
        assert [begun.action_id for begun in scene.store.repairs.under_way(SITE)] == [None]
    (run_id,) = [begun.run_id for begun in scene.store.repairs.under_way(SITE)]
    # The first request was only slow.
    scene.start.late = False
    made = scene.start(SITE, run_id, ["n1"], redeploy=False, revision=1, held=scene.lease)
    assert scene.look() == [], "it is there"
    assert [begun.action_id for begun in scene.store.repairs.under_way(SITE)] == [made]
    assert scene.store.repairs.counts() == {}


def test_a_repair_that_is_refused_because_its_own_action_is_at_work_is_not_refused(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)

    def busy(site: str, run_id: str, nodes: Sequence[str], **more: Any) -> str:
        Starter(scene.store)(site, run_id, nodes, **more)
        raise AirflowRefused(409, "an action is on the site")

    repair_site(scene.store, SITE, Remedies(busy), lambda: scene.lease)
    assert [begun.action_id is not None for begun in scene.store.repairs.under_way(SITE)] == [True]


def test_no_more_than_the_settings_allow_in_an_hour(scene_of: Scenes) -> None:
    scene = scene_of(repair="on", max_repairs_per_hour=1)
    scene.see(n1=READY, n2=READY)
    assert scene.look() == [(("n1",), False)]
    scene.end(good=True)
    assert scene.look() == []
    scene.clock.move(3601)
    assert scene.look() == [(("n2",), False)]


def test_one_remediation_per_drift_also_with_two_controllers(scene_of: Scenes) -> None:
    """One begins, and ends before it has asked; the next one starts the same run, which is there once."""
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    asked = []

    class Killed(BaseException):
        pass

    def killed(site: str, run_id: str, nodes: Sequence[str], **more: Any) -> str:
        asked.append(Starter(scene.store)(site, run_id, nodes, **more))
        raise Killed

    with pytest.raises(Killed):
        repair_site(scene.store, SITE, Remedies(killed), lambda: scene.lease)
    assert scene.look() == [], "it is there, and found by its run"
    (begun,) = scene.store.repairs.under_way(SITE)
    assert begun.action_id == asked[0]
    (one,) = scene.store.repairs.ailing(SITE)
    assert not scene.store.repairs.begin(scene.lease, SITE, "other", [replace(one, attempts=0)], redeploy=False)


def test_rule_51_nodes_that_are_not_to_be_up_are_not_repaired(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.store.user_states.change(SITE, ["n1"], AskedState(NodeAvailability.MAINTENANCE, "disk", force=True), "ann")
    assert scene.look() == []


def test_a_switch_stops_all_repair(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=ON)
    scene.store.repair_switches.stop(SITE, "ann", "the power is worked on")
    assert scene.look() == []
    switch = scene.store.repair_switches.of_site(SITE)
    assert switch is not None
    assert (switch.by, switch.reason) == ("ann", "the power is worked on")
    ailing = scene.store.repairs.ailing(SITE)
    assert not scene.store.repairs.begin(scene.lease, SITE, "late", ailing, redeploy=False), (
        "also one that was just decided"
    )
    scene.store.repair_switches.resume(SITE, "ann", "")
    assert scene.look() == [(("n1",), False)]
    assert [one.command for one in scene.store.wishes.audit(SITE)][:2] == ["start repair", "stop repair"]


def test_one_switch_stops_the_repair_of_all_sites_also_of_one_that_comes_later(
    store: SiteStore, clock: FakeClock
) -> None:
    store.repair_switches.stop(ALL_SITES, "ann", "a storm")
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=ON)
    assert scene.look() == []
    switch = store.repair_switches.of_site(SITE)
    assert switch is not None
    assert (switch.by, switch.reason, switch.all_sites) == ("ann", "a storm", True)
    ailing = store.repairs.ailing(SITE)
    assert not store.repairs.begin(scene.lease, SITE, "late", ailing, redeploy=False), "also one that was just decided"
    store.repair_switches.stop(SITE, "bob", "the power is worked on")
    store.repair_switches.resume(ALL_SITES, "ann", "")
    assert scene.look() == [], "its own switch holds"
    store.repair_switches.stop(ALL_SITES, "ann", "")
    store.repair_switches.resume(SITE, "bob", "")
    assert scene.look() == [], "that of all sites holds"
    store.repair_switches.resume(ALL_SITES, "ann", "it is over")
    assert scene.look() == [(("n1",), False)]
    (newest, *_, oldest) = store.wishes.audit(SITE)
    assert (newest.command, newest.user, newest.detail) == ("start repair", "ann", "for all sites: it is over")
    assert (oldest.command, oldest.detail) == ("stop repair", "for all sites: a storm")


def test_a_node_that_says_so_is_not_repaired(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    deploy(scene.store, "n1", "n2", failed=("n1", "n2"))
    lists(scene.store, scene.clock, n1=("Failed deployment", "on"), n2=("Failed deployment", "on"))
    quiet = node("n2")
    quiet["metadata"]["monitor"] = False
    text = site([node("n1"), quiet], [group("g", list(NODES))], region=SITE)
    text += yaml.safe_dump(document("slipway/SiteSettings/v1", "settings", {"repair": "on"}), explicit_start=True)
    commit_design(scene.store, SITE, text)
    scene.clock.move(76)
    assert scene.look() == [(("n1",), False)]


def test_a_repair_of_which_nothing_is_known_keeps_no_other_of_the_site_from_being_settled(scene_of: Scenes) -> None:
    scene = scene_of(repair="on")
    scene.see(n1=READY, n2=READY)
    first, second = scene.store.repairs.ailing(SITE)
    assert scene.store.repairs.begin(scene.lease, SITE, "a-first", [first], redeploy=False)
    assert scene.store.repairs.begin(scene.lease, SITE, "b-second", [second], redeploy=False)
    made = scene.start(SITE, "b-second", ["n2"], redeploy=False, revision=1, held=scene.lease)
    scene.store.repairs.started(scene.lease, SITE, "b-second", made)
    scene.store.actions.close(made, ActionState.SUCCESS, "done")
    scene.start.late = True
    with pytest.raises(AirflowApiError):
        scene.look()
    assert [begun.run_id for begun in scene.store.repairs.under_way(SITE)] == ["a-first"]
