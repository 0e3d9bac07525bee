"""Measures status trees of a large site: `make bench`.

The whole is read with few statements, whatever the number of nodes; a page of nodes by indexes; a batch of results
keeps the roll-up in its own transaction. The machine's own disk is measured.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Insert, Integer, case, cast, func, insert, literal, select, text, update

from site_engine.trees.nodes import action_nodes, site_nodes
from site_engine.trees.status_trees import ACTION_DEPTH, SITE_DEPTH, action_tree, site_tree, tree_to_dict
from site_store import (
    ActionRecord,
    Claim,
    GroupRecord,
    NewAction,
    NewPlan,
    NodeQuery,
    OperationStatus,
    PlannedGroup,
    SiteStore,
)
from site_store.sql.database import Database
from site_store.sql.postgresql import names
from site_store.status.counting import Counts
from site_store.tables import node, revision, site_group, site_group_node, status_count
from site_store.tables import site as site_table
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.bench.harness import Table, new_store, options, p95, timed

SITE = "large"
BATCH = 500
VIEWERS = 50
EVERY = 2.0


@dataclass(frozen=True, slots=True)
class Size:
    """How large the site is."""

    nodes: int
    groups: int

    def members(self, group: int) -> list[str]:
        """Names of the nodes of a group."""
        each = self.nodes // self.groups
        return [f"node-{number:07}" for number in range(group * each, (group + 1) * each)]


def fill(store: SiteStore, size: Size) -> ActionRecord:
    """Commit a site of this size and plan an action on it; every hundredth node is in trouble."""
    fill_site(store, size)
    every = [name for group in range(size.groups) for name in size.members(group)]
    action = store.actions.ensure("deploy_site", f"{SITE}__run", NewAction("deploy_site", SITE, 1, {}, "ann"))
    store.locks.acquire(action.id)
    planned = [
        PlannedGroup(Group(f"group-{group:04}", critical=group % 3 == 0), tuple(size.members(group)))
        for group in range(size.groups)
    ]
    store.groups.save_plan(action.id, NewPlan(planned, (), dict.fromkeys(every, "2:a:b")))
    for owner in ("airflow:deploy_site", "provisioner:slipway_provisioner"):
        store.owners.check_in(owner, 3600)
    return store.actions.get(action.id)


def fill_site(store: SiteStore, size: Size) -> None:
    """Commit a site of this size; every hundredth node is in trouble."""
    now = datetime.now(UTC)
    # So many rows at once take as long as they take.
    database = Database(store._database.url, bounded=False)

    def commit(tx: Connection) -> None:
        tx.execute(insert(site_table).values(name=SITE, created=now))
        facts = {"site": SITE, "number": 1, "digest": "d", "design_token": "t", "created": now, "created_by": "ann"}
        tx.execute(insert(revision).values(**facts))
        tx.execute(
            insert(site_group),
            [
                {
                    "site": SITE,
                    "name": f"group-{group:04}",
                    "position": group,
                    "critical": group % 3 == 0,
                    "depends_on": [f"group-{group - 1:04}"] if group else [],
                    "definition": {},
                }
                for group in range(size.groups)
            ],
        )

    database.write(commit)
    for group in range(size.groups):
        database.write(lambda tx, group=group: tx.execute(_nodes_of_group(tx, size, group, now)))  # type: ignore[misc]
    # The groups in one statement, as a commit does it.
    of_rack = func.replace(node.c.rack, "rack", "group")
    members = insert(site_group_node).from_select(
        ["site", "group_name", "node"], select(node.c.site, of_rack, node.c.name)
    )
    database.write(lambda tx: tx.execute(members))
    database.refresh_statistics(size.nodes, node, site_group_node)
    database.close()


def _nodes_of_group(tx: Connection, size: Size, group: int, now: datetime) -> Insert:
    """Insert the nodes of a group by one statement; the database makes the rows of their names."""
    name = names(size.members(group)).subquery().c.value
    number = cast(func.substr(name, len("node-") + 1), Integer)
    done, failed = number % 2 == 1, number % 100 == 0
    facts: dict[str, Any] = {
        "site": literal(SITE),
        "name": name,
        "wanted_revision": literal(1),
        "wanted_digest": literal("2:a:b"),
        "done_revision": case((done, 1)),
        "done_digest": case((done, "2:a:b")),
        "status": case((failed, "error")),
        "error": case((failed, name + ": no answer from its BMC")),
        "error_revision": case((failed, 1)),
        "rack": literal(f"rack-{group:04}"),
        "provisioner_status": case((number % 3 == 0, "Deployed"), (number % 3 == 1, "Ready"), else_="Failed"),
        "power": case((number % 2 == 0, "on"), else_="off"),
        "last_updated": literal(now, node.c.last_updated.type),
        "owner": literal("provisioner:slipway_provisioner"),
    }
    return insert(node).from_select(list(facts), select(*facts.values()))


def fail_many(store: SiteStore) -> None:
    """Have a third of all nodes fail, in one statement."""
    number = cast(func.substr(node.c.name, len("node-") + 1), Integer)
    said = {"status": "error", "error": node.c.name + ": its disk is full", "error_revision": 1}
    failed = update(node).where(number % 3 == 0).values(said)
    store._database.write(lambda tx: tx.execute(failed))


def submitted(store: SiteStore, record: GroupRecord, phase: Phase, nodes: list[str]) -> int:
    """Begin and submit an operation; return its number."""
    begun = store.operations.begin(
        Claim(record.action_id, SITE, record.name, record.attempt, phase, nodes, "file:///d", None)
    )
    assert store.operations.acquire_lease(begun.op, "me", 30, sending=True)
    store.operations.mark_submitted(begun.op, f"task-{begun.op}")
    return begun.op


def batches(store: SiteStore, action: ActionRecord, size: Size, count: int) -> list[float]:
    """Record results of 500 nodes at once, some of them failures; return milliseconds."""
    taken = []
    for group in range(count):
        record = store.groups.open_attempt(action.id, f"group-{group:04}", "first")
        names = size.members(group)[:BATCH]
        op = submitted(store, record, Phase.PREPARE, names)
        failed = frozenset(names[:5])
        result = Outcome(frozenset(names) - failed, failed, frozenset(), notes=dict.fromkeys(failed, "BMC is silent"))
        started = time.perf_counter()
        store.operations.record_outcome(op, result, status=OperationStatus.COMPLETE, result="success")
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def watching(store: SiteStore, action: ActionRecord) -> float:
    """Return the percentage of a core that viewers cost who look every two seconds, while something changes always.

    They share what is shown: it is made anew once a second, when the change token is another one.
    """
    polls = VIEWERS / EVERY
    seconds = 4

    def look() -> None:
        for _ in range(int(polls)):
            store.trees.known_action(action.id)
        tree_to_dict(action_tree(store, action.id), ACTION_DEPTH)

    look()
    started = time.process_time()
    for _ in range(seconds):
        look()
    return (time.process_time() - started) / seconds * 100


QUERIES = {
    "by name": NodeQuery(),
    "sorted by rack": NodeQuery(sort="rack", descending=True),
    "sorted by status": NodeQuery(sort="standing"),
    "sorted by the provisioner's status": NodeQuery(sort="provisioner_status"),
    "sorted by time": NodeQuery(sort="last_updated", descending=True),
    "sorted by error": NodeQuery(sort="error"),
    "failed, sorted by rack": NodeQuery(standing="error", sort="rack"),
    "of a group, sorted by power": NodeQuery(group="group-0007", sort="power"),
    "of a rack and off": NodeQuery(rack="rack-0011", columns={"power": "off"}),
    "powered on, sorted by rack": NodeQuery(columns={"power": "on"}, sort="rack"),
    "as wanted, sorted by time": NodeQuery(standing="success", sort="last_updated"),
    "whose name contains 7777": NodeQuery(text="7777"),
    "whose name contains what none does": NodeQuery(text="nothing"),
    "page 900 by name": NodeQuery(after='[null, "node-0089999"]'),
    "page 900 by rack": NodeQuery(sort="rack", after='["rack-0179", "node-0089999"]'),
}


def measure(url: str, size: Size, table: Table) -> None:
    """Measure one size."""
    with SiteStore.open(url) as store:
        started = time.perf_counter()
        action = fill(store, size)
        taken = time.perf_counter() - started
        print(f"{size.nodes:,} nodes in {size.groups} groups, filled in {taken:.0f} s", flush=True)
        # What is left of that is not gone through again and again, as in a server that has just started.
        gc.collect()
        gc.freeze()
        table.row("500 results with their roll-up", p95(batches(store, action, size, 20)), 100)
        tree = timed(lambda: tree_to_dict(site_tree(store, SITE), SITE_DEPTH))
        table.row("site and its groups", p95(tree), 50)
        tree = timed(lambda: tree_to_dict(action_tree(store, action.id), ACTION_DEPTH))
        table.row("action, its groups and phases", p95(tree), 50)
        table.row("change token", p95(timed(lambda: store.trees.known_action(action.id).token)), 10)
        for what, query in QUERIES.items():
            page = timed(lambda query=query: site_nodes(store, SITE, query), 20)  # type: ignore[misc]
            table.row(f"100 nodes, {what}", p95(page), 50)
        page = timed(lambda: action_nodes(store, action.id, group="group-0003", troubled=True))
        table.row("failed nodes of a group of the action", p95(page), 50)
        fail_many(store)
        tree = timed(lambda: tree_to_dict(site_tree(store, SITE), SITE_DEPTH))
        table.row("site and its groups, a third failed", p95(tree), 50)
        table.row(f"{VIEWERS} viewers every {EVERY:.0f} s, of one core", watching(store, action), 25, "%")


def fill_uncounted(store: SiteStore, size: Size) -> None:
    """Commit a site of this size in PostgreSQL, and count it at the end: that takes a fraction of the time."""
    database = Database(store._database.url, bounded=False)
    for what in ("DISABLE", "ENABLE"):
        for table in (node, site_group_node):
            change = text(f'ALTER TABLE "{table.name}" {what} TRIGGER USER')
            database.write(lambda tx, change=change: tx.execute(change))  # type: ignore[misc]
        if what == "DISABLE":
            fill_site(store, size)
    Counts(database).rebuild()
    database.refresh_statistics(size.nodes, status_count)
    database.close()


def measure_largest(url: str, size: Size, table: Table) -> None:
    """Measure the root of a site that is ten times as large."""
    with SiteStore.open(url) as store:
        started = time.perf_counter()
        fill_uncounted(store, size)
        print(f"{size.nodes:,} nodes, filled in {time.perf_counter() - started:.0f} s", flush=True)
        root = timed(lambda: tree_to_dict(site_tree(store, SITE, 0), 0))
        table.row(f"root of {size.nodes:,} nodes", p95(root), 200)


def main() -> int:
    """Measure, print, judge."""
    given = options(__doc__, nodes=100_000, groups=200, million=False)
    table = Table("what, p95")
    with new_store() as url:
        measure(url, Size(given.nodes, given.groups), table)
    if given.million:
        with new_store() as url:
            measure_largest(url, Size(1_000_000, given.groups), table)
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
