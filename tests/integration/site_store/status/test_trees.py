"""Facts for status trees: what each view reads, in how many statements, and its change token."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, update

from site_engine.trees.action import action_header
from site_store import ActionState, NewAction, NewPlan, NodeQuery, NotFound, PlannedGroup, SiteStore, ValueRefused
from site_store.tables import action as action_table
from site_store.tables import approval, node, revision, site_group, site_group_node, task
from site_store.tables import site as site_table
from site_store.trees.tree_facts import FirstTroubles
from strategy_lib.phase import Phase, Reason
from strategy_lib.strategy import Group, Share
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, want
from tests.support.stores import counted_statements


def group(store: SiteStore, name: str, position: int, *nodes: str, depends_on: tuple[str, ...] = ()) -> None:
    """Commit a group of the site, as the commit of a revision does."""
    facts = {"site": SITE, "name": name, "position": position, "critical": True, "depends_on": list(depends_on)}

    def work(tx: Connection) -> None:
        tx.execute(insert(site_group).values(**facts, definition={}))
        for one in nodes:
            tx.execute(insert(site_group_node).values(site=SITE, group_name=name, node=one))

    store._database.write(work)


def test_an_action_is_read_in_two_statements(site: Scenario) -> None:
    action, first = site.opened({"one": ["n1", "n2"], "two": ["n2", "n3"]})
    site.do(first, Phase.PREPARE)
    site.do(first, Phase.DEPLOY, outcome(["n1"], ["n2"], notes={"n2": "IPMI"}))
    site.fail(first, Reason.DEPLOY_CRITERIA)
    with counted_statements(site.store) as statements:
        facts = site.store.trees.action(action.id, leaves=10)
    assert len(statements) == 2
    assert facts.read_at == site.clock.time
    assert [(one.name, one.position, one.state, one.reason) for one in facts.groups] == [
        ("one", 0, "failure", "deploy_criteria"),
        ("two", 1, "pending", None),
    ]
    (trouble,) = facts.groups[0].troubles
    assert (trouble.node, trouble.phase, trouble.status, trouble.message) == ("n2", "deploy", "error", "IPMI")
    cells = {(cell.group, cell.phase, cell.status): cell.records for cell in facts.counts}
    assert cells["", "deploy", "error"] == cells["one", "deploy", "error"] == cells["two", "deploy", "error"] == 1
    assert cells["", "prepare", "success"] == cells["one", "prepare", "success"] == 2
    assert cells["two", "prepare", "success"] == cells["two", "prepare", "pending"] == 1
    assert [leaf.node for leaf in facts.leaves if (leaf.group, leaf.phase) == ("one", "deploy")] == ["n2", "n1"]
    assert site.store.trees.known_action(action.id).token == facts.token


def test_of_each_group_and_phase_as_many_nodes_are_read_as_are_asked_for(site: Scenario) -> None:
    action = site.running({"one": [f"n{i}" for i in range(9)], "two": ["n1"]})
    facts = site.store.trees.action(action.id, leaves=2)
    found = sorted((leaf.group, leaf.phase, leaf.node) for leaf in facts.leaves)
    assert found == [
        ("one", "deploy", "n0"),
        ("one", "deploy", "n1"),
        ("one", "prepare", "n0"),
        ("one", "prepare", "n1"),
        ("two", "deploy", "n1"),
        ("two", "prepare", "n1"),
    ]


def test_earlier_successes_of_the_whole_site_say_how_long_an_action_takes(site: Scenario, clock: FakeClock) -> None:
    store = site.store
    for number, seconds in enumerate((10, 30)):
        earlier = site.running({"one": ["n1"]}, run_id=f"earlier-{number}")
        clock.move(seconds)
        assert store.actions.close(earlier.id, ActionState.SUCCESS, "done")
        store.locks.release(earlier.id)
        clock.move(1)
    targeted = store.actions.ensure(
        "deploy_site", "few", NewAction("deploy_site", SITE, 1, {}, "ann", whole_site=False)
    )
    other = store.actions.ensure("update_site", "update", NewAction("update_site", SITE, 1, {}, "ann"))
    for aside in (targeted, other):
        store.locks.acquire(aside.id)
        clock.move(2)
        assert store.actions.close(aside.id, ActionState.SUCCESS, "done")
        store.locks.release(aside.id)
    running = site.running({"one": ["n1"]}, run_id="now")
    assert sorted(store.trees.action(running.id).durations) == [10.0, 30.0]
    assert store.trees.action(earlier.id).durations == ()
    assert action_header(store.trees.action(running.id))["estimate"] == 20.0


def test_the_pause_between_two_tries_of_an_action_is_not_work(site: Scenario, clock: FakeClock) -> None:
    store = site.store
    twice = site.running({"one": ["n1"]}, run_id="twice")
    clock.move(20)
    assert store.actions.close(twice.id, ActionState.FAILED, "group one failed")
    store.locks.release(twice.id)
    clock.move(3600)
    store.locks.acquire(twice.id)
    clock.move(5)
    assert action_header(store.trees.action(twice.id))["elapsed"] == 25.0
    assert store.actions.close(twice.id, ActionState.SUCCESS, "done")
    store.locks.release(twice.id)
    running = site.running({"one": ["n1"]}, run_id="now")
    assert list(store.trees.action(running.id).durations) == [25.0]


def test_gates_come_with_their_action(site: Scenario, clock: FakeClock) -> None:
    action = site.running({"one": ["n1"]})
    values = {"action_id": action.id, "group_name": "one", "attempt": 1, "moment": "before", "text": "go?"}
    asked = insert(approval).values(**values, approvers=["ann"], asked=clock.time, deadline=None)
    site.store._database.write(lambda tx: tx.execute(asked))
    (gate,) = site.store.trees.action(action.id).approvals
    assert (gate.group, gate.text, gate.approvers, gate.asked, gate.answer) == (
        "one",
        "go?",
        ("ann",),
        clock.time,
        None,
    )


def test_an_action_that_does_not_exist(site: Scenario) -> None:
    for ask in (site.store.trees.action, site.store.trees.known_action, site.store.trees.group_nodes):
        with pytest.raises(NotFound, match="no action 'nobody'"):
            ask("nobody")
    assert site.store.trees.actions(["nobody"]) == []


def test_the_nodes_of_an_action_come_in_pages(site: Scenario) -> None:
    action = site.running({"one": ["n1", "n2"], "two": ["n2"]})
    seen, after = [], None
    while True:
        page = site.store.trees.group_nodes(action.id, limit=4, after=after)
        seen += [(leaf.node, leaf.group, leaf.phase) for leaf in page.facts.leaves]
        after = page.after
        if after is None:
            break
    assert seen == [
        (name, group, phase)
        for name, groups in (("n1", ("one",)), ("n2", ("one", "two")))
        for group in groups
        for phase in ("deploy", "prepare")
    ]
    assert len(site.store.trees.group_nodes(action.id, "two").facts.leaves) == 2
    assert site.store.trees.group_nodes(action.id, statuses=["error"]).facts.leaves == []


def test_the_nodes_of_a_group_come_with_those_that_failed(site: Scenario) -> None:
    action = site.running({"one": ["n1", "n2", "n3"], "two": ["n2"]})
    failed = (task.c.action_id == action.id, task.c.node.in_(("n2", "n3")), task.c.phase == "deploy")
    site.store._database.write(
        lambda tx: tx.execute(update(task).where(*failed).values(status="error", owner_group="one"))
    )
    ask = site.store.trees.group_with_troubles
    page, troubled = ask(action.id, "one", 3, None, ["error", "unknown"], 5)
    seen = [(leaf.node, leaf.phase) for leaf in page.facts.leaves]
    assert seen == [("n1", "deploy"), ("n1", "prepare"), ("n2", "deploy")]
    assert [(leaf.node, leaf.phase, leaf.status) for leaf in troubled] == [
        ("n2", "deploy", "error"),
        ("n3", "deploy", "error"),
    ]
    assert page.after == ("n2", "one", "deploy")
    rest, none = ask(action.id, "one", 3, page.after)
    assert [(leaf.node, leaf.phase) for leaf in rest.facts.leaves] == [
        ("n2", "prepare"),
        ("n3", "deploy"),
        ("n3", "prepare"),
    ]
    assert (rest.after, none) == (None, [])
    assert [leaf.node for leaf in ask(action.id, "one", 3, None, ["error"], 1)[1]] == ["n2"]
    with pytest.raises(NotFound, match="no action 'nobody'"):
        ask("nobody", "one")


def test_a_site_is_read_in_two_statements(site: Scenario, clock: FakeClock) -> None:
    want(site.store, 3, {"n1": "a", "n2": "b", "n3": "c"})
    site.store._database.write(lambda tx: tx.execute(insert(site_table).values(name=SITE, created=clock.time)))
    committed = {"site": SITE, "number": 3, "digest": "d", "design_token": "t", "created": clock.time}
    site.store._database.write(lambda tx: tx.execute(insert(revision).values(**committed, created_by="ann")))
    group(site.store, "racks", 1, "n1", "n2", depends_on=("control",))
    group(site.store, "control", 0, "n2")
    failed = {"status": "error", "error": "IPMI", "error_revision": 3}
    site.store._database.write(lambda tx: tx.execute(update(node).where(node.c.name == "n2").values(**failed)))
    with counted_statements(site.store) as statements:
        facts = site.store.trees.site(SITE)
    assert len(statements) == 2
    assert (facts.committed, facts.done, facts.running, facts.last) == (3, None, None, None)
    assert [(one.name, one.depends_on) for one in facts.groups] == [("control", ()), ("racks", ("control",))]
    first = [FirstTroubles("error", ["n2"], ["IPMI"])]
    assert facts.troubles == {"control": first, "racks": first}
    cells = {(cell.group, cell.phase, cell.status): cell.records for cell in facts.counts}
    assert cells == {
        ("", "grouped", "pending"): 1,
        ("", "grouped", "error"): 1,
        ("", "no group", "pending"): 1,
        ("control", "grouped", "error"): 1,
        ("racks", "grouped", "error"): 1,
        ("racks", "grouped", "pending"): 1,
    }
    assert site.store.trees.site_token(SITE) == facts.token
    deep = site.store.trees.site(SITE, nodes=5)
    assert [(under, found.name) for under, found in deep.nodes] == [
        ("control", "n2"),
        ("no group", "n3"),
        ("racks", "n2"),
        ("racks", "n1"),
    ]


def test_an_owner_that_comes_or_goes_changes_the_token(site: Scenario, clock: FakeClock) -> None:
    action = site.running({"one": ["n1"]})
    tokens = [site.store.trees.known_action(action.id).token]
    site.store.owners.check_in("airflow:deploy_site", 30)
    tokens.append(site.store.trees.known_action(action.id).token)
    clock.move(30)
    assert site.store.trees.known_action(action.id).token == tokens[-1]
    clock.move(1)
    tokens.append(site.store.trees.known_action(action.id).token)
    assert len(set(tokens)) == 3


def test_the_running_and_the_last_action_of_a_site(site: Scenario, clock: FakeClock) -> None:
    first = site.running({"one": ["n1"]}, run_id="first")
    site.store.actions.close(first.id, ActionState.FAILED, "one failed")
    clock.move(1)
    second = site.running({"one": ["n1"]}, run_id="second")
    facts = site.store.trees.site(SITE)
    assert facts.running is not None
    assert facts.last is not None
    assert (facts.running.id, facts.last.id, facts.last.verdict) == (second.id, first.id, "one failed")
    rehearsal = {"dry_run": True}
    site.store._database.write(lambda tx: tx.execute(update(action_table).values(**rehearsal)))
    assert site.store.trees.site(SITE).running is None


def _names(site: Scenario, query: NodeQuery) -> list[str]:
    """All names that a query finds, page by page."""
    found: list[str] = []
    while True:
        page = site.store.site_nodes.page(SITE, query)
        found += [one.name for one in page.nodes]
        if page.after is None:
            return found
        query = replace(query, after=page.after)


@pytest.fixture
def table(site: Scenario, clock: FakeClock) -> Scenario:
    """A site with five nodes, one of them in no group, and one that left the design."""
    want(site.store, 3, {f"n{i}": "a" for i in range(5)})
    group(site.store, "low", 0, "n0", "n1", "n2")
    group(site.store, "even", 1, "n0", "n2")
    group(site.store, "three", 2, "n3")
    changes: dict[str, dict[str, Any]] = {
        "n0": {"rack": "r2", "power": "on"},
        "n1": {"rack": "r1", "status": "error", "error": "IPMI is 100% silent", "error_revision": 3},
        "n2": {"rack": "r1", "done_digest": "a", "done_revision": 3, "provisioner_status": "Deployed"},
        "n4": {"wanted_digest": None, "wanted_revision": None, "done_digest": "old", "done_revision": 1},
    }

    def work(tx: Connection) -> None:
        for name, values in changes.items():
            tx.execute(update(node).where(node.c.name == name).values(**values))

    site.store._database.write(work)
    site.store.nodes.record_conditions(SITE, {"stranger": "ready"})
    return site


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (NodeQuery(), "n0 n1 n2 n3 n4"),
        (NodeQuery(descending=True), "n4 n3 n2 n1 n0"),
        (NodeQuery(sort="rack"), "n1 n2 n0 n3 n4"),
        (NodeQuery(sort="rack", descending=True), "n4 n3 n0 n2 n1"),
        (NodeQuery(sort="done_revision"), "n4 n2 n0 n1 n3"),
        (NodeQuery(sort="standing"), "n1 n0 n3 n4 n2"),
        (NodeQuery(sort="error"), "n1 n0 n2 n3 n4"),
        (NodeQuery(group="low"), "n0 n1 n2"),
        (NodeQuery(group="no group"), ""),
        (NodeQuery(group="to be removed"), "n4"),
        (NodeQuery(rack="r1"), "n1 n2"),
        (NodeQuery(rack="r1", group="even"), "n2"),
        (NodeQuery(standing="error"), "n1"),
        (NodeQuery(standing="success"), "n2"),
        (NodeQuery(text="N3"), "n3"),
        (NodeQuery(text="%"), ""),
        (NodeQuery(columns={"error": "100%"}), "n1"),
        (NodeQuery(columns={"provisioner_status": "Deployed"}), "n2"),
        (NodeQuery(columns={"power": "on"}), "n0"),
        (NodeQuery(columns={"done_revision": "1"}), "n4"),
        (NodeQuery(sort="group"), "n0 n2 n1 n3 n4"),
        (NodeQuery(sort="group", descending=True), "n4 n3 n1 n2 n0"),
        (NodeQuery(sort="group", standing="error"), "n1"),
    ],
    ids=str,
)
def test_nodes_are_filtered_and_sorted_and_come_in_pages(table: Scenario, query: NodeQuery, names: str) -> None:
    assert " ".join(_names(table, query)) == names
    small = replace(query, limit=2)
    assert " ".join(_names(table, small)) == names
    assert table.store.site_nodes.page(SITE, small).total == len(names.split())


def test_a_name_with_capitals_is_found_in_either_case(table: Scenario) -> None:
    row = insert(node).values(site=SITE, name="Web-1", wanted_revision=1, wanted_digest="d")
    table.store._database.write(lambda tx: tx.execute(row))
    for text in ("web", "WEB", "Web-1", "eb-"):
        assert _names(table, NodeQuery(text=text)) == ["Web-1"]


def test_a_page_of_nodes_is_read_in_two_statements(table: Scenario) -> None:
    with counted_statements(table.store) as statements:
        page = table.store.site_nodes.page(SITE, NodeQuery(limit=3))
    assert len(statements) == 2
    assert [found.groups for found in page.nodes] == [("even", "low"), ("low",), ("even", "low")]
    assert page.token == table.store.trees.site_token(SITE)


@pytest.mark.parametrize("query", [NodeQuery(sort="secret"), NodeQuery(columns={"secret": "x"}), NodeQuery(after="x")])
def test_a_column_that_does_not_exist_is_refused(table: Scenario, query: NodeQuery) -> None:
    with pytest.raises(ValueRefused):
        table.store.site_nodes.page(SITE, query)


def test_the_past_of_a_node(site: Scenario, clock: FakeClock) -> None:
    first, opened = site.opened({"one": ["n1", "n2"]}, run_id="first")
    site.do(opened, Phase.PREPARE)
    clock.move(5)
    site.do(opened, Phase.DEPLOY, outcome(["n2"], ["n1"], notes={"n1": "IPMI"}))
    site.fail(opened)
    site.open(first, "one", "second")
    site.store.actions.close(first.id, ActionState.FAILED, "one failed")
    clock.move(5)
    second = site.running({"one": ["n1"]}, run_id="second")
    past = site.store.site_nodes.past(SITE, "n1")
    assert [(one.action_id, one.phase, one.status) for one in past.tasks] == [
        (second.id, "prepare", "pending"),
        (second.id, "deploy", "pending"),
        (first.id, "prepare", "pending"),
        (first.id, "deploy", "pending"),
    ]
    assert past.before is None
    (earlier,) = past.events
    assert (earlier.kind, earlier.group, earlier.at) == ("earlier_result", "one", clock.time - timedelta(seconds=5))
    assert earlier.data["deploy"]["error"] == "IPMI"
    newest = site.store.site_nodes.past(SITE, "n1", limit=1)
    assert {one.action_id for one in newest.tasks} == {second.id}
    assert newest.before == second.id
    older = site.store.site_nodes.past(SITE, "n1", limit=1, before=second.id)
    assert ({one.action_id for one in older.tasks}, older.before) == ({first.id}, None)
    assert site.store.site_nodes.past(SITE, "nobody").tasks == []


def test_rule_59_a_group_says_how_it_goes_in_batches(site: Scenario) -> None:
    action = site.holding()
    groups = [
        Group("a", critical=True, max_in_flight=Share(10, is_percent=True), canary=Share(2)),
        Group("b", critical=True, max_in_flight=Share(40)),
        Group("c", critical=True),
    ]
    site.store.groups.save_plan(action.id, NewPlan([PlannedGroup(each, ("n1",)) for each in groups], (), {}))
    found = [(one.max_in_flight, one.canary) for one in site.store.trees.action(action.id).groups]
    assert found == [(Share(10, is_percent=True), Share(2)), (Share(40), None), (None, None)]
