"""Revisions: what is wanted, which never changes; and designs that are looked at before they are committed."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from site_store import RevisionNotFound, SiteStore
from site_store.tables import candidate
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design


def test_same_content_as_the_newest_is_no_new_revision(store: SiteStore) -> None:
    made = [commit_design(store, SITE, text, []) for text in ("a: 1", "a: 1", "a: 2", "a: 2", "a: 1")]
    assert [(one.number, one.created) for one in made] == [(1, True), (1, False), (2, True), (2, False), (3, True)]
    tokens = {store.secret_texts.token_of(one.design_handle) for one in made if one.created}
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 43, "none can be guessed"


@pytest.mark.parametrize("number", [None, 1, 99])
def test_a_missing_revision_is_named(store: SiteStore, number: int | None) -> None:
    with pytest.raises(RevisionNotFound, match="site 'south' has no revision"):
        store.revisions.get("south", number)


def test_a_candidate_is_opened_by_its_token_until_it_is_removed(store: SiteStore) -> None:
    first, second = store.revisions.add_candidate(SITE, "a: ä"), store.revisions.add_candidate(SITE, "a: ä")
    assert first != second
    assert len(first) >= 43
    assert (store.revisions.design_by_token(first), store.revisions.design_by_token(second)) == ("a: ä", "a: ä")
    store.revisions.remove_candidate(first)
    store.revisions.remove_candidate(first)
    with pytest.raises(RevisionNotFound):
        store.revisions.design_by_token(first)
    assert store.revisions.design_by_token(second) == "a: ä"
    assert store.sites.committed() == []


def test_a_candidate_lives_an_hour(store: SiteStore, clock: FakeClock) -> None:
    def kept() -> int | None:
        return store._database.read(lambda tx: tx.scalar(select(func.count()).select_from(candidate)))

    old = store.revisions.add_candidate(SITE, "old")
    clock.move(3599)
    young = store.revisions.add_candidate(SITE, "young")
    assert (store.revisions.design_by_token(old), kept()) == ("old", 2)
    clock.move(1)
    with pytest.raises(RevisionNotFound):
        store.revisions.design_by_token(old)
    store.revisions.add_candidate("elsewhere", "new")
    assert (store.revisions.design_by_token(young), kept()) == ("young", 2)
