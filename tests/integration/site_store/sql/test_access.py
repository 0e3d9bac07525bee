"""Rule 41: what the store lets a person, a step and a watcher do; every cell is tried."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from sqlalchemy import Executable, Table, UpdateBase, delete, insert, literal, select, text, update
from sqlalchemy.dialects import postgresql

from site_store import AccessRefused, BufferMode, SiteStore
from site_store.sql.access import DESIGN_TABLES, WISHES
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.tables import metadata, node
from strategy_lib.goals.actors import Access, Actor, may
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design

DESIGN = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"
OTHER = DESIGN.replace("{}", "{rack: r1}")
#: The tables that a step may write. `node` holds both: `wanted_*` is written by a commit and by a touch.
FEEDBACK = {
    *("action", "action_audit", "action_report", "action_step", "approval", "check_result", "delivery", "event"),
    *("group_node", "group_run", "lease", "node", "node_error", "operation", "outbox", "owner", "provisioner_call"),
    *("provisioner_list", "reported", "reporter", "site_audit", "site_lock", "status_count", "task", "node_view"),
    *("node_drift", "node_trouble", "site_trouble", "task_trouble", "site_view", "site_view_change", "repair"),
    *("node_question", "shared_list"),
}
#: What each call does to the site.
CALLS: dict[str, tuple[Access, Callable[[SiteStore], object]]] = {
    "the newest revision": (Access.READ_DESIGN, lambda store: store.revisions.get(SITE)),
    "the buffer": (Access.READ_DESIGN, lambda store: store.buffers.get(SITE)),
    "the objects": (Access.READ_DESIGN, lambda store: store.objects.of_site(SITE)),
    "what was done": (Access.READ_FEEDBACK, lambda store: store.nodes.of_site(SITE)),
    "a commit": (Access.WRITE_DESIGN, lambda store: commit_design(store, SITE, OTHER)),
    "to the buffer": (Access.WRITE_DESIGN, lambda store: store.buffers.put(SITE, "a", "x", [], BufferMode.REJECT, "x")),
    "discard": (Access.WRITE_DESIGN, lambda store: store.buffers.discard(SITE, "ann")),
    "a candidate": (Access.WRITE_DESIGN, lambda store: store.revisions.add_candidate(SITE, "x")),
    "no candidate": (Access.WRITE_DESIGN, lambda store: store.revisions.remove_candidate("x")),
    "touch": (Access.TOUCH, lambda store: store.wishes.touch(SITE, ["n1"], "ann")),
    "adopt": (Access.WRITE_FEEDBACK, lambda store: store.wishes.adopt(SITE, ["n1"], "ann")),
    "an event": (Access.WRITE_FEEDBACK, lambda store: store.events.add(SITE, "kind", "said")),
    "an owner": (Access.WRITE_FEEDBACK, lambda store: store.owners.check_in("airflow:x", 60)),
    "what is seen": (Access.WRITE_FEEDBACK, lambda store: store.provisioner_lists.save(SITE, "drydock", {})),
}


@pytest.fixture
def opened(url: str, clock: FakeClock) -> Iterator[Callable[[Actor | None], SiteStore]]:
    stores: list[SiteStore] = []

    def open_as(actor: Actor | None) -> SiteStore:
        stores.append(SiteStore.open(url, now=clock, actor=actor, touches=["node/n1"]))
        return stores[-1]

    commit_design(open_as(None), SITE, DESIGN)
    yield open_as
    for store in stores:
        store.close()


@pytest.mark.parametrize("actor", [None, Actor.STEP, Actor.WATCHER, Actor.POLICY])
def test_rule_41_every_cell(opened: Callable[[Actor | None], SiteStore], actor: Actor | None) -> None:
    store = opened(actor)
    for name, (access, call) in CALLS.items():
        if access in (Access.READ_DESIGN, Access.READ_FEEDBACK) or actor is None or may(actor, access):
            call(store)
        else:
            with pytest.raises(AccessRefused, match=f"a {actor} may not"):
                call(store)
            if access is Access.WRITE_DESIGN:
                assert store.revisions.get(SITE).number == 1, name
                assert store.buffers.get(SITE).is_empty, name


def execute(database: Database, statement: Executable) -> None:
    database.write(lambda tx: tx.execute(statement))


def test_rule_41_a_step_writes_no_table_of_the_design(url: str) -> None:
    writes: tuple[Callable[[Table], UpdateBase], ...] = (insert, update, delete)
    database = Database(resolve(url), actor=Actor.STEP)
    with contextlib.closing(database):
        for table, write in product(DESIGN_TABLES, writes):
            with pytest.raises(AccessRefused, match="a step may not write the design"):
                execute(database, write(table))


def write_many(database: Database, column: str) -> None:
    database.write(lambda tx: tx.execute(update(node), {column: None}))


def wishes(column: str) -> list[UpdateBase]:
    """Return each way in which a statement can write a column of `node`."""
    row = {"site": SITE, "name": "n1", column: None}
    met = postgresql.insert(node).values(site=SITE, name="n1")
    return [
        update(node).values({column: None}),
        update(node).values({node.c[column]: None}),
        update(node).ordered_values((node.c[column], None)),
        insert(node).values(row),
        insert(node).values([row, row]),
        insert(node).from_select(list(row), select(*(literal(None).label(name) for name in row))),
        met.on_conflict_do_update(index_elements=["site", "name"], set_={column: None}),
    ]


def test_rule_41_of_a_node_a_step_writes_no_wish(url: str) -> None:
    assert {one.name for one in node.c if one.name.startswith(("wanted_", "touched"))} == WISHES
    database = Database(resolve(url), actor=Actor.STEP)
    with contextlib.closing(database):
        for column in sorted(WISHES):
            for statement in wishes(column):
                with pytest.raises(AccessRefused, match="a step may not write the design"):
                    execute(database, statement)
            with pytest.raises(AccessRefused, match="may not write the design"):
                write_many(database, column)
        with pytest.raises(AccessRefused, match="may not write the design"):
            execute(database, delete(node))
        execute(database, update(node).where(node.c.wanted_digest.is_(None)).values(error=None))


@pytest.mark.parametrize(
    "words",
    [
        "DELETE FROM revision",
        "update node SET wanted_digest = ''",
        "WITH gone AS (DELETE FROM revision RETURNING *) SELECT * FROM gone",
        "DROP TABLE buffer",
        "SELECT 1; DELETE FROM revision",
    ],
)
def test_rule_41_a_step_writes_nothing_by_sql_in_words(url: str, words: str) -> None:
    database = Database(resolve(url), actor=Actor.STEP)
    with contextlib.closing(database):
        with pytest.raises(AccessRefused, match="a step may not write by SQL in words"):
            execute(database, text(words))
        with pytest.raises(AccessRefused, match="a step may not write by SQL in words"):
            database.write(lambda tx: tx.exec_driver_sql(words))
        execute(database, text("SELECT count(*) FROM revision"))


def test_rule_41_each_table_is_of_the_design_or_feedback() -> None:
    assert {table.name for table in metadata.sorted_tables} - {table.name for table in DESIGN_TABLES} == FEEDBACK


def test_rule_41_a_watcher_touches_only_what_it_names(opened: Callable[[Actor | None], SiteStore]) -> None:
    store = opened(Actor.WATCHER)
    with pytest.raises(AccessRefused, match="a watcher may touch only what it names"):
        store.wishes.touch(SITE, ["n1", "n2"], "watcher:it")
    assert store.wishes.touch(SITE, ["n1"], "watcher:it") == {"n1": 2}
