"""A demo's site, whose simulator is gone: nobody watches it, no drift is held against it, and it can be taken away."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, String, cast, func, or_, select

from site_engine.node_states.drift_watch import DriftWatch
from site_store import ActionState, BufferMode, LeaseLost, NewAction, SiteStore
from site_store.designs.site_stops import SiteInUse
from site_store.nodes.drifts import FoundDrift
from site_store.status.leases import lease_of
from site_store.status.status_records import CallCount, CallKey
from site_store.tables import metadata
from strategy_lib.status.words import Status
from tests.integration.site_engine.node_states.drifting import NODES, OFF, ON, commit, deploy, lead, lists, standings
from tests.integration.site_store.scenario import SITE, FakeClock, events_of
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

WHY = "demo: simulator stopped"


def drifted(store: SiteStore, clock: FakeClock) -> DriftWatch:
    """A site of which one node has drifted."""
    commit(store)
    deploy(store, *NODES)
    lists(store, clock, n1=ON, n2=ON)
    watch, held = DriftWatch(store, SITE), lead(store)
    watch.look(held)
    for _ in range(2):
        lists(store, clock, n1=OFF, n2=ON)
        watch.look(held)
    assert standings(store)["n1"][0] == Status.ERROR
    return watch


def test_rule_56_the_drifts_of_a_site_end_when_it_is_stopped(store: SiteStore, clock: FakeClock) -> None:
    drifted(store, clock)
    store.site_stops.put(SITE, WHY, after=30)
    assert standings(store)["n1"][0] == Status.ERROR
    store.site_stops.put(SITE, WHY)
    assert standings(store) == {"n1": (Status.SUCCESS, None), "n2": (Status.SUCCESS, None)}
    assert store.drifts.counts() == {SITE: (0, 1)}
    assert events_of(store, SITE, "drift")[-1] == f"it is not judged any more: {WHY}"
    assert store.repairs.concerned() == frozenset()
    assert store.counts.verify().differences == ()


def test_a_site_is_stopped_where_who_kept_it_going_says_nothing_any_more(store: SiteStore, clock: FakeClock) -> None:
    for name in (SITE, "second"):
        commit_design(store, name, site([node("n1")], [group("g", ["n1"])], region=name))
    store.site_stops.put(SITE, WHY, after=30)
    clock.move(20)
    store.site_stops.put(SITE, WHY, after=30)
    clock.move(29)
    assert store.site_stops.of_sites() == {SITE: "", "second": ""}
    clock.move(2)
    assert store.site_stops.of_sites() == {SITE: WHY, "second": ""}


def rows_of(store: SiteStore, name: str) -> dict[str, int]:
    """Return how many rows of each table name a site in any column, or one of its actions."""

    def work(tx: Connection) -> dict[str, int]:
        texts = {
            table: [cast(column, String).like(f"%{name}%") for column in table.c if column.name != "text"]
            for table in metadata.sorted_tables
        }
        query = {
            table: select(func.count()).select_from(table).where(or_(*columns)) for table, columns in texts.items()
        }
        found = {table.name: tx.scalar(one) or 0 for table, one in query.items()}
        return {table: number for table, number in found.items() if number}

    return store._database.read(work)


def everything(store: SiteStore) -> dict[str, int]:
    """Return how many rows each table has."""

    def work(tx: Connection) -> dict[str, int]:
        counted = {one.name: tx.scalar(select(func.count()).select_from(one)) or 0 for one in metadata.sorted_tables}
        return {name: number for name, number in counted.items() if number}

    return store._database.read(work)


def test_no_table_has_a_row_of_a_site_that_was_taken_away(store: SiteStore, clock: FakeClock) -> None:
    commit_design(store, "second", site([node("n1")], [group("g", ["n1"])], region="second"))
    held = store.leases.take("controller", "me", 3600)
    assert held is not None
    store.counts.merge(held)
    other = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "second", 1, {}, "ann"))
    store.actions.decide_connection(other.id, "shared")
    store.actions.close(other.id, ActionState.SUCCESS, "done")
    calls = {CallKey("get", "ok", 0): CallCount(1, 0.1)}
    store.owners.check_in("provisioner:shared", 60, calls)
    store.counts.merge(held)
    before = everything(store)
    drifted(store, clock)
    deploy(store, "n1", failed=("n1",))
    for connection in ("shared", "slipway_provisioner_north"):
        deploy(store, "n2")
        store.actions.decide_connection(store.actions.newest(SITE)[0].action.id, connection)
        store.owners.check_in(f"provisioner:{connection}", 60, calls)
    reporter = store.reporters.create(SITE, "burn-in", "ann")
    store.reporters.report(reporter.token, SITE, [], interval=60)
    store.repair_switches.stop(SITE, "ann", "because")
    store.buffers.put(SITE, "more", "x", [], BufferMode.REJECT, "ann")
    store.revisions.add_candidate(SITE, "x")
    store.checks.record(held, f"provisioner of site {SITE}", "away")
    with pytest.raises(SiteInUse, match="is watched"):
        store.site_stops.remove_site(SITE)
    store.site_stops.put(SITE, WHY)
    running = store.actions.create(NewAction("deploy_site", SITE, 1, {}, "ann", context_marker=None), exclusive=True)
    with pytest.raises(SiteInUse, match=f"action {running.id} of site {SITE} is open"):
        store.site_stops.remove_site(SITE)
    store.actions.close(running.id, ActionState.CANCELLED, "over")
    store.site_stops.remove_site(SITE)
    assert rows_of(store, SITE) == {}
    store.counts.merge(held)
    assert everything(store) == before
    assert store.counts.verify().differences == ()
    assert store.sites.known() == ["second"]


def test_who_led_a_site_that_was_taken_away_writes_nothing(store: SiteStore, clock: FakeClock) -> None:
    drifted(store, clock)
    held = store.leases.take(lease_of(SITE), "me", 3600)
    assert held is not None
    (one, _) = store.drifts.judged(SITE)
    store.site_stops.put(SITE, WHY)
    store.site_stops.remove_site(SITE)
    with pytest.raises(LeaseLost):
        store.drifts.record(held, SITE, [FoundDrift(one, "it is off", clock.time, "drifted")])
    assert rows_of(store, SITE) == {}
