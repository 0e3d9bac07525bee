"""A provisioner's list is kept by who reads it, and read again as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provisioner_client.protocol import ListedNode, NodeChanges, Provisioner
from site_engine.node_lists import (
    ObservedList,
    keep_list,
    last_conditions,
    last_list,
    nodes_without_power,
    observe_list,
)
from site_store import ProvisionerListRecord, SiteStore, StoreUnavailable
from strategy_lib.node_condition import NodeCondition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NODES = {
    "n1": ListedNode("n1", NodeCondition.DEPLOYED, "Deployed", "on", cores=32, memory=131072, key="abc"),
    "n2": ListedNode("n2", NodeCondition.OTHER, "Failed testing", None),
}


class Lists:
    """The lists of a store."""

    def __init__(self) -> None:
        self.kept: ProvisionerListRecord | None = None
        self.away = self.beaten = False
        self.now = NOW
        self.left: dict[str, str] = {}

    def save(
        self,
        site: str,
        connection: str,
        nodes: Mapping[str, Mapping[str, Any]],
        asked: datetime | None = None,
        *,
        based_on: str | None = None,
    ) -> bool:
        if self.away:
            raise StoreUnavailable("away")
        if based_on is not None and self.beaten:
            return False
        text = json.dumps(nodes)
        self.kept = ProvisionerListRecord(site, connection, asked or NOW, text, f"digest of {text}")
        return True

    def get(self, _site: str) -> ProvisionerListRecord | None:
        return self.kept

    def left_since(self, _site: str, _read_at: datetime) -> dict[str, str]:
        return self.left


def store_of(lists: Lists) -> SiteStore:
    return cast(SiteStore, SimpleNamespace(provisioner_lists=lists, now=lambda: lists.now))


class Events:
    """A provisioner with events: it gives what it is told to, and notes the cursors with which it is asked."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        self.known: list[Mapping[str, ListedNode]] = []
        self.changed: Mapping[str, ListedNode] = {}

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        self.asked.append(cursor)
        self.known.append(known)
        if cursor is None:
            return NodeChanges(NODES, is_whole=True, cursor="1")
        return NodeChanges(self.changed, is_whole=False, cursor=f"{int(cursor) + 1}")


class Looks:
    """Looks at one site, over one connection."""

    def __init__(self, lists: Lists) -> None:
        self.events, self.lists = Events(), lists

    def look(self, cursor: str | None, connection: str = "mine") -> ObservedList:
        self.lists.now += timedelta(seconds=5)
        provisioner = cast(Provisioner, self.events)
        return observe_list(store_of(self.lists), "a", connection, provisioner, cursor)

    @property
    def kept(self) -> Mapping[str, ListedNode]:
        found = last_list(store_of(self.lists), "a")
        assert found is not None
        return found.nodes


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


def test_what_has_changed_is_put_into_the_list_that_is_kept() -> None:
    looks = Looks(Lists())
    first = looks.look(None)
    assert (first.nodes, first.is_whole, looks.kept) == (2, True, NODES)
    again = replace(NODES["n1"], status_name="Releasing")
    looks.events.changed = {"n1": again}
    second = looks.look(first.cursor)
    assert (second.nodes, second.is_whole) == (2, False)
    assert looks.kept == {**NODES, "n1": again}
    looks.look(second.cursor)
    assert looks.events.asked == [None, "1", "2"]
    assert looks.events.known == [{}, NODES, looks.kept]


def test_of_a_list_that_others_changed_meanwhile_the_changes_are_asked_for_once_more() -> None:
    looks = Looks(Lists())
    first = looks.look(None)
    looks.lists.beaten = True
    assert looks.look(first.cursor).cursor == first.cursor


@pytest.mark.parametrize(
    "how", ["another connection", "an older list, as in a restored store", "no list", "nonsense", "brackets"]
)
def test_a_cursor_that_is_not_about_the_list_that_is_kept_reads_it_whole(how: str) -> None:
    looks = Looks(Lists())
    kept = looks.lists.kept
    cursor = looks.look(None).cursor
    if how == "an older list, as in a restored store":
        keep_list(store_of(looks.lists), "a", "mine", NODES, NOW)
    elif how == "no list":
        looks.lists.kept = kept
    elif how == "nonsense":
        cursor = "[1]"
    elif how == "brackets":
        cursor = "[" * 30_000
    assert looks.look(cursor, "other" if how == "another connection" else "mine").is_whole
    assert looks.events.asked == [None, None]


def test_who_is_off_and_can_be_powered_on_is_known_by_the_list_and_no_more_once_an_operation_left_it_otherwise() -> (
    None
):
    lists = Lists()
    store = store_of(lists)
    assert nodes_without_power(store, "site") == {}
    dark = ListedNode("n1", NodeCondition.DEPLOYED, "Deployed", "off", key="abc", can_power_on=True)
    nodes = {
        "n1": dark,
        "n2": replace(NODES["n2"], power_state="off"),
        "n3": replace(dark, name="n3", power_state="on"),
    }
    keep_list(store, "site", "c", nodes)
    assert nodes_without_power(store, "site") == {"n1": True, "n2": False}
    listed = last_list(store, "site")
    assert listed is not None
    assert listed.nodes["n1"] == dark
    lists.left = {"n1": "ready"}
    listed = last_list(store, "site")
    assert listed is not None
    assert not listed.nodes["n1"].can_power_on
