"""Which schema a database has, and bringing it up to this version's. The steps themselves are `migrations/`."""

from __future__ import annotations

from importlib.resources import files

from sqlalchemy import Connection, inspect, text

from site_store.sql.database import Database
from site_store.sql.errors import SchemaNotCurrent

#: The newest step in `migrations/versions`; a test proves it. Kept here so that opening a store need not load Alembic.
CURRENT = "0100"

#: The schema that is made of nothing. Builds before it were never released, and their databases cannot be upgraded.
FIRST = "0100"

#: Not Alembic's own name for it: the database may be shared with others that use Alembic, such as Airflow.
VERSION_TABLE = "slipway_schema_version"

_UPGRADE_LOCK = 0x534C4950  # "SLIP"; any number, the same for all who upgrade


def check(database: Database) -> None:
    """Make sure that the database has the schema of this version of Slipway.

    Raises `SchemaNotCurrent`: it has none, an older or a newer one; `StoreUnavailable`: it could not be reached.
    """
    found = database.read(_found)
    if found is None:
        raise SchemaNotCurrent(f"the {database.name} has no tables of Slipway yet: run `slipway store upgrade`")
    _require_known(database.name, found)
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
    SchemaNotCurrent : it has a newer schema than this version of Slipway knows, or that of a build before the first.
    StoreUnavailable : it could not be reached.
    """
    before, after = database.write(lambda tx: _migrate(tx, database.name))
    if before == after:
        return f"{database.name}: schema {after} is current"
    return f"{database.name}: upgraded from {'nothing' if before is None else f'schema {before}'} to schema {after}"


def _migrate(tx: Connection, name: str) -> tuple[str | None, str]:
    from alembic import command
    from alembic.config import Config

    tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
    before = _found(tx)
    if before is not None:
        _require_known(name, before)
    config = Config(str(files("site_store") / "alembic.ini"))
    config.set_main_option("script_location", str(files("site_store") / "migrations").replace("%", "%%"))
    config.attributes["connection"] = tx
    if before is None:
        # It makes the schema as it is today: what later steps would change is so already.
        command.upgrade(config, FIRST)
        command.stamp(config, "head")
    else:
        command.upgrade(config, "head")
    return before, _found(tx) or CURRENT


def _require_known(name: str, found: str) -> None:
    """Refuse (`SchemaNotCurrent`) a schema that this version can neither use nor upgrade."""
    if found > CURRENT:
        raise SchemaNotCurrent(
            f"the {name} is at schema {found}, which is newer than this Slipway's {CURRENT}: update Slipway"
        )
    if found < FIRST:
        raise SchemaNotCurrent(
            f"the {name} was made by a build of Slipway before its first release (schema {found}), and cannot be "
            "brought to this version: use another SLIPWAY_HOME or SLIPWAY_DATABASE_URL, commit the documents of your "
            "sites there, and `slipway adopt` the nodes that are deployed"
        )


def _found(tx: Connection) -> str | None:
    """Return the schema that the database has, None when it has none."""
    if not inspect(tx).has_table(VERSION_TABLE):
        return None
    found: str | None = tx.scalar(text(f"SELECT max(version_num) FROM {VERSION_TABLE}"))  # noqa: S608 - a constant
    return found
