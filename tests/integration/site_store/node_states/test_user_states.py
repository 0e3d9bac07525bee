"""What administrators set for nodes: judged and written at once, and looked at by every claim (rules 51, 52, 54)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from site_store import ActionState, AskedState, Claim, NewAction, SiteStore
from site_store.nodes.user_states import write_by_controller
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.user_state import UserState
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, some, want
from tests.support.revisions import commit_design
from tests.support.sites import group, node
from tests.support.sites import site as design

UP, DOWN = NodeAvailability.UP, NodeAvailability.DOWN
MAINTENANCE, RETIRED = NodeAvailability.MAINTENANCE, NodeAvailability.RETIRED
NAMES = ("n1", "n2", "n3")


def led(store: SiteStore, **reported: NodeAvailability) -> None:
    """Have a controller lead the site, which has seen and published its nodes."""
    held = some(store.leases.take(lease_of(SITE), "me", 600))
    store.site_views.remember(
        held,
        SITE,
        {
            name: NodeMemory("Deployed", "on", NodeHistory(state, 1.0), PublishedState(state))
            for name, state in reported.items()
        },
    )
    store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(UP), {})


def forced(store: SiteStore, state: NodeAvailability, *nodes: str, reason: str = "broken", kind: bool = True) -> None:
    assert store.user_states.change(SITE, nodes, AskedState(state, reason, force=kind), "ann").change.modified


def test_rule_54_a_node_that_is_set_is_claimed_by_nobody_though_nothing_is_published(
    store: SiteStore, site: Scenario
) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    forced(store, MAINTENANCE, "n1", reason="new disk")
    begun = site.begin(record, Phase.PREPARE)
    assert begun.nodes == ("n2",)
    assert site.states(action)["n1"] == "not_started"
    withheld = store.tasks.withheld(action.id, "a")
    assert list(withheld) == ["n1"]
    (told,) = [one for one in store.reports.facts(action.id).nodes if one.node == "n1"]
    assert told.prepare.error == "set to maintenance by ann: new disk"


def test_rule_54_it_holds_between_prepare_and_deploy(store: SiteStore, site: Scenario) -> None:
    record = site.open(site.running({"a": ["n1", "n2"]}), "a")
    site.do(record, Phase.PREPARE)
    forced(store, DOWN, "n1")
    assert site.begin(record, Phase.DEPLOY).nodes == ("n2",)


def test_rule_51_retired_and_down_nodes_can_be_destroyed_and_nodes_in_maintenance_cannot(
    store: SiteStore, site: Scenario
) -> None:
    want(store, 1, dict.fromkeys(NAMES, "d"))
    forced(store, RETIRED, "n1")
    forced(store, DOWN, "n2")
    forced(store, MAINTENANCE, "n3")
    for kind, expected in (("destroy_nodes", ("n1", "n2")), ("redeploy_server", ())):
        action = store.actions.ensure(kind, f"run-{kind}", NewAction(kind, SITE, None, {}, "ann"))
        store.locks.acquire(action.id)
        begun = store.operations.begin(Claim(action.id, SITE, None, 1, Phase.DESTROY, NAMES, "file:///design"))
        assert begun.nodes == expected
        why = {name: task.error for name, task in store.tasks.of_step(action.id, Phase.DESTROY) if task.error}
        assert why["n3"] == "set to maintenance by ann: broken", "its report says why"
        assert set(why) == set(NAMES).difference(expected)
        store.actions.close(action.id, ActionState.FAILED, "")


def test_a_state_ends_by_itself_and_setting_up_ends_it_at_once(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    until = clock() + timedelta(hours=1)
    store.user_states.change(SITE, ["n1"], AskedState(MAINTENANCE, "disk", until=until, force=True), "ann")
    forced(store, MAINTENANCE, "n2")
    assert set(store.user_states.in_force(SITE)) == {"n1", "n2"}
    clock.move(3600)
    assert store.user_states.in_force(SITE) == {"n2": UserState(MAINTENANCE, "broken")}
    forced(store, UP, "n2", reason="")
    assert store.user_states.in_force(SITE) == {}
    kept = store.user_states.of_site(SITE)
    assert (kept["n2"].state, kept["n2"].set_by, kept["n1"].value(clock())) == (UP, "ann", UserState())
    assert [one.command for one in store.wishes.audit(SITE)] == ["set up", "set maintenance", "set maintenance"]
    assert store.site_nodes.past(SITE, "n2").events[0].message.startswith("set to up by ann")


def test_rule_52_safe_changes_are_judged_by_what_the_store_knows(store: SiteStore, site: Scenario) -> None:
    text = design(
        [node(name) for name in NAMES],
        [group("g", list(NAMES), minimum_successful_nodes=3), group("h", ["n3"])],
        region=SITE,
    )
    commit_design(store, SITE, text)
    nobody = store.user_states.change(SITE, ["n1"], AskedState(MAINTENANCE, "disk"), "ann").change
    assert not nobody.modified
    assert "no controller has seen all nodes yet" in nobody.objections
    assert store.user_states.change(SITE, ["n1"], AskedState(RETIRED, "old"), "ann").change.modified, "always allowed"
    forced(store, UP, "n1")
    led(store, n1=UP, n2=UP, n3=UP)
    store.provisioner_lists.save(SITE, "c", {name: {"status": "Deployed", "power": "on"} for name in NAMES})
    action, record = site.opened({"g": list(NAMES)}, digests=dict.fromkeys(NAMES, "d"))
    begun = site.begin(record, Phase.PREPARE)
    busy = store.user_states.change(SITE, ["n1"], AskedState(MAINTENANCE, "disk"), "ann").change
    assert f"n1: action {action.id} works on it" in busy.objections
    store.operations.record_outcome(begun.op, outcome(begun.nodes))
    site.do(record, Phase.DEPLOY)
    store.actions.close(action.id, ActionState.SUCCESS, "")
    short = store.user_states.change(SITE, ["n1"], AskedState(MAINTENANCE, "disk"), "ann").change
    assert short.objections == ("critical group g: minimum_successful_nodes needs 3, 2 would be",)
    assert not short.modified
    assert store.user_states.in_force(SITE) == {}
    probe = store.user_states.change(
        SITE, ["n1"], AskedState(MAINTENANCE, "disk", force=True, probe=True), "ann"
    ).change
    assert (probe.modified, store.user_states.in_force(SITE)) == (True, {})
    deployed = store.user_states.change(SITE, ["n1"], AskedState(DOWN, ""), "ann").change
    assert deployed.objections == (
        "n1: it is up, and only a retired node is set down",
        "n1: something is deployed on it",
    )


def test_a_new_leader_that_has_published_nothing_yet_refuses_safe_changes(store: SiteStore, clock: FakeClock) -> None:
    led(store, n1=UP)
    clock.move(601)
    assert store.leases.take(lease_of(SITE), "other", 600)
    want(store, 1, {"n1": "d"})
    assert (
        "no controller has seen all nodes yet"
        in store.user_states.change(SITE, ["n1"], AskedState(UP, ""), "ann").change.objections
    )


def test_what_is_set_for_nodes_that_leave_the_design_is_forgotten(store: SiteStore) -> None:
    commit_design(store, SITE, design([node("n1"), node("n2")], [group("g", ["n1", "n2"])], region=SITE))
    forced(store, RETIRED, "n1", "n2")
    commit_design(store, SITE, design([node("n1")], [group("g", ["n1"])], region=SITE))
    assert set(store.user_states.of_site(SITE)) == {"n1"}


@pytest.mark.parametrize(("before", "after"), [(None, DOWN), (RETIRED, DOWN), (MAINTENANCE, MAINTENANCE)])
def test_what_the_controller_sets_never_replaces_what_a_person_took_out_of_use(
    store: SiteStore, before: NodeAvailability | None, after: NodeAvailability, clock: FakeClock
) -> None:
    if before is not None:
        forced(store, before, "n1")
    down = {"n1": UserState(DOWN, "crashed 5 times, at most 4 are accepted")}
    store._database.write(lambda tx: write_by_controller(tx, SITE, down, clock(), lambda _tx: clock()))
    assert store.user_states.in_force(SITE)["n1"].state is after


def test_a_plan_reads_what_each_kind_of_action_leaves_out_and_who_set_it(store: SiteStore, clock: FakeClock) -> None:
    want(store, 1, dict.fromkeys(NAMES, "d"))
    forced(store, RETIRED, "n1", reason="moves out")
    store.user_states.change(
        SITE, ["n2"], AskedState(MAINTENANCE, "", until=clock() + timedelta(hours=1), force=True), "bob"
    )
    assert store.user_states.left_out(SITE, "update_site") == {
        "n1": "set to retired by ann: moves out",
        "n2": "set to maintenance by bob",
    }
    assert list(store.user_states.left_out(SITE, "destroy_nodes")) == ["n2"]
    clock.move(3600)
    assert list(store.user_states.left_out(SITE, "update_site")) == ["n1"]
    assert store.user_states.left_out("other", "update_site") == {}


@pytest.mark.parametrize("state", [UP, RETIRED])
def test_rule_54_what_a_person_has_set_meanwhile_is_newer_than_what_the_controller_knew(
    store: SiteStore, state: NodeAvailability, clock: FakeClock
) -> None:
    seen = clock()
    clock.move(1)
    forced(store, state, "n1")
    down = {name: UserState(DOWN, "crashed 5 times, at most 4 are accepted") for name in ("n1", "n2")}
    store._database.write(lambda tx: write_by_controller(tx, SITE, down, seen, lambda _tx: clock()))
    found = {name: record.state for name, record in store.user_states.of_site(SITE).items()}
    assert found == {"n1": state, "n2": DOWN}
    said = store.user_states.left_out(SITE, "update_site")["n2"]
    assert said == "set to down by the controller: crashed 5 times, at most 4 are accepted"
