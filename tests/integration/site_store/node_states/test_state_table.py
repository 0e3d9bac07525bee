"""The table of a site's nodes with their three states: filtered, sorted, paged, and under one change token."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from site_store import AskedState, SiteStore, ValueRefused
from site_store.node_table.state_query import STATE_COLUMNS, UNSEEN, StateQuery
from site_store.node_table.state_table import StatePage
from site_store.records import Lease
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import PublishedState
from tests.integration.site_store.scenario import SITE, FakeClock, some
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

_A = NodeAvailability
NAMES = ("n1", "n2", "n3", "n4", "n5")


def seen(state: NodeAvailability, reported: NodeAvailability, why: str = "", crashes: int = 0) -> NodeMemory:
    history = NodeHistory(reported, 1.0, been_up=True, crashes=crashes)
    return NodeMemory("Deployed", "on", history, PublishedState(state, why), 100.0 + crashes)


@pytest.fixture
def held(store: SiteStore) -> Lease:
    """Have five nodes in a site that is led: n4 crashed twice, and nobody has seen n5 yet."""
    nodes = [node(name, rack=f"r{number % 2}") for number, name in enumerate(NAMES)]
    commit_design(store, SITE, site(nodes, [group("few", ["n1", "n3"]), group("rest", ["n2", "n4", "n5"])]))
    held = some(store.leases.take(lease_of(SITE), "me", 600))
    known = {
        "n1": seen(_A.UP, _A.UP),
        "n2": seen(_A.DOWN, _A.DOWN, "Failed deployment 100%_x"),
        "n3": seen(_A.MAINTENANCE, _A.UP, "new DISK"),
        "n4": seen(_A.UP, _A.UP, crashes=2),
    }
    store.site_views.remember(held, SITE, known)
    until = store.now() + timedelta(hours=1)
    store.user_states.change(SITE, ["n3"], AskedState(_A.MAINTENANCE, "new disk", until=until, force=True), "Anna")
    return held


def page(store: SiteStore, **query: Any) -> StatePage:
    return store.state_table.page(SITE, StateQuery(**query))


def token(store: SiteStore) -> str:
    found = some(store.published_views.get(SITE))
    return found.token


def names(found: StatePage) -> list[str]:
    return [row.node for row in found.nodes]


@pytest.mark.usefixtures("held")
def test_the_least_available_come_first_with_all_three_states(store: SiteStore) -> None:
    found = page(store)
    assert names(found) == ["n5", "n3", "n2", "n1", "n4"]
    assert (found.total, found.after) == (5, None)
    assert found.counts == {UNSEEN: 1, "maintenance": 1, "down": 1, "up": 2}
    unseen, third = found.nodes[:2]
    assert (unseen.state, unseen.reported, unseen.user, unseen.since) == (None, None, "up", None)
    assert (third.state, third.reason, third.since, third.reported) == ("maintenance", "new DISK", 100.0, "up")
    assert (third.user, third.user_reason, third.set_by, third.rack) == ("maintenance", "new disk", "Anna", "r0")
    assert third.until is not None
    past = some(store.site_nodes.past(SITE, "n3", most_notes=5).states)
    assert past.states == third
    unknown = some(store.site_nodes.past(SITE, "n9", most_notes=5).states)
    assert (unknown.states, unknown.notes) == (None, [])
    assert store.site_nodes.past(SITE, "n3").states is None


def in_pages(store: SiteStore, sort: str, *, descending: bool, limit: int) -> list[str]:
    found = page(store, sort=sort, descending=descending, limit=limit)
    walked = names(found)
    while found.after is not None:
        found = page(store, sort=sort, descending=descending, limit=limit, after=found.after)
        walked += names(found)
    return walked


def test_where_all_nodes_were_seen_none_is_looked_for_and_one_that_comes_later_is_found(
    store: SiteStore, held: Lease
) -> None:
    store.site_views.remember(held, SITE, {"n5": seen(_A.UP, _A.INITIALIZING)})
    expected = {
        "state": ["n3", "n2", "n1", "n4", "n5"],
        "reported": ["n2", "n5", "n1", "n3", "n4"],
        "since": ["n1", "n2", "n3", "n5", "n4"],
    }
    for sort, order in expected.items():
        for limit in (1, 2, 50):
            assert in_pages(store, sort, descending=False, limit=limit) == order
            assert in_pages(store, sort, descending=True, limit=limit) == order[::-1]
    # One goes and another one comes: of as many as before something is known.
    commit_design(store, SITE, site([node(f"n{number}") for number in range(2, 7)], [group("few", ["n2", "n6"])]))
    for sort, order in expected.items():
        now = ["n6", *(name for name in order if name != "n1")]
        assert in_pages(store, sort, descending=False, limit=2) == now
        assert in_pages(store, sort, descending=True, limit=2) == now[::-1]
    # Of one it is known that it is there, and not what it reports.
    store.site_views.remember(held, SITE, {"n6": NodeMemory(user_since=1.0)}, gone=["n1"])
    assert in_pages(store, "reported", descending=False, limit=2) == ["n6", "n2", "n5", "n3", "n4"]


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"text": "N4"}, ["n4"]),
        ({"group": "few"}, ["n3", "n1"]),
        ({"columns": {"state": "up"}}, ["n1", "n4"]),
        ({"columns": {"state": UNSEEN}}, ["n5"]),
        ({"columns": {"reported": "up", "rack": "r0"}}, ["n3", "n1"]),
        ({"columns": {"reported": UNSEEN}}, ["n5"]),
        ({"columns": {"user": "maintenance"}}, ["n3"]),
        ({"columns": {"user": "up"}}, ["n5", "n2", "n1", "n4"]),
        ({"columns": {"reason": "new disk"}}, ["n3"]),
        ({"columns": {"reason": "%_X"}}, ["n2"]),
        ({"columns": {"set_by": "anna"}}, ["n3"]),
        ({"columns": {"crashes": "1"}}, ["n4"]),
        ({"text": "n1", "columns": {"state": "down"}}, []),
    ],
)
def test_it_is_filtered_by_any_column(store: SiteStore, query: dict[str, Any], expected: list[str]) -> None:
    found = page(store, **query)
    assert (names(found), found.total) == (expected, len(expected))


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", STATE_COLUMNS)
def test_pages_of_any_order_have_each_node_once(store: SiteStore, sort: str, descending: bool) -> None:
    whole = names(page(store, sort=sort, descending=descending))
    assert sorted(whole) == list(NAMES)
    assert whole == names(page(store, sort=sort))[:: -1 if descending else 1]
    for down in ({}, {"n1": "group few has 1 of 2 nodes available"}):
        expected = names(page(store, sort=sort, descending=descending, taken_down=down))
        found: list[str] = []
        after: str | None = None
        while not found or after is not None:
            part = page(store, sort=sort, descending=descending, taken_down=down, limit=2, after=after)
            found += names(part)
            after = part.after
        assert found == expected


@pytest.mark.usefixtures("held")
def test_what_a_group_has_taken_down_is_down(store: SiteStore) -> None:
    down = {"n1": "group few has 1 of 2 nodes available, 80 % are needed"}
    found = page(store, taken_down=down, columns={"state": "down"})
    assert [(row.node, row.reason) for row in found.nodes] == [("n1", down["n1"]), ("n2", "Failed deployment 100%_x")]
    assert found.counts == {UNSEEN: 1, "maintenance": 1, "down": 2, "up": 1}
    assert names(page(store, taken_down=down, columns={"reason": "80 %"})) == ["n1"]


@pytest.mark.usefixtures("held")
def test_what_cannot_be_meant_is_refused(store: SiteStore) -> None:
    for query in (
        {"sort": "colour"},
        {"columns": {"colour": "red"}},
        {"columns": {"state": "Up"}},
        {"columns": {"crashes": "many"}},
        {"after": "no"},
        {"after": '["x", "n1"]'},
        {"after": '[NaN, "n1"]'},
        {"text": "n", "after": '[0.5, "n1"]'},
        {"sort": "crashes", "after": '[2147483648, "n1"]'},
        {"sort": "rack", "after": '[1, "n1"]'},
    ):
        with pytest.raises(ValueRefused, match=r"cannot be|must be|is not from a page of this table"):
            page(store, **query)


def test_the_token_is_another_one_after_every_change(store: SiteStore, held: Lease, clock: FakeClock) -> None:
    tokens = [token(store)]
    assert token(store) == tokens[0]
    store.site_views.remember(held, SITE, {"n1": seen(_A.UP, _A.UP, crashes=1)})
    tokens.append(token(store))
    store.user_states.change(SITE, ["n1"], AskedState(_A.RETIRED, "moves"), "Anna")
    tokens.append(token(store))
    store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(_A.UP), {})
    tokens.append(token(store))
    clock.move(601)
    tokens.append(token(store))
    assert len(set(tokens)) == len(tokens)
    assert store.counts.verify().differences == ()


def test_the_log_of_versions_is_read_in_pages_and_what_is_known_not_again(store: SiteStore, held: Lease) -> None:
    none = some(store.published_views.get(SITE, 2))
    assert (none.newest, none.log, none.groups_take_down) == (None, [], False)
    published = [
        store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(_A.UP), {"n1": ("up", "down", str(number))})
        for number in range(3)
    ]
    first, second, third = (one.version for one in published)
    found = some(store.published_views.get(SITE, 2))
    assert found.newest == published[2]
    assert found.leader == store.leases.get(lease_of(SITE))
    assert [one.version for one in found.log] == [third, second]
    assert found.changes == {third: {"n1": ("up", "down", "2")}, second: {"n1": ("up", "down", "1")}}
    older = some(store.published_views.get(SITE, 2, second))
    assert [one.version for one in older.log] == [first]
    again = some(store.published_views.get(SITE, 3, known=[third, first]))
    assert (len(again.log), list(again.changes)) == (3, [second])
    store.site_views.prune(held, SITE, store.now() + timedelta(days=1))
    pruned = some(store.published_views.get(SITE, 3))
    assert (pruned.newest, pruned.log) == (published[2], [])
    assert store.published_views.get("nowhere", 3) is None


@pytest.mark.usefixtures("held")
def test_the_history_of_a_node_has_what_was_set_and_published(store: SiteStore, held: Lease) -> None:
    store.site_views.publish(
        held,
        SITE,
        {"nodes": {}},
        PublishedState(_A.UP),
        {"n3": ("up", "maintenance", "new disk"), "n1": (None, "up", "")},
    )
    past = some(store.site_nodes.past(SITE, "n3", most_notes=5).states)
    noted = past.notes
    assert [one.was_set for one in noted] == [False, True]
    assert noted[0].message == "up -> maintenance: new disk"
    assert noted[1].message.startswith("set to maintenance until ")
    few = some(store.site_nodes.past(SITE, "n3", most_notes=1).states)
    assert few.notes == noted[:1]


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", STATE_COLUMNS)
def test_each_order_is_that_of_an_index(store: SiteStore, sort: str, descending: bool) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    engine = store._database.engine
    event.listen(engine, "before_cursor_execute", note)
    page(store, sort=sort, descending=descending)
    event.remove(engine, "before_cursor_execute", note)
    ordered = [one for one in asked if "ORDER BY" in one[0]]
    assert ordered
    with engine.connect() as connection:
        # Few rows are sorted whatever indexes there are, unless that is made dear.
        connection.exec_driver_sql("SET LOCAL enable_sort = off")
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
        for statement, parameters in ordered:
            plan = "\n".join(row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters))
            # Only the page itself is sorted, once more: the ranges that it is made of have been found in their order.
            assert plan.count("Sort Key") <= 1, (statement, plan)
