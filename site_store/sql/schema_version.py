"""Which schema a database has, and bringing it up to this version's. The steps themselves are `migrations/`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from site_store.sql import fence
from site_store.sql.census import Census, take
from site_store.sql.database import Database
from site_store.sql.errors import SchemaNotCurrent, StoreUnavailable

if TYPE_CHECKING:
    from alembic.config import Config

#: The schema that is made of nothing. Builds before it were never released, and their databases cannot be upgraded.
FIRST = "0100"

#: Not Alembic's own name for it: the database may be shared with others that use Alembic, such as Airflow.
VERSION_TABLE = "slipway_schema_version"

LOCK_SECONDS = 30.0
"""So long an upgrade waits for those who write or read; all who begin to write meanwhile wait behind it."""

_LOCK_NOT_AVAILABLE = "55P03"


def check(database: Database) -> None:
    """Make sure that this version of Slipway can use the database: it has its schema, or a newer one that lets it.

    Raises `SchemaNotCurrent`: it has none, an older one, or one that this version may not write in;
    `StoreUnavailable`: it could not be reached.
    """
    found = database.read(_found)
    if found is None:
        raise SchemaNotCurrent(f"the {database.name} has no tables of Slipway yet: run `slipway store upgrade`")
    if found > fence.CURRENT and (database.read(fence.lowest_writer) or found) <= fence.CURRENT:
        return
    _require_known(database.name, found)
    if found != fence.CURRENT:
        raise SchemaNotCurrent(
            f"the {database.name} is at schema {found}, this Slipway needs {fence.CURRENT}: run `slipway store upgrade`"
        )


@dataclass(frozen=True, slots=True)
class PendingUpgrade:
    """What `upgrade` would do now.

    Attributes
    ----------
    found : the schema that the database has.
    rolling : whether code of that schema may go on writing behind it.
    census : who is at work.
    """

    found: str
    rolling: bool
    census: Census


def pending(database: Database) -> PendingUpgrade | None:
    """Look at what an upgrade would do; None: nothing, or it makes the first tables. Raises as `upgrade` does."""
    found = database.read(_found)
    if found is None or found == fence.CURRENT:
        return None
    _require_known(database.name, found)
    rolling = all(step.rolling for step in steps() if step.schema > found)
    return PendingUpgrade(found, rolling, database.read(take))


def upgrade(database: Database) -> str:
    """Bring the database to this version's schema in one transaction; two at once do it one after the other.

    Nobody writes meanwhile (rule 60).

    Returns
    -------
    str
        What was done, in a sentence.

    Raises
    ------
    SchemaNotCurrent : it has a newer schema than this version of Slipway knows, or that of a build before the first.
    StoreUnavailable : it could not be reached; or others were at work in it for too long, who are named.
    """
    try:
        before, after = database.upgrade(lambda tx: _migrate(tx, database.name, database.sealing.keys))
    except StoreUnavailable as error:
        if isinstance(error.__cause__, DBAPIError) and _is_timeout(error.__cause__):
            raise StoreUnavailable(database.read(lambda tx: _held_by(tx, database.name))) from error
        raise
    if before == after:
        return f"{database.name}: schema {after} is current"
    return f"{database.name}: upgraded from {'nothing' if before is None else f'schema {before}'} to schema {after}"


def _migrate(tx: Connection, name: str, keys: tuple[str, ...]) -> tuple[str | None, str]:
    from alembic import command

    fence.close(tx, LOCK_SECONDS)
    before = _found(tx)
    if before is not None:
        _require_known(name, before)
    if before == fence.CURRENT:
        return before, before
    config = _config()
    config.attributes.update(connection=tx, keys=keys)
    if before is None:
        # It makes the schema as it is today: what later steps would change is so already.
        command.upgrade(config, FIRST)
        command.stamp(config, "head")
    else:
        command.upgrade(config, "head")
    return before, _found(tx) or fence.CURRENT


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the schema: the schema that it makes, and whether code of the one before may go on beside it."""

    schema: str
    rolling: bool


def steps(config: Config | None = None) -> list[Step]:
    """Return all steps that this version knows, oldest first."""
    from alembic.script import ScriptDirectory

    found = ScriptDirectory.from_config(config or _config()).walk_revisions()
    return sorted((Step(one.revision, one.module.ROLLING) for one in found), key=lambda step: step.schema)


def lowest_writer(config: Config) -> str:
    """Return the oldest schema whose code may write beside that of this version: all steps behind it are rolling."""
    return max(step.schema for step in steps(config) if not step.rolling)


def _config() -> Config:
    from alembic.config import Config

    config = Config(str(files("site_store") / "alembic.ini"))
    config.set_main_option("script_location", str(files("site_store") / "migrations").replace("%", "%%"))
    return config


def _is_timeout(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE


def _held_by(tx: Connection, name: str) -> str:
    """Say who kept an upgrade from the lock: who is in a transaction in this database, the longest first."""
    query = text(
        "SELECT pid, usename, application_name, coalesce(host(client_addr), 'this host'), state, "
        "round(extract(epoch FROM clock_timestamp() - xact_start)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL "
        "ORDER BY xact_start LIMIT 3"
    )
    found = tx.execute(query).all()
    waited = f"the {name} was not upgraded: others were at work in it for {LOCK_SECONDS:g} s"
    if not found:
        return f"{waited}, and nobody is now: run `slipway store upgrade` again"
    said = [
        f"process {pid} ({application or 'no name'}, user {user}, from {host}: {state} for {seconds} s)"
        for pid, user, application, host, state, seconds in found
    ]
    return (
        f"{waited}: {', '.join(said)}; let it end, or end it with SELECT pg_terminate_backend({found[0].pid}), and run "
        "`slipway store upgrade` again"
    )


def _require_known(name: str, found: str) -> None:
    """Refuse (`SchemaNotCurrent`) a schema that this version can neither use nor upgrade."""
    if found > fence.CURRENT:
        raise SchemaNotCurrent(
            f"the {name} is at schema {found}, which is newer than this Slipway's {fence.CURRENT}: update Slipway"
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
