"""Repairs decided on a real store: which nodes, when, once, and what the ledger says of them (rule 57)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from site_engine.errors import AirflowApiError
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.node_states.repairs import REPAIR_KIND, Remedies, repair_site
from site_engine.status_trees import site_tree
from site_engine.trees.nodes import site_nodes
from site_store import ActionState, PlannedGroup, SiteStore
from site_store.records import Lease
from site_store.repair_switches import ALL_SITES
from site_store.repairs import RepairResult
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.repair import repair_run_id
from strategy_lib.phase import Phase
from strategy_lib.status.words import Status
from strategy_lib.strategy import Group
from tests.integration.site_engine.node_states.test_drift_watch import (
    NODES,
    OFF,
    ON,
    READY,
    deploy,
    lead,
    lists,
    standings,
)
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import new_store

NAME = "controller"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SiteStore]:
    with SiteStore.open(new_store(tmp_path), clock) as opened:
        yield opened


def shown(store: SiteStore) -> dict[str, str]:
    """What the tree of the site says of its nodes."""
    return {one["node"]: one["status"] for one in site_nodes(store, SITE)["nodes"]}


class Starter:
    """Starts repairs as Slipway's API does: an action for each run, once; or it refuses all."""

    def __init__(self, store: SiteStore) -> None:
        self.store = store
        self.asked: list[tuple[tuple[str, ...], bool]] = []
        self.refusal: str | None = None

    def __call__(self, site: str, run_id: str, nodes: Sequence[str], *, redeploy: bool, held: Lease) -> str:
        self.asked.append((tuple(nodes), redeploy))
        if self.refusal is not None:
            raise AirflowApiError(self.refusal)
        made = self.store.actions.create(
            REPAIR_KIND, site, None, {}, "slipway", context_marker=None, exclusive=True, whole_site=False, run_id=run_id
        )
        return made.id


class Power:
    """Powers nodes on as Slipway's API does at MAAS; or it refuses."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refused: Mapping[str, str] = {}
        self.trouble: str | None = None

    def __call__(self, site: str, run_id: str, nodes: Sequence[str], *, held: Lease) -> Mapping[str, str]:
        self.asked.append(tuple(nodes))
        if self.trouble is not None:
            raise AirflowApiError(self.trouble)
        return self.refused


class Scene:
    """A site of two nodes that are done, its watch, and the controller's job."""

    def __init__(self, store: SiteStore, clock: FakeClock, **settings: Any) -> None:
        self.store, self.clock = store, clock
        text = site([node(name) for name in NODES], [group("g", list(NODES))], region=SITE)
        text += yaml.safe_dump(document("slipway/SiteSettings/v1", "settings", settings), explicit_start=True)
        commit_design(store, SITE, text)
        deploy(store, *NODES)
        lists(store, clock, n1=ON, n2=ON)
        self.watch, self.site_lease = DriftWatch(store, SITE), lead(store)
        lease = store.leases.take(NAME, "me", 86400)
        assert lease is not None
        self.lease = lease
        self.start, self.power = Starter(store), Power()

    def see(self, looks: int = 2, **nodes: tuple[str, str]) -> None:
        for _ in range(looks):
            lists(self.store, self.clock, **nodes)
            held = self.store.leases.renew(self.site_lease, 86400)
            self.watch.look(held)

    def goes_dark(self, *names: str) -> None:
        """Have nodes off in two lists of a provisioner that can power them on."""
        off = {"status": "Deployed", "power": "off", "condition": "deployed", "can_power_on": True}
        on = {"status": "Deployed", "power": "on", "condition": "deployed"}
        for _ in range(2):
            self.clock.move(5)
            self.store.provisioner_lists.save(SITE, "c", {name: off if name in names else on for name in NODES})
            self.watch.look(self.store.leases.renew(self.site_lease, 86400))

    def look(self) -> list[tuple[tuple[str, ...], bool]]:
        """Let the job look once, and return what it started meanwhile."""
        before = len(self.start.asked)
        repair_site(self.store, SITE, Remedies(self.start, self.power), lambda: self.lease)
        return self.start.asked[before:]

    def end(self, *, good: bool) -> None:
        """Let the repair that is at work end; one that is good has deployed its nodes."""
        (begun,) = self.store.repairs.under_way(SITE)
        assert begun.action_id is not None
        self.store.actions.close(begun.action_id, ActionState.SUCCESS, "done")
        if good:
            deploy(self.store, *begun.nodes)

    def said(self, name: str) -> list[str]:
        past = self.store.site_nodes.past(SITE, name)
        return [event.message for event in past.events if event.kind == "repair"][::-1]


def test_rule_57_observe_only_says_what_it_would_do_once(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock)
    scene.see(n1=READY, n2=OFF)
    assert [scene.look(), scene.look()] == [[], []]
    since = "since 2026-11-21 12:00:10 UTC"
    assert scene.said("n1") == [
        f"repair only observes: it would be deployed anew, as it drifted: the provisioner says Ready, {since}"
    ]
    assert scene.said("n2") == [
        f"repair only observes: it would be destroyed and deployed anew, as it drifted: power is off, {since}"
    ]
    assert store.repairs.counts() == {(SITE, RepairResult.OBSERVED): 2}
    assert {status for status, _ in standings(store).values()} == {Status.ERROR}, "error stays (rule 56)"


def test_rule_57_off_says_nothing(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair=False)
    scene.see(n1=READY, n2=ON)
    assert scene.look() == []
    assert scene.said("n1") == []


def test_rule_56_a_wiped_node_is_repaired_once_and_has_a_warning(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=OFF)
    assert scene.look() == [(("n1",), False)], "on leaves a deployed node alone"
    assert scene.look() == [], "the repair is under way"
    scene.end(good=True)
    assert scene.look() == []
    fixed = {one.name: one.fixed for one in store.nodes.of_site(SITE)}["n1"]
    assert fixed is not None
    assert fixed.startswith("drifted: the provisioner says Ready, since")
    assert store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}
    scene.see(n1=ON, n2=OFF)
    assert scene.look() == []
    assert store.counts.verify().differences == ()
    assert scene.said("n1")[1:] == ["its repair ended: success"]


def test_rule_57_only_redeploy_takes_a_deployed_node_down(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="redeploy")
    scene.see(n1=OFF, n2=ON)
    assert scene.look() == [(("n1",), True)]


def test_a_failed_repair_waits_for_its_delay_and_is_another_attempt(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=ON)
    for attempt, (early, late) in enumerate([(44, 32), (89, 62)], start=1):
        assert scene.look() == [(("n1",), False)]
        scene.end(good=False)
        scene.look()
        clock.move(early)
        assert scene.look() == [], attempt
        clock.move(late)
    assert scene.look() == [(("n1",), False)]
    assert store.repairs.counts() == {(SITE, RepairResult.FAILURE): 2}


def test_a_repair_that_is_refused_waits_too(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=ON)
    scene.start.refusal = "the provisioner does not answer"
    with pytest.raises(AirflowApiError):
        scene.look()
    assert scene.look() == []
    scene.start.refusal = None
    clock.move(76)
    assert scene.look() == [(("n1",), False)]
    assert scene.said("n1")[0] == "its repair was refused: the provisioner does not answer"


def test_no_more_than_the_settings_allow_in_an_hour(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on", max_repairs_per_hour=1)
    scene.see(n1=READY, n2=READY)
    assert scene.look() == [(("n1",), False)]
    scene.end(good=True)
    assert scene.look() == []
    clock.move(3601)
    assert scene.look() == [(("n2",), False)]


def test_one_remediation_per_drift_also_with_two_controllers(store: SiteStore, clock: FakeClock) -> None:
    """One begins, and ends before it has asked; the next one starts the same run, which is there once."""
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=ON)
    asked = []

    class Killed(BaseException):
        pass

    def killed(site: str, run_id: str, nodes: Sequence[str], *, redeploy: bool, held: Lease) -> str:
        asked.append(Starter(store)(site, run_id, nodes, redeploy=redeploy, held=held))
        raise Killed

    with pytest.raises(Killed):
        repair_site(store, SITE, Remedies(killed), lambda: scene.lease)
    assert scene.look() == [(("n1",), False)]
    (begun,) = store.repairs.under_way(SITE)
    assert begun.action_id == asked[0], "the second trigger of one run is recognized"
    (one,) = store.repairs.ailing(SITE)
    assert not store.repairs.begin(scene.lease, SITE, "other", [replace(one, attempts=0)], redeploy=False)


def test_rule_51_nodes_that_are_not_to_be_up_are_not_repaired(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=ON)
    store.user_states.change(SITE, ["n1"], NodeAvailability.MAINTENANCE, "disk", "ann", force=True)
    assert scene.look() == []


def test_a_switch_stops_all_repair(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.see(n1=READY, n2=ON)
    store.repair_switches.stop(SITE, "ann", "the power is worked on")
    assert scene.look() == []
    switch = store.repair_switches.of_site(SITE)
    assert switch is not None
    assert (switch.by, switch.reason) == ("ann", "the power is worked on")
    ailing = store.repairs.ailing(SITE)
    assert not store.repairs.begin(scene.lease, SITE, "late", ailing, redeploy=False), "also one that was just decided"
    store.repair_switches.resume(SITE, "ann", "")
    assert scene.look() == [(("n1",), False)]
    assert [one.command for one in store.wishes.audit(SITE)][:2] == ["start repair", "stop repair"]


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


def test_a_node_that_says_so_is_not_repaired(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    deploy(store, "n1", "n2", failed=("n1", "n2"))
    lists(store, clock, n1=("Failed deployment", "on"), n2=("Failed deployment", "on"))
    quiet = node("n2")
    quiet["metadata"]["monitor"] = False
    text = site([node("n1"), quiet], [group("g", list(NODES))], region=SITE)
    text += yaml.safe_dump(document("slipway/SiteSettings/v1", "settings", {"repair": "on"}), explicit_start=True)
    commit_design(store, SITE, text)
    clock.move(76)
    assert scene.look() == [(("n1",), False)]


def test_rule_57_a_node_that_is_off_is_powered_on_where_its_provisioner_can(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.goes_dark("n1")
    assert [scene.look(), scene.look()] == [[], []], "no action is started"
    assert scene.power.asked == [("n1",)], "each attempt asks once"
    scene.goes_dark("n1")
    assert scene.look() == []
    assert standings(store)["n1"][0] == Status.PROCESSING, "also while lists still say that it is off (rule 56)"
    assert shown(store) == {"n1": "processing", "n2": "success"}
    assert site_tree(store, SITE).root.status is Status.PROCESSING
    scene.see(n1=ON, n2=ON)
    scene.look()
    assert standings(store)["n1"] == (Status.SUCCESS, None)
    assert store.counts.verify().differences == ()
    assert store.drifts.counts() == {SITE: (0, 1)}
    fixed = {one.name: one.fixed for one in store.nodes.of_site(SITE)}["n1"]
    assert fixed is not None
    assert fixed.startswith("drifted: power is off, since")
    assert scene.said("n1") == ["is powered on", "its repair ended: success"]
    assert store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1}


def test_rule_57_redeploy_only_powers_on_what_can_be_and_observe_only_says_so(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock, repair="redeploy")
    scene.goes_dark("n2")
    assert scene.look() == [], "nothing is destroyed for it"
    assert scene.power.asked == [("n2",)]
    text = site([node(name) for name in NODES], [group("g", list(NODES))], region=SITE)
    commit_design(store, SITE, text)
    scene.goes_dark("n1", "n2")
    assert scene.look() == []
    assert scene.power.asked == [("n2",)]
    assert scene.said("n1")[0].startswith("repair only observes: it would be powered on, as it drifted: power is off")


def test_rule_57_a_node_that_has_its_power_again_is_not_redeployed_before_that_is_judged(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock, repair="redeploy")
    scene.see(n1=OFF, n2=ON)
    lists(store, clock, n1=ON, n2=ON)
    assert standings(store)["n1"][0] == Status.ERROR
    assert scene.look() == []
    scene.see(n1=OFF, n2=ON)
    assert scene.look() == [(("n1",), True)], "a provisioner that cannot power on: that is what remains"


def test_rule_56_what_is_wrong_otherwise_once_it_is_powered_on_is_an_error_at_once(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock, repair="on")
    scene.goes_dark("n1")
    scene.look()
    scene.see(n1=READY, n2=ON)
    assert standings(store)["n1"][0] == Status.ERROR
    scene.look()
    assert store.repairs.counts() == {(SITE, RepairResult.FAILURE): 1}
    clock.move(76)
    assert scene.look() == [(("n1",), False)], "it carries nothing any more: it is deployed anew"


def test_an_action_that_begins_while_nodes_are_powered_on_has_the_last_word(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.goes_dark("n1", "n2")
    scene.look()
    assert set(shown(store).values()) == {"processing"}
    deploy(store, "n1", "n2", failed=("n2",))
    assert [status for status, _ in standings(store).values()] == [Status.SUCCESS, Status.ERROR]
    before = standings(store)
    scene.look()
    assert store.repairs.counts() == {(SITE, RepairResult.SUCCESS): 1, (SITE, RepairResult.FAILURE): 1}
    assert standings(store) == before
    assert store.counts.verify().differences == ()


def test_what_is_under_way_by_an_action_is_not_taken_for_powered_on(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.goes_dark("n1")
    scene.look()
    action = store.actions.create("deploy_site", SITE, None, {}, "ann", context_marker=None, exclusive=True)
    store.locks.acquire(action.id)
    store.groups.save_plan(action.id, [PlannedGroup(Group("g", critical=True), ("n1",))], (), {})
    attempt = store.groups.open_attempt(action.id, "g", "first").attempt
    store.operations.begin(action.id, SITE, "g", attempt, Phase.PREPARE, ["n1"], "file:///d", {"n1": "ready"})
    clock.move(601)
    scene.look()
    scene.see(n1=ON, n2=ON)
    assert store.repairs.counts() == {(SITE, RepairResult.FAILURE): 1}
    assert standings(store)["n1"][0] == Status.PROCESSING, "the action is at work on it"


def test_what_changed_since_it_was_looked_at_is_not_powered_on(store: SiteStore, clock: FakeClock) -> None:
    scene = Scene(store, clock, repair="on")
    scene.goes_dark("n1", "n2")
    ailing = store.repairs.ailing(SITE)
    scene.see(n1=ON, n2=OFF)
    run_id = repair_run_id(SITE, {one.name: (one.cause, 1) for one in ailing}, power_on=True)
    assert not store.repairs.begin(scene.lease, SITE, run_id, ailing, redeploy=False)
    assert store.repairs.under_way(SITE) == []
    assert shown(store) == {"n1": "success", "n2": "error"}


def test_what_stays_off_has_failed_after_a_time_and_is_tried_again_after_its_delay(
    store: SiteStore, clock: FakeClock
) -> None:
    scene = Scene(store, clock, repair="on")
    scene.goes_dark("n1", "n2")
    scene.power.refused = {"n2": "its BMC does not answer"}
    scene.look()
    assert store.repairs.counts() == {(SITE, RepairResult.REFUSED): 1}
    assert scene.said("n2") == ["cannot be powered on: its BMC does not answer"]
    assert shown(store) == {"n1": "processing", "n2": "error"}
    clock.move(40)
    scene.look()
    assert scene.power.asked == [("n1", "n2")]
    clock.move(550)
    scene.look()
    assert scene.power.asked == [("n1", "n2"), ("n2",)], "who was refused is tried again, after its delay"
    clock.move(20)
    scene.look()
    assert store.repairs.counts()[SITE, RepairResult.FAILURE] == 1
    assert shown(store)["n1"] == "error", "it is off for too long"
    asked = len(scene.power.asked)
    scene.power.trouble = "MAAS does not answer"
    clock.move(80)
    with pytest.raises(AirflowApiError):
        scene.look()
    assert len(scene.power.asked) == asked + 1
    assert scene.said("n1")[-1] == "its repair was refused: MAAS does not answer"
    assert shown(store)["n1"] == "error"
    assert store.counts.verify().differences == ()
