"""The ledger of repairs: each attempt at each cause begins once, and what is over is settled."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, insert, select

from site_store import SiteStore
from site_store.nodes.repair_switches import ALL_SITES
from site_store.records import Lease
from site_store.status.events import EventKind
from site_store.tables import event, site_group, site_group_node
from tests.integration.site_store.node_states.test_drifts import DIGESTS, done, found, lead
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario

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
