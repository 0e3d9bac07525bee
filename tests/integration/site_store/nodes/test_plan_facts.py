"""What the plan of a site uses: in three statements the same as one by one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import yaml
from sqlalchemy import update

from site_engine.node_lists import keep_list
from site_store import AskedState, PlannedGroup, SiteStore
from site_store.designs.sites import write_site_groups
from site_store.tables import node
from site_store.trees.plan_facts import TIMED
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, some, want
from tests.support.revisions import commit_design
from tests.support.sites import document
from tests.support.sites import group as design_group
from tests.support.sites import node as design_node
from tests.support.sites import site as design
from tests.support.stores import counted_statements

DONE: dict[str, Any] = {"done_revision": 1, "done_version": 1, "done_digest": "d1", "status": "success"}
NAMES = ("a", "b", "c", "d")
SETTINGS = document("slipway/SiteSettings/v1", "settings", {"max_parallel_groups": 7})
DESIGN = design([design_node(name) for name in NAMES], [design_group("all", NAMES)]) + yaml.safe_dump(
    SETTINGS, explicit_start=True
)


def write(store: SiteStore, names: Collection[str], **values: Any) -> None:
    these = update(node).where(node.c.site == SITE, node.c.name.in_([*names])).values(values)
    store._database.write(lambda tx: tx.execute(these))


def test_it_is_what_each_of_them_says_alone(site: Scenario, clock: FakeClock) -> None:
    store = site.store
    commit_design(store, SITE, DESIGN)
    keep_list(store, SITE, "drydock", {})
    record = site.open(site.running({"one": ["a", "b"]}, digests=dict.fromkeys("ab", "d1")), "one")
    for phase in TIMED:
        clock.move(60)
        site.do(record, phase)
    until = clock() + timedelta(hours=1)
    for name, ends in (("c", until), ("d", None)):
        store.user_states.change(
            SITE, [name], AskedState(NodeAvailability.MAINTENANCE, "", until=ends, force=True), "ann"
        )
    for later in (False, True):
        with counted_statements(store) as statements:
            facts = store.plan_facts.get(SITE, "update_site")
        assert len(statements) == 1
        listed = some(store.provisioner_lists.get(SITE))
        assert (facts.is_known, facts.listed) == (True, listed)
        assert facts.left == store.provisioner_lists.left_since(SITE, listed.read_at) == dict.fromkeys("ab", "deployed")
        assert facts.out_of_use == store.user_states.left_out(SITE, "update_site")
        assert list(facts.out_of_use) == (["d"] if later else ["c", "d"])
        assert facts.settings == store.revisions.settings(SITE)
        assert facts.settings.max_parallel_groups == 7
        assert facts.usual == store.operations.usual_seconds(SITE, TIMED)
        assert facts.usual.keys() == {Phase.PREPARE, Phase.DEPLOY}
        clock.move(3600)


def test_of_a_site_that_is_not_known_there_is_nothing(store: SiteStore) -> None:
    facts = store.plan_facts.get("south", "update_site")
    assert (facts.is_known, facts.listed, facts.settings) == (False, None, DEFAULT_SETTINGS)
    assert (facts.left, facts.out_of_use, facts.usual) == ({}, {}, {})
    goals = store.goals.of_site("south", set())
    assert (goals.revision, goals.clean, goals.records, goals.groups, goals.edges) == (None, {}, {}, (), {})


def test_by_the_clock_of_the_database_what_has_ended_is_over(url: str) -> None:
    with SiteStore.open(url) as store:
        want(store, 1, dict.fromkeys("ab", "d1"))
        for name, minutes in (("a", 60), ("b", -1)):
            until = store.now() + timedelta(minutes=minutes)
            store.user_states.change(
                SITE,
                [name],
                AskedState(NodeAvailability.MAINTENANCE, "", until=until, force=True),
                "ann",
                most_groups=9,
            )
        assert list(store.user_states.left_out(SITE, "update_site")) == ["a"]
        assert list(store.plan_facts.get(SITE, "update_site").out_of_use) == ["a"]


def test_what_is_wanted_and_done_is_read_by_two_statements(site: Scenario) -> None:
    store = site.store
    want(store, 1, dict.fromkeys(NAMES, "d1"))
    groups = [
        PlannedGroup(Group("first", critical=True), ("a", "b")),
        PlannedGroup(Group("second", critical=True, depends_on=("first",)), ("b", "c", "d")),
    ]
    store._database.write(lambda tx: write_site_groups(tx, SITE, groups))
    waits = {"a": ["d"], "b": ["a", "d"], "c": ["a", "d"]}

    for name, others in waits.items():
        write(store, [name], depends_on=others)
    write(store, "bcd", **DONE)
    for deployed, dirty in ((set("bcd"), "a"), (set("cd"), "ab")):
        with counted_statements(store) as statements:
            goals = store.goals.of_site(SITE, deployed)
        assert len(statements) == 2
        assert goals.clean == dict.fromkeys(sorted(set(NAMES).difference(dirty)), (1, 1))
        assert list(goals.records) == list(dirty)
        assert goals.records == {one.name: one for one in store.nodes.of_site(SITE) if one.name in dirty}
        first, second = goals.groups
        assert (first.name, first.depends_on, first.total, first.nodes) == ("first", (), 2, tuple(dirty))
        shared = tuple(sorted({"b"} & {*dirty}))
        assert (second.name, second.depends_on, second.total, second.nodes) == ("second", ("first",), 3, shared)
        assert goals.edges == {name: tuple(others) for name, others in waits.items()}
    write(store, "a", **DONE)
    goals = store.goals.of_site(SITE, set(NAMES))
    assert (goals.records, goals.edges) == ({}, {}), "without anything to do there is no order"
