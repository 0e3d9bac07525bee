"""An upgrade marks what was recorded as done though nothing was done, and makes no node dirty (rules 21 and 38)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData
from sqlalchemy import text as sql

import site_store
from design_rendering.design import read_design
from design_rendering.documents import load_documents
from site_store import SiteStore
from site_store.sql.address import resolve
from site_store.sql.database import Database, create_sqlite_file
from tests.integration.site_store.sql.first_schema import MOMENT
from tests.support.sites import group, node, site

NAMES = ("changed", "fresh", "forced", "reverted", "redeployed", "again")
DESIGNS = [site([node(name, rack=rack) for name in NAMES], [group("all")]) for rack in ("r1", "r2", "r3")]
#: In the order of operations: the node, what succeeded, and the revision that it was done for.
HISTORY: list[tuple[str, str, int]] = [
    ("changed", "deploy", 1),
    ("changed", "deploy", 2),
    ("fresh", "deploy", 2),
    ("forced", "deploy", 1),
    ("forced", "deploy", 1),
    ("reverted", "deploy", 1),
    ("reverted", "deploy", 2),
    ("reverted", "deploy", 1),
    ("redeployed", "deploy", 1),
    ("redeployed", "destroy_nodes", 2),
    ("redeployed", "deploy", 2),
    ("again", "deploy", 1),
    ("again", "deploy", 2),
    ("again", "deploy", 2),
]


def make(tx: Connection) -> None:
    directory = Path(site_store.__file__).parent
    config = Config(str(directory / "alembic.ini"))
    config.set_main_option("script_location", str(directory / "migrations"))
    config.attributes["connection"] = tx
    command.upgrade(config, "0002")
    metadata = MetaData()
    metadata.reflect(tx)
    tables = metadata.tables
    at = MOMENT.replace(tzinfo=None) if tx.dialect.name == "sqlite" else MOMENT
    tx.execute(tables["site"].insert().values(name="north", created=at))
    for number, text in enumerate(DESIGNS, 1):
        digest = hashlib.sha256(text.encode()).hexdigest()
        facts: dict[str, Any] = {"site": "north", "digest": digest}
        content = tables["content"].insert().values(**facts, text=zlib.compress(text.encode()), documents=0)
        kept = tx.scalars(content.returning(tables["content"].c.id)).one()
        made = {"number": number, "design_token": f"token-{number}", "created": at, "created_by": "ann"}
        tx.execute(tables["revision"].insert().values(**facts, **made, design_id=kept))
    done: dict[str, int] = {}
    for op, (name, phase, number) in enumerate(HISTORY, 1):
        action_id = f"01{op:024d}"
        run = {"dag_id": "deploy_site", "run_id": action_id, "created_by": "ann", "created": at, "state": "success"}
        action = {"id": action_id, "kind": "deploy_site", "site": "north", "revision": number, "parameters": {}}
        tx.execute(tables["action"].insert().values(**action, **run))
        task = {"action_id": action_id, "node": name, "phase": phase, "op": op, "status": "success"}
        version = {"digest": f"old-{name}-{number}"} if phase == "deploy" else {}
        tx.execute(tables["task"].insert().values(**task, **version))
        done[name] = number
    # An action on a revision in which no node stands, and that no node is to have; a person may still clear it.
    failed = {
        "action_id": f"01{0:024d}",
        "node": "fresh",
        "phase": "deploy",
        "status": "error",
        "digest": "old-fresh-3",
    }
    run = {"dag_id": "deploy_site", "run_id": "failed", "created_by": "ann", "created": at, "state": "failed"}
    action = {"id": failed["action_id"], "kind": "deploy_site", "site": "north", "revision": 3, "parameters": {}}
    tx.execute(tables["action"].insert().values(**action, **run))
    tx.execute(tables["task"].insert().values(**failed))
    for name, number in done.items():
        wanted = {"wanted_revision": 2, "wanted_digest": f"old-{name}-2"}
        was = {"done_revision": number, "done_digest": f"old-{name}-{number}", "done_at": at}
        tx.execute(tables["node"].insert().values(site="north", name=name, **wanted, **was, condition="deployed"))


def planned(tx: Connection) -> dict[tuple[int, str], set[str | None]]:
    """Return the digests that actions on each revision have for each node."""
    found: dict[tuple[int, str], set[str | None]] = {}
    query = "SELECT revision, node, digest FROM task JOIN action ON action.id = action_id WHERE phase = 'deploy'"
    for row in tx.execute(sql(query)):
        found.setdefault((row.revision, row.node), set()).add(row.digest)
    return found


@pytest.fixture
def upgraded(empty_url: str) -> Iterator[SiteStore]:
    database = Database(resolve(empty_url))
    create_sqlite_file(database.url)
    try:
        database.write(make)
    finally:
        database.close()
    SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        yield store


def test_rule_21_an_upgrade_doubts_what_was_done_to_deployed_nodes_and_dirties_no_other(
    upgraded: SiteStore,
) -> None:
    """One test for all of it, because making such a database takes long."""
    records = {record.name: record for record in upgraded.nodes.of_site("north")}
    assert {name for name, record in records.items() if record.doubt} == {"changed", "again"}
    assert (records["changed"].doubt or "").startswith("action 01000000000000000000000002 recorded it as done, but")
    second = read_design(load_documents(DESIGNS[1])).digests
    done = {name for name, record in records.items() if record.done_digest == second[name] and record.doubt is None}
    assert done == {"fresh", "redeployed"}
    for name, record in records.items():
        designs = [read_design(load_documents(text)).digests[name] for text in DESIGNS]
        assert (record.wanted_revision, record.wanted_digest) == (3, designs[2]), name
        assert record.done_digest == designs[(record.done_revision or 0) - 1], name
        for (number, planned_name), digests in upgraded._database.read(planned).items():
            if planned_name == name:
                assert digests == {None if number == 3 else designs[number - 1]}, (name, number)
