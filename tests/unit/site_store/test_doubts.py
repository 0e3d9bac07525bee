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

import site_store
from site_store import NodeRecord, SiteStore
from site_store.address import resolve
from site_store.database import Database, create_sqlite_file
from strategy_lib.design import read_design
from strategy_lib.documents import load_documents
from tests.support.sites import group, node, site
from tests.unit.site_store.first_schema import MOMENT

NAMES = ("changed", "fresh", "forced", "reverted", "redeployed", "again")
DESIGNS = [site([node(name, rack=rack) for name in NAMES], [group("all")]) for rack in ("r1", "r2")]
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
    for name, number in done.items():
        wanted = {"wanted_revision": 2, "wanted_digest": f"old-{name}-2"}
        was = {"done_revision": number, "done_digest": f"old-{name}-{number}", "done_at": at}
        tx.execute(tables["node"].insert().values(site="north", name=name, **wanted, **was, condition="deployed"))


@pytest.fixture
def records(empty_url: str) -> Iterator[dict[str, NodeRecord]]:
    database = Database(resolve(empty_url))
    create_sqlite_file(database.url)
    try:
        database.write(make)
    finally:
        database.close()
    SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        yield {record.name: record for record in store.node_records("north")}


def test_rule_21_an_upgrade_doubts_what_was_done_to_deployed_nodes_and_dirties_no_other(
    records: dict[str, NodeRecord],
) -> None:
    """One test for all of it, because making such a database takes long."""
    assert {name for name, record in records.items() if record.doubt} == {"changed", "again"}
    assert (records["changed"].doubt or "").startswith("action 01000000000000000000000002 recorded it as done, but")
    assert {name for name, record in records.items() if record.is_up_to_date} == {"fresh", "redeployed"}
    for name, record in records.items():
        designs = [read_design(load_documents(text)).digests[name] for text in DESIGNS]
        assert record.wanted_digest == designs[1], name
        assert record.done_digest == designs[(record.done_revision or 0) - 1], name
