"""Drift of very many nodes: judged some at a time, and only where something has changed, as if all were looked at."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from site_engine.node_states.checks import OK, OWN_CHECKS, NodeCheck
from site_engine.node_states.drift_watch import DriftWatch
from site_store import AskedState, SiteStore
from site_store.records import Lease
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.words import Status
from tests.integration.site_engine.node_states.drifting import (
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
