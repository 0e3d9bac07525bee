"""The list of nodes that a provisioner gave last is kept, with what it says of the nodes of the site."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from site_store import SiteStore
from site_store.tables import node
from tests.integration.site_store.scenario import SITE, FakeClock, want

LIST: dict[str, dict[str, Any]] = {
    "n1": {"status": "Deployed", "power": "on"},
    "stray": {"status": "Ready", "power": None},
}


def said(store: SiteStore) -> dict[str, tuple[str | None, str | None]]:
    query = select(node.c.name, node.c.provisioner_status, node.c.power).where(node.c.site == SITE)
    return store._database.read(lambda tx: {row.name: (row.provisioner_status, row.power) for row in tx.execute(query)})


def test_the_newest_list_is_kept_with_its_time(store: SiteStore, clock: FakeClock) -> None:
    assert store.provisioner_lists.get(SITE) is None
    store.provisioner_lists.save(SITE, "mine", {})
    clock.move(60)
    store.provisioner_lists.save(SITE, "mine", LIST)
    kept = store.provisioner_lists.get(SITE)
    assert kept is not None
    assert (kept.connection, kept.read_at, json.loads(kept.nodes)) == ("mine", clock.time, LIST)
    assert store.provisioner_lists.get("south") is None


def test_what_it_says_of_the_site_s_nodes_stands_with_them(store: SiteStore) -> None:
    want(store, 1, {"n1": "d1", "n2": "d2"})
    store.provisioner_lists.save(SITE, "mine", LIST)
    assert said(store) == {"n1": ("Deployed", "on"), "n2": (None, None)}
    store.provisioner_lists.save(SITE, "mine", {"n2": {"status": "Deploying", "power": "off"}})
    assert said(store) == {"n1": (None, None), "n2": ("Deploying", "off")}
