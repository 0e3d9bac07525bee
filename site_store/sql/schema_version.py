"""Which schema a database has, and bringing it up to this version's. The steps themselves are `migrations/`."""

from __future__ import annotations

import time
from importlib.resources import files

from sqlalchemy import Connection, inspect, text

from site_store.errors import SchemaNotCurrent
from site_store.sql.address import sqlite_file
from site_store.sql.database import BUSY_SECONDS, Database, create_sqlite_file
from site_store.tables import metadata

#: The newest step in `migrations/versions`; a test proves it. Kept here so that opening a store need not load Alembic.
CURRENT = "0017"

#: Not Alembic's own name for it: the database may be shared with others that use Alembic, such as Airflow.
VERSION_TABLE = "slipway_schema_version"

_UPGRADE_LOCK = 0x534C4950  # "SLIP"; any number, the same for all who upgrade


def check(database: Database) -> None:
    """Make sure that the database has the schema of this version of Slipway.

    Raises `SchemaNotCurrent`: it has none, an older or a newer one; `StoreUnavailable`: it could not be reached.
    """
    file = sqlite_file(database.url)
    if file is not None and not file.exists():
        raise SchemaNotCurrent(
            f"there is no {database.name}: run `slipway store upgrade` to create it; "
            "which database is used follows from SLIPWAY_DATABASE_URL and SLIPWAY_HOME"
        )
    found = database.read(_found)
    if found is None:
        raise SchemaNotCurrent(f"the {database.name} has no tables of Slipway yet: run `slipway store upgrade`")
    if found > CURRENT:
        raise SchemaNotCurrent(
            f"the {database.name} is at schema {found}, which is newer than this Slipway's {CURRENT}: update Slipway"
        )
    if found != CURRENT:
        raise SchemaNotCurrent(
            f"the {database.name} is at schema {found}, this Slipway needs {CURRENT}: run `slipway store upgrade`"
        )


def upgrade(database: Database) -> str:
    """Bring the database to this version's schema in one transaction; two at once do it one after the other.

    Returns
    -------
    str
        What was done, in a sentence.

    Raises
    ------
    SchemaNotCurrent : it has a newer schema than this version of Slipway knows.
    StoreNotConfigured, StoreUnavailable : it could not be created or reached.
    """
    create_sqlite_file(database.url)
    if sqlite_file(database.url) is not None:
        _use_write_ahead_log(database)
    before, after = database.migrate(_migrate)
    if before == after:
        return f"{database.name}: schema {after} is current"
    if before is not None:
        database.look_at_large(metadata.sorted_tables)
    return f"{database.name}: upgraded from {'nothing' if before is None else f'schema {before}'} to schema {after}"


def _migrate(tx: Connection) -> tuple[str | None, str]:
    from alembic import command
    from alembic.config import Config

    if tx.dialect.name == "postgresql":
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
    before = _found(tx)
    if before is not None and before > CURRENT:
        raise SchemaNotCurrent(f"the schema {before} is newer than this Slipway's {CURRENT}: update Slipway")
    config = Config(str(files("site_store") / "alembic.ini"))
    config.set_main_option("script_location", str(files("site_store") / "migrations").replace("%", "%%"))
    config.attributes["connection"] = tx
    command.upgrade(config, "head")
    return before, _found(tx) or CURRENT


def _found(tx: Connection) -> str | None:
    """Return the schema that the database has, None when it has none."""
    if not inspect(tx).has_table(VERSION_TABLE):
        return None
    found: str | None = tx.scalar(text(f"SELECT max(version_num) FROM {VERSION_TABLE}"))  # noqa: S608 - a constant
    return found


def _use_write_ahead_log(database: Database) -> None:
    """Let readers and the writer work side by side. Stays with the file; is refused while another does the same."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        connection = database.engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA journal_mode = WAL")
            return
        except Exception as error:
            locked = "locked" in str(error)
            if not locked or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        finally:
            connection.close()
