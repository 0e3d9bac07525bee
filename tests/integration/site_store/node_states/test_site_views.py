"""Published versions of a site's node states, what a leader leaves to the next one (rule 55), and their numbers."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from site_engine.monitoring.metrics import to_text
from site_engine.trees.metric_samples import read_samples
from site_store import AskedState, Claim, Operation, SiteStateChanged, SiteStore
from site_store.records import Lease
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import NOTHING_PUBLISHED, PublishedState, Version
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, some, want

UP, DOWN = NodeAvailability.UP, NodeAvailability.DOWN
SEEN = NodeMemory(
    "Deployed", "on", NodeHistory(UP, 10.5, been_up=True, up_since=10.5, crashes=2), PublishedState(UP), 10.5, 3.25
)
UNSEEN = NodeMemory()


def lead(store: SiteStore, owner: str = "me") -> Lease:
    return some(store.leases.take(lease_of(SITE), owner, 10))


def test_a_new_leader_finds_all_that_the_last_one_knew(store: SiteStore) -> None:
    held = lead(store)
    store.site_views.remember(held, SITE, {"n1": SEEN, "n2": UNSEEN})
    assert store.site_views.memory(SITE) == {"n1": SEEN, "n2": UNSEEN}
    changed = NodeMemory("Deployed", "off", NodeHistory(DOWN, 20.0), PublishedState(DOWN, "off"), 20.0)
    store.site_views.remember(held, SITE, {"n1": changed}, gone=["n2"])
    assert store.site_views.memory(SITE) == {"n1": changed}


def test_of_very_many_nodes_that_are_alike_the_same_is_kept_and_told_as_of_one(store: SiteStore) -> None:
    held = lead(store)
    alike = {f"n{number:03}": SEEN for number in range(150)}
    down = NodeMemory("Ready", None, NodeHistory(DOWN, 20.0), PublishedState(DOWN, "Ready"), 20.0, 0.0, "disk")
    few = dict.fromkeys(("m1", "m2"), down)
    store.site_views.remember(held, SITE, {**alike, **few})
    assert store.site_views.memory(SITE) == {**alike, **few}
    moved = {**dict.fromkeys(alike, down), "m1": UNSEEN}
    store.site_views.remember(held, SITE, moved)
    assert store.site_views.memory(SITE) == {**moved, "m2": down}
    assert store.site_views.memory(SITE, ["n007", "m1", "none"]) == {"n007": down, "m1": UNSEEN}

    changes: dict[str, tuple[str | None, str | None, str]] = dict.fromkeys(alike, ("up", "down", "Ready"))
    version = store.site_views.publish(held, SITE, {}, PublishedState(UP), {**changes, "m1": (None, "up", "")}).version
    for name in ("n000", "n149"):
        (told,) = store.site_nodes.past(SITE, name).events
        said = {"before": "up", "after": "down", "epoch": version.epoch, "version": version.number}
        assert (told.kind, told.message, told.data) == ("node_state", "up -> down: Ready", said)
    assert [one.message for one in store.site_nodes.past(SITE, "m1").events] == ["new -> up"]


def test_versions_only_grow_also_over_leaders_and_all_readers_get_the_same_bytes(
    store: SiteStore, clock: FakeClock
) -> None:
    assert store.site_views.published(SITE) is None
    assert store.site_views.body(SITE) is None
    held = lead(store)
    first = store.site_views.publish(held, SITE, {"nodes": {"n1": "up"}}, PublishedState(UP), {"n1": (None, "up", "")})
    second = store.site_views.publish(
        held, SITE, {"nodes": {"n1": "down"}}, PublishedState(DOWN, "few"), {"n1": ("up", "down", "off")}
    )
    assert (first.version, second.version) == (Version(held.epoch, 1), Version(held.epoch, 2))
    assert store.site_views.published(SITE) == second
    found = some(store.site_views.body(SITE))
    assert found[0] == second.version
    read = json.loads(found[1])
    assert (read["epoch"], read["version"], read["digest"], read["nodes"]) == (
        held.epoch,
        2,
        second.digest,
        {"n1": "down"},
    )
    clock.move(11)
    third = store.site_views.publish(
        lead(store, "other"), SITE, {"nodes": {}}, PublishedState(UP), {"n1": ("down", None, "")}
    )
    assert third.version > second.version
    assert (third.version.number, third.version.epoch > held.epoch) == (3, True)
    assert store.site_views.versions() == {SITE: third.version}
    log = store.site_views.changes(SITE)
    assert [(one.version, dict(one.changes)) for one in log] == [
        (third.version, {"n1": ("down", None, "")}),
        (second.version, {"n1": ("up", "down", "off")}),
        (first.version, {"n1": (None, "up", "")}),
    ]
    assert [one.version for one in store.site_views.changes(SITE, first.version)] == [third.version, second.version]
    assert store.site_nodes.past(SITE, "n1").events[0].message == "down -> gone"


def test_the_log_is_forgotten_and_the_newest_version_stays(store: SiteStore, clock: FakeClock) -> None:
    held = lead(store)
    store.site_views.publish(held, SITE, {}, PublishedState(UP), {})
    clock.move(5)
    newest = store.site_views.publish(held, SITE, {}, PublishedState(UP), {})
    assert store.site_views.prune(held, SITE, clock()) == 1
    assert [one.version for one in store.site_views.changes(SITE)] == [newest.version]
    assert store.site_views.published(SITE) == newest


def test_operations_that_began_are_found_once(store: SiteStore, site: Scenario) -> None:
    assert store.site_views.pulse(SITE).op == 0
    record = site.open(site.running({"a": ["n1", "n2"]}), "a")
    begun = site.begin(record, Phase.PREPARE)
    assert store.site_views.began_since(SITE, 0) == (begun.op, frozenset({"n1", "n2"}))
    assert store.site_views.began_since(SITE, begun.op) == (begun.op, frozenset())
    assert store.site_views.pulse(SITE).op == begun.op


def test_the_site_s_nodes_are_those_that_are_wanted_or_done(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "d", "n2": "d"})
    store.nodes.record_conditions(SITE, {"stranger": "ready"})
    assert store.site_views.nodes(SITE) == {"n1", "n2"}
    want(store, 2, {"n1": "d"})
    assert store.site_views.nodes(SITE) == {"n1"}


def test_rule_54_a_claim_that_was_planned_with_an_older_version_is_told_to_plan_again(
    store: SiteStore, site: Scenario
) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    planned_with = store.site_views.version(SITE)
    assert planned_with == NOTHING_PUBLISHED
    held = some(store.leases.take(lease_of(SITE), "me", 600))
    newest = store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(NodeAvailability.UP), {}).version

    def begin(version: Version) -> Operation:
        facts = (action.id, SITE, "a", record.attempt, Phase.PREPARE, ["n1", "n2"], "file:///design")
        return store.operations.begin(Claim(*facts, site_state=version))

    with pytest.raises(SiteStateChanged, match=f"version {newest} .* planned with 0.0: plan again") as told:
        begin(planned_with)
    assert told.value.newest == newest == store.site_views.version(SITE)
    assert store.operations.of_action(action.id) == [], "nothing was claimed"
    assert site.states(action) == {"n1": "not_started", "n2": "not_started"}
    begun = begin(newest)
    assert begun.nodes == ("n1", "n2")
    assert begin(planned_with) == begun, "what was begun is gone on with, whatever was published since"


UP, DOWN, MAINTENANCE = NodeAvailability.UP, NodeAvailability.DOWN, NodeAvailability.MAINTENANCE


def test_nodes_by_their_three_states_with_leader_version_and_age(store: SiteStore, clock: FakeClock) -> None:
    want(store, 1, dict.fromkeys(("n1", "n2", "n3"), "d"))
    assert store.state_counts.read() == {}
    held = some(store.leases.take(lease_of(SITE), "host-1:4711:ab12", 60))
    seen = {
        "n1": NodeMemory("Deployed", "on", NodeHistory(UP, 1.0, crashes=2), PublishedState(UP)),
        "n2": NodeMemory("Deployed", "off", NodeHistory(DOWN, 1.0, crashes=1), PublishedState(MAINTENANCE, "gone")),
        "n3": NodeMemory(),
    }
    store.site_views.remember(held, SITE, seen)
    newest = store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(UP), {}).version
    until = clock() + timedelta(seconds=30)
    store.user_states.change(SITE, ["n1"], AskedState(MAINTENANCE, "disk", force=True, until=until), "ann")
    store.user_states.change(SITE, ["n3", "not seen yet"], AskedState(DOWN, "scrap", force=True), "ann")
    clock.move(20)
    counts = store.state_counts.read()[SITE]
    assert (+counts.reported, counts.crashes) == ({UP: 1, DOWN: 1}, 3)
    assert +counts.user == {UP: 1, MAINTENANCE: 1, DOWN: 2}
    assert +counts.generated == {UP: 1, MAINTENANCE: 1, seen["n3"].view.state: 1}
    assert (counts.version, counts.age, counts.leader) == (newest, 20.0, held.owner)
    text = to_text(read_samples(store))
    for line in (
        f'slipway_node_states{{site="{SITE}",kind="reported",state="up"}} 1',
        f'slipway_node_states{{site="{SITE}",kind="reported",state="initializing"}} 0',
        f'slipway_node_states{{site="{SITE}",kind="user",state="down"}} 2',
        f'slipway_node_crashes{{site="{SITE}"}} 3',
        f'slipway_site_leader{{site="{SITE}",host="host-1"}} 1',
        f'slipway_site_state_epoch{{site="{SITE}"}} {newest.epoch}',
        f'slipway_site_state_version{{site="{SITE}"}} {newest.number}',
        f'slipway_site_state_age_seconds{{site="{SITE}"}} 20',
    ):
        assert f"{line}\n" in text, text
    clock.move(41)
    counts = store.state_counts.read()[SITE]
    assert (+counts.user, counts.leader) == ({UP: 2, DOWN: 2}, None), "the state has ended, and so has the lease"
    assert f'slipway_site_leader{{site="{SITE}",host=""}} 0\n' in to_text(read_samples(store))
