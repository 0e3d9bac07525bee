"""Drifts, their repairs, and what is told of nodes in trouble: the roll-up stays exact, and the newest wins."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Connection, insert, select

from site_store import ActionState, LeaseLost, SiteStore
from site_store.nodes.drifts import FoundDrift
from site_store.nodes.repair_switches import ALL_SITES
from site_store.records import Lease
from site_store.status.events import EventKind
from site_store.status.leases import lease_of
from site_store.tables import event, site_group, site_group_node
from strategy_lib.phase import Phase
from strategy_lib.status.words import Status
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, some, want

DIGESTS = {"a": "a1", "b": "b1", "c": "c1"}


def lead(store: SiteStore, owner: str = "me") -> Lease:
    return some(store.leases.take(lease_of(SITE), owner, 60))


def done(store: SiteStore, site: Scenario, *failed: str) -> None:
    """Deploy all three nodes; some fail."""
    want(store, 1, DIGESTS)
    action, record = site.opened({"g": tuple(DIGESTS)}, digests=DIGESTS)
    site.do(record, Phase.PREPARE)
    good = frozenset(DIGESTS) - set(failed)
    site.do(record, Phase.DEPLOY, outcome(good, failed))
    store.actions.close(action.id, ActionState.SUCCESS, "done")


def found(store: SiteStore, clock: FakeClock, reason: str) -> list[FoundDrift]:
    return [
        FoundDrift(node, reason, node.drifted_since or clock(), f"drifted: {reason}" if reason else "")
        for node in store.drifts.judged(SITE)
    ]


def standings(store: SiteStore) -> dict[str, str]:
    return {one.name: one.standing for one in store.nodes.of_site(SITE)}


def test_rule_56_a_drift_is_an_error_and_the_roll_up_stays_exact(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    done(store, site, "c")
    held = lead(store)
    drifts = found(store, clock, "off")
    assert [one.node.name for one in drifts] == ["a", "b"], "one that failed has not drifted"
    assert store.drifts.record(held, SITE, drifts) == {"a", "b"}
    assert standings(store) == {"a": Status.ERROR, "b": Status.ERROR, "c": Status.ERROR}
    assert store.counts.verify().differences == ()
    assert store.drifts.record(held, SITE, drifts) == frozenset(), "the records have changed since"
    clock.move(5)
    again = store.drifts.judged(SITE)
    assert [(one.name, one.drifted, one.drifted_since) for one in again] == [
        (name, "off", clock() - timedelta(seconds=5)) for name in ("a", "b")
    ]
    assert store.drifts.record(held, SITE, found(store, clock, "")) == {"a", "b"}
    assert standings(store) == {"a": Status.SUCCESS, "b": Status.SUCCESS, "c": Status.ERROR}
    assert store.counts.verify().differences == ()
    assert store.drifts.counts() == {SITE: (0, 2)}


def test_rule_45_a_late_drift_never_overwrites_a_newer_result(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    done(store, site)
    held = lead(store)
    late = found(store, clock, "off")
    action = site.running({"g": ("a",)}, "run-2", digests=DIGESTS)
    site.begin(site.open(action, "g"), Phase.PREPARE)
    want(store, 2, DIGESTS | {"b": "b2"})
    assert store.drifts.record(held, SITE, late) == {"c"}
    assert standings(store) == {"a": Status.PROCESSING, "b": Status.PENDING, "c": Status.ERROR}


def test_a_drift_ends_with_an_operation_on_its_node(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    done(store, site)
    held = lead(store)
    store.drifts.record(held, SITE, found(store, clock, "off"))
    record = site.open(site.running({"g": ("a",)}, "run-2", digests=DIGESTS), "g")
    site.begin(record, Phase.PREPARE)
    store.drifts.close_others(held, SITE)
    assert store.drifts.counts() == {SITE: (3, 3)}, "its repair is under way"
    want(store, 2, {"a": "a1", "c": "c1"})
    store.drifts.close_others(held, SITE)
    assert store.drifts.counts() == {SITE: (3, 3)}


def test_each_edge_is_told_once_also_by_another_leader(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    done(store, site, "b", "c")
    held = lead(store)
    assert store.node_troubles.tell(held, SITE) == 2
    assert store.node_troubles.tell(held, SITE) == 0
    clock.move(61)
    other = lead(store, "other")
    assert store.node_troubles.tell(other, SITE) == 0
    want(store, 2, DIGESTS | {"b": "b2"})
    with pytest.raises(LeaseLost):
        store.node_troubles.tell(held, SITE)
    assert store.node_troubles.tell(other, SITE) == 1
    (edge,) = store.outbox.newest(SITE)[0].data["edges"]
    assert (edge["node"], edge["before"], edge["after"], edge["message"]) == ("b", "error", "pending", None)


RUN = "alpha__repair__1"


def drifted(store: SiteStore, site: Scenario, clock: FakeClock) -> Lease:
    """Let all nodes of a group drift; return the lease that its leader has."""

    def add(tx: Connection) -> None:
        tx.execute(
            insert(site_group).values(site=SITE, name="g", position=0, critical=True, depends_on=[], definition={})
        )
        tx.execute(insert(site_group_node), [{"site": SITE, "group_name": "g", "node": name} for name in DIGESTS])

    store._database.write(add)
    done(store, site)
    held = lead(store)
    store.drifts.record(held, SITE, found(store, clock, "off"))
    return held


def test_rule_57_an_attempt_begins_once_and_a_stopped_site_begins_none(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    held = drifted(store, site, clock)
    ailing = store.repairs.ailing(SITE)
    assert [(one.name, one.drifted, one.attempts, one.under_way) for one in ailing] == [
        (name, True, 0, False) for name in ("a", "b", "c")
    ]
    store.repair_switches.stop(SITE, "ann", "the power is worked on")
    assert not store.repairs.begin(held, SITE, RUN, ailing[:1], redeploy=False), "its repair is stopped"
    store.repair_switches.resume(SITE, "ann", "")
    store.repair_switches.stop(ALL_SITES, "ann", "a storm")
    assert store.repair_switches.all().keys() == {ALL_SITES}
    assert not store.repairs.begin(held, SITE, RUN, ailing[:1], redeploy=False), "all repair is stopped"
    store.repair_switches.resume(ALL_SITES, "ann", "")
    before = store.trees.site_token(SITE)
    store.repair_switches.resume(SITE, "ann", "")
    assert store.trees.site_token(SITE) != before, "a page that is looked at shows it"
    assert store.repairs.begin(held, SITE, RUN, ailing[:2], redeploy=False)
    assert not store.repairs.begin(held, SITE, "another", ailing[1:], redeploy=False), "b is under way already"
    (begun,) = store.repairs.under_way(SITE)
    assert (begun.run_id, begun.nodes, begun.redeploy, begun.action_id) == (RUN, ("a", "b"), False, None)
    assert [one.under_way for one in store.repairs.ailing(SITE)] == [True, True, False]
    assert len(store.repairs.begun_since(SITE, timedelta(hours=1))) == 2
    store.repairs.refused(held, SITE, RUN, "why")
    assert store.repairs.under_way(SITE) == []
    assert store.repairs.begun_since(SITE, timedelta(hours=1)) == [], "none of them began"
    assert [one.attempts for one in store.repairs.ailing(SITE)] == [1, 1, 0]


def test_what_would_be_done_is_noted_once(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    held = drifted(store, site, clock)
    for _ in range(2):
        one = store.repairs.ailing(SITE)[0]
        store.repairs.observe(held, SITE, {one: "it would be deployed anew"})
    told = select(event.c.message).where(event.c.kind == EventKind.REPAIR)
    said = store._database.read(lambda tx: list(tx.scalars(told)))
    assert said == ["it would be deployed anew"]
    assert store.repairs.ailing(SITE)[0].observed
