"""Nodes of a site: what is wanted of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

from site_store import SiteStore
from tests.integration.site_store.scenario import SITE, want
from tests.support.revisions import commit_design

DESIGN = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def wanted(store: SiteStore) -> dict[str, tuple[int | None, str | None]]:
    return {record.name: (record.wanted_revision, record.wanted_digest) for record in store.nodes.of_site(SITE)}


def test_rule_21_the_wish_is_that_of_the_last_who_said_it(store: SiteStore) -> None:
    want(store, 1, {"n1": "a", "n2": "b", 'ö"\\': "c"})
    want(store, 9, {"n1": "z"}, "south")
    want(store, 2, {"n2": "b2", "n3": "c"})
    assert wanted(store) == {"n1": (None, None), "n2": (2, "b2"), "n3": (2, "c"), 'ö"\\': (None, None)}
    assert list(wanted(store)) == sorted(wanted(store))
    want(store, 1, {"n1": "a"})
    assert wanted(store)["n1"] == (1, "a")
    want(store, 3, {})
    assert set(wanted(store).values()) == {(None, None)}
    assert store.nodes.of_site("south")[0].wanted_digest == "z"


def test_conditions_are_kept_beside_the_wish(store: SiteStore) -> None:
    want(store, 1, {"n1": "a", "n2": "b"})
    store.nodes.record_conditions(SITE, {"n1": "deployed", "n3": "new"})
    store.nodes.record_conditions(SITE, {"n3": "ready"})
    conditions = {record.name: record.condition for record in store.nodes.of_site(SITE)}
    assert conditions == {"n1": "deployed", "n2": None, "n3": "ready"}
    assert {one.name: one.condition for one in store.nodes.of_site(SITE) if one.name in ("n2", "n3")}["n3"] == "ready"
    assert wanted(store)["n1"] == (1, "a")
    assert not store.nodes.of_site(SITE)[0].is_up_to_date


def test_rule_21_the_same_commit_again_says_what_is_wanted_again(store: SiteStore) -> None:
    assert commit_design(store, SITE, DESIGN).created
    said = wanted(store)
    assert said["n1"][0] == 1
    want(store, 1, {"n1": "another", "n2": "b"})
    assert not commit_design(store, SITE, DESIGN).created
    assert wanted(store) == {**said, "n2": (None, None)}


def test_commits_lock_the_nodes_of_a_site_by_name(open_store: Callable[[], SiteStore]) -> None:
    first, second = open_store(), open_store()
    want(first, 1, {"n5": "a", "n3": "a", "n1": "a", "n4": "a", "n2": "a"})
    with first._database.engine.connect() as held, ThreadPoolExecutor(1) as threads:
        held.exec_driver_sql("SELECT name FROM node WHERE name = 'n3' FOR UPDATE")
        # What stays, what is new, and what is no longer wanted.
        writes = threads.submit(want, second, 2, {"n5": "b", "n1": "b", "n9": "b", "n3": "b"})
        with first._database.engine.connect() as other:
            while not other.exec_driver_sql(WAITING).scalar():
                assert not writes.done(), "it waits for the node that another has"
                wait([writes], timeout=0.02)
                other.rollback()
            free = other.exec_driver_sql("SELECT name FROM node ORDER BY name FOR UPDATE SKIP LOCKED").scalars().all()
            assert free == ["n4", "n5"], "locked up to the node that another has, and none behind it"
            other.rollback()
        held.rollback()
        writes.result(30)
    assert {name for name, (number, _) in wanted(first).items() if number == 2} == {"n1", "n3", "n5", "n9"}
