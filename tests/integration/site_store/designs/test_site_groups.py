"""The groups of a site are those of the committed strategy, with the nodes of the committed design."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from site_store import NewRevision, PlannedGroup, SiteStore, ValueRefused
from site_store.designs.sites import write_site_groups
from site_store.tables import status_count
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, want
from tests.support.revisions import commit_design

NODE = "schema: drydock/BaremetalNode/v1\nmetadata: {name: %s}\ndata: {metadata: {rack: %s}}\n---\n"


def _groups(store: SiteStore, **groups: str) -> None:
    planned = [PlannedGroup(Group(name, critical=True), tuple(nodes.split())) for name, nodes in groups.items()]
    store._database.write(lambda tx: write_site_groups(tx, SITE, planned))


def _counts(store: SiteStore) -> dict[tuple[str, str], int]:
    cell = status_count.c
    query = select(cell.group_name, cell.phase, func.sum(cell.records).label("records"))
    query = query.where(cell.action_id == "", cell.site == SITE, cell.phase != "~touch")

    def work(tx: Connection) -> dict[tuple[str, str], int]:
        rows = tx.execute(query.group_by(cell.group_name, cell.phase))
        return {(row.group_name, row.phase): int(row.records) for row in rows if row.records}

    return store._database.read(work)


def test_rules_33_and_34_nodes_count_under_their_groups_and_those_without_one_apart(store: SiteStore) -> None:
    want(store, 1, {"n1": "x", "n2": "x", "n3": "x"})
    assert _counts(store) == {("", "no group"): 3}
    _groups(store, a="n1 n2", b="n2")
    assert store.site_groups.nodes(SITE) == {"a": ("n1", "n2"), "b": ("n2",)}
    assert _counts(store) == {("", "grouped"): 2, ("", "no group"): 1, ("a", "grouped"): 2, ("b", "grouped"): 1}
    _groups(store, b="n3", c="")
    assert [(one.name, one.position) for one in store.site_groups.of_site(SITE)] == [("b", 0), ("c", 1)]
    assert _counts(store) == {("", "grouped"): 1, ("", "no group"): 2, ("b", "grouped"): 1}
    want(store, 2, {"n1": "x", "n3": "x"})
    assert _counts(store)["", "no group"] == 1, "one that left the design and was never done leaves no trace"


def test_a_commit_brings_its_groups_and_racks_and_the_next_one_its_own(store: SiteStore) -> None:
    commit_design(store, SITE, NODE % ("n1", "r1") + NODE % ("n2", "r2"))
    (group,) = store.site_groups.of_site(SITE)
    assert group.critical
    assert store.site_groups.nodes(SITE) == {group.name: ("n1", "n2")}
    assert {one.name: one.rack for one in store.nodes.of_site(SITE)} == {"n1": "r1", "n2": "r2"}
    before = {one.name: one.wanted_revision for one in store.nodes.of_site(SITE)}
    commit_design(store, SITE, NODE % ("n1", "r1") + NODE % ("n3", "r3"))
    assert store.site_groups.nodes(SITE) == {group.name: ("n1", "n3")}
    after = {one.name: (one.wanted_revision, one.rack) for one in store.nodes.of_site(SITE)}
    assert after == {"n1": (before["n1"], "r1"), "n2": (None, None), "n3": (2, "r3")}, "n1 stays as it was wanted"


def test_a_group_whose_name_cannot_be_stored_refuses_the_commit(store: SiteStore) -> None:
    bad = [PlannedGroup(Group("a\0", critical=True), ())]
    try:
        store.revisions.commit(NewRevision(SITE, {"a": "a: 1\n"}, [], "a: 1\n", "ann", digests={}, groups=bad))
    except ValueRefused:
        assert store.sites.committed() == []
    else:
        raise AssertionError("it was not refused")


def test_rule_39_a_commit_says_which_nodes_each_node_waits_for(store: SiteStore) -> None:
    waits = NODE.replace("name: %s", "name: n2, depends_on_nodes: [%s]", 1)
    commit_design(store, SITE, NODE % ("n1", "r1") + waits % ("n1", "r1"))
    assert store.goals.of_site(SITE, set()).edges == {"n2": ("n1",)}
    commit_design(store, SITE, NODE % ("n1", "r1") + NODE % ("n2", "r1"))
    assert store.goals.of_site(SITE, set()).edges == {}
