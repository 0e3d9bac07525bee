"""A provisioner's list is kept by who reads it, and read again as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list, last_conditions, last_list
from site_store import ProvisionerListRecord, SiteStore, StoreUnavailable
from strategy_lib.outcome import NodeCondition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NODES = {
    "n1": ListedNode("n1", NodeCondition.DEPLOYED, "Deployed", "on", cores=32, memory=131072),
    "n2": ListedNode("n2", NodeCondition.OTHER, "Failed testing", None),
}


class Lists:
    """The lists of a store."""

    def __init__(self) -> None:
        self.kept: ProvisionerListRecord | None = None
        self.away = False
        self.left: dict[str, str] = {}

    def save(
        self, site: str, connection: str, nodes: Mapping[str, Mapping[str, Any]], asked: datetime | None = None
    ) -> bool:
        if self.away:
            raise StoreUnavailable("away")
        self.kept = ProvisionerListRecord(site, connection, asked or NOW, json.dumps(nodes))
        return True

    def get(self, _site: str) -> ProvisionerListRecord | None:
        return self.kept

    def left_since(self, _site: str, _read_at: datetime) -> dict[str, str]:
        return self.left


def store_of(lists: Lists) -> SiteStore:
    return cast(SiteStore, SimpleNamespace(provisioner_lists=lists))


def test_what_was_read_is_kept_as_it_was() -> None:
    store = store_of(Lists())
    assert last_list(store, "a") is None
    keep_list(store, "a", "mine", NODES)
    kept = last_list(store, "a")
    assert kept is not None
    assert (kept.nodes, kept.connection, kept.read_at) == (NODES, "mine", NOW)


def test_what_an_operation_left_since_counts_and_all_else_stays_as_it_was_read() -> None:
    lists = Lists()
    store = store_of(lists)
    keep_list(store, "a", "mine", NODES)
    lists.left = {"n1": "deployed", "n2": "failed_deployment", "n3": "deployed"}
    kept = last_list(store, "a")
    assert kept is not None
    assert kept.nodes == {
        "n1": NODES["n1"],
        "n2": ListedNode("n2", NodeCondition.FAILED_DEPLOYMENT, "Failed deployment", None),
        "n3": ListedNode("n3", NodeCondition.DEPLOYED, "Deployed", None),
    }
    conditions = {name: node.condition for name, node in kept.nodes.items()}
    assert last_conditions(store, "a") == (conditions, NOW)


def test_a_store_that_is_away_keeps_nobody_from_reading() -> None:
    lists = Lists()
    lists.away = True
    keep_list(store_of(lists), "a", "mine", NODES)
    assert lists.kept is None
