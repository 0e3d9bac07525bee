"""The roll-up that triggers keep is what counting from scratch gives, whatever is written and killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, func, select, update

from site_store import SiteStore
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.status.counting import Counts
from site_store.tables import action, metadata, node, site_trouble, status_count, task, task_trouble
from strategy_lib.phase import Phase
from tests.integration.site_engine.trees.tree_scenario import change, commit
from tests.integration.site_store import churn
from tests.integration.site_store.scenario import SITE, Scenario, outcome, want
from tests.support.processes import tied

ROOT = Path(__file__).parents[4]


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    made = Database(resolve(url))
    made.write(churn.prepare)
    yield made
    made.close()


def _token(database: Database, site: str, action_id: str = "") -> int:
    query = select(func.sum(status_count.c.records)).where(
        status_count.c.action_id == action_id, status_count.c.site == site, status_count.c.phase == "~touch"
    )
    return database.read(lambda tx: int(tx.scalar(query) or 0))


def _empty(tx: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        if table.name not in ("status_count", "store_state"):
            tx.execute(delete(table))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=12))
def test_the_roll_up_is_what_counting_gives_after_random_changes(url: str, seeds: list[int]) -> None:
    made = Database(resolve(url))
    try:
        made.write(_empty)
        made.write(churn.prepare)
        for seed in seeds:
            churn.change(made, random.Random(seed))
        assert Counts(made).verify().differences == ()
    finally:
        made.close()


def test_everything_deleted_leaves_nothing_counted(database: Database) -> None:
    for seed in range(20):
        churn.change(database, random.Random(seed))
    database.write(_empty)
    Counts(database).merge()
    left = select(func.count()).select_from(status_count).where(status_count.c.phase != "~touch")
    assert database.read(lambda tx: tx.scalar(left)) == 0
    assert Counts(database).verify().compared == 0


def test_what_is_wrong_is_found_named_and_counted_anew(store: SiteStore, site: Scenario) -> None:
    ran = site.running({"a": ["n1", "n2"]})
    cell = (status_count.c.action_id == ran.id, status_count.c.group_name == "a", status_count.c.phase == "deploy")
    store._database.write(lambda tx: tx.execute(update(status_count).where(*cell).values(records=7)))
    found = store.counts.verify()
    (wrong,) = found.differences
    assert (wrong.action_id, wrong.count.group, wrong.count.phase, wrong.count.records, wrong.found) == (
        ran.id,
        "a",
        "deploy",
        7,
        2,
    )
    assert "the roll-up says 7, there are 2" in str(wrong)
    before = _token(store._database, SITE, ran.id)
    assert store.counts.rebuild() == found.compared
    assert store.counts.verify().differences == ()
    assert _token(store._database, SITE, ran.id) > before


def _served(store: SiteStore, group: str = "") -> dict[str, int]:
    """Return how many nodes of the site, or of one of its groups, serve what."""
    cell = status_count.c
    query = select(cell.serves, func.sum(cell.records).label("records")).group_by(cell.serves)
    query = query.where(cell.action_id == "", cell.group_name == group, cell.phase != "~touch")
    rows = store._database.read(lambda tx: tx.execute(query).all())
    return {row.serves: int(row.records) for row in rows if row.records}


def test_rule_27_what_nodes_serve_is_counted_through_each_change_of_it(store: SiteStore, site: Scenario) -> None:
    commit(site, 1, {"n1": "x", "n2": "x"}, a=["n1", "n2"], b=["n2"])
    assert _served(store) == _served(store, "a") == {"nothing": 2}
    change(site, node, node.c.site == SITE, done_digest="x", done_revision=1)
    assert _served(store) == {"wanted": 2}
    want(store, 2, {"n1": "y", "n2": "x"})
    assert _served(store) == _served(store, "a") == {"older": 1, "wanted": 1}
    assert _served(store, "b") == {"wanted": 1}
    change(site, node, node.c.name == "n1", status="error", error="drifted: power is off", error_action=None)
    assert _served(store) == {"nothing": 1, "wanted": 1}, "a drifted node is not as it was left"
    change(site, node, node.c.name == "n2", doubt="somebody else deployed it")
    assert _served(store) == {"nothing": 2}
    assert store.counts.verify().differences == ()


def test_members_in_trouble_that_are_wrong_are_found_and_counted_anew(store: SiteStore, site: Scenario) -> None:
    commit(site, 1, {"n1": "x", "n2": "x"}, a=["n1", "n2"])
    change(site, node, node.c.name == "n1", status="error", error="no PXE")
    assert store.counts.verify().differences == ()
    store._database.write(lambda tx: tx.execute(update(site_trouble).values(node="n2")))
    assert sorted(str(one) for one in store.counts.verify().differences) == [
        "site north, group a: node n1 error of no PXE: the roll-up says 0, there are 1",
        "site north, group a: node n2 error of no PXE: the roll-up says 1, there are 0",
    ]
    store.counts.rebuild()
    assert store.counts.verify().differences == ()


def test_tasks_in_trouble_that_are_wrong_are_found_and_kept_anew(store: SiteStore, site: Scenario) -> None:
    ran = site.running({"a": ["n1", "n2"]})
    these = (task.c.action_id == ran.id, task.c.phase == "prepare")
    failed = update(task).where(*these, task.c.node == "n1").values(status="error", owner_group="a")
    store._database.write(lambda tx: tx.execute(failed))
    kept = select(task_trouble.c.owner_group, task_trouble.c.node, task_trouble.c.phase, task_trouble.c.status)
    assert store._database.read(lambda tx: tx.execute(kept).all()) == [("a", "n1", "prepare", "error")]
    assert store.counts.verify().differences == ()
    store._database.write(lambda tx: tx.execute(update(task_trouble).values(node="n2")))
    assert sorted(str(one) for one in store.counts.verify().differences) == [
        f"action {ran.id}, group a: task prepare error of n1: the roll-up says 0, there are 1",
        f"action {ran.id}, group a: task prepare error of n2: the roll-up says 1, there are 0",
    ]
    store.counts.rebuild()
    assert store.counts.verify().differences == ()
    store._database.write(lambda tx: tx.execute(update(task).where(*these).values(status="pending")))
    assert store._database.read(lambda tx: tx.execute(kept).all()) == []


def test_no_index_of_tasks_has_what_a_result_writes() -> None:
    # PostgreSQL writes a row that changed into all indexes of its table, if any of them has a column that changed.
    written = {"status", "ended", "error", "fixed"}
    indexed = {column.name for index in task.indexes for column in index.columns}
    assert not written & indexed
    assert all(index.dialect_options["postgresql"]["where"] is None for index in task.indexes)


def test_rule_34_a_node_of_two_groups_counts_in_both_and_once_in_the_whole(store: SiteStore, site: Scenario) -> None:
    ran = site.running({"a": ["n1", "n2"], "b": ["n2"]})
    query = select(status_count.c.group_name, func.sum(status_count.c.records)).where(
        status_count.c.action_id == ran.id, status_count.c.phase == "deploy", status_count.c.status == "pending"
    )
    found = store._database.read(lambda tx: tx.execute(query.group_by(status_count.c.group_name)).all())
    assert {row.group_name: row[1] for row in found} == {"": 2, "a": 2, "b": 1}


def test_the_change_token_of_an_action_grows_with_each_change_and_stays_when_parts_are_merged(
    store: SiteStore, site: Scenario
) -> None:
    ran = site.running({"a": ["n1", "n2"]})
    tokens = [_token(store._database, SITE, ran.id)]

    def grown() -> bool:
        tokens.append(_token(store._database, SITE, ran.id))
        return tokens[-1] > tokens[-2]

    record = site.open(ran, "a")
    assert grown()
    begun = site.begin(record, Phase.PREPARE)
    assert grown()
    site.submit(begun)
    assert grown()
    store.operations.record_outcome(begun.op, outcome(["n1"], ["n2"]))
    assert grown()
    store.steps.begin(ran.id, "deploy_group", 1, "a")
    assert grown()
    store.counts.merge()
    assert not grown()
    assert tokens[-1] == tokens[-2]


def test_the_change_token_of_a_site_grows_with_its_nodes_actions_and_groups_only(
    store: SiteStore, site: Scenario
) -> None:
    def changes(work: object) -> bool:
        before = _token(store._database, SITE)
        assert callable(work)
        work()
        return _token(store._database, SITE) > before

    assert changes(lambda: want(store, 1, {"n1": "x"}))
    assert not changes(lambda: want(store, 1, {"n1": "x"}))
    assert not changes(lambda: store.nodes.record_conditions(SITE, {"n1": "deployed"}))
    assert not changes(lambda: want(store, 1, {"n1": "x"}, "south"))
    assert changes(lambda: site.running({"a": ["n1"]}))
    ran = store.actions.newest(SITE)[0].action
    assert changes(lambda: store.actions.set_paused(ran.id, True))
    assert changes(lambda: site.open(ran, "a"))


def test_an_action_that_is_deleted_leaves_no_counts(store: SiteStore, site: Scenario) -> None:
    ran = site.running({"a": ["n1"]})
    store.locks.release(ran.id)

    def work(tx: Connection) -> int | None:
        tx.execute(delete(action).where(action.c.id == ran.id))
        assert tx.scalar(select(func.count()).select_from(task)) == 0
        return tx.scalar(select(func.count()).select_from(status_count).where(status_count.c.action_id == ran.id))

    assert store._database.write(work) == 0


def test_writers_at_the_same_time_wait_for_no_row_of_the_roll_up(database: Database) -> None:
    """Two transactions change tasks of one action at once: neither waits for the other to end."""
    rows = [{"action_id": "a1", "node": name, "phase": "deploy", "status": "pending"} for name in ("n1", "n2")]
    database.write(lambda tx: tx.execute(task.insert(), rows))
    inside, over = threading.Event(), threading.Event()

    def slow(tx: Connection) -> None:
        tx.execute(update(task).where(task.c.node == "n1").values(status="processing"))
        inside.set()
        assert over.wait(30), "the other one waited for this one"

    first = threading.Thread(target=database.write, args=(slow,))
    first.start()
    assert inside.wait(30)
    database.write(lambda tx: tx.execute(update(task).where(task.c.node == "n2").values(status="processing")))
    over.set()
    first.join()
    assert Counts(database).verify().differences == ()


COUNTS = [
    pytest.param(10_000, marks=[pytest.mark.endurance, pytest.mark.timeout(2400)]),
    pytest.param(100_000, marks=pytest.mark.soak),
]


@pytest.mark.parametrize("count", COUNTS)
def test_the_roll_up_survives_kills_in_the_middle_of_random_changes(url: str, database: Database, count: int) -> None:
    """Processes change at random, two at a time, and each is killed without a warning; what they left agrees."""
    dice = random.Random(count)
    made, seed = 0, 0
    # They lock rows in any order: of two that wait for each other one is to find out soon.
    url += "&options=-cdeadlock_timeout%3D20ms" if url.startswith("postgresql") else ""
    while made < count:
        longest = min(500, count)
        lives = [dice.randint(longest // 2, longest) for _ in range(2)]
        processes = []
        for life in lives:
            seed += 1
            command = tied(sys.executable, "-m", "tests.integration.site_store.churn", url, str(seed), str(life * 10))
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT))
        for life, process in zip(lives, processes, strict=True):
            assert process.stdout is not None
            for _ in range(life):
                assert process.stdout.readline(), "it ended by itself"
                made += 1
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert Counts(database).verify().differences == ()
    before = _token(database, "north")
    Counts(database).merge()
    assert _token(database, "north") == before
    assert Counts(database).verify().differences == ()
