"""Random changes of all that the roll-up counts, each one transaction: for a process that is killed in between.

`python -m tests.integration.site_store.churn URL SEED COUNT` says the number of each change that it has committed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, literal, select, true, update

from site_store.sql import postgresql
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.status.counting import Counts
from site_store.tables import action, group_node, group_run, node, site_group, site_group_node, task

SITES = ("north", "south")
ACTIONS = ("a1", "a2", "a3")
GROUPS = ("", "g1", "g2", "g3", "no group")[1:]
NODES = tuple(f"n{number:02}" for number in range(24))
PHASES = ("prepare", "deploy", "destroy_nodes")
WORDS = ("pending", "processing", "success", "error", "unknown", "withheld", "mended")
STANDINGS = (None, "processing", "success", "error", "deleted", "mended")
OWNERS = (None, "provisioner:one", "provisioner:two")
MOMENT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

Change = Callable[[Connection, random.Random], None]


def prepare(tx: Connection) -> None:
    """Make the actions and groups whose nodes change."""
    facts = {"kind": "deploy_site", "parameters": {}, "dag_id": "deploy_site", "created_by": "ann", "state": "running"}
    for number, action_id in enumerate(ACTIONS):
        site = SITES[number % len(SITES)]
        tx.execute(insert(action).values(id=action_id, site=site, run_id=action_id, created=MOMENT, **facts))
        for position, group in enumerate(GROUPS):
            run = {"critical": False, "definition": {}, "state": "pending", "attempt": 0, "criteria": [], "counts": {}}
            tx.execute(insert(group_run).values(action_id=action_id, name=group, position=position, **run))
    for site in SITES:
        for position, group in enumerate(GROUPS):
            facts_of_group = {"position": position, "critical": False, "depends_on": [], "definition": {}}
            tx.execute(insert(site_group).values(site=site, name=group, **facts_of_group))


def _some(dice: random.Random, of: Sequence[str]) -> list[str]:
    return dice.sample(of, dice.choice((1, 1, 2, 5, len(of) // 2)))


def plan(tx: Connection, dice: random.Random) -> None:
    """Add tasks of nodes, or change those that there are, by one statement."""
    rows = postgresql.names(sorted(_some(dice, NODES))).subquery()
    facts = (dice.choice(ACTIONS), dice.choice(PHASES), dice.choice(WORDS), dice.choice(OWNERS))
    columns = ["action_id", "phase", "status", "owner", "node"]
    literals = [literal(fact, task.c.owner.type) for fact in facts]
    made = postgresql.insert(task).from_select(columns, select(*literals, rows.c.value).where(true()))
    key = ["action_id", "node", "phase"]
    if dice.random() < 0.5:
        tx.execute(made.on_conflict_do_nothing())
    else:
        new = {"status": made.excluded.status, "owner": made.excluded.owner}
        tx.execute(made.on_conflict_do_update(index_elements=key, set_=new))


def work(tx: Connection, dice: random.Random) -> None:
    """Change the status of tasks."""
    these = (task.c.action_id == dice.choice(ACTIONS), task.c.node.in_(_some(dice, NODES)))
    values: dict[str, Any] = {"status": dice.choice(WORDS), "error": dice.choice((None, "it broke"))}
    if dice.random() < 0.3:
        values["owner"] = dice.choice(OWNERS)
    if dice.random() < 0.3:
        values["owner_group"] = dice.choice((None, *GROUPS))
    tx.execute(update(task).where(*these).values(values))


def forget(tx: Connection, dice: random.Random) -> None:
    """Delete tasks."""
    tx.execute(delete(task).where(task.c.action_id == dice.choice(ACTIONS), task.c.node.in_(_some(dice, NODES))))


def regroup(tx: Connection, dice: random.Random) -> None:
    """Have nodes come into a group of an action or of a site, or leave it."""
    table, of, which = dice.choice(((group_node, "action_id", ACTIONS), (site_group_node, "site", SITES)))
    key = {of: dice.choice(which), "group_name": dice.choice(GROUPS)}
    names = sorted(_some(dice, NODES))
    if dice.random() < 0.5:
        made = postgresql.insert(table).values([{**key, "node": name} for name in names])
        tx.execute(made.on_conflict_do_nothing())
    else:
        these = [table.c[column] == value for column, value in key.items()]
        tx.execute(delete(table).where(*these, table.c.node.in_(names)))


def _node_values(dice: random.Random) -> dict[str, Any]:
    choices: dict[str, Sequence[Any]] = {
        "wanted_digest": (None, "x", "y"),
        "wanted_revision": (1, 2),
        "done_digest": (None, "x", "y"),
        "status": STANDINGS,
        "error_revision": (None, 1, 2),
        "doubt": (None, None, "somebody else"),
        "error": (None, "it broke"),
        "error_action": (None, "a1"),
        "owner": OWNERS,
        "condition": ("deployed", "ready"),
        "power": ("on", "off"),
    }
    picked = dice.sample(sorted(choices), dice.choice((1, 2, len(choices))))
    return {column: dice.choice(choices[column]) for column in picked}


def touch_nodes(tx: Connection, dice: random.Random) -> None:
    """Add or change nodes of a site, by one statement."""
    site, names, values = dice.choice(SITES), sorted(_some(dice, NODES)), _node_values(dice)
    if dice.random() < 0.5:
        tx.execute(update(node).where(node.c.site == site, node.c.name.in_(names)).values(values))
    else:
        made = postgresql.insert(node).values([{"site": site, "name": name, **values} for name in names])
        new = {column: made.excluded[column] for column in values}
        tx.execute(made.on_conflict_do_update(index_elements=["site", "name"], set_=new))


def drop_nodes(tx: Connection, dice: random.Random) -> None:
    """Delete nodes of a site."""
    tx.execute(delete(node).where(node.c.site == dice.choice(SITES), node.c.name.in_(_some(dice, NODES))))


CHANGES: tuple[Change, ...] = (plan, work, work, forget, regroup, regroup, touch_nodes, touch_nodes, drop_nodes)


def change(database: Database, dice: random.Random) -> None:
    """Make one to three changes in one transaction; now and then merge the parts."""
    if dice.random() < 0.02:
        Counts(database).merge()
    seed = dice.random()
    changes = [dice.choice(CHANGES) for _ in range(dice.choice((1, 1, 1, 2, 3)))]

    def transaction(tx: Connection) -> None:
        # The same ones when the database asks for a repetition.
        again = random.Random(seed)
        for one in changes:
            one(tx, again)

    database.write(transaction)


def main() -> None:
    url, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    database, dice = Database(resolve(url)), random.Random(seed)
    for number in range(count):
        change(database, dice)
        print(number, flush=True)


if __name__ == "__main__":
    main()
