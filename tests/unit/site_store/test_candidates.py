"""Designs that are looked at before they are committed."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from site_store import RevisionNotFound, SiteStore
from site_store.tables import candidate
from tests.unit.site_store.scenario import SITE, FakeClock


def test_a_candidate_is_opened_by_its_token_until_it_is_removed(store: SiteStore) -> None:
    first, second = store.add_candidate(SITE, "a: ä"), store.add_candidate(SITE, "a: ä")
    assert first != second
    assert len(first) >= 43
    assert (store.design_by_token(first), store.design_by_token(second)) == ("a: ä", "a: ä")
    store.remove_candidate(first)
    store.remove_candidate(first)
    with pytest.raises(RevisionNotFound):
        store.design_by_token(first)
    assert store.design_by_token(second) == "a: ä"
    assert store.sites() == []


def test_a_candidate_lives_an_hour(store: SiteStore, clock: FakeClock) -> None:
    def kept() -> int | None:
        return store._database.read(lambda tx: tx.scalar(select(func.count()).select_from(candidate)))

    old = store.add_candidate(SITE, "old")
    clock.move(3599)
    young = store.add_candidate(SITE, "young")
    assert (store.design_by_token(old), kept()) == ("old", 2)
    clock.move(1)
    with pytest.raises(RevisionNotFound):
        store.design_by_token(old)
    store.add_candidate("elsewhere", "new")
    assert (store.design_by_token(young), kept()) == ("young", 2)
