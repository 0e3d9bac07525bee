"""A database as the first version of Slipway left it, with something in it."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData

import site_store
from site_store.sql.address import resolve
from site_store.sql.database import Database, create_sqlite_file
from site_store.sql.schema_version import VERSION_TABLE

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
FIRST, SECOND = "a: ä # one\n", "a: 2\n"
#: Site, text, and what its documents were read as.
REVISIONS: list[tuple[str, str, list[tuple[str, str, str | None, Any]]]] = [
    ("north", FIRST, [("s/A/v1", "a1", "site", {"x": [1, "ä", None]}), ("s/A/v1", "a2", None, None)]),
    ("north", SECOND, [("s/A/v1", "a1", "site", 2)]),
    ("south", FIRST, []),
    ("north", FIRST, [("s/A/v1", "a1", "site", {"x": [1, "ä", None]}), ("s/A/v1", "a2", None, None)]),
]
#: Id, parameters, revision, state and report.
ACTIONS: list[tuple[str, dict[str, Any], int, str, Any]] = [
    ("01A", {"dry_run": False, "target_nodes": None}, 1, "success", {"verdict": "success", "nodes": ["ä"]}),
    ("01B", {"dry_run": False, "target_nodes": None, "force": True}, 2, "failed", None),
    ("01C", {"dry_run": True, "target_nodes": None}, 3, "success", None),
    ("01D", {"target_nodes": ["n1"]}, 3, "success", None),
    ("01E", {"dry_run": False}, 3, "failed", None),
]
#: Those of another kind than deploy_site; this one failed before anybody noticed that it named no nodes.
KINDS = {"01E": "destroy_nodes"}
#: Of action 01B: phase, status, lease's owner, until when, submitted when (hours after MOMENT), provisioner task.
OPERATIONS: list[tuple[str, str, str | None, int | None, int | None, str | None]] = [
    ("verify_site", "complete", "me", 1, 2, "t-1"),
    ("prepare_site", "intended", "me", 3, None, None),
    ("prepare", "intended", None, None, None, None),
]


def make(url: str) -> None:
    """Create the first schema and fill it."""
    database = Database(resolve(url))
    create_sqlite_file(database.url)
    try:
        database.write(_make)
    finally:
        database.close()


def _make(tx: Connection) -> None:
    directory = Path(site_store.__file__).parent
    config = Config(str(directory / "alembic.ini"))
    config.set_main_option("script_location", str(directory / "migrations"))
    config.attributes["connection"] = tx
    command.upgrade(config, "0001")
    metadata = MetaData()
    metadata.reflect(tx)
    assert VERSION_TABLE in metadata.tables
    # SQLite keeps no zone.
    at = MOMENT.replace(tzinfo=None) if tx.dialect.name == "sqlite" else MOMENT
    site, revision, document, action = (metadata.tables[name] for name in ("site", "revision", "document", "action"))
    tx.execute(site.insert(), [{"name": name, "created": at} for name in ("north", "south")])
    for place, (name, text, documents) in enumerate(REVISIONS):
        made = tx.scalars(
            revision.insert()
            .values(
                site=name,
                number=1 + sum(one[0] == name for one in REVISIONS[:place]),
                digest=hashlib.sha256(text.encode()).hexdigest(),
                text=text,
                design_token=f"token-{place}",
                created=at,
                created_by="ann",
            )
            .returning(revision.c.id)
        ).one()
        for position, (schema, of, layer, data) in enumerate(documents):
            facts = {"schema": schema, "name": of, "layer": layer, "data": data}
            tx.execute(document.insert().values(revision_id=made, position=position, **facts))
    for key, parameters, number, state, report in ACTIONS:
        # A report that there is not is SQL's NULL, and is so when the column is left out.
        said = {} if report is None else {"report": report}
        tx.execute(
            action.insert().values(
                id=key,
                kind=KINDS.get(key, "deploy_site"),
                site="north",
                revision=number,
                parameters=parameters,
                dag_id="deploy_site",
                run_id=f"run {key}",
                created_by="ann",
                created=at,
                started=at,
                ended=at,
                state=state,
                **said,
            )
        )
    operation = metadata.tables["operation"]
    for phase, status, owner, until, submitted, task in OPERATIONS:
        hours = {"lease_until": until, "submitted": submitted}
        tx.execute(
            operation.insert().values(
                action_id="01B",
                site="north",
                group_name="",
                attempt=1,
                phase=phase,
                reference=f"slipway-01B-{phase}",
                nodes=[],
                design_ref="x",
                created=at,
                status=status,
                lease_owner=owner,
                provisioner_task=task,
                **{name: at + timedelta(hours=after) for name, after in hours.items() if after is not None},
            )
        )
