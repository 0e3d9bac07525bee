"""The table of a site's nodes: what it can be filtered by, and what is refused."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from site_store import NodeQuery, ValueRefused
from site_store.node_table.node_facts import NodeStates
from site_store.node_table.node_query import FILTERED_BY
from site_store.node_table.site_nodes import _facts
from site_store.tables import node, node_view, user_state
from tests.integration.site_engine.trees.tree_scenario import PROVISIONER, change, commit
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario


def names(site: Scenario, **query: Any) -> list[str]:
    return [found.name for found in site.store.site_nodes.page(SITE, NodeQuery(**query)).nodes]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param({"columns": {"wanted_revision": "²"}}, "must be the number of a revision", id="no digit"),
        pytest.param({"columns": {"done_revision": "9" * 40}}, "must be the number of a revision", id="40 digits"),
        pytest.param({"columns": {"wanted_revision": "new"}}, "must be the number of a revision", id="a word"),
        pytest.param({"columns": {"last_updated": "2026"}}, "last_updated", id="no filter"),
        pytest.param({"columns": {"error": "\ud800"}}, "cannot be stored", id="half a character"),
        pytest.param({"text": "\x00"}, "cannot be stored", id="NUL"),
        pytest.param({"rack": "\ud800"}, "cannot be stored", id="half a rack"),
        pytest.param({"after": "[" * 5000}, "begin anew", id="a deep place"),
        pytest.param({"after": '["x", "\\ud800"]'}, "begin anew", id="half a name"),
        pytest.param({"after": '["x", 1]'}, "begin anew", id="no name"),
        pytest.param({"sort": "rack", "after": '["\\ud800", "n"]'}, "begin anew", id="half a value"),
        pytest.param({"sort": "rack", "after": '[{}, "n"]'}, "begin anew", id="no value"),
        pytest.param({"sort": "wanted_revision", "after": f'[{"9" * 40}, "n"]'}, "begin anew", id="a large number"),
        pytest.param({"sort": "wanted_revision", "after": '["abc", "n"]'}, "begin anew", id="no number"),
        pytest.param({"sort": "last_updated", "after": '[5, "n"]'}, "begin anew", id="no time"),
    ],
)
def test_what_no_column_can_have_is_refused(site: Scenario, query: dict[str, Any], said: str) -> None:
    commit(site, 1, {"n1": "a"}, one=["n1"])
    with pytest.raises(ValueRefused, match=said):
        names(site, **query)


def test_the_refusal_of_a_filter_names_those_that_there_are(site: Scenario) -> None:
    with pytest.raises(ValueRefused) as refused:
        names(site, columns={"last_updated": "2026"})
    assert str(refused.value).endswith(f"name one of {', '.join(FILTERED_BY)}")
    assert "last_updated" not in FILTERED_BY


def test_rule_27_nodes_are_found_by_what_they_serve(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a", "n3": "a"}, one=["n1", "n2", "n3"])
    change(site, node, node.c.name != "n3", done_digest="a", done_revision=1)
    commit(site, 2, {"n1": "b", "n2": "a", "n3": "a"})
    words = ("older", "wanted", "nothing")
    assert [names(site, columns={"serves": word}) for word in words] == [["n1"], ["n2"], ["n3"]]
    assert names(site, sort="serves") == ["n3", "n1", "n2"]


def test_what_is_asked_for_twice_must_hold_twice(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a"}, one=["n1", "n2"])
    change(site, node, node.c.name == "n1", status="error", error="bad")
    assert names(site, standing="error", columns={"standing": "error"}) == ["n1"]
    assert names(site, standing="error", columns={"standing": "pending"}) == []


def test_a_query_that_is_asked_again_is_not_made_again_and_another_is_not_taken_for_it(site: Scenario) -> None:
    commit(site, 1, {"n1": "a", "n2": "a"}, one=["n1", "n2"])
    change(site, node, node.c.name == "n1", power="on")
    columns = {"power": "on"}
    query = NodeQuery(columns=columns)
    _facts.cache_clear()
    assert [found.name for found in site.store.site_nodes.page(SITE, query).nodes] == ["n1"]
    assert [found.name for found in site.store.site_nodes.page(SITE, query).nodes] == ["n1"]
    assert _facts.cache_info().misses == 1
    assert names(site, columns={"power": "off"}) == []
    columns["power"] = "off"
    assert [found.name for found in site.store.site_nodes.page(SITE, query).nodes] == []
    assert names(site, columns={"power": "on"}) == ["n1"]


def test_nodes_come_with_what_is_published_and_what_is_set_for_them(site: Scenario, clock: FakeClock) -> None:
    names_ = ["n1", "n2", "n3", "n4"]
    commit(site, 1, dict.fromkeys(names_, "a"), one=names_)
    facts = {"site": SITE, "set_by": "ann", "set_at": clock.time, "reason": "fans"}
    later, before = (clock.time + timedelta(seconds=seconds) for seconds in (60, -60))
    view = {"site": SITE, "crashes": 0, "history": {}, "reason": "silent", "since": 0.0, "user_since": 0.0}

    def work(tx: Connection) -> None:
        sets = (("n1", "down", later), ("n2", "down", before), ("n3", "up", None))
        tx.execute(insert(user_state), [{**facts, "node": n, "state": s, "until": u} for n, s, u in sets])
        tx.execute(insert(node_view).values(**view, node="n2", state="down"))

    site.store._database.write(work)
    page = site.store.site_nodes.page(SITE, NodeQuery(with_states=True))
    assert page.states == {
        "n1": NodeStates(None, None, "down", "fans"),
        "n2": NodeStates("down", "silent", None, None),
        "n3": NodeStates(None, None, None, None),
        "n4": NodeStates(None, None, None, None),
    }
    assert site.store.site_nodes.page(SITE, NodeQuery()).states == {}


@pytest.mark.parametrize("expected", [PROVISIONER, None], ids=["named", "of the last action"])
def test_rule_30_a_filter_by_status_finds_what_is_shown(site: Scenario, expected: str | None) -> None:
    commit(site, 1, dict.fromkeys(("done", "wanted", "worked-on", "failed"), "a"), one=["done", "wanted"])
    site.store.actions.decide_connection(site.action().id, "drydock")
    change(site, node, node.c.site == SITE, owner=expected)
    change(site, node, node.c.name == "done", done_digest="a", done_revision=1)
    change(site, node, node.c.name == "worked-on", status="processing")
    change(site, node, node.c.name == "failed", status="error", error="bad")
    site.store.owners.check_in(PROVISIONER, 30)

    def found() -> dict[str, list[str]]:
        words = ("success", "pending", "processing", "error", "unresponsive")
        return {word: some for word in words if (some := names(site, standing=word))}

    rest = {"success": ["done"], "error": ["failed"]}
    assert found() == {**rest, "pending": ["wanted"], "processing": ["worked-on"]}
    site.clock.move(31)
    assert found() == {**rest, "unresponsive": ["wanted", "worked-on"]}
    assert names(site, standing="unresponsive", group="one", sort="rack") == ["wanted"]
    after = json.dumps([None, "wanted"])
    assert names(site, standing="unresponsive", after=after) == ["worked-on"]
