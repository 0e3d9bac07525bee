"""Nodes of a site: what is wanted of them."""

from __future__ import annotations

from site_store import SiteStore
from tests.integration.site_store.scenario import SITE, want


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
    assert store.nodes.conditions(SITE, ["n2", "n3", "n9"]) == {"n3": "ready"}
    assert wanted(store)["n1"] == (1, "a")
    assert not store.nodes.of_site(SITE)[0].is_up_to_date
