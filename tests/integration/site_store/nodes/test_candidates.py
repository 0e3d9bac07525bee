"""Designs that are looked at before they are committed."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from site_store import RevisionNotFound, SiteStore
from site_store.tables import candidate
from tests.integration.site_store.scenario import SITE, FakeClock


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
