"""Names for revisions: the buffer, what is committed, what the last actions on the whole site brought about."""

from __future__ import annotations

import pytest

from site_store import ActionState, NewAction, RevisionNotFound, SiteStore, Version
from tests.integration.site_store.designs.desk import Desk, written, yaml
from tests.integration.site_store.scenario import SITE, FakeClock


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
