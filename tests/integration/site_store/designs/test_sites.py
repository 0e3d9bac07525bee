"""Sites: names for revisions, and the groups of the committed strategy with the nodes of the committed design."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, func, select

from site_store import (
    ActionState,
    NewAction,
    NewRevision,
    PlannedGroup,
    RevisionNotFound,
    SiteStore,
    ValueRefused,
    Version,
)
from site_store.designs.sites import write_site_groups
from site_store.tables import status_count
from strategy_lib.strategy import Group
from tests.integration.site_store.designs.desk import Desk, written, yaml
from tests.integration.site_store.scenario import SITE, FakeClock, want
from tests.support.revisions import commit_design


@pytest.fixture
def desk(store: SiteStore) -> Desk:
    desk = Desk(store)
    for number in range(1, 5):
        desk.save({"a": yaml(f"a{number}")})
    return desk


def numbers(store: SiteStore) -> list[int | None]:
    found = store.sites.versions(SITE)
    assert found == {version: store.sites.version_number(SITE, version) for version in Version}
    return [found[version] for version in Version]


class Doer:
    """Does actions one after the other."""

    def __init__(self, store: SiteStore, clock: FakeClock) -> None:
        self.store, self.clock, self.made = store, clock, 0

    def do(
        self,
        number: int,
        state: ActionState | None = ActionState.SUCCESS,
        kind: str = "deploy_site",
        take: bool = True,
        site: str = SITE,
        dry_run: bool = False,
        whole_site: bool = True,
    ) -> str:
        self.clock.move(1)
        self.made += 1
        action = self.store.actions.ensure(
            kind, f"run-{self.made}", NewAction(kind, site, number, {}, "ann", dry_run=dry_run, whole_site=whole_site)
        )
        if take:
            self.store.locks.acquire(action.id)
        if state is not None:
            self.store.actions.close(action.id, state, "")
        return action.id


def test_a_site_without_anything_has_no_version(store: SiteStore) -> None:
    assert numbers(store) == [None] * 4
    for version in Version:
        with pytest.raises(RevisionNotFound, match=f"has no version {version}"):
            store.sites.collections(SITE, version)


def test_the_buffer_is_the_next_revision(desk: Desk) -> None:
    assert numbers(desk.store) == [None, 4, None, None]
    desk.put("b", yaml("b"))
    assert numbers(desk.store) == [5, 4, None, None]
    assert written(desk.store, Version.BUFFER) == {"a": yaml("a4"), "b": yaml("b")}
    assert sorted(desk.store.sites.collection_digests(SITE, Version.BUFFER)) == ["a", "b"]
    assert written(desk.store, Version.COMMITTED) == {"a": yaml("a4")}


def test_actions_on_the_whole_site_name_their_revisions(desk: Desk, clock: FakeClock) -> None:
    doer = Doer(desk.store, clock)
    doer.do(2, kind="update_site")
    assert numbers(desk.store)[2:] == [2, 2]
    doer.do(3, ActionState.FAILED)
    assert numbers(desk.store)[2:] == [3, 2]
    doer.do(1, ActionState.CANCELLED)
    assert numbers(desk.store)[2:] == [1, 2]
    assert written(desk.store, Version.LAST_SITE_ACTION) == {"a": yaml("a1")}
    assert written(desk.store, Version.SUCCESSFUL_SITE_ACTION) == {"a": yaml("a2")}


def test_what_did_not_work_on_the_whole_site_does_not_count(desk: Desk, clock: FakeClock) -> None:
    doer = Doer(desk.store, clock)
    doer.do(1)
    doer.do(2, dry_run=True, take=False)
    doer.do(2, dry_run=True)
    doer.do(2, whole_site=False)
    doer.do(2, kind="relabel_nodes", whole_site=False)
    doer.do(2, site="south")
    # Refused because another had the site.
    doer.do(2, ActionState.FAILED, take=False)
    doer.do(3, state=None)
    assert numbers(desk.store)[2:] == [1, 1]


def test_an_action_that_runs_again_is_not_over(desk: Desk, clock: FakeClock) -> None:
    doer = Doer(desk.store, clock)
    doer.do(1)
    again = doer.do(2, ActionState.FAILED)
    desk.store.locks.acquire(again)
    assert numbers(desk.store)[2:] == [1, 1]
    desk.store.actions.close(again, ActionState.SUCCESS, "")
    assert numbers(desk.store)[2:] == [2, 2]


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
    assert [(one.name, one.position) for one in store.trees.site(SITE).groups] == [("b", 0), ("c", 1)]
    assert _counts(store) == {("", "grouped"): 1, ("", "no group"): 2, ("b", "grouped"): 1}
    want(store, 2, {"n1": "x", "n3": "x"})
    assert _counts(store)["", "no group"] == 1, "one that left the design and was never done leaves no trace"


def test_a_commit_brings_its_groups_and_racks_and_the_next_one_its_own(store: SiteStore) -> None:
    commit_design(store, SITE, NODE % ("n1", "r1") + NODE % ("n2", "r2"))
    (group,) = store.trees.site(SITE).groups
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
