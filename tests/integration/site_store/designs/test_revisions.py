"""Revisions: what is wanted, which never changes."""

from __future__ import annotations

import pytest

from site_store import RevisionNotFound, SiteStore
from tests.integration.site_store.scenario import SITE
from tests.support.revisions import commit_design

TEXT = """
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: n1
  layeringDefinition: {layer: site}
data:
  built: 2026-11-21
  7: seven
"""


def commit(store: SiteStore, text: str, user: str = "ann") -> tuple[int, bool]:
    record = commit_design(store, SITE, text, user=user)
    return record.number, record.created


def test_same_content_as_the_newest_is_no_new_revision(store: SiteStore) -> None:
    other = TEXT.replace("n1", "n2")
    assert [commit(store, text) for text in (TEXT, TEXT, other, other, TEXT)] == [
        (1, True),
        (1, False),
        (2, True),
        (2, False),
        (3, True),
    ]


def test_a_revision_comes_back_as_it_was_written(store: SiteStore) -> None:
    made = commit_design(store, SITE, TEXT, user="ann")
    commit(store, TEXT.replace("n1", "n2"), "bob")
    found = store.revisions.get(SITE, 1)
    assert (found.text, found.created_by, found.digest) == (TEXT, "ann", made.digest)
    assert found.created_at == made.created_at
    assert store.revisions.get(SITE).created_by == "bob"
    assert store.revisions.design_by_token(made.design_token) == TEXT
    assert [(r.number, r.text) for r in store.revisions.newest(SITE)] == [(2, ""), (1, "")]
    assert store.sites.committed() == [SITE]


def test_tokens_differ_and_cannot_be_guessed(store: SiteStore) -> None:
    tokens = {commit_design(store, SITE, f"a: {n}", []).design_token for n in range(5)}
    assert len(tokens) == 5
    assert min(map(len, tokens)) >= 43


@pytest.mark.parametrize("number", [None, 1, 99])
def test_a_missing_revision_is_named(store: SiteStore, number: int | None) -> None:
    with pytest.raises(RevisionNotFound, match="site 'south' has no revision"):
        store.revisions.get("south", number)


def test_a_wrong_token_opens_nothing(store: SiteStore) -> None:
    commit(store, TEXT)
    with pytest.raises(RevisionNotFound):
        store.revisions.design_by_token("guess")
