"""One leader after the other on a real store: what they see, judge, publish and leave to the next (rules 49 to 55)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_engine.node_states.leader import LONGEST_UNSEEN, SiteLeader
from site_store import AskedState, LeaseLost, SiteStore, StoreUnavailable
from site_store.status.leases import lease_of
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.generated import NodeAvailability
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site

ON, OFF = ("Deployed", "on"), ("Deployed", "off")


def commit(store: SiteStore, *names: str, **settings: int) -> None:
    text = site([node(name) for name in names], [group("g", list(names))], region=SITE)
    if settings:
        text += "---\n" + json.dumps(document("slipway/SiteSettings/v1", "settings", {"node_states": settings}))
    commit_design(store, SITE, text)


def lists(store: SiteStore, **nodes: tuple[str, str]) -> None:
    store.provisioner_lists.save(
        SITE,
        "c",
        {name: {"status": word, "power": power, "condition": "other"} for name, (word, power) in nodes.items()},
    )


def leads(store: SiteStore, owner: str = "me") -> SiteLeader:
    held = store.leases.take(lease_of(SITE), owner, 10)
    assert held is not None
    return SiteLeader(store, SITE, held, store.now().timestamp())


def body(store: SiteStore) -> dict[str, Any]:
    found = store.site_views.body(SITE)
    assert found is not None
    read: dict[str, Any] = json.loads(found[1])
    return read


def states(store: SiteStore) -> dict[str, str]:
    return {name: found["state"] for name, found in body(store)["nodes"].items()}


def test_the_first_version_comes_with_the_first_list(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", "n2")
    leader = leads(store)
    assert leader.look() is None
    assert not leader.is_ready
    clock.move(1)
    lists(store, n1=ON, n2=("Ready", "off"), stranger=ON)
    published = leader.look()
    assert published is not None
    assert (published.version.number, leader.is_ready) == (1, True)
    assert states(store) == {"n1": "up", "n2": "down"}
    assert body(store)["epoch"] == leader.held.epoch
    assert leader.look() is None


def test_without_an_answer_a_new_leader_publishes_what_was_known(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1")
    first = leads(store)
    lists(store, n1=ON)
    first.look()
    clock.move(11)
    second = leads(store, "other")
    assert second.look() is None, "that list is older than its lease"
    clock.move(9)
    second.held = store.leases.renew(second.held, 600)
    assert second.look() is None
    clock.move(LONGEST_UNSEEN)
    published = second.look()
    assert published is not None
    assert (published.version.number, states(store)) == (2, {"n1": "up"})
    lists(store, n1=OFF)
    with pytest.raises(LeaseLost):
        first.look()


def test_a_node_that_is_powered_off_is_in_maintenance_then_down(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", min_time_between_versions=0, quiet_time=0, transition_time=20)
    leader = leads(store)
    leader.held = store.leases.renew(leader.held, 600)
    lists(store, n1=ON)
    leader.look()
    clock.move(5)
    lists(store, n1=OFF)
    assert leader.look() is not None
    assert states(store) == {"n1": "maintenance"}
    clock.move(19)
    assert leader.look() is None
    clock.move(1)
    assert leader.look() is not None
    assert body(store)["nodes"]["n1"] == {"state": "down", "reason": "not back within the grace period"}


def test_what_an_administrator_sets_is_published(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", "n2", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    lists(store, n1=ON, n2=ON)
    leader.look()
    change = store.user_states.change(SITE, ["n1"], AskedState(NodeAvailability.MAINTENANCE, "new disk"), "ann").change
    assert change.modified, change.objections
    assert leader.look() is not None
    assert body(store)["nodes"] == {"n1": {"state": "maintenance", "reason": "new disk"}, "n2": {"state": "up"}}


def test_a_flapping_node_is_set_down_by_the_controller_and_stays_so_over_leaders(
    store: SiteStore, clock: FakeClock
) -> None:
    commit(store, "n1", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    for tick in range(11):
        if tick == 6:
            clock.move(11)
            leader = leads(store, "other")
        clock.move(1)
        lists(store, n1=ON if tick % 2 == 0 else OFF)
        leader.held = store.leases.renew(leader.held, 10)
        leader.look()
    record = store.user_states.of_site(SITE)["n1"]
    assert (record.state, record.reason) == ("down", "crashed 5 times, at most 4 are accepted")
    assert record.set_by == "the controller", "and no name of a process"
    assert states(store) == {"n1": "down"}
    assert store.user_states.change(SITE, ["n1"], AskedState(NodeAvailability.UP, ""), "ann").change.modified
    clock.move(1)
    leader.look()
    assert states(store) == {"n1": "up"}
    assert store.site_views.memory(SITE)["n1"].history.crashes == 0


def test_rule_55_what_a_leader_could_not_keep_is_seen_again(
    store: SiteStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store, "n1", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    lists(store, n1=ON)
    leader.look()
    clock.move(1)
    lists(store, n1=OFF)

    def lost(*_args: object, **_options: object) -> None:
        raise StoreUnavailable("the connection is lost")

    with monkeypatch.context() as away:
        away.setattr(store.site_views, "remember", lost)
        with pytest.raises(StoreUnavailable):
            leader.look()
    assert leader.look() is not None
    assert store.site_views.memory(SITE)["n1"].history.crashes == 1
    assert states(store) == {"n1": "maintenance"}


def test_of_a_list_what_is_other_is_taken_in_and_a_new_node_is_found_in_it(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", "n2", min_time_between_versions=0, quiet_time=0, transition_time=0)
    leader = leads(store)
    lists(store, n1=ON, n2=ON, n3=ON)
    leader.look()
    for said, expected in (
        ({"n1": OFF, "n2": ON, "n3": ON}, {"n1": "down", "n2": "up"}),
        ({"n1": ON, "n3": ON}, {"n1": "up", "n2": "down"}),
        ({"n1": ON, "n2": ON, "n3": ON}, {"n1": "up", "n2": "up"}),
    ):
        clock.move(1)
        lists(store, **said)
        leader.look()
        assert states(store) == expected
    commit(store, "n1", "n2", "n3", min_time_between_versions=0, quiet_time=0, transition_time=0)
    clock.move(1)
    lists(store, n1=ON, n2=ON, n3=ON)
    leader.look()
    assert states(store) == {"n1": "up", "n2": "up", "n3": "up"}


def test_other_settings_hold_at_once_and_nodes_that_leave_are_gone(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", "n2", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    lists(store, n1=ON, n2=OFF)
    leader.look()
    assert body(store)["state"] == "up"
    commit(store, "n1", min_up_nodes=2, min_time_between_versions=0, quiet_time=0)
    clock.move(1)
    assert leader.look() is not None
    assert (body(store)["state"], states(store)) == ("down", {"n1": "up"})
    assert set(store.site_views.memory(SITE)) == {"n1"}


def test_a_word_that_nobody_knows_is_an_event(store: SiteStore) -> None:
    commit(store, "n1")
    lists(store, n1=("Levitating", "on"))
    leads(store).look()
    messages = [event.message for event in store.site_nodes.past(SITE, "n1").events]
    assert "the provisioner says 'Levitating', which is no word that is known" in messages


def test_a_version_has_the_capacity_of_each_node_as_it_was_listed(store: SiteStore) -> None:
    commit(store, "n1", "n2")
    listed = {
        "n1": ListedNode("n1", NodeCondition.DEPLOYED, "Deployed", "on", cores=32, memory=131072),
        "n2": ListedNode("n2", NodeCondition.READY, "Ready", "off"),
    }
    keep_list(store, SITE, "c", listed)
    assert leads(store).look() is not None
    nodes = body(store)["nodes"]
    assert nodes["n1"] == {"state": "up", "cores": 32, "memory": 131072}
    assert {"cores", "memory", "rack"}.isdisjoint(nodes["n2"])


SAID = {"status": "Deployed", "power": "on", "condition": "other", "cores": 8, "memory": 1024, "rack": "r1"}


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"cores": 16}, {"state": "up", "cores": 16, "memory": 1024, "rack": "r1"}),
        ({"memory": None}, {"state": "up", "cores": 8, "rack": "r1"}),
        ({"rack": "r2"}, {"state": "up", "cores": 8, "memory": 1024, "rack": "r2"}),
    ],
    ids=["cores", "memory", "rack"],
)
def test_rule_55_another_capacity_of_a_node_makes_a_version(
    store: SiteStore, clock: FakeClock, change: dict[str, Any], shown: dict[str, Any]
) -> None:
    commit(store, "n1", "n2", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    store.provisioner_lists.save(SITE, "c", {"n1": SAID, "n2": SAID})
    leader.look()
    clock.move(1)
    store.provisioner_lists.save(SITE, "c", {"n1": {**SAID, **change}, "n2": SAID})
    published = leader.look()
    assert published is not None
    assert body(store)["nodes"]["n1"] == shown
    (logged, _) = store.site_views.changes(SITE)
    assert logged.changes == {"n1": ("up", "up", "")}
    assert leader.look() is None
    clock.move(11)
    other = leads(store, "other")
    store.provisioner_lists.save(SITE, "c", {"n1": SAID, "n2": SAID})
    assert other.look() is not None
    assert set(store.site_views.changes(SITE)[0].changes) == {"n1"}, "it goes on with what was published"


def test_rule_55_another_reason_of_a_node_makes_a_version(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", "n2", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    lists(store, n1=("New", "off"), n2=ON)
    leader.look()
    clock.move(1)
    lists(store, n1=("Broken", "off"), n2=ON)
    assert leader.look() is not None
    assert body(store)["nodes"]["n1"] == {"state": "down", "reason": "not up since it is watched: Broken"}
    assert set(store.site_views.changes(SITE)[0].changes) == {"n1"}
    moved = [event for event in store.site_nodes.past(SITE, "n1").events if event.kind == "node_state"]
    assert [event.message for event in moved] == ["new -> down: not up since it is watched: New"]


def test_rule_55_another_state_of_the_site_makes_a_version(store: SiteStore, clock: FakeClock) -> None:
    commit(store, "n1", min_time_between_versions=0, quiet_time=0)
    leader = leads(store)
    lists(store, n1=ON)
    leader.look()
    clock.move(1)
    commit(store, "n1", min_time_between_versions=0, quiet_time=0, min_up_nodes=2)
    assert leader.look() is not None
    assert (body(store)["state"], body(store)["reason"]) == ("down", "1 of 1 nodes are up, 2 are needed")
    assert store.site_views.changes(SITE)[0].changes == {}
    assert leader.look() is None
