"""Drift on a real store: two looks in a row, the error that it is, how it ends, and who wins over it (rules 51, 56).

Of very many nodes it is judged some at a time, and only where something has changed, as if all were looked at.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from site_engine.controller.notifications import headline
from site_engine.node_states.checks import OK, OWN_CHECKS, CheckedNode, Finding, NodeCheck, drift
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.trees.nodes import site_nodes
from site_engine.trees.status_trees import site_tree
from site_store import AskedState, LeaseLost, SiteStore
from site_store.nodes.drifts import FoundDrift, JudgedNode
from site_store.records import Lease
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.words import Status
from tests.integration.site_engine.node_states.drifting import (
    ALICES,
    NODES,
    OFF,
    ON,
    READY,
    commit,
    deploy,
    lead,
    lists,
    standings,
)
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.stores import new_store


def events(store: SiteStore, name: str, kind: str) -> list[str]:
    return [event.message for event in store.site_nodes.past(SITE, name).events if event.kind == kind]


def watched(store: SiteStore, clock: FakeClock, **group_fields: Any) -> tuple[DriftWatch, Lease]:
    """A site with two nodes that are done and up."""
    commit(store, **group_fields)
    deploy(store, *NODES)
    lists(store, clock, n1=ON, n2=ON)
    return DriftWatch(store, SITE), lead(store)


SAID = "drifted: power is off, since 2026-11-21 12:00:10 UTC"


def test_rule_56_two_polls_make_a_drift_and_it_ends_by_itself(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    watch.look(held)
    lists(store, clock, n1=OFF, n2=ON)
    watch.look(held)
    watch.look(held)
    assert standings(store)["n1"] == (Status.SUCCESS, None), "the same list twice is one look"
    lists(store, clock, n1=OFF, n2=ON)
    watch.look(held)
    assert standings(store) == {"n1": (Status.ERROR, SAID), "n2": (Status.SUCCESS, None)}
    tree = site_tree(store, SITE)
    assert tree.root.status is Status.ERROR
    (shown, _) = site_nodes(store, SITE)["nodes"]
    assert (shown["status"], shown["message"]) == ("error", SAID)
    assert store.counts.verify().differences == ()
    assert store.drifts.counts() == {SITE: (1, 1)}

    lists(store, clock, n1=READY, n2=ON)
    watch.look(held)
    said = "drifted: the provisioner says Ready, since 2026-11-21 12:00:10 UTC"
    assert standings(store)["n1"] == (Status.ERROR, said), "another reason, and since when as before"

    lists(store, clock, n1=ON, n2=ON)
    watch.look(held)
    assert standings(store)["n1"] == (Status.SUCCESS, None)
    assert store.counts.verify().differences == ()
    assert store.drifts.counts() == {SITE: (0, 1)}
    assert events(store, "n1", "drift")[::-1] == [SAID, said, "it is as it was left again"]


def test_rule_56_a_node_that_a_stranger_redeployed_has_drifted(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    for _ in range(2):
        lists(store, clock, n1=ALICES, n2=ON)
        watch.look(held)
    standing, said = standings(store)["n1"]
    assert (standing, standings(store)["n2"]) == (Status.ERROR, (Status.SUCCESS, None))
    assert str(said).startswith("drifted: it is another's: the provisioner says Deployed, owned by alice, since ")


def test_rule_56_a_blink_is_no_drift(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    for power in (OFF, ON, OFF, ON):
        lists(store, clock, n1=power, n2=ON)
        watch.look(held)
    assert standings(store)["n1"] == (Status.SUCCESS, None)


def test_a_new_leader_goes_on_with_a_drift(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    for _ in range(2):
        lists(store, clock, n1=OFF, n2=ON)
        watch.look(held)
    clock.move(3601)
    new, its_lease = DriftWatch(store, SITE), lead(store, "other")
    lists(store, clock, n1=OFF, n2=ON)
    new.look(its_lease)
    assert standings(store)["n1"] == (Status.ERROR, SAID)
    lists(store, clock, n1=ON, n2=ON)
    with pytest.raises(LeaseLost):
        watch.look(held)
    assert standings(store)["n1"] == (Status.ERROR, SAID), "one who was replaced writes nothing (rule 55)"
    new.look(its_lease)
    assert standings(store)["n1"] == (Status.SUCCESS, None)


@pytest.mark.parametrize("state", [NodeAvailability.MAINTENANCE, NodeAvailability.RETIRED, NodeAvailability.DOWN])
def test_rule_51_a_node_that_is_not_to_be_up_is_not_judged(
    store: SiteStore, clock: FakeClock, state: NodeAvailability
) -> None:
    watch, held = watched(store, clock)
    assert store.user_states.change(SITE, ["n1"], AskedState(state, "disk", force=True), "ann").change.modified
    for _ in range(3):
        lists(store, clock, n1=OFF, n2=ON)
        watch.look(held)
    assert standings(store)["n1"] == (Status.SUCCESS, None)


def test_the_same_list_of_the_same_nodes_is_judged_no_more(
    store: SiteStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, held = watched(store, clock)
    judged, asked = store.drifts.judged, list[object]()

    def counted(site: str, nodes: Collection[str] | None = None) -> list[JudgedNode]:
        asked.append(nodes)
        return judged(site, nodes)

    monkeypatch.setattr(store.drifts, "judged", counted)
    for _ in range(4):
        lists(store, clock, n1=ON, n2=ON)
        watch.look(held)
    assert asked == [], "and of none of these anything is read"
    lists(store, clock, n1=OFF, n2=ON)
    watch.look(held)
    assert asked == [["n1"]]


def test_rule_51_a_node_whose_user_state_has_ended_is_judged_again_though_nothing_else_has_changed(
    store: SiteStore, clock: FakeClock
) -> None:
    watch, held = watched(store, clock)
    until = clock() + timedelta(seconds=60)
    store.user_states.change(
        SITE, ["n1"], AskedState(NodeAvailability.MAINTENANCE, "disk", force=True, until=until), "ann"
    )
    for seconds in range(0, 80, 5):
        lists(store, clock, n1=OFF, n2=ON)
        watch.look(held)
        assert (standings(store)["n1"][0] == Status.ERROR) is (seconds >= 60), seconds


def test_a_group_that_is_not_monitored_is_left_out(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock, monitor=False)
    for _ in range(3):
        lists(store, clock, n1=OFF, n2=ON)
        watch.look(held)
    assert standings(store)["n1"] == (Status.SUCCESS, None)


def test_a_list_without_any_node_of_the_site_says_nothing(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    for _ in range(3):
        lists(store, clock)
        watch.look(held)
    assert {status for status, _ in standings(store).values()} == {Status.SUCCESS}


def test_rule_45_what_was_written_after_the_look_wins(store: SiteStore, clock: FakeClock) -> None:
    """A drift that was judged before a commit, a touch or an operation is not written over it."""
    watch, held = watched(store, clock)
    late = store.drifts.judged(SITE)[0]
    store.wishes.touch(SITE, ["n1"], "ann")
    found = FoundDrift(late, "power is off", clock(), "drifted: power is off")
    assert store.drifts.record(held, SITE, [found]) == frozenset()
    assert standings(store)["n1"] == (Status.PENDING, None)
    deploy(store, "n1")
    assert store.drifts.record(held, SITE, [found]) == frozenset()
    assert standings(store)["n1"] == (Status.SUCCESS, None)
    watch.look(held)
    assert store.drifts.counts() == {}


def test_rule_56_success_after_a_drift_has_a_warning(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    for _ in range(2):
        lists(store, clock, n1=READY, n2=ON)
        watch.look(held)
    deploy(store, "n1")
    (record,) = (one for one in store.nodes.of_site(SITE) if one.name == "n1")
    said = "drifted: the provisioner says Ready, since 2026-11-21 12:00:10 UTC"
    assert (record.standing, record.error) == (Status.SUCCESS, None)
    assert record.fixed == f"{said} (succeeded at 2026-11-21 12:00:15 UTC)"
    lists(store, clock, n1=ON, n2=ON)
    watch.look(held)
    assert store.drifts.counts() == {SITE: (0, 1)}
    assert store.counts.verify().differences == ()


def test_checks_of_other_packages_have_their_own_interval(store: SiteStore, clock: FakeClock) -> None:
    _, held = watched(store, clock)
    asked: list[str] = []
    time = [0.0]

    def check(seen: CheckedNode) -> Finding:
        asked.append(seen.name)
        if seen.name == "n2":
            raise RuntimeError("broken")
        return drift("no\nssh") if time[0] < 130 else OK

    checks: Mapping[str, NodeCheck] = {**OWN_CHECKS, "ssh": NodeCheck(check, 60)}
    watch = DriftWatch(store, SITE, checks, lambda: time[0])
    for seconds, status in ((0, "success"), (30, "success"), (61, "error"), (100, "error"), (131, "success")):
        time[0] = seconds
        lists(store, clock, n1=ON, n2=ON)
        watch.look(held)
        assert standings(store)["n1"][0] == status, seconds
    assert asked == ["n1", "n2"] * 3
    assert events(store, "n1", "drift")[-1].startswith("drifted: no ssh, since")
    assert standings(store)["n2"] == (Status.SUCCESS, None), "a check that fails says nothing"


def test_edges_are_told_once_and_together(store: SiteStore, clock: FakeClock) -> None:
    watch, held = watched(store, clock)
    watch.look(held)
    assert {one.kind for one in store.outbox.newest(SITE)}.isdisjoint({"node_trouble"})
    for _ in range(3):
        lists(store, clock, n1=OFF, n2=READY)
        watch.look(held)
    (told,) = [one for one in store.outbox.newest(SITE) if one.kind == "node_trouble"]
    edges = told.data["edges"]
    assert [(edge["node"], edge["before"], edge["after"]) for edge in edges] == [
        ("n1", None, "error"),
        ("n2", None, "error"),
    ]
    assert headline(told) == f"Site {SITE}: 2 nodes are now error: n1, n2 ({SAID})"
    lists(store, clock, n1=ON, n2=READY)
    watch.look(held)
    DriftWatch(store, SITE).look(held)
    told, _ = (one for one in store.outbox.newest(SITE) if one.kind == "node_trouble")
    (edge,) = told.data["edges"]
    assert (edge["node"], edge["before"], edge["after"]) == ("n1", "error", "success")
    assert headline(told) == f"Site {SITE}: 1 node is out of it: n1"
    assert edge["id"] not in {one["id"] for one in edges}
    assert events(store, "n1", "node_trouble")[::-1] == [f"well -> error: {SAID}", "error -> success"]


def look(watch: DriftWatch, held: Lease) -> int:
    """Look until all nodes were looked at; return in how many steps."""
    steps = 1
    watch.look(held)
    while watch.is_amid:
        assert steps < 20
        watch.look(held)
        steps += 1
    return steps


def test_a_look_at_many_nodes_takes_several_steps_and_counts_once(tmp_path: Path) -> None:
    clock = FakeClock()
    with new_store() as url, SiteStore.open(url, clock) as store:
        commit(store)
        deploy(store, *NODES)
        lists(store, clock, n1=ON, n2=ON)
        watch, held = DriftWatch(store, SITE, most_read=1, most_judged=1), lead(store)
        assert look(watch, held) == 2, "a list of two nodes, of which neither is to be judged"
        lists(store, clock, n1=OFF, n2=OFF)
        watch.look(held)
        watch.look(held)
        assert watch.is_amid, "one of them was judged, as another list comes"
        lists(store, clock, n1=OFF, n2=OFF)
        assert watch.is_due(store.site_views.pulse(SITE))
        look(watch, held)
        assert standings(store) == dict.fromkeys(NODES, (Status.SUCCESS, None)), "each was seen once"
        steps = look(watch, held)
        found = standings(store)
        assert (found["n1"][0], found["n2"][0]) == (Status.ERROR, Status.SUCCESS), "n2 was seen in that list before"
        assert steps == 2
        lists(store, clock, n1=OFF, n2=OFF)
        look(watch, held)
        assert standings(store)["n2"][0] == Status.ERROR


@pytest.mark.endurance
def test_random_changes_are_judged_in_slices_as_if_all_were_looked_at_anew(tmp_path: Path) -> None:
    chance = random.Random(57)
    clocks = FakeClock(), FakeClock()
    with (
        new_store() as one,
        new_store() as other,
        SiteStore.open(one, clocks[0]) as first,
        SiteStore.open(other, clocks[1]) as second,
    ):
        stores = tuple(zip((first, second), clocks, strict=True))
        # With a check of another package all nodes are looked at each time.
        checks = {**OWN_CHECKS, "other": NodeCheck(lambda _node: OK)}
        watches = (DriftWatch(first, SITE, most_read=1, most_judged=1), DriftWatch(second, SITE, checks))
        for store, _ in stores:
            commit(store)
            deploy(store, *NODES)
        leases = lead(first), lead(second)
        said = dict.fromkeys(NODES, ON)
        drifted = 0
        for _ in range(60):
            name, drawn = chance.choice(NODES), chance.random()
            word = chance.choice((ON, ON, OFF, READY, None))
            for store, _ in stores:
                if drawn < 0.1:
                    deploy(store, name)
                elif drawn < 0.15:
                    deploy(store, name, failed=(name,))
                elif drawn < 0.2:
                    commit(store, profile=f"profile-{drawn:.3f}")
                elif drawn < 0.25:
                    commit(store, monitor=drawn < 0.23)
                elif drawn < 0.35:
                    state = NodeAvailability.MAINTENANCE if drawn < 0.3 else NodeAvailability.UP
                    store.user_states.change(SITE, [name], AskedState(state, "disk", force=True), "ann")
            if drawn > 0.5:
                said = {one: known for one, known in said.items() if one != name}
                said |= {} if word is None else {name: word}
            for (store, clock), watch, held in zip(stores, watches, leases, strict=True):
                lists(store, clock, **said)
                look(watch, held)
            assert standings(first) == standings(second)
            assert first.drifts.counts() == second.drifts.counts()
            drifted += any(error is not None for _, error in standings(first).values())
        assert drifted > 10
        assert first.drifts.counts()[SITE][1] > 1
